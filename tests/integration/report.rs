//! `denies report`: the page, what it says and how it is written.

mod browser;

use std::fs;

use serde_json::{Value, json};

use crate::recorder::call;
use crate::records::{denial, lines, many, with};
use crate::support::{DEVT, EVENTS, Sandbox, assert_has};

/// What the page's script gets.
fn data(page: &str) -> Value {
    let begin = page.find("id=\"data\">").unwrap() + 10;
    let end = begin + page[begin..].find("</script>").unwrap();
    serde_json::from_str(&page[begin..end]).unwrap()
}

fn report(sandbox: &Sandbox, args: &[&str]) -> (Value, String) {
    let ran = sandbox
        .run(&[&["denies", "report", "--html", "r.html", "--json"], args].concat())
        .ends(0);
    (ran.json(), sandbox.read("r.html"))
}

/// Seven denials: three of one file and one agent, the last of which recovered;
/// one whose suggested file changed soon after; one with another's recovery;
/// one long ago; and one of a file that the contract knows.
fn seven(sandbox: &Sandbox) {
    let ago = |minutes: i64| {
        let time = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
        time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
    };
    let of = |id: &str, minutes: i64, name: &str, keys: Value| {
        with(denial(sandbox, id, &ago(minutes), name), keys)
    };
    sandbox.write(".devt/state/impl-summary.json", "{}");
    sandbox.write(
        DEVT,
        &lines(&[
            of(
                "a1",
                5000,
                "impl-summry.json",
                json!({"session_id": "s-9", "suggestion": "impl-summary.json"}),
            ),
            of("a2", 30, "notes.md", json!({})),
            of("a3", 29, "notes.md", json!({})),
            of("a4", 28, "notes.md", json!({})),
            of(
                "a5",
                20,
                "impl-summry.json",
                json!({"suggestion": "impl-summary.json"}),
            ),
            of(
                "a6",
                10,
                "todo.txt",
                json!({"agent_type": "devt:code_reviewer"}),
            ),
            of(
                "a7",
                9,
                "review.json",
                json!({"agent_type": "tester", "rule": "wrong-writer", "suggestion": null}),
            ),
        ])
        .replace("\"suggestion\":null,", ""),
    );
    let recovery = |id: &str, resolves: &str| json!({"v": 1, "id": id, "ts": ago(1), "source": "statewarden", "decision": "recovered", "resolves": resolves});
    let heartbeat =
        json!({"v": 1, "id": "h", "ts": ago(60), "source": "statewarden", "decision": "heartbeat"});
    sandbox.write(
        EVENTS,
        &lines(&[heartbeat, recovery("e1", "a4"), recovery("e2", "b1")]),
    );
}

#[test]
fn the_funnel_tells_recorded_from_inferred() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (written, page) = report(&sandbox, &[]);
    let keys = [
        "denies",
        "shown",
        "recovered",
        "recovered_inferred",
        "refused_again",
        "open",
    ];
    assert_eq!(
        keys.map(|key| written[key].as_u64().unwrap()),
        [7, 7, 1, 1, 2, 3]
    );
    let page = data(&page);
    let outcomes = |name: &str| -> Vec<String> {
        let records = page["records"].as_array().unwrap().iter();
        let of_name = records.filter(|record| record["name"] == name);
        of_name
            .map(|record| record["outcome"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        outcomes("impl-summry.json"),
        ["open", "inferred"],
        "the first one's file changed days later"
    );
    assert_eq!(outcomes("notes.md"), ["again", "again", "recovered"]);
    assert_eq!(outcomes("todo.txt"), ["open"]);
    assert_eq!(page["denied"], 7);
}

#[test]
fn a_record_leads_to_its_row_of_the_contract() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let page = data(&report(&sandbox, &[]).1);
    let row = |name: &str| {
        let records = page["records"].as_array().unwrap();
        let record = records.iter().find(|record| record["name"] == name);
        let at = record.unwrap()["contract"].as_u64().unwrap();
        page["contract"][usize::try_from(at).unwrap()].clone()
    };
    assert_eq!(
        row("review.json")["writer"],
        "code-reviewer; no other agent of the contract"
    );
    assert_eq!(
        row("notes.md")["title"],
        "scratchpad.md",
        "the name to use instead"
    );
    assert_eq!(row("notes.md"), row("todo.txt"));
}

/// Whatever is recorded is on the page, and gates as they stand in their log.
#[test]
fn every_decision_is_on_the_page() {
    let sandbox = Sandbox::new();
    let of = |id: &str, decision: &str| {
        let record = denial(&sandbox, id, "2026-03-02T10:00:00.000Z", "notes.md");
        with(record, json!({"decision": decision}))
    };
    sandbox.write(DEVT, &lines(&[of("a1", "deny")]));
    let others = ["warn", "detected", "undone", "fault"];
    let others = others.map(|decision| of(decision, decision));
    sandbox.write(EVENTS, &lines(&others));
    let gate = json!({"id": "g1", "ts": "2026-03-02T11:00:00.000Z", "system": "agent-flow", "gate": "planning", "to": "passed", "proof": [{"kind": "verdict"}]});
    sandbox.write(
        ".claude/statewarden/gates.jsonl",
        &lines(std::slice::from_ref(&gate)),
    );
    let (written, page) = report(&sandbox, &[]);
    let page = data(&page);
    let decisions = |page: &Value| -> Vec<String> {
        let records = page["records"].as_array().unwrap().iter();
        let mut found: Vec<String> = records
            .map(|record| record["decision"].as_str().unwrap().to_owned())
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(
        decisions(&page),
        ["deny", "detected", "fault", "undone", "warn"]
    );
    assert_eq!((&page["total"], &page["denied"]), (&json!(5), &json!(1)));
    assert_eq!(page["gates"], json!([gate]));
    assert_eq!(
        (&written["denies"], &written["shown"]),
        (&json!(1), &json!(5))
    );
    let only = data(&report(&sandbox, &["--decision", "warn", "--system", "devt"]).1);
    assert_eq!(decisions(&only), ["warn"]);
    assert_eq!(only["gates"], json!([]), "of another system");
}

/// What a call did to a file is shown as far as its contents are kept.
#[test]
fn a_change_that_was_undone_is_shown_line_by_line() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "one\n<b>two</b>\nthree\n");
    call(&sandbox, "main", "make", || ());
    call(&sandbox, "tester", "make", || {
        sandbox.write(".devt/state/plan.md", "one\n\t<i>2</i>\nthree\n");
        sandbox.write(".devt/state/notes.md", &"line\n".repeat(50));
    });
    let (_, page) = report(&sandbox, &[]);
    assert!(!page.contains("<b>"));
    let records = data(&page)["records"].clone();
    let diff = |name: &str| {
        let mut records = records.as_array().unwrap().iter();
        let record = records.find(|record| record["name"] == name).unwrap();
        record["diff"].as_str().unwrap().to_owned()
    };
    assert_eq!(diff("notes.md").lines().count(), 41);
    assert!(diff("notes.md").ends_with("+ line\n… and 10 more lines"));
    assert_eq!(
        diff("plan.md"),
        "  one\n- <b>two</b>\n+     <i>2</i>\n  three"
    );
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    for word in [
        "http:",
        "https:",
        "src=",
        "url(",
        "@import",
        "<link",
        "{{",
        "'STYLE'",
        "'SCRIPT'",
        "unsafe",
        "innerHTML",
    ] {
        assert!(!page.contains(word), "`{word}`");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
}

#[test]
fn many_records_are_counted_and_the_newest_listed() {
    let sandbox = Sandbox::new();
    sandbox.write(DEVT, &lines(&many(&sandbox, 12_000)));
    let (written, page) = report(&sandbox, &[]);
    assert_eq!(
        (&written["denies"], &written["shown"]),
        (&json!(12_000), &json!(10_000))
    );
    assert_eq!(data(&page)["total"], 12_000);
    let (written, page) = report(&sandbox, &["--limit", "5", "--agent", "tester"]);
    assert_eq!(written["shown"], 5);
    assert_eq!(data(&page)["records"].as_array().unwrap().len(), 5);
    assert_eq!(data(&page)["filter"], "agent tester");
}

#[test]
fn the_old_page_stays_until_the_new_one_is_whole() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    sandbox.write("r.html", "old");
    let (_, page) = report(&sandbox, &[]);
    assert!(page.ends_with("</html>\n"));
    let left: Vec<_> = fs::read_dir(sandbox.project()).unwrap().flatten().collect();
    assert!(
        left.iter()
            .all(|entry| !entry.file_name().to_string_lossy().ends_with(".tmp"))
    );
    let ran = sandbox.run("denies report --html nowhere/r.html");
    assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""));
    assert_has(&ran.stderr(), "nowhere/r.html");
}

#[cfg(unix)]
#[test]
fn a_page_takes_the_place_of_nothing_but_a_file() {
    let sandbox = Sandbox::new();
    let page = sandbox.project().join("page.html");
    std::os::unix::fs::symlink(sandbox.home().join("page.html"), &page).unwrap();
    fs::write(sandbox.home().join("page.html"), "old").unwrap();
    sandbox.run("denies report --html page.html").ends(0);
    assert!(page.is_symlink(), "a link is written through");
    assert!(sandbox.read("page.html").ends_with("</html>\n"));
    crate::support::make_pipe(sandbox.path("pipe"));
    for (file, why) in [("pipe", "is no regular file"), (".", "is a directory")] {
        let ran = sandbox.run(&["denies", "report", "--html", file]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""), "{file}");
        assert_has(&ran.stderr(), why);
    }
}

#[test]
fn nothing_refused_is_not_the_same_as_never_ran() {
    let sandbox = Sandbox::new();
    let (_, page) = report(&sandbox, &[]);
    assert_eq!(data(&page)["last_ran"], Value::Null);
    let heartbeat = json!({"v": 1, "id": "h", "ts": "2026-03-01T00:00:00.000Z", "source": "statewarden", "decision": "heartbeat"});
    sandbox.write(EVENTS, &lines(&[heartbeat]));
    let (_, page) = report(&sandbox, &[]);
    assert_eq!(data(&page)["last_ran"], "2026-03-01T00:00:00.000Z");
    // Where its session's start was not heard, what it denied shows that it ran.
    let denied = denial(&sandbox, "a", "2026-03-02T00:00:00.000Z", "notes.md");
    sandbox.write(DEVT, &lines(&[denied]));
    let (_, page) = report(&sandbox, &[]);
    assert_eq!(data(&page)["last_ran"], "2026-03-02T00:00:00.000Z");
}

const ATTACKS: [&str; 5] = [
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "</td></tr></table><svg onload=\"document.title='owned'\">",
    "' onmouseover='document.title=\"owned\"' x='",
    "{{records}}\u{202e}\u{1b}[31m&lt;",
];

/// Every text that an agent can choose holds an attack.
fn attacked(sandbox: &Sandbox) {
    let records: Vec<Value> = ATTACKS
        .iter()
        .enumerate()
        .map(|(at, attack)| {
            let keys = json!({
                "name": attack, "reason": attack, "agent_type": attack, "session_id": attack,
                "suggestion": attack, "tool": attack, "rule": attack, "system": attack,
            });
            with(
                denial(
                    sandbox,
                    &format!("a{at}"),
                    &format!("2026-03-0{}T10:00:00.000Z", at + 1),
                    "x",
                ),
                keys,
            )
        })
        .collect();
    sandbox.write(DEVT, &lines(&records));
}

#[test]
fn names_and_reasons_are_no_markup() {
    let sandbox = Sandbox::new();
    attacked(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    for part in ["<img", "<svg", "</td", "\u{1b}"] {
        assert!(!page.contains(part), "`{part}`");
    }
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    let data = data(&page);
    for (at, attack) in ATTACKS.iter().enumerate() {
        let name = data["records"][at]["name"].as_str().unwrap();
        assert_eq!(name.get(..4), attack.get(..4), "shown as it is");
    }
}
