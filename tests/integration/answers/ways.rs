//! Where a refusal sends the one who reads it.

use super::*;

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
        // A data file that resembles no name is led nowhere.
        let Some((_, rest)) = reason.split_once("Use `") else {
            assert_has(&reason, "you may write `");
            continue;
        };
        let (instead, _) = rest.split_once('`').unwrap();
        let event = sandbox.event("Edit", json!({ "file_path": sandbox.path(instead) }));
        sandbox.expect(&event, "allow");
    }
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
