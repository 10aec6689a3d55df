//! The Test Anything Protocol, and the runners that sum it up or print it.

use super::Tally;
use super::lists::{keyed, sum};
use super::scripted::exunit;

/// `Files=1, Tests=2,  0 wallclock secs …`, and then `Result: PASS`.
pub(super) fn prove(tally: &mut Tally, line: &str) -> bool {
    if line.starts_with("Files=") {
        tally.announced = sum(keyed(line, '='), "Tests").unwrap_or(0);
    } else if line == "Result: PASS" {
        let announced = tally.take_announced();
        tally.count(announced, 0);
    } else if line == "Result: FAIL" {
        tally.fail_at_least(1);
    } else {
        return false;
    }
    true
}

/// TAP, and at a terminal `3 tests, 0 failures, 1 skipped`.
pub(super) fn bats(tally: &mut Tally, line: &str) -> bool {
    let list = line.split_once(", in ").map_or(line, |(list, _)| list);
    tap(tally, line) || exunit(tally, list)
}

/// The plan `1..3`, and a line for each test: `ok 1 - adds`, `not ok 2 - subs # TODO later`
/// (testanything.org, version 14). Without a plan they do not count.
pub(super) fn tap(tally: &mut Tally, text: &str) -> bool {
    let line = text.trim_end();
    if let Some(plan) = line.strip_prefix("1..") {
        let number = plan.split(' ').next().unwrap_or(plan);
        tally.planned = tally.planned.saturating_add(number.parse().unwrap_or(0));
        // What came before its plan.
        let announced = tally.take_announced();
        tally.count(announced, 0);
        return is_number(number);
    }
    if line.starts_with("Bail out!") {
        tally.fail_at_least(1);
        return true;
    }
    let (is_ok, rest) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return false,
    };
    let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
    if !is_number(number) {
        return false;
    }
    let directive = name
        .rsplit_once('#')
        .map_or("", |(_, directive)| directive)
        .trim_start();
    let is = |word: &str| {
        directive
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    if is("skip") || is("todo") {
        tally.excused += 1;
    } else if !is_ok {
        tally.count(0, 1);
    } else if tally.planned > 0 {
        tally.count(1, 0);
    } else {
        tally.announced += 1;
    }
    true
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
