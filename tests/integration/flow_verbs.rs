//! `flow` and `deep-dive`: the flags of the original scripts, validated.

use std::path::Path;

use serde_json::json;
use statewarden::systems::agent_flow::state::read_workflow;

use crate::support::{GATES, Sandbox, assert_has};

const SINGLE: &str = ".claude/orchestration.local.md";
const TEAM: &str = ".claude/team-orchestration.local.md";
const DEEP_DIVE: &str = ".claude/deep-dive.local.md";

/// The gates of a run's file as `name status` pairs, after `phase`.
fn gates(sandbox: &Sandbox, file: &str) -> String {
    let run = read_workflow(&sandbox.read(file), file).unwrap();
    let gates = run
        .gates
        .iter()
        .map(|gate| format!("{} {}", gate.name, gate.status.as_str()));
    format!(
        "{}: {}",
        run.phase.unwrap(),
        gates.collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn the_mode_follows_flags_and_environment() {
    let teams = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");
    for (flags, env, file, line) in [
        (&[][..], Some(teams), SINGLE, "codex_divergence_rounds: 0"),
        (&["--team"], Some(teams), TEAM, "mode: \"team\""),
        (&["--team"], None, TEAM, "mode: \"sequential\""),
        (
            &["--team"],
            Some((teams.0, "true")),
            TEAM,
            "mode: \"sequential\"",
        ),
        (
            &["--force-sequential"],
            Some(teams),
            TEAM,
            "mode: \"sequential\"",
        ),
        (
            &["--team", "--force-sequential"],
            Some(teams),
            TEAM,
            "mode: \"sequential\"",
        ),
        (
            &["--max-iterations", "3"],
            None,
            SINGLE,
            "max_iterations: 3",
        ),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox
            .env
            .extend(env.map(|(name, value)| (name, value.to_owned())));
        let args: Vec<&str> = ["flow", "init", "a \"task\""]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        let said = sandbox.run(&args).ends(0).said();
        let is_fallback = flags == ["--team"] && line.contains("sequential");
        assert_eq!(said.contains("agent teams are off"), is_fallback, "{said}");
        let text = sandbox.read(file);
        assert!(
            text.lines().any(|found| found == line),
            "{flags:?}: no `{line}` in:\n{text}"
        );
        assert_has(&text, "task: \"a \\\"task\\\"\"\n");
        assert_eq!(sandbox.exists(SINGLE), file == SINGLE);
    }
}

#[test]
fn an_active_run_is_replaced_by_force_only() {
    let sandbox = Sandbox::new();
    sandbox.run("flow init one").ends(0);
    let before = sandbox.read(SINGLE);
    let said = sandbox.run("flow init two").ends(2).said();
    assert!(
        said.contains("--force") && sandbox.read(SINGLE) == before,
        "{said}"
    );
    // What a new run takes the place of is in the archive, whatever it was.
    let init = |args: &str, replaced: &[u8]| {
        let answer = sandbox
            .run(&format!("flow init {args} --json"))
            .ends(0)
            .json();
        let archive = answer["archive_path"].as_str().unwrap();
        let name = SINGLE.strip_prefix(".claude/").unwrap();
        let kept = std::fs::read(Path::new(archive).join(name)).unwrap();
        assert_eq!(kept, replaced, "{args}");
        archive.rsplit('/').next().unwrap().to_owned()
    };
    let first = init("two --force", before.as_bytes());
    assert!(sandbox.read(SINGLE).contains("task: \"two\""));
    sandbox.run("flow update --complete").ends(0);
    init("three", sandbox.read(SINGLE).as_bytes());
    // What cannot be read may be somebody's run.
    std::fs::write(sandbox.path(SINGLE), b"\xff").unwrap();
    sandbox.run("flow init four").ends(2);
    init("four --force", b"\xff");
    let listed = sandbox.run("history").ends(0).stdout();
    assert_has(&listed, "by statewarden flow init");
    sandbox.run(&format!("restore {first} --force")).ends(0);
    assert_eq!(sandbox.read(SINGLE), before);
    let other = sandbox.run("flow init five --team --json").ends(0).json();
    assert_eq!(other["archive_path"], serde_json::Value::Null);
}

#[test]
fn a_run_is_taken_to_its_end() {
    let sandbox = Sandbox::new();
    sandbox.run("flow init t").ends(0);
    for phase in ["planning", "implementation", "review", "verification"] {
        sandbox
            .run(&format!(
                "flow update --phase {phase} --gate-result passed --agent A --message m"
            ))
            .ends(0);
    }
    sandbox
        .run("flow update --complete --gate-result passed --message done")
        .ends(0);
    assert_eq!(
        gates(&sandbox, SINGLE),
        "complete: exploration passed, planning passed, implementation passed, review passed, verification passed"
    );
    let text = sandbox.read(SINGLE);
    assert_has(&text, "active: false\n");
    assert_has(&text, "### Phase: Review\n- Agent: A\n- Result: m\n");
    let closed = sandbox.run("flow update --complete --json");
    assert_eq!(
        (closed.code(), &closed.json()["changed"]),
        (0, &json!(false))
    );
    let records = sandbox.records(GATES);
    let gates: Vec<_> = records
        .iter()
        .map(|record| record["gate"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(
        gates,
        [
            "exploration",
            "exploration",
            "planning",
            "implementation",
            "review",
            "verification"
        ]
    );
    assert!(
        records
            .iter()
            .all(|record| record["agent_type"].is_null() && record["evidence"] != json!(null))
    );
}

#[test]
fn a_team_run_is_updated_by_its_group() {
    let mut sandbox = Sandbox::new();
    sandbox
        .env
        .push(("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1".to_owned()));
    sandbox.run("flow init t").ends(0);
    sandbox.run("flow init t --team").ends(0);
    let said = sandbox
        .run("flow update --phase planning --gate-result passed")
        .ends(2)
        .said();
    assert_has(&said, "--team");
    for phase in ["planning", "implementation", "review_verification"] {
        sandbox
            .run(&format!(
                "flow update --team --phase {phase} --gate-result passed"
            ))
            .ends(0);
    }
    let group = |result: &str, more: &str| {
        let update = "flow update --parallel-group review_verification --gate-result";
        sandbox.run(&format!("{update} {result}{more}")).ends(0);
    };
    group("in_progress", "");
    sandbox.run("flow update --team --merge-parallel").ends(2);
    group("passed", " --teammate review");
    group("failed", " --teammate verification");
    sandbox.run("flow update --team --merge-parallel").ends(0);
    assert_eq!(
        gates(&sandbox, TEAM),
        "review_verification: exploration passed, planning passed, implementation passed, \
         review_verification failed, review passed, verification failed"
    );
}

#[test]
fn wrong_flags_are_errors_and_change_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run("flow update --complete").ends(2);
    sandbox.run("flow init t --max-iterations 3").ends(0);
    let before = sandbox.read(SINGLE);
    for (args, word) in [
        ("init t --max-iterations 0", "0"),
        ("init t --max-iterations many", "many"),
        ("init", "TASK"),
        ("update", "nothing to update"),
        ("update --phase dreaming", "dreaming"),
        ("update --gate-result banana", "banana"),
        ("update --iteration 4", "max_iterations"),
        ("update --iteration -1", "-1"),
        ("update --phase review_verification", "team"),
        ("update --complete --phase review", "contradict"),
        (
            "update --teammate review --gate-result passed",
            "--parallel-group",
        ),
        ("update --parallel-group other", "other"),
        ("update --merge-parallel", "no team run"),
    ] {
        let said = sandbox.run(&format!("flow {args}")).ends(2).said();
        assert!(said.contains(word), "{args} says: {said}");
    }
    let said = sandbox.run(&["flow", "init", " "]).ends(2).said();
    assert_has(&said, "empty");
    assert_eq!(sandbox.read(SINGLE), before);
}

#[test]
fn a_deep_dive_is_made_compiled_and_used() {
    let sandbox = Sandbox::new();
    sandbox.run("deep-dive compile --overview x").ends(2);
    sandbox.run("deep-dive init --scope focused").ends(2);
    let said = sandbox.run("flow init t --use-deep-dive").ends(0).said();
    assert_has(&said, "no finished deep dive");
    sandbox
        .run("deep-dive init --scope focused --focus-path src/auth")
        .ends(0);
    let first = sandbox.read(DEEP_DIVE);
    sandbox.run("deep-dive init").ends(2);
    // Twice within a second, as a rule.
    for n in 1..=2 {
        sandbox.run("deep-dive init --refresh").ends(0);
        let mut copies = sandbox.names(".claude");
        copies.retain(|name| name.starts_with("deep-dive.local.md.bak."));
        assert_eq!(copies.len(), n, "{copies:?}");
        assert_eq!(sandbox.read(&format!(".claude/{}", copies[0])), first);
        sandbox.run("audit").ends(0);
    }
    sandbox
        .run("deep-dive compile --tech-stack Rust --overview Small. --mark-complete")
        .ends(0);
    let text = sandbox.read(DEEP_DIVE);
    assert_has(&text, "phase: \"complete\"\n");
    assert_has(&text, "- **Tech Stack**: Rust\n");
    sandbox.run("flow init t --use-deep-dive --force").ends(0);
    assert!(
        sandbox
            .read(SINGLE)
            .contains("deep_dive:\n  available: true\n  using: true\n  scope: \"full\"\n")
    );
}

/// Twenty updates at the same moment: each is there afterwards, also where the
/// state is a link into another project.
#[test]
fn updates_at_the_same_moment_are_all_kept() {
    let (sandbox, other) = (Sandbox::new(), Sandbox::new());
    sandbox.run("flow init t").ends(0);
    other.write(".claude/settings.json", "{}\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.path(SINGLE), other.path(SINGLE)).unwrap();
    let start = |n: u32| {
        let place = if cfg!(unix) && n < 10 {
            &other
        } else {
            &sandbox
        };
        let mut command = place.command(&["flow", "update", "--message", &format!("update {n}.")]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..20).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = sandbox.read(SINGLE);
    for n in 0..20 {
        assert!(
            text.contains(&format!("- Result: update {n}.\n")),
            "update {n} is lost"
        );
    }
    let records = |place: &Sandbox| place.records(GATES).len();
    assert_eq!(records(&sandbox) + records(&other), 21);
}

#[test]
fn a_new_file_is_created_and_a_gate_that_stays_is_not_listed() {
    let sandbox = Sandbox::new();
    let file = ".claude/orchestration.local.md";
    let first = sandbox.run("flow init x").ends(0).said();
    assert!(first.starts_with(&format!("{file}: created\n")), "{first}");
    let again = sandbox.run("flow init x --force").ends(0).said();
    assert!(again.starts_with(&format!("{file}: changed\n")), "{again}");
    let passed = ["flow", "update", "--gate-result", "passed"];
    let moved = sandbox.run(&passed).ends(0).said();
    assert_has(&moved, "exploration: in_progress -> passed");
    let same = sandbox
        .run(&[&passed[..], &["--message", "again"]].concat())
        .ends(0)
        .said();
    assert!(!same.contains("->"), "{same}");
    let dive = sandbox.run("deep-dive init").ends(0).said();
    assert_eq!(dive, ".claude/deep-dive.local.md: created\n");
}

/// Without a part, compiling begins: the phase says so.
#[test]
fn a_deep_dive_is_compiled_step_by_step() {
    let sandbox = Sandbox::new();
    sandbox.run("deep-dive init").ends(0);
    sandbox.run("deep-dive compile").ends(0);
    assert!(
        sandbox
            .read(DEEP_DIVE)
            .contains("\nphase: \"compilation\"\n")
    );
    sandbox.run("deep-dive compile --mark-complete").ends(0);
    assert!(sandbox.read(DEEP_DIVE).contains("\nphase: \"complete\"\n"));
}

/// A list in Markdown begins with a dash; a flag in the place of a text does so too.
#[test]
fn a_text_may_begin_as_a_list_does() {
    let sandbox = Sandbox::new();
    sandbox.run("deep-dive init").ends(0);
    sandbox.run("flow init t").ends(0);
    let list = "- Do not use `any`\n- Log errors";
    let compile = ["deep-dive", "compile", "--antipatterns", list];
    sandbox.run(&compile).ends(0);
    assert!(sandbox.read(DEEP_DIVE).contains(list));
    sandbox
        .run(&["flow", "update", "--message", "--dry run done"])
        .ends(0);
    let log = sandbox.read(SINGLE);
    assert_has(&log, "- Result: --dry run done\n");
    for args in [
        &["flow", "update", "--message", "--complete"][..],
        &["deep-dive", "compile", "--overview", "--mark-complete"],
    ] {
        let said = sandbox.run(args).ends(2).said();
        assert_has(&said, "write the text before it");
    }
    assert_eq!(sandbox.read(SINGLE), log);
}

#[test]
fn a_second_active_run_is_told() {
    let sandbox = Sandbox::new();
    let both = "are now both active";
    assert!(!sandbox.run("flow init a").ends(0).said().contains(both));
    assert!(
        sandbox
            .run("flow init b --team")
            .ends(0)
            .said()
            .contains(both)
    );
    sandbox.run("flow update --team --complete").ends(0);
    assert!(
        !sandbox
            .run("flow init c --force")
            .ends(0)
            .said()
            .contains(both)
    );
}
