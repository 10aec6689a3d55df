//! Where a refusal sends the one who reads it.

use super::*;

/// A refused path, the rule, and the path to use instead.
const REDIRECTS: &str = "
    .devt/state/notes.md ad-hoc-name .devt/state/scratchpad.md
    .devt/state/review_auth.md ad-hoc-name .devt/state/review-auth.md
    .devt/state/impl-summry.json ad-hoc-name .devt/state/impl-summary.json
    .devt/state/Plan.md ad-hoc-name .devt/state/plan.md
    .devt/state/plan.txt ad-hoc-name .devt/state/plan.md
    .devt/state/reveiw.md ad-hoc-name .devt/state/review.md
    .devt/state/test_summary.json ad-hoc-name .devt/state/test-summary.json
    .devt/state/scratch.md ad-hoc-name .devt/state/scratchpad.md
    .devt/state/notes/plan.md undeclared-directory .devt/state/plan.md
    packages/web/.devt/state/spec.txt ad-hoc-name packages/web/.devt/state/spec.md
    .claude/Orchestration.local.md ad-hoc-name .claude/orchestration.local.md
    .claude/deep_dive.local.md ad-hoc-name .claude/deep-dive.local.md
    .claude/.docs/260110-a/research.md ad-hoc-name .claude/.docs/260110-a/research-report.md
";

#[test]
fn the_reason_is_a_redirect() {
    let sandbox = Sandbox::new();
    for row in REDIRECTS.lines().skip(1) {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let [path, code, instead] = columns[..] else {
            panic!("{row}");
        };
        let reason = reason(&sandbox, path, code);
        let parts = [
            format!("({code})"),
            format!("`{instead}`"),
            "OS temp directory".to_owned(),
            format!("`statewarden explain {path}`"),
        ];
        for part in parts {
            assert_has(&reason, &part);
        }
        assert!(reason.starts_with(&format!("`{path}`")), "{reason}");
    }
}

#[test]
fn every_suggested_name_is_itself_allowed() {
    let sandbox = Sandbox::new();
    for name in [
        "notes.md",
        "todo.txt",
        "review.txt",
        "impl.json",
        "summary.md",
        "x",
        "é",
        "REVIEW",
        "tests.json",
        "verify.md",
        "plan (1).md",
        "workflow.yml",
        "lock",
        "denies.jsonl",
        ".lock.md",
        "archive",
        "decisons.md",
        "a-b-c-d.json",
        "---",
        "0.md",
        "review lane api.md",
    ] {
        let reason = reason(&sandbox, &format!(".devt/state/{name}"), "ad-hoc-name");
        let (_, rest) = reason
            .split_once("Use `")
            .unwrap_or_else(|| panic!("no name in: {reason}"));
        let (instead, _) = rest.split_once('`').unwrap();
        let event = sandbox.event("Edit", json!({ "file_path": sandbox.path(instead) }));
        sandbox.expect(&event, "allow");
    }
}

/// The nearest name may be another's; the second nearest would be about something else.
#[test]
fn a_name_that_is_anothers_leads_to_the_place_for_notes() {
    let sandbox = Sandbox::new();
    let event = sandbox.by(
        "devt:programmer",
        sandbox.write_event(".devt/state/review_auth.md", "x\n"),
    );
    let reason = sandbox.denied(&event, "ad-hoc-name");
    for part in [
        "`review-auth.md` is for another to write",
        "Use `.devt/state/scratchpad.md` instead",
    ] {
        assert_has(&reason, part);
    }
    for (file, meant) in [
        (
            ".claude/my-orchestration.local.md",
            "orchestration.local.md",
        ),
        (".claude/.docs/260110-a/plan_report.md", "plan-report.md"),
        ("openspec/changes/x/review/1.txt", "review/1.md"),
    ] {
        let event = sandbox.by("qa", sandbox.write_event(file, "x"));
        let reason = sandbox.denied(&event, "ad-hoc-name");
        let way = format!("`{meant}` is for another to write; report what you have");
        assert_has(&reason, &way);
        assert!(!reason.contains("Use `"), "{reason}");
    }
}

#[test]
fn a_contract_of_few_names_says_them_all() {
    let sandbox = Sandbox::new();
    let reason = reason(&sandbox, ".claude/.docs/260110-a/todo.md", "ad-hoc-name");
    let names =
        "; you may write `state.json`, `research-report.md`, `plan-report.md`, `review-report.md`.";
    assert_has(&reason, names);
    for (agent, entry, names) in [
        (
            "reviewer",
            "review/notes.md",
            "; you may write `review/N.md`.",
        ),
        (
            "tester",
            "test-reports/2/all.md",
            "; you may write `test-reports/N.md`.",
        ),
        // Nothing in there is theirs to write.
        (
            "developer",
            "review/notes.md",
            "; others write `review/N.md`; report what you have in your final message instead.",
        ),
    ] {
        let event = sandbox.write_event(&format!("openspec/changes/x/{entry}"), "x");
        let ran = sandbox.hook(&sandbox.by(agent, event));
        let answer = ran.reason();
        assert_has(&answer, names);
    }
}

#[test]
fn a_temporary_name_is_not_offered_where_it_is_refused() {
    let sandbox = Sandbox::new();
    let system = "{site: docs, canonical: [index.md], ephemeral: ['*.tmp']}";
    let settings = format!("systems: {{notes: {system}}}\n");
    sandbox.write(".claude/statewarden.yaml", &settings);
    for (name, code, why) in [
        (
            "y",
            "ad-hoc-name",
            "the contract of notes knows no name `y`; you may write `index.md`",
        ),
        (
            "a/z",
            "undeclared-directory",
            "know a directory `a`; you may write `index.md`",
        ),
        ("x.tmp", "ephemeral-name", "`x.tmp` is a temporary name"),
        (
            "index.md.bak",
            "ad-hoc-name",
            "knows no name `index.md.bak`",
        ),
    ] {
        let reason = reason(&sandbox, &format!("docs/{name}"), code);
        assert_has(
            &reason,
            &format!("{why}. Scratch files belong in the OS temp"),
        );
    }
}

#[test]
fn each_further_denial_has_its_own_way_on() {
    let sandbox = Sandbox::new();
    let command = "echo a > .devt/state/impl-summry.json; echo b > .devt/state/review_auth.md";
    let reason = sandbox.denied(&sandbox.bash_event(command), "ad-hoc-name");
    let other = "Also refused: `.devt/state/review_auth.md` (ad-hoc-name, use `.devt/state/review-auth.md`).";
    assert_has(&reason, other);
}

/// What the commands do not archive, the reason does not send to them.
#[test]
fn a_bulk_removal_is_told_another_way() {
    let sandbox = Sandbox::new();
    for (command, way) in [
        ("git clean -fd", "`git clean -e PATTERN`"),
        ("rm -rf .devt/state", "`statewarden cleanup` or `reset`"),
        ("rm -rf .claude", "ask them"),
        (
            "rm -rf openspec/changes/x",
            "move a finished change into `archive/`",
        ),
        ("rm -rf .agentmux/.sessions/s", "for the user to remove"),
    ] {
        for file in [
            ".devt/state/plan.md",
            ".claude/statewarden/denies.jsonl",
            "openspec/changes/x/tasks.md",
            ".agentmux/.sessions/s/state.json",
        ] {
            sandbox.write(file, "x");
        }
        let reason = sandbox.denied(&sandbox.bash_event(command), "bulk-removal");
        assert!(reason.contains(way), "{command}: {reason}");
    }
}

#[test]
fn what_is_the_users_to_remove_is_not_to_be_removed_by_its_name() {
    let sandbox = Sandbox::new();
    for file in [
        "statewarden.yaml",
        "statewarden.local.yaml",
        "statewarden/x",
    ] {
        sandbox.write(&format!(".claude/{file}"), "mode: enforce\n");
    }
    for command in ["rm -f .claude/statewarden*.yaml", "rm -rf .claude/statew*"] {
        let reason = sandbox.denied(&sandbox.bash_event(command), "protected-file");
        assert_has(&reason, "for the user to remove");
        assert!(!reason.contains("by their names"), "{reason}");
    }
}

/// What is there may be another document than the refused one.
#[test]
fn a_suggested_file_that_is_there_is_only_edited() {
    let sandbox = Sandbox::new();
    let way = || reason(&sandbox, ".devt/state/Plan.md", "ad-hoc-name");
    assert_has(&way(), "Use `.devt/state/plan.md` instead. Scratch");
    sandbox.write(".devt/state/plan.md", "x");
    let exists = "Use `.devt/state/plan.md` instead; it exists, so edit it, and only if this is \
                  that document. Scratch";
    assert_has(&way(), exists);
}

#[test]
fn a_long_declared_contract_finds_its_name_or_lists_what_there_is() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (10..60).map(|n| format!("CHAPTER-{n}.md")).collect();
    let system = format!(
        "{{site: book, canonical: [ROADMAP.md, {}], owners: {{ROADMAP.md: lead}}}}",
        names.join(", ")
    );
    sandbox.write(
        ".claude/statewarden.yaml",
        &format!("systems: {{book: {system}}}\n"),
    );
    let told = |agent: &str, name: &str| {
        let event = sandbox.write_event(&format!("book/{name}"), "x\n");
        sandbox.denied(&sandbox.by_actor(agent, event), "ad-hoc-name")
    };
    assert_has(&told("lead", "roadmap.md"), "Use `book/ROADMAP.md` instead");
    assert_has(&told("lead", "RAODMAP.md"), "Use `book/ROADMAP.md` instead");
    assert_has(
        &told("lead", "chapter_12.md"),
        "Use `book/CHAPTER-12.md` instead",
    );
    let list = "; you may write `CHAPTER-10.md`, `CHAPTER-11.md`, ";
    assert_has(&told("scribe", "notes.md"), list);
    assert_has(&told("scribe", "notes.md"), " more. Scratch files");
    let anothers = "; `ROADMAP.md` is for another to write; report what you have";
    assert_has(&told("scribe", "roadmap.md"), anothers);
}
