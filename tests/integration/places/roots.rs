//! Which directory is the root of the project.

use super::*;
use crate::recorder::{call, told};
use crate::support::assert_has;

/// Runs without `CLAUDE_PROJECT_DIR`, with everything below a directory of the
/// sandbox that is no project.
fn from(sandbox: &Sandbox, cwd: &Path, path: &Path) -> Ran {
    make(cwd);
    let mut event = event(sandbox, &text(path));
    event["cwd"] = text(cwd).into();
    sandbox.hook_without_project_dir(&event)
}

#[test]
fn each_marker_makes_a_directory_above_the_cwd_the_root() {
    for marker in [".devt", ".claude", ".agentmux", "openspec", ".git"] {
        let sandbox = Sandbox::new();
        let root = sandbox.base().join("work");
        make(&root.join(marker));
        let cwd = root.join("src/deep");
        let found = from(&sandbox, &cwd, &root.join("lib/.devt/state/notes.md"));
        assert_eq!(found.decision(), "ad-hoc-name", "{marker}");
        let above = from(&sandbox, &cwd, &sandbox.base().join(".devt/state/notes.md"));
        assert_eq!(above.decision(), "allow", "{marker}");
    }
}

#[test]
fn the_nearest_marker_wins() {
    let sandbox = Sandbox::new();
    let (outer, inner) = (
        sandbox.base().join("outer"),
        sandbox.base().join("outer/inner"),
    );
    make(&outer.join(".devt/state"));
    make(&inner.join(".git"));
    let cwd = inner.join("src");
    for (path, expected) in [
        (inner.join(".devt/state/notes.md"), "ad-hoc-name"),
        (outer.join(".devt/state/notes.md"), "allow"),
    ] {
        assert_eq!(from(&sandbox, &cwd, &path).decision(), expected, "{path:?}");
    }
}

#[test]
fn without_a_marker_the_cwd_is_the_root() {
    let sandbox = Sandbox::new();
    let cwd = sandbox.base().join("bare/src");
    for (path, expected) in [
        (cwd.join(".devt/state/notes.md"), "ad-hoc-name"),
        (sandbox.base().join("bare/.devt/state/notes.md"), "allow"),
    ] {
        assert_eq!(from(&sandbox, &cwd, &path).decision(), expected, "{path:?}");
    }
}

#[test]
fn the_home_directory_is_no_root_for_its_claude_and_devt_directories() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    make(&home.join(".claude"));
    make(&home.join(".devt/state"));
    let cwd = home.join("work/src");
    for (path, expected) in [
        (home.join(".devt/state/notes.md"), "allow"),
        (home.join(".claude/orchestration-2.local.md"), "allow"),
        (cwd.join(".devt/state/notes.md"), "ad-hoc-name"),
    ] {
        assert_eq!(from(&sandbox, &cwd, &path).decision(), expected, "{path:?}");
    }
}

/// The root that a verb finds in a directory of the sandbox, from the sandbox's base.
#[track_caller]
fn check_root(sandbox: &Sandbox, env: &[(&str, &str)], dir: &str, expected: &str) {
    let base = sandbox.base();
    fs::create_dir_all(base.join(dir)).unwrap();
    let mut command = sandbox.command("explain .devt/state/plan.md --json");
    command.current_dir(base.join(dir));
    command.envs(env.iter().map(|(name, below)| (*name, base.join(below))));
    let output = command.output().unwrap();
    let story: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = base.join(expected);
    assert_eq!(story["root"], expected.to_str().unwrap(), "{dir} {env:?}");
}

fn mark(sandbox: &Sandbox, dir: &str) {
    for marker in [".devt", ".claude", ".agentmux", "openspec", ".git"] {
        fs::create_dir_all(sandbox.base().join(dir).join(marker)).unwrap();
    }
}

#[test]
fn the_directories_that_all_share_are_no_roots() {
    let sandbox = Sandbox::new();
    for shared in ["home", "tmp"] {
        mark(&sandbox, shared);
        check_root(
            &sandbox,
            &[],
            &format!("{shared}/a/b"),
            &format!("{shared}/a/b"),
        );
        mark(&sandbox, &format!("{shared}/a"));
        check_root(
            &sandbox,
            &[],
            &format!("{shared}/a/b"),
            &format!("{shared}/a"),
        );
    }
}

#[test]
fn no_root_is_looked_for_above_the_ceiling() {
    let sandbox = Sandbox::new();
    mark(&sandbox, "outer");
    let ceiling = |below| [("STATEWARDEN_CEILING", below)];
    check_root(&sandbox, &[], "outer/in/deep", "outer");
    check_root(&sandbox, &ceiling("outer"), "outer/in/deep", "outer");
    check_root(
        &sandbox,
        &ceiling("outer/in"),
        "outer/in/deep",
        "outer/in/deep",
    );
    check_root(&sandbox, &ceiling("elsewhere"), "outer/in/deep", "outer");
    mark(&sandbox, "outer/in");
    check_root(&sandbox, &ceiling("outer/in"), "outer/in/deep", "outer/in");
}

#[test]
fn the_session_names_the_project_whatever_the_cwd() {
    let sandbox = Sandbox::new();
    let other = sandbox.base().join("other");
    make(&other.join(".devt/state"));
    for (cwd, path, expected) in [
        (
            &other,
            sandbox.project().join(".devt/state/notes.md"),
            "ad-hoc-name",
        ),
        (&other, other.join(".devt/state/notes.md"), "allow"),
        (
            &sandbox.project(),
            other.join(".devt/state/notes.md"),
            "allow",
        ),
        (
            &sandbox.project(),
            sandbox.base().join("project2/.devt/state/notes.md"),
            "allow",
        ),
    ] {
        let mut event = event(&sandbox, &text(&path));
        event["cwd"] = text(cwd).into();
        sandbox.expect(&event, expected);
    }
}

#[test]
fn the_projects_name_may_be_untidy_and_an_empty_one_is_none() {
    let sandbox = Sandbox::new();
    let event = event(&sandbox, &sandbox.path(".devt/state/notes.md"));
    let project = text(&sandbox.project());
    for (named, expected) in [
        (format!("{project}/"), "ad-hoc-name"),
        (format!("{project}/src/.."), "ad-hoc-name"),
        (format!("{project}//."), "ad-hoc-name"),
        (String::new(), "ad-hoc-name"),
        // It was moved under its session.
        (text(&sandbox.base().join("gone")), "ad-hoc-name"),
    ] {
        let found = sandbox.hook_of_project(&named, &event);
        assert_eq!(found.decision(), expected, "`{named}`");
    }
}

#[test]
fn the_project_option_wins_over_the_environment() {
    let sandbox = Sandbox::new();
    let other = sandbox.base().join("other");
    make(&other);
    let event = event(&sandbox, &text(&other.join(".devt/state/notes.md")));
    sandbox.expect(&event, "allow");
    let mut command = sandbox.command(&["hook", "--project", &text(&other)]);
    command.env("CLAUDE_PROJECT_DIR", sandbox.project());
    let found = crate::support::serve(command, event.to_string().as_bytes());
    assert_eq!(found.decision(), "ad-hoc-name");
}

/// What a call may and may not do to the settings in a directory of the user's.
#[track_caller]
fn check_settings(sandbox: &Sandbox, dir: &str) {
    let folder = format!("{dir}/statewarden");
    let file = format!("{folder}/config.yaml");
    let write = |path: &str| {
        let input = json!({ "file_path": path, "content": "mode: off\n" });
        sandbox.hook(&sandbox.event("Write", input))
    };
    let reason = write(&file).is_denied("protected-file");
    assert_has(&reason, "/statewarden/config.yaml` is denied");
    write(&format!("{dir}/statewarden.yaml")).is_silent();
    write(&format!("{dir}/other/config.yaml")).is_silent();
    for command in [
        format!("echo 'mode: off' > {file}"),
        format!("cp x.yaml {file}"),
        format!("rm -f {file}"),
        format!("mv {file} /tmp/x"),
        format!("rm -rf {folder}"),
        format!("mkdir {folder} && cp config.yaml {folder}"),
    ] {
        let ran = sandbox.hook(&sandbox.bash_event(&command));
        assert_eq!(ran.decision(), "protected-file", "{command}");
    }
    let link = sandbox.bash_event(&format!("ln -s /tmp/x {folder}"));
    sandbox.denied(&link, "protected-file");
    let read = format!("cat {file}; cp {file} /tmp/x; ls {dir}");
    sandbox.hook(&sandbox.bash_event(&read)).is_silent();
}

#[test]
fn the_guards_settings_outside_the_project_are_for_the_user() {
    let mut sandbox = Sandbox::new();
    check_settings(&sandbox, &text(&sandbox.base().join("etc")));
    // The machine's own may say anything.
    if !Path::new("/etc/statewarden").exists() {
        sandbox.env = vec![("STATEWARDEN_ETC", String::new())];
        check_settings(&sandbox, "/etc");
    }
    let home = text(&sandbox.home());
    let linked = sandbox.base().join("dots");
    make(&linked.join("statewarden"));
    for (dir, env) in [
        (format!("{home}/.config"), None),
        (sandbox.path("config"), Some(sandbox.path("config/"))),
        // Under its own name too, where a link leads there.
        #[cfg(unix)]
        (text(&linked), {
            let link = sandbox.base().join("link");
            std::os::unix::fs::symlink(&linked, &link).unwrap();
            Some(text(&link))
        }),
    ] {
        let env = env.map(|dir| ("XDG_CONFIG_HOME", dir));
        sandbox.env = env.into_iter().collect();
        check_settings(&sandbox, &dir);
        let folder = format!("{dir}/statewarden");
        let remove = sandbox.bash_event(&format!("rm -rf {dir}"));
        fs::create_dir_all(format!("{dir}/x")).unwrap();
        let _ = fs::remove_dir(&folder);
        sandbox.hook(&remove).is_silent();
        fs::create_dir_all(&folder).unwrap();
        sandbox.denied(&remove, "bulk-removal");
        let config = format!("{folder}/config.yaml");
        let ran = call(&sandbox, "main", "python3 x.py", || {
            fs::write(&config, "mode: warn\n").unwrap();
        });
        assert_has(&told(&ran), "config.yaml` (protected-file");
        fs::remove_file(format!("{folder}/config.yaml")).unwrap();
    }
}
