//! The closing lines of runners of compiled languages.

use super::Tally;
use super::lists::{counted, keyed, sum};
use super::points::is_number;

/// `test result: ok. 2 passed; 0 failed; 1 ignored; …`
pub(super) fn libtest(tally: &mut Tally, line: &str) -> bool {
    if says_cargo_failed(tally, line, "error: test failed") {
        return true;
    }
    let ok = line.strip_prefix("test result: ok. ");
    let Some(list) = ok.or_else(|| line.strip_prefix("test result: FAILED. ")) else {
        return false;
    };
    let items = counted(list, ';');
    let (passed, failed) = (sum(items.clone(), "passed"), sum(items, "failed"));
    if let (Some(passed), Some(failed)) = (passed, failed) {
        tally.count(passed, failed.max(u64::from(ok.is_none())));
    }
    true
}

/// Cargo's own word for a program that was not built, or did not come to its end.
fn says_cargo_failed(tally: &mut Tally, line: &str, of_run: &str) -> bool {
    let errors = [of_run, "error: could not compile "];
    let is_error = errors.iter().any(|error| line.starts_with(error)) || is_count_of_targets(line);
    if is_error {
        tally.fail_at_least(1);
    }
    is_error
}

/// `error: 2 targets failed:`
fn is_count_of_targets(line: &str) -> bool {
    let number = line
        .strip_prefix("error: ")
        .and_then(|line| line.split_once(' '));
    number.is_some_and(|(number, behind)| is_number(number) && behind.starts_with("target"))
}

/// `Summary [   0.008s] 3 tests run: 3 passed, 1 skipped`
pub(super) fn nextest(tally: &mut Tally, line: &str) -> bool {
    if says_cargo_failed(tally, line, "error: test run failed") {
        return true;
    }
    let summary = line.trim_start().strip_prefix("Summary [");
    let Some((ran, list)) = summary.and_then(|line| line.split_once(" run: ")) else {
        return false;
    };
    let items = counted(list, ',');
    let passed = sum(items.clone(), "passed").unwrap_or(0);
    tally.count(passed, sum(items, "failed timed exec").unwrap_or(0));
    // `1/3 tests run`
    if ran.contains('/') {
        tally.fail_at_least(1);
    }
    true
}

/// `ok PACKAGE 0.003s` with tabs, one for each package; `FAIL PACKAGE 0.003s`, and `FAIL` at the end.
/// With `-json` the same in an object a line.
pub(super) fn go(tally: &mut Tally, line: &str) -> bool {
    const OUTPUT: &str = "\"Output\":\"";
    if line.starts_with("{\"")
        && let Some(at) = line.find(OUTPUT)
    {
        let output = line[at + OUTPUT.len()..].trim_end_matches("\\n\"}");
        return go_line(tally, &output.replace("\\t", "\t"));
    }
    go_line(tally, line)
}

fn go_line(tally: &mut Tally, line: &str) -> bool {
    if line.starts_with("ok  \t") {
        tally.count(u64::from(!line.ends_with("[no tests to run]")), 0);
    } else if line.starts_with("FAIL\t") {
        tally.excused += 1;
        tally.fail_at_least(tally.excused);
    } else if line == "FAIL" || line.starts_with("--- FAIL: ") {
        tally.fail_at_least(1);
    } else {
        return false;
    }
    true
}

/// `[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0`: those of single classes have a
/// time as well.
pub(super) fn maven(tally: &mut Tally, text: &str) -> bool {
    let marks = ["[INFO] ", "[ERROR] ", "[WARNING] "];
    let line = marks
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
        .unwrap_or(text);
    if line.starts_with("BUILD FAILURE") {
        tally.fail_at_least(1);
        return true;
    }
    if !line.starts_with("Tests run: ") || !line.contains("Skipped: ") {
        return false;
    }
    if line.contains("Time elapsed") {
        return true;
    }
    let items = keyed(line, ':');
    let failed = sum(items.clone(), "Failures Errors").unwrap_or(0);
    let all = sum(items.clone(), "Tests").unwrap_or(0);
    tally.count_of(all, failed, sum(items, "Skipped").unwrap_or(0));
    true
}

/// `> Task :app:test`, also from its cache, and `BUILD SUCCESSFUL in 2s`.
pub(super) fn gradle(tally: &mut Tally, line: &str) -> bool {
    // The first word is from version 4.7 on.
    if let Some(task) = line
        .strip_prefix("> Task ")
        .or(Some(line))
        .filter(|task| task.starts_with(':'))
    {
        let (task, state) = task.split_once(' ').unwrap_or((task, ""));
        if is_test_task(task.rsplit(':').next().unwrap_or(task)) {
            match state.trim() {
                "" | "UP-TO-DATE" | "FROM-CACHE" => tally.announced += 1,
                "FAILED" => tally.count(0, 1),
                _ => {}
            }
        }
        return true;
    }
    if line.starts_with("BUILD SUCCESSFUL in ") {
        let announced = tally.take_announced();
        tally.count(announced, 0);
    } else if line.starts_with("BUILD FAILED in ") || line.contains("There were failing tests.") {
        tally.fail_at_least(1);
    } else {
        return false;
    }
    true
}

/// `test`, `testDebugUnitTest`, `integrationTest`, but not `compileTest` or `testClasses`.
fn is_test_task(task: &str) -> bool {
    const STEPS: [&str; 10] = [
        "assemble",
        "bundle",
        "clean",
        "compile",
        "generate",
        "merge",
        "package",
        "pre",
        "process",
        "transform",
    ];
    task == "test" || task.ends_with("Test") && !STEPS.iter().any(|step| task.starts_with(step))
}

/// `100% tests passed, 0 tests failed out of 2`
pub(super) fn ctest(tally: &mut Tally, line: &str) -> bool {
    let Some((passed, rest)) = line.split_once("% tests passed, ") else {
        return false;
    };
    let counts = rest.split_once(" tests failed out of ");
    let numbers = counts.map(|(failed, all)| (failed.parse(), all.trim().parse()));
    let Some((Ok(failed), Ok(all))) = numbers else {
        return false;
    };
    tally.count_of(all, failed, 0);
    if passed != "100" {
        tally.fail_at_least(1);
    }
    true
}

/// `Passed!  - Failed:     0, Passed:     3, …`, or `Test summary: total: 3, failed: 0, …`
pub(super) fn dotnet(tally: &mut Tally, line: &str) -> bool {
    let list = ["Passed!  - ", "Failed!  - ", "Test summary: "];
    let Some(list) = list.iter().find_map(|before| line.strip_prefix(before)) else {
        return false;
    };
    let items = keyed(list, ':');
    let passed = sum(items.clone(), "Passed succeeded").unwrap_or(0);
    tally.count(passed, sum(items, "Failed failed").unwrap_or(0));
    if line.starts_with("Failed!") {
        tally.fail_at_least(1);
    }
    true
}

/// `Executed 3 tests, with 0 failures …` below the line of all its tests, and of Swift Testing
/// `Test run with 3 tests passed after …`.
pub(super) fn swift(tally: &mut Tally, line: &str) -> bool {
    let bare = line.trim_start();
    if let Some(suite) = bare.strip_prefix("Test Suite '") {
        let is_whole = suite.starts_with("All tests' ") || suite.starts_with("Selected tests' ");
        tally.announced = u64::from(is_whole && !suite.contains("' started "));
    } else if let Some(list) = bare.strip_prefix("Executed ") {
        let (all, list) = list.split_once(" test").unwrap_or_default();
        let failures = list.split_once("with ").map_or("", |(_, list)| list);
        let failed = sum(counted(failures, '('), "failure failures").unwrap_or(0);
        let is_all = tally.take_announced();
        tally.count_of(all.parse().unwrap_or(0) * is_all, failed * is_all, 0);
    } else if let Some((_, rest)) = line.split_once("Test run with ")
        && let Some((number, rest)) = rest.split_once(' ')
    {
        if rest.contains(" passed after ") {
            tally.count(number.parse().unwrap_or(0), 0);
        } else if rest.contains(" failed after ") {
            tally.count(0, 1);
        }
    } else {
        return false;
    }
    true
}
