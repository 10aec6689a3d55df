//! `install.sh` puts in and takes out, with a program that is built already.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use statewarden::contract::table::Name;
use statewarden::systems::system::SYSTEMS;

use crate::support::{Ran, Sandbox, assert_has, serve, skip};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");
const PROGRAM: &str = env!("CARGO_BIN_EXE_statewarden");

fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.arg(SCRIPT).args(args).current_dir(sandbox.base());
    command.stdin(Stdio::null()).env_clear();
    command.envs(sandbox.surroundings());
    command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    command
}

#[track_caller]
fn script(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = Ran::from(command(sandbox, args).output().unwrap());
    assert_eq!(ran.code(), 0, "{}{}", ran.stdout(), ran.stderr());
    ran.stdout()
}

fn sum(file: &str) -> String {
    let sum = ["sha256sum", "shasum -a 256"].iter().find_map(|tool| {
        let line = format!("{tool} < '{file}'");
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_once(' ').map(|(sum, _)| sum.to_owned())
    });
    sum.unwrap()
}

/// Installs the program under test.
#[track_caller]
fn install(sandbox: &Sandbox, args: &[&str]) -> String {
    let sum = sum(PROGRAM);
    let all = [&["--from", PROGRAM, "--sha256", &sum], args].concat();
    script(sandbox, &all)
}

/// Every path of the sandbox, and the text where it can be read as one.
fn tree(sandbox: &Sandbox) -> BTreeSet<(PathBuf, Option<String>)> {
    let (mut found, mut dirs) = (BTreeSet::new(), vec![sandbox.base().to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path.clone());
            }
            found.insert((path.clone(), fs::read_to_string(path).ok()));
        }
    }
    found
}

/// The settings that name a program, shown relative to the sandbox.
fn naming(sandbox: &Sandbox, program: &Path) -> Vec<String> {
    let program = program.to_str().unwrap();
    let holds = |(path, text): (PathBuf, Option<String>)| {
        let is_settings = path.extension().is_some_and(|end| end == "json");
        let below = path.strip_prefix(sandbox.base()).unwrap();
        (is_settings && text?.contains(program)).then(|| below.to_str().unwrap().to_owned())
    };
    tree(sandbox).into_iter().filter_map(holds).collect()
}

/// Copies it in a process of its own: what another test starts meanwhile would have the copy
/// open for writing, and a busy text is not run.
fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(PROGRAM).arg(to).status();
    assert!(copied.unwrap().success());
}

#[test]
fn two_prefixes_come_and_go_in_any_order() {
    for (wired_before, first_out) in [(None, "one"), (Some("{\"permissions\": {}}\n"), "two")] {
        let sandbox = Sandbox::new();
        if let Some(text) = wired_before {
            sandbox.write(".claude/settings.json", text);
        }
        let before = tree(&sandbox);
        for prefix in ["one", "two", "two"] {
            install(
                &sandbox,
                &[
                    "--prefix",
                    prefix,
                    "--project",
                    "project",
                    "--scope",
                    "project",
                ],
            );
        }
        let program = |prefix: &str| sandbox.base().join(prefix).join("bin/statewarden");
        assert_eq!(
            naming(&sandbox, &program("two")),
            ["project/.claude/settings.json"]
        );
        let last_out = if first_out == "one" { "two" } else { "one" };
        script(&sandbox, &["--uninstall", "--prefix", first_out]);
        assert!(!program(first_out).exists() && program(last_out).exists());
        assert!(naming(&sandbox, &program(first_out)).is_empty());
        let is_guarded = !naming(&sandbox, &program("two")).is_empty();
        assert_eq!(is_guarded, first_out == "one", "the other's entries stay");
        script(&sandbox, &["--uninstall", "--prefix", last_out]);
        assert_eq!(tree(&sandbox), before);
    }
}

#[test]
fn no_entry_is_left_that_runs_the_removed_program() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.base().join("other")).unwrap();
    let before = tree(&sandbox);
    for scope in ["project", "local", "user"] {
        install(&sandbox, &["--project", "project", "--scope", scope]);
    }
    let program = sandbox.home().join(".local/bin/statewarden");
    let mut own = Command::new(&program);
    own.args(["install", "--scope", "local", "--project"])
        .arg(sandbox.base().join("other"));
    own.envs(sandbox.surroundings());
    assert_eq!(Ran::from(own.output().unwrap()).code(), 0);
    assert_eq!(naming(&sandbox, &program).len(), 4);
    let installed = tree(&sandbox);
    let said = script(&sandbox, &["--uninstall", "--dry-run"]);
    assert_eq!(said.matches("would remove `").count(), 5, "{said}");
    assert_eq!(tree(&sandbox), installed);
    script(&sandbox, &["--uninstall"]);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_program_stays_while_entries_cannot_be_taken_out() {
    let sandbox = Sandbox::new();
    install(&sandbox, &["--project", "project"]);
    let wired = sandbox.read(".claude/settings.local.json");
    sandbox.write(
        ".claude/settings.local.json",
        &wired.replacen('{', "{ // mine", 1),
    );
    let ran = Ran::from(command(&sandbox, &["--uninstall"]).output().unwrap());
    assert_eq!(ran.code(), 1);
    assert_has(&ran.stderr(), "so it stays");
    assert!(sandbox.home().join(".local/bin/statewarden").exists());
    sandbox.write(".claude/settings.local.json", &wired);
    script(&sandbox, &["--uninstall"]);
    assert!(!sandbox.exists(".claude") && !sandbox.home().join(".local").exists());
}

/// An upgrade renames the folder of a version; the link on the `PATH` stays.
#[cfg(unix)]
#[test]
fn the_path_that_is_wired_outlives_an_upgrade() {
    let sandbox = Sandbox::new();
    let dir = |name: &str| sandbox.base().join(name);
    for name in ["Cellar/0.2.0", "bin"] {
        fs::create_dir_all(dir(name)).unwrap();
    }
    let (versioned, link) = (dir("Cellar/0.2.0/statewarden"), dir("bin/statewarden"));
    copy_program(&versioned);
    std::os::unix::fs::symlink("../Cellar/0.2.0/statewarden", &link).unwrap();
    for (on_path, wired, advice, warning) in [
        ("/usr/bin:/bin", &versioned, true, true),
        (
            &*format!("relative::{}", dir("bin").display()),
            &link,
            false,
            false,
        ),
        (
            &*dir("Cellar/0.2.0").display().to_string(),
            &versioned,
            false,
            true,
        ),
    ] {
        let mut command = Command::new(&link);
        command
            .arg("install")
            .current_dir(sandbox.project())
            .env_clear();
        command.env("HOME", sandbox.home()).env("PATH", on_path);
        let said = Ran::from(command.output().unwrap()).ends(0).stdout();
        assert_eq!(naming(&sandbox, wired).len(), 1, "{on_path}: {said}");
        assert_eq!(said.contains("export PATH="), advice, "{on_path}: {said}");
        assert_eq!(
            said.contains("`0.2.0` in the path of"),
            warning,
            "{on_path}: {said}"
        );
    }
}

/// Where cargo is not there, a release is; the checksum beside it decides.
#[cfg(target_os = "linux")]
#[test]
fn without_cargo_the_release_is_fetched() {
    let sandbox = Sandbox::new();
    let before = tree(&sandbox);
    let fetch = |releases: &Path| {
        let mut command = command(&sandbox, &["--project", "project"]);
        command.env(
            "STATEWARDEN_RELEASES",
            format!("file://{}", releases.display()),
        );
        Ran::from(command.output().unwrap())
    };
    let missing = fetch(Path::new("/nowhere"));
    assert_eq!(missing.code(), 1, "{}", missing.stdout());
    assert_has(&missing.stderr(), "could not fetch file:///nowhere/v");
    assert_eq!(tree(&sandbox), before);

    let releases = Sandbox::new();
    let dir = releases
        .base()
        .join(format!("v{}", env!("CARGO_PKG_VERSION")));
    fs::create_dir(&dir).unwrap();
    let name = format!("statewarden-{}-unknown-linux-musl", std::env::consts::ARCH);
    copy_program(&dir.join(&name));
    let put_sum = |sum: &str| {
        let line = format!("{sum}  {name}\n");
        fs::write(dir.join(format!("{name}.sha256")), line).unwrap();
    };
    put_sum(&"0".repeat(64));
    let wrong = fetch(releases.base());
    assert_eq!(wrong.code(), 1, "{}", wrong.stdout());
    assert_has(&wrong.stderr(), "nothing was installed");
    assert_eq!(tree(&sandbox), before);
    put_sum(&sum(PROGRAM));
    assert_has(
        &fetch(releases.base()).ends(0).stdout(),
        "denied:  a write of",
    );
    assert_eq!(
        naming(&sandbox, &sandbox.home().join(".local/bin/statewarden")).len(),
        1
    );
    script(&sandbox, &["--uninstall"]);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_program_that_was_there_before_stays() {
    let sandbox = Sandbox::new();
    let program = sandbox.home().join(".local/bin/statewarden");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    copy_program(&program);
    let before = tree(&sandbox);
    install(&sandbox, &["--project", "project"]);
    let said = script(&sandbox, &["--uninstall"]);
    assert_has(&said, "was there before and stays");
    assert_eq!(tree(&sandbox), before);
}

/// A packed program has a checksum too. With it in place, every wired call would
/// be denied.
#[test]
fn what_is_no_program_takes_the_place_of_none() {
    let sandbox = Sandbox::new();
    let packed = sandbox.base().join("statewarden.tar.gz");
    fs::write(&packed, b"\x1f\x8b\x08\0").unwrap();
    let packed = packed.to_str().unwrap();
    let args = ["--from", packed, "--sha256", &sum(packed)];
    for installed in [false, true] {
        if installed {
            install(&sandbox, &["--project", "project"]);
        }
        let before = tree(&sandbox);
        let ran = Ran::from(command(&sandbox, &args).output().unwrap());
        let said = format!("`{packed}` is no statewarden for this machine; nothing was installed");
        assert_eq!(ran.code(), 1, "{}", ran.stdout());
        assert_has(&ran.stderr(), &said);
        assert_eq!(tree(&sandbox), before);
    }
}

/// What the plugin runs hands over to the program, and without it keeps the places that
/// the program would know.
#[test]
fn the_plugins_script_guards_what_the_program_would() {
    const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plugin/bin/statewarden");
    if Path::new("/usr/local/bin/statewarden").exists() {
        return skip("the script would run the installed program");
    }
    let sandbox = Sandbox::new();
    let run = |verb: &str, event: &str| {
        let mut command = Command::new("sh");
        command
            .arg(PLUGIN)
            .args(verb.split_whitespace())
            .env_clear()
            .envs(sandbox.surroundings());
        serve(command, event.as_bytes())
    };
    let places = SYSTEMS.iter().flat_map(|system| {
        let landmarks = system
            .info()
            .landmarks
            .iter()
            .map(|mark| mark.replace('*', "x"));
        let names = system
            .contract()
            .rows
            .iter()
            .filter_map(|row| match row.name {
                Name::Exact(name) => Some(format!("{}/{name}", system.info().shared_dir?)),
                _ => None,
            });
        landmarks.chain(names).collect::<Vec<_>>()
    });
    for place in places {
        run("hook", &sandbox.write_event(&place, "x").to_string()).is_refused_unread();
    }
    let elsewhere = sandbox.write_event("src/a.rs", "x").to_string();
    run("hook", &elsewhere).is_silent();
    let blanks = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    let blanks = blanks.replace("\"hook_event_name\":", "\"hook_event_name\" :\n  ");
    run("hook", &blanks).is_refused_unread();
    let mut skill = sandbox.bash_event("echo x > .devt/state/notes.md");
    skill["hook_event_name"] = json!("PreSkillShellCommand");
    run("hook", &skill.to_string()).is_refused_unread();
    let report = sandbox.event(
        "SubagentHandback",
        json!({"report": "see .devt/state/review.md"}),
    );
    run("hook", &sandbox.by("code-reviewer", report).to_string()).is_silent();
    let mut bare = Command::new("/bin/sh");
    bare.arg(PLUGIN).env_clear();
    serve(bare, elsewhere.as_bytes()).is_silent();
    let begun = r#"{"hook_event_name":"SessionStart"}"#;
    assert!(run("hook", begun).json()["systemMessage"].is_string());
    assert_eq!(run("doctor", "").code(), 1);

    let bin = sandbox.home().join(".local/bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(PROGRAM, bin.join("statewarden")).unwrap();
    let stray = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    for verb in ["hook", ""] {
        run(verb, &stray).is_denied("ad-hoc-name");
        run(verb, &elsewhere).is_silent();
    }

    let installed =
        json!({"plugins": {"statewarden@x": [{"installPath": env!("CARGO_MANIFEST_DIR")}]}});
    let settings = sandbox.home().join(".claude");
    fs::create_dir_all(settings.join("plugins")).unwrap();
    let list = settings.join("plugins/installed_plugins.json");
    fs::write(list, installed.to_string()).unwrap();
    let enabled = json!({"enabledPlugins": {"statewarden@x": true}}).to_string();
    fs::write(settings.join("settings.json"), enabled).unwrap();
    sandbox.run("doctor").ends(0);
}

/// Copies of the plugin's script on the `PATH`, as of two versions of the plugin, and a
/// link to it in the place of the program.
#[test]
fn the_plugins_script_does_not_hand_over_to_itself_for_ever() {
    const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plugin/bin/statewarden");
    if Path::new("/usr/local/bin/statewarden").exists() {
        return skip("the script would run the installed program");
    }
    let sandbox = Sandbox::new();
    let dir = |name: &str| sandbox.base().join(name);
    for name in ["one", "two", "real", "home/.local/bin", "dir/statewarden"] {
        fs::create_dir_all(dir(name)).unwrap();
    }
    for name in ["one", "two"] {
        fs::copy(PLUGIN, dir(name).join("statewarden")).unwrap();
    }
    std::os::unix::fs::symlink(PLUGIN, dir("home/.local/bin/statewarden")).unwrap();
    let brought = dir("project/node_modules/.bin");
    fs::create_dir_all(&brought).unwrap();
    for place in [dir("real"), brought] {
        std::os::unix::fs::symlink(PROGRAM, place.join("statewarden")).unwrap();
    }
    let base = sandbox.base().to_str().unwrap();
    let stray = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    let run = |path: &str| {
        let mut command = Command::new("timeout");
        let script = dir("one/statewarden");
        command.args(["20", "sh", script.to_str().unwrap(), "hook"]);
        command.env_clear().envs(sandbox.surroundings());
        command.env("PATH", path.replace('@', base) + ":/usr/bin:/bin");
        command.env("CLAUDE_PROJECT_DIR", sandbox.project());
        serve(command, stray.as_bytes())
    };
    run("@/dir:@/one/:@/two").is_refused_unread();
    // What the project brings is no program of the user's.
    run("@/project/node_modules/.bin").is_refused_unread();
    run("@/one:@/two:@/real").is_denied("ad-hoc-name");
}

#[test]
fn wrong_options_end_with_two() {
    let sandbox = Sandbox::new();
    for args in [
        &["--bogus"][..],
        &["--prefix"],
        &["--scope", "x"],
        &["--from="],
        &["--project", ""],
    ] {
        let ran = Ran::from(command(&sandbox, args).output().unwrap());
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{args:?}");
    }
}

#[test]
fn without_a_home_the_script_says_what_to_set() {
    let sandbox = Sandbox::new();
    let mut command = command(&sandbox, &["--dry-run"]);
    let ran = Ran::from(command.env_remove("HOME").output().unwrap());
    assert_eq!(ran.code(), 1);
    let said = "install.sh: HOME is not set; set it to your home directory: HOME=";
    assert!(ran.stderr().starts_with(said), "{}", ran.stderr());
}

#[test]
fn a_program_that_cannot_be_copied_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let args = ["--from", PROGRAM, "--sha256", &sum(PROGRAM)];
    let before = tree(&sandbox);
    // No file may have more than a block, as on a full disk.
    let line = "trap '' XFSZ; ulimit -f 1; exec sh \"$0\" \"$@\"";
    let mut command = command(&sandbox, &[]);
    let mut full = Command::new("sh");
    full.args(["-c", line, SCRIPT]).args(args);
    full.current_dir(sandbox.base()).env_clear();
    full.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let ran = Ran::from(full.output().unwrap());
    assert_eq!(ran.code(), 1, "{}", ran.stderr());
    assert!(
        ran.stderr().ends_with("nothing was installed\n"),
        "{}",
        ran.stderr()
    );
    assert_eq!(tree(&sandbox), before);

    fs::create_dir_all(sandbox.home().join(".local/bin/statewarden")).unwrap();
    let before = tree(&sandbox);
    let ran = Ran::from(command.args(args).output().unwrap());
    assert_eq!(ran.code(), 1, "{}", ran.stdout());
    assert_has(&ran.stderr(), "statewarden` is a directory; ");
    assert_eq!(tree(&sandbox), before);
}

/// `CDPATH` makes `cd` go elsewhere, and say so.
#[test]
fn the_project_is_the_one_that_is_named() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.base().join("elsewhere");
    fs::create_dir_all(elsewhere.join("project/.devt")).unwrap();
    let mut command = command(&sandbox, &["--dry-run", "--project", "project"]);
    command.args(["--from", PROGRAM]);
    let ran = Ran::from(command.env("CDPATH", &elsewhere).output().unwrap());
    assert_has(&ran.stdout(), "no checksum for `");
    let told = format!("--project {}` and", sandbox.project().display());
    assert!(
        ran.stdout().contains(&told),
        "{}{}",
        ran.stdout(),
        ran.stderr()
    );
}
