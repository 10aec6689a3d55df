//! The reading commands: exit codes, documents, and text for people.

use std::fs;
use std::io::{BufRead, BufReader, Read};
#[cfg(target_os = "linux")]
use std::process::Command;
use std::process::Stdio;

use crate::support::{DEVT, Sandbox, assert_has, lacks};

/// `script` from util-linux gives the program a terminal.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_colors_unless_it_knows_none_or_they_are_not_wanted() {
    let sandbox = Sandbox::new();
    let program = sandbox.command(&[]).get_program().to_owned();
    let line = format!("'{}' explain .devt/state/a", program.display());
    for (name, value, expected) in [
        ("TERM", "xterm", true),
        ("TERM", "dumb", false),
        ("NO_COLOR", "1", false),
    ] {
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        command.current_dir(sandbox.project()).env_clear();
        command.envs(sandbox.surroundings()).env(name, value);
        let Ok(ran) = command.stdin(Stdio::null()).output() else {
            return lacks("no `script`");
        };
        let text = String::from_utf8_lossy(&ran.stdout);
        assert_has(&text, "ad-hoc-name");
        assert_eq!(text.contains('\u{1b}'), expected, "{name}={value}: {text}");
    }
}

/// A line is longer only where it ends in one word that is.
#[test]
fn what_people_read_fits_their_terminal() {
    let sandbox = Sandbox::new();
    let long = "a-name-that-an-agent-made-up-for-its-own-analysis-of-everything-here.md";
    sandbox.write(
        "openspec/changes/add-a-parser/tasks.md",
        "## 1. Parser\n- [ ] 1.1 lex\n",
    );
    sandbox.write(&format!(".devt/state/{long}"), "x");
    sandbox.run("update workflow_id=w phase=implement").ends(0);
    sandbox.run("flow init Invoices --team").ends(0);
    sandbox
        .run(&["session", "init", "Retries of payments with keys"])
        .ends(0);
    sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    sandbox.hook(&sandbox.by(
        "reviewer",
        sandbox.write_event("openspec/changes/add-a-parser/tasks.md", "x"),
    ));
    sandbox.run("contract add spec-kit").ends(0);
    sandbox.run("reset").ends(0);
    for verb in [
        "agentmux show",
        "audit",
        "check .devt/state/notes.md",
        "cleanup",
        "config",
        "contract list",
        "contract show",
        "denies",
        "denies list -v",
        "denies stats --by rule",
        "doctor",
        "explain .devt/state/notes.md",
        "explain openspec/changes/add-a-parser/review/1.md",
        "groups",
        "history",
        "log",
        "session show",
        "status",
        "stuck",
        "sweep",
        "verify",
    ] {
        let words: Vec<&str> = verb.split(' ').collect();
        let output = sandbox
            .command(&words[..])
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let long = text
            .lines()
            .find(|line| line.chars().count() > 80 && line.trim_start().contains(' '));
        assert_eq!(long, None, "{verb}");
        assert!(!text.is_empty(), "{verb}");
    }
}

#[test]
fn text_of_an_agents_making_neither_steers_the_terminal_nor_hides_in_it() {
    let sandbox = Sandbox::new();
    let turns = |c| matches!(c, '\u{202e}' | '\u{2028}' | '\u{2066}');
    let hides = |c| matches!(c, '\u{200b}' | '\u{feff}');
    let steers = |c: char| (c.is_control() && c != '\n') || turns(c) || hides(c);
    let name = "a\u{1b}[2J\u{7}\r\u{7f}\u{9b}\u{202e}\u{2028}\u{2066}\u{200b}\u{feff}b.md";
    let option = format!("--{name}");
    let path = format!(".devt/state/{name}");
    sandbox.hook(&sandbox.by("\u{1b}[31mx", sandbox.write_event(&path, "x")));
    #[cfg(unix)]
    sandbox.write(&path, "x");
    #[cfg(unix)]
    for file in ["state.json", "x"] {
        sandbox.write(&format!(".claude/.docs/{name}/{file}"), "{}");
    }
    let settings = "systems: {agent-flow: {enabled: false}}\n";
    sandbox.write(".claude/statewarden.yaml", settings);
    let off = format!("{name}/.claude/orchestration.local.md");
    for args in [
        &["explain", &path][..],
        &["explain", "--agent", name, &path],
        &["explain", "--agent", name, ".devt/state/review.json"],
        &["explain", &off],
        &["check", &path],
        &["denies"],
        &["audit"],
        &["status"],
        &["groups", "--root", &path],
        &["cleanup", "--apply"],
        &["history"],
        &[name],
        &["audit", name],
        &["denies", "--limit", name],
        &["explain", &option],
    ] {
        let ran = sandbox.run(args);
        let all = ran.stdout() + &ran.stderr();
        assert!(!all.contains(steers), "{args:?}: {all:?}");
    }
    let log = sandbox.read(DEVT);
    assert!(log.contains("\\u202e") && !log.contains(steers), "{log:?}");
}

#[test]
fn a_closed_pipe_is_no_error_and_no_other_answer() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/todo.txt", "x");
    for n in 0..1_000 {
        fs::write(
            sandbox
                .project()
                .join(format!(".devt/state/review-a-rather-long-name-{n}.md")),
            "",
        )
        .unwrap();
    }
    for (args, code) in [
        ("audit", 1),
        ("audit --json", 1),
        ("completions bash", 0),
        ("man", 0),
    ] {
        let mut child = sandbox
            .command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut reader = BufReader::with_capacity(64, child.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let ended = child.wait().unwrap().code();
        assert_eq!((ended, stderr.as_str()), (Some(code), ""), "{args:?}");
        assert!(!line.is_empty());
    }
}

/// Every command refuses a project in a directory of this name, and changes nothing there.
#[cfg(unix)]
#[track_caller]
fn check_refused(sandbox: &Sandbox, name: &std::ffi::OsStr, why: &str) {
    let dir = sandbox.project().join(name);
    fs::create_dir_all(dir.join(".devt/state")).unwrap();
    for args in [&["audit"][..], &["flow", "init", "t"], &["install"]] {
        let here = sandbox.command(args).current_dir(&dir).output().unwrap();
        let mut named = sandbox.command(args);
        let named = named.arg("--project").arg(&dir).output().unwrap();
        for output in [here, named] {
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(told.contains(why), "{args:?}: {told}");
        }
    }
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    let beside = fs::read_dir(sandbox.project()).unwrap().count();
    assert_eq!(beside, 2, "`.devt` and the directory itself");
}

#[cfg(unix)]
#[test]
fn a_directory_whose_path_is_not_utf8_is_an_error() {
    use std::os::unix::ffi::OsStrExt as _;
    let name = std::ffi::OsStr::from_bytes(b"q\xffp");
    check_refused(&Sandbox::new(), name, "UTF-8");
}

#[cfg(unix)]
#[test]
fn a_backslash_in_a_directory_leads_to_no_other_project() {
    let why = "one\\two` has a `\\` in it";
    check_refused(&Sandbox::new(), "one\\two".as_ref(), why);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_could_not_be_told_is_an_error() {
    let sandbox = Sandbox::new();
    for args in ["--help", "help denies", "--version"] {
        let full = fs::File::options().write(true).open("/dev/full");
        let output = sandbox.command(args).stdout(full.unwrap()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("stdout: No space left"), "{args:?}: {told}");
    }
}
