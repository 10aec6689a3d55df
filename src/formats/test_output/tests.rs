use super::*;
use proptest::prelude::*;

/// The outputs of a runner, each with what it is: `pass N`, `fail`, `none`, or `idle`, where
/// nothing ran and the output does not show it.
fn outputs(name: &str) -> Vec<(String, String)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/test-output");
    let file = name.replace(':', "-");
    let text = std::fs::read_to_string(format!("{dir}/{file}.txt")).expect(name);
    let parts = text.split("#### ").skip(1);
    let part = |part: &str| {
        let (head, text) = part.split_once('\n').expect("a head");
        (head.to_owned(), text.to_owned())
    };
    parts.map(part).collect()
}

#[track_caller]
fn check(head: &str, text: &str, runners: &[&'static Runner]) {
    let found = read(text, runners);
    let (kind, _) = head.split_once(':').expect(head);
    let at = format!(
        "{head}: {} passed, {} failed\n{text}",
        found.passed, found.failed
    );
    match kind.split_once(' ') {
        Some(("pass", number)) => {
            assert_eq!(
                (found.passed, found.failed),
                (number.parse::<u64>().expect(head), 0),
                "{at}"
            );
        }
        Some(("fail", number)) => {
            assert_eq!(found.failed, number.parse::<u64>().expect(head), "{at}")
        }
        _ if kind == "none" => assert_eq!((found.passed, found.failed), (0, 0), "{at}"),
        _ => assert!(kind == "idle" && found.has_passed(), "{at}"),
    }
}

/// Alone, and by a launcher, of which nobody knows what it starts.
#[test]
fn outputs_of_runners_say_what_ran() {
    let all: Vec<&Runner> = RUNNERS.iter().collect();
    for runner in &RUNNERS {
        let outputs = outputs(runner.name);
        for kind in ["pass", "fail", "none"] {
            let has = outputs.iter().any(|(head, _)| head.starts_with(kind));
            assert!(has, "{}: no output with {kind}", runner.name);
        }
        for (head, text) in &outputs {
            check(head, text, &[runner]);
            check(head, text, &all);
            let long = "running\n".repeat(2_000) + text;
            check(head, &long.replace('\n', "\r\n"), &[runner]);
        }
    }
}

#[test]
fn a_failure_counts_beside_what_passed() {
    let all: Vec<&Runner> = RUNNERS.iter().collect();
    let passed = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let failed = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let mixed = read(&format!("{passed}{failed}{passed}"), &all);
    assert_eq!((mixed.passed, mixed.failed), (7, 1));
    assert_eq!(read(&passed.repeat(2), &all).passed, 6);
    for runner in &RUNNERS {
        let text = format!("{}\nRan 2 tests in 1s\n{}", passed, runner.failing);
        let found = read(&text, &all);
        assert!(found.failed > 0, "{}", runner.name);
    }
}

#[test]
fn what_only_looks_like_a_closing_line_is_none() {
    for text in [
        "",
        "ok",
        "OK",
        "passed",
        "PASS",
        "done",
        "all tests passed",
        "5 passed",
        "ok 1",
        "exit 0",
        "Result: PASS",
        "tests ok (3)",
        "=== 3 files in 2s ===",
        "3 files changed, 1 insertion(+)",
        "0 passed in 0.1s",
        "BUILD SUCCESSFUL in 1s",
        "not ok 1 - x",
        "FAIL",
        "1 failing",
    ] {
        assert_eq!(
            read(text, &RUNNERS.iter().collect::<Vec<_>>()).passed,
            0,
            "{text}"
        );
    }
    for text in [
        "test result: ok. 1 passed; 0 failed",
        "5 passed in 0.1s",
        "Ran 3 tests in 0.1s",
        "Files=1, Tests=2",
        "ok  \tapp\t0.1s",
        "> Task :test",
        "1..3",
        "x\n2 passing (1ms)",
    ] {
        assert!(is_closing(text), "{text}");
    }
    for text in [
        "done",
        "exit: 0",
        "OK",
        "FAIL",
        "PASS",
        "--- tests ---",
        "all 5 tests passed",
    ] {
        assert!(!is_closing(text), "{text}");
    }
}

proptest! {
    /// Whatever a program prints, and however often.
    #[test]
    fn any_text_is_read(
        lines in prop::collection::vec(
            prop_oneof![
                any::<String>(),
                prop::sample::select(RUNNERS.iter().map(|runner| runner.failing.to_owned()).collect::<Vec<_>>()),
                "(ok|not ok|1\\.\\.|# pass|Tests:|Ran|Executed|Summary \\[|> Task :|\u{1b}\\[|\u{1b}\\() ?[0-9]{0,25}[ ,;|()a-z=:%]{0,12}",
            ],
            0..12,
        ),
    ) {
        let text = lines.join("\n");
        let all: Vec<&Runner> = RUNNERS.iter().collect();
        let once = read(&text, &all);
        let _ = is_closing(&text);
        // No line makes a failure unseen.
        let more = read(&format!("{text}\n{}", RUNNERS[0].failing), &all);
        prop_assert!(more.failed >= once.failed.max(1));
    }
}
