//! Options and values: what is taken, what is offered, and what a wrong one is told.

use super::is_usage_error;
use crate::support::{Sandbox, assert_has, serve};

#[test]
fn wrong_values_are_answered_with_the_right_ones() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/.archive", "no directory");
    sandbox.write(".devt/state/notes.md", "x");
    sandbox.write(".claude/orchestration.local.md", "---\n{a: [\n---\n");
    let nowhere = sandbox.path("nowhere");
    let no_tasks = format!("no `tasks.md` in `{nowhere}`");
    let state = sandbox.path(".devt/state");
    for (args, parts) in [
        ("denies --limit abc", &["a whole number, at least 1"][..]),
        ("denies --limit 0", &["a whole number, at least 1"]),
        ("groups 0", &["a whole number, at least 1"]),
        ("flow init x --max-iterations 0", &["at least 1"]),
        ("cleanup --stale-days -1", &["from 0 to 36500"]),
        (
            "session start coding",
            &["research, plan, implement, quality, review]"],
        ),
        ("session start init", &["research, plan"]),
        (
            "flow update --phase foo",
            &["'foo'", "exploration, planning"],
        ),
        ("flow update --message x", &["orchestration.local.md`: "]),
        ("denies report --html .", &["is a directory; name a file"]),
        (
            "denies report --html nowhere/x.html",
            &[&nowhere, "make it first"],
        ),
        ("groups --root nowhere", &[&no_tasks]),
        ("groups", &["no `tasks.md` in a site below", "--root DIR"]),
        ("status --system self", &["does not apply to self"]),
        ("check --tool mcp__fs__read_file x", &["writes no files"]),
    ] {
        is_usage_error(&sandbox.run(args), parts);
    }
    for verb in ["check", "explain"] {
        is_usage_error(&sandbox.run(&[verb, ""]), &["a path is empty"]);
    }
    // What cannot be done is said once, with its place.
    let archive = format!("could not make `{state}/.archive`: ");
    for verb in ["cleanup --apply", "reset"] {
        let ran = sandbox.run(&format!("{verb} --system devt"));
        is_usage_error(&ran, &[&archive]);
        assert_eq!(ran.stderr().matches("no directory; move it").count(), 1);
    }
}

#[test]
fn every_option_is_described_and_offered_where_it_counts() {
    let sandbox = Sandbox::new();
    for verb in [
        "check",
        "cleanup",
        "denies follow",
        "denies stats",
        "flow init",
        "flow update",
        "deep-dive init",
        "deep-dive compile",
        "session init",
        "session decide",
        "groups",
        "agentmux",
        "contract show",
        "replay",
        "restore",
        "update",
    ] {
        let help = sandbox.run(&format!("{verb} --help")).stdout();
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
        assert!(
            global.contains("--project <DIR>") && !own.contains("--project"),
            "{help}"
        );
        let follows = verb == "denies follow";
        assert!(
            !follows || !(own.contains("--limit") || own.contains("--all")),
            "{help}"
        );
        // An option without a text stands alone on its line, and no line for it follows.
        let lines: Vec<&str> = own.lines().collect();
        for pair in lines.windows(2) {
            let is_bare = pair[0].starts_with("      --") && !pair[0].trim().contains("  ");
            assert!(
                !is_bare || pair[1].starts_with("          "),
                "{verb}: {}",
                pair[0]
            );
        }
    }
    let phases = sandbox.run("flow update --help").stdout();
    assert_has(&phases, "verification, complete]");
}

/// The help of all verbs is laid out alike, and what finds nothing says why.
#[test]
fn installing_speaks_as_the_other_verbs_do() {
    let sandbox = Sandbox::new();
    let help = sandbox.run("install --help").stdout();
    assert_has(&help, "\n      --dry-run  ");
    let settings = sandbox.path(".claude/settings.json");
    let uninstall = || sandbox.run("uninstall").stdout();
    assert_eq!(
        uninstall(),
        format!("not wired: there is no `{settings}`\n")
    );
    sandbox.write(".claude/settings.json", "{}\n");
    let expected = format!("not wired: `{settings}` holds no entry of statewarden\n");
    assert_eq!(uninstall(), expected);
}

#[test]
fn an_event_that_writes_nothing_is_named() {
    let sandbox = Sandbox::new();
    let event = r#"{"hook_event_name":"Stop","session_id":"s"}"#;
    let ran = serve(sandbox.command("check --event -"), event.as_bytes());
    assert_eq!(
        (ran.code(), ran.stdout().as_str()),
        (0, "Stop event: allow\n")
    );
}

/// Every command refuses a project in a directory of this name, and changes nothing there.
#[cfg(unix)]
#[track_caller]
fn check_refused(sandbox: &Sandbox, name: &std::ffi::OsStr, why: &str) {
    let dir = sandbox.project().join(name);
    std::fs::create_dir_all(dir.join(".devt/state")).unwrap();
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
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    let beside = std::fs::read_dir(sandbox.project()).unwrap().count();
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
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = sandbox.command(args).stdout(full.unwrap()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("stdout: No space left"), "{args:?}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn a_temporary_directory_that_is_not_there_is_named() {
    let sandbox = Sandbox::new();
    sandbox.run("install").ends(0);
    let gone = sandbox.path("gone");
    let output = sandbox.command("doctor").env("TMPDIR", &gone).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_has(&told, &format!("could not make `{gone}/"));
    let fix = format!("see that it runs and that `{gone}`, the temporary");
    assert_has(&told, &fix);
}
