//! The closing lines of runners of languages with an interpreter.

use super::Tally;
use super::lists::{counted, keyed, sum};
use crate::base::text::is_in;

/// `==== 1 failed, 2 passed in 0.12s ====`, with `-q` without the rules.
pub(super) fn pytest(tally: &mut Tally, line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ']);
    let Some((list, time)) = bare.rsplit_once(" in ") else {
        return false;
    };
    let is_time = time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('s');
    let items = counted(list, ',');
    let is_list = items.clone().count() == list.split(',').count();
    let (passed, failed) = (
        sum(items.clone(), "passed"),
        sum(items, "failed error errors"),
    );
    if !is_time || !is_list || passed.or(failed).is_none() {
        return false;
    }
    tally.count(passed.unwrap_or(0), failed.unwrap_or(0));
    true
}

/// `Ran 3 tests in 0.001s`, and then `OK (skipped=1)` or `FAILED (failures=1)`.
pub(super) fn unittest(tally: &mut Tally, line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("Ran ")
        && let Some((number, rest)) = rest.split_once(" test")
        && rest.trim_start_matches('s').starts_with(" in ")
    {
        tally.announced = number.parse().unwrap_or(0);
        return true;
    }
    let (word, list) = line.split_once(" (").unwrap_or((line, ""));
    if !is_in("OK FAILED", word) || tally.announced == 0 {
        return false;
    }
    let items = keyed(list.trim_end_matches(')'), '=');
    let failed = sum(items.clone(), "failures errors unexpected").unwrap_or(0);
    let not_run = sum(items, "skipped expected").unwrap_or(0);
    let announced = tally.take_announced();
    tally.count_of(announced, failed, not_run);
    tally.fail_at_least(u64::from(word == "FAILED"));
    true
}

/// `Test Suites: 1 failed, 1 passed, 2 total`, and below `Tests:  2 passed, 2 total`: a file
/// that cannot be loaded fails in the first line alone.
pub(super) fn jest(tally: &mut Tally, line: &str) -> bool {
    let list = |before: &str| {
        let list = line.strip_prefix(before)?;
        list.ends_with(" total").then(|| counted(list, ','))
    };
    if let Some(items) = list("Test Suites:") {
        tally.fail_at_least(sum(items, "failed").unwrap_or(0));
        tally.announced = 1;
    } else if let Some(items) = list("Tests:") {
        let passed = sum(items.clone(), "passed").unwrap_or(0);
        tally.count(passed * tally.announced, 0);
        tally.fail_at_least(sum(items, "failed").unwrap_or(0));
        tally.announced = 0;
    } else {
        return false;
    }
    true
}

/// `Test Files  1 failed | 1 passed (2)`, and below `Tests  2 passed (2)`, `Errors  1 error`.
pub(super) fn vitest(tally: &mut Tally, line: &str) -> bool {
    let list = |before: &str| {
        let list = line.trim().strip_prefix(before)?;
        list.starts_with("  ").then(|| counted(list, '|'))
    };
    if let Some(items) = list("Test Files") {
        tally.fail_at_least(sum(items, "failed").unwrap_or(0));
        tally.announced = 1;
    } else if let Some(items) = list("Tests") {
        let passed = sum(items.clone(), "passed").unwrap_or(0);
        tally.count(passed * tally.announced, 0);
        tally.fail_at_least(sum(items, "failed").unwrap_or(0));
        tally.announced = 0;
    } else if let Some(items) = list("Errors") {
        tally.count(0, sum(items, "error errors").unwrap_or(0));
    } else {
        return false;
    }
    true
}

/// `2 passing (5ms)`, `1 failing`
pub(super) fn mocha(tally: &mut Tally, line: &str) -> bool {
    match line
        .trim()
        .split_once(' ')
        .map(|(number, rest)| (number.parse(), rest))
    {
        Some((Ok(passed), rest)) if rest.starts_with("passing (") => tally.count(passed, 0),
        Some((Ok(failed), "failing")) => tally.count(0, failed),
        _ => return false,
    }
    true
}

/// `# pass 2` and `# fail 0`, or `ℹ pass 2`. A file that registers no test is a test of its
/// own path, so that the tests above the summary are needed too.
pub(super) fn node(tally: &mut Tally, line: &str) -> bool {
    let point = line
        .strip_prefix("ok ")
        .and_then(|rest| Some(rest.split_once(" - ")?.1));
    let mark = line
        .strip_prefix("✔ ")
        .and_then(|rest| Some(rest.rsplit_once(" (")?.0));
    if let Some(name) = point.or(mark).map(str::trim_end) {
        let is_file = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]
            .iter()
            .any(|end| name.ends_with(end));
        if is_file && name.contains(['/', '\\']) {
            tally.excused += 1;
        } else if !name.contains(" # ") {
            tally.announced += 1;
        }
        // Others write such points, too.
        return false;
    }
    let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else {
        return false;
    };
    match rest
        .split_once(' ')
        .map(|(word, number)| (word, number.parse::<u64>()))
    {
        Some(("pass", Ok(passed))) => {
            let is_known = tally.announced.min(1);
            tally.count(passed.saturating_sub(tally.excused) * is_known, 0);
            (tally.announced, tally.excused) = (0, 0);
        }
        Some(("fail" | "cancelled", Ok(failed))) => tally.count(0, failed),
        _ => return false,
    }
    true
}

/// `3 examples, 1 failure, 1 pending, 1 error occurred outside of examples`
pub(super) fn rspec(tally: &mut Tally, line: &str) -> bool {
    let items = counted(line, ',');
    let all = sum(items.clone().take(1), "example examples");
    let failures = sum(items.clone(), "failure failures");
    let (Some(all), Some(failures)) = (all, failures) else {
        return false;
    };
    tally.count_of(all, failures, sum(items.clone(), "pending").unwrap_or(0));
    tally.count(0, sum(items, "error errors").unwrap_or(0));
    true
}

/// `2 runs, 2 assertions, 0 failures, 0 errors, 0 skips`; test-unit's begins with `2 tests` and
/// ends with what it did not run.
pub(super) fn minitest(tally: &mut Tally, line: &str) -> bool {
    let items = counted(line, ',');
    let all = sum(items.clone().take(1), "runs tests");
    let (Some(all), Some(_)) = (all, sum(items.clone(), "assertions")) else {
        return false;
    };
    let failed = sum(items.clone(), "failures errors").unwrap_or(0);
    let not_run = sum(items, "skips pendings omissions").unwrap_or(0);
    tally.count_of(all, failed, not_run);
    true
}

/// `OK (2 tests, 2 assertions)`, or `Tests: 3, Assertions: 2, Failures: 1, Skipped: 1.`
pub(super) fn phpunit(tally: &mut Tally, line: &str) -> bool {
    if let Some(list) = line.strip_prefix("OK (")
        && list.trim_end().ends_with("assertions)") | list.trim_end().ends_with("assertion)")
    {
        tally.count(sum(counted(list, ','), "test tests").unwrap_or(0), 0);
    } else if line.starts_with("Tests: ") && line.contains(", Assertions: ") {
        let items = keyed(line, ':');
        let all = sum(items.clone(), "Tests").unwrap_or(0);
        let failed = sum(items.clone(), "Failures Errors").unwrap_or(0);
        let not_run = sum(items, "Skipped Incomplete").unwrap_or(0);
        tally.count(all.saturating_sub(failed.saturating_add(not_run)), 0);
        tally.fail_at_least(failed);
    } else if matches!(line.trim_end(), "FAILURES!" | "ERRORS!") {
        tally.fail_at_least(1);
    } else {
        return false;
    }
    true
}

/// `ok | 2 passed | 0 failed (35ms)`
pub(super) fn deno(tally: &mut Tally, line: &str) -> bool {
    let ok = line.strip_prefix("ok | ");
    let Some(list) = ok.or_else(|| line.strip_prefix("FAILED | ")) else {
        return false;
    };
    let items = counted(list, '|');
    let failed = sum(items.clone(), "failed").unwrap_or(0);
    let passed = sum(items, "passed").unwrap_or(0);
    tally.count(passed, failed.max(u64::from(ok.is_none())));
    true
}

/// ` 2 pass`, ` 0 fail`, and then `Ran 2 tests across 1 file. [34.00ms]`.
pub(super) fn bun(tally: &mut Tally, line: &str) -> bool {
    if line.starts_with("Ran ") && line.contains(" across ") {
        let announced = tally.take_announced();
        tally.count(announced, 0);
        return true;
    }
    match line
        .trim()
        .split_once(' ')
        .map(|(number, word)| (number.parse(), word))
    {
        Some((Ok(passed), "pass")) => tally.announced = passed,
        Some((Ok(failed), "fail")) => tally.count(0, failed),
        _ => return false,
    }
    true
}

/// `  2 passed (7.2s)`, and above it `  1 failed`.
pub(super) fn playwright(tally: &mut Tally, line: &str) -> bool {
    let counted = line
        .trim()
        .split_once(' ')
        .map(|(number, rest)| (number.parse(), rest));
    let Some((Ok(number), rest)) = counted else {
        return false;
    };
    let is_failure = is_in("failed interrupted", rest)
        || rest == "did not run"
        || rest.starts_with("error") && rest.contains("not a part of any test");
    if is_failure {
        tally.count(0, number);
    } else if rest.starts_with("passed (") && rest.ends_with(')') {
        tally.count(number, 0);
    } else {
        return false;
    }
    true
}

/// `2 doctests, 3 tests, 1 failure, 1 skipped`
pub(super) fn exunit(tally: &mut Tally, line: &str) -> bool {
    let items = counted(line, ',');
    let all = sum(
        items.clone(),
        "test tests doctest doctests property properties",
    );
    let failures = sum(items.clone(), "failure failures");
    let is_list = items.clone().count() == line.split(',').count();
    let (Some(all), Some(failed), true) = (all, failures, is_list) else {
        return false;
    };
    let not_run = sum(items.clone(), "skipped excluded invalid").unwrap_or(0);
    tally.count_of(all, failed, not_run);
    tally.count(0, sum(items, "invalid").unwrap_or(0));
    true
}
