//! Which programs are run, and what is wrong with their paths and the gate log.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A clone can bring settings that run anything.
#[test]
fn a_program_that_only_a_project_names_is_not_run() {
    let _alone = alone();
    let marks = "touch \"${0%/*}/ran\"; exit 0";
    let temp = wired(env!("CARGO_PKG_VERSION"), marks);
    let stranger = temp.place().program;
    let mark = stranger.with_file_name("ran");
    let own = Place {
        program: temp.0.join("own/statewarden"),
        ..temp.place()
    };
    fs::create_dir(temp.0.join("own")).unwrap();
    fs::copy(&stranger, &own.program).unwrap();
    let ids = |may_run| {
        let findings = findings_by(&own, &temp, may_run).into_iter();
        findings.map(|finding| finding.id).collect::<Vec<_>>()
    };
    let found = ids(MayRun::Known);
    assert!(
        found.contains(&"program-not-run") && !found.contains(&"live-test") && !mark.exists(),
        "{found:?}"
    );
    let found = ids(MayRun::All);
    assert!(
        found.contains(&"live-test") && !found.contains(&"program-not-run") && mark.exists(),
        "{found:?}"
    );
    // Whoever names it in settings of their own runs it in every session.
    fs::create_dir_all(temp.0.join("home/.claude")).unwrap();
    let settings = own.settings(Scope::Project).unwrap();
    fs::rename(settings, own.settings(Scope::User).unwrap()).unwrap();
    assert!(ids(MayRun::Known).contains(&"live-test"));
}

#[test]
fn a_path_that_an_upgrade_takes_away_is_seen() {
    let _alone = alone();
    let temp = healthy();
    let cellar = temp.0.join("Cellar/0.2.0");
    fs::create_dir_all(&cellar).unwrap();
    let program = cellar.join("statewarden");
    fs::rename(temp.place().program, &program).unwrap();
    let place = Place {
        program,
        ..temp.place()
    };
    let args = in_scope(Scope::Project);
    install::tests::wire(&args, &place, &mut Vec::new()).unwrap();
    let findings = findings_by(&place, &temp, MayRun::Known);
    assert!(
        findings
            .iter()
            .any(|finding| finding.id == "program-versioned")
    );
}

#[test]
fn a_gate_log_whose_chain_is_broken_is_seen() {
    let _alone = alone();
    let temp = healthy();
    let log = "project/.claude/statewarden/gates.jsonl";
    let line = r#"{"prev":"0000","id":"1","ts":"2026-01-02T03:04:05Z","system":"devt","file":"f"}"#;
    temp.write(log, &format!("{line}\n{line}\n"));
    fs::set_permissions(temp.0.join(log), fs::Permissions::from_mode(0o600)).unwrap();
    check(&temp, &[("gate-log", Level::Warning)]);
}
