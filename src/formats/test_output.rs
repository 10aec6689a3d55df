//! What test runners print: how many tests passed and failed, by their closing lines. Pure,
//! and linear in the text.

mod compiled;
mod lists;
mod points;
mod scripted;

use std::borrow::Cow;

use crate::base::text::is_in;

/// A test runner, and how its output is read.
#[derive(Debug)]
pub struct Runner {
    pub name: &'static str,
    /// Reads one line, without its colors; says whether the line is the runner's own.
    read: fn(&mut Tally, &str) -> bool,
    /// How it says that a test failed: a filter of lines has to let this through.
    pub failing: &'static str,
    pub last_lines: LastLines,
    /// Options with which it reports tests as passed that it did not run.
    pub idle: &'static str,
}

/// Whether the last lines of an output that has failures say so, when its passed tests are
/// among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLines {
    TellFailures,
    MayHideFailures,
}

use LastLines::{MayHideFailures, TellFailures};

const fn row(
    name: &'static str,
    read: fn(&mut Tally, &str) -> bool,
    failing: &'static str,
    last_lines: LastLines,
    idle: &'static str,
) -> Runner {
    Runner {
        name,
        read,
        failing,
        last_lines,
        idle,
    }
}

/// The runners. The first one whose own a line is takes it. Read from real
/// outputs (`tests/fixtures/test-output/`), but for those that are documented there.
#[rustfmt::skip]
pub static RUNNERS: [Runner; 24] = [
    row("libtest", compiled::libtest, "test result: FAILED. 1 passed; 1 failed; 0 ignored", TellFailures, "--config"),
    row("nextest", compiled::nextest, "Summary [ 0.1s] 2 tests run: 1 passed, 1 failed, 0 skipped", TellFailures, "--config"),
    row("pytest", scripted::pytest, "1 failed, 1 passed in 0.1s", TellFailures, ""),
    row("unittest", scripted::unittest, "FAILED (failures=1)", TellFailures, ""),
    row("jest", scripted::jest, "Tests:       1 failed, 1 passed, 2 total", TellFailures, ""),
    row("vitest", scripted::vitest, "Tests  1 failed | 1 passed (2)", TellFailures, "list --merge-reports --mergeReports"),
    row("mocha", scripted::mocha, "1 failing", TellFailures, "--dry-run"),
    row("node:test", scripted::node, "# fail 1", TellFailures, ""),
    row("go", compiled::go, "FAIL\tapp\t0.1s", TellFailures, "-exec -toolexec -list -c -n"),
    row("maven", compiled::maven, "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0", MayHideFailures, ""),
    row("gradle", compiled::gradle, "BUILD FAILED in 1s", MayHideFailures, "-m --dry-run --test-dry-run"),
    row("ctest", compiled::ctest, "50% tests passed, 1 tests failed out of 2", TellFailures, ""),
    row("rspec", scripted::rspec, "2 examples, 1 failure", TellFailures, "--dry-run"),
    row("minitest", scripted::minitest, "2 runs, 2 assertions, 1 failures, 0 errors, 0 skips", TellFailures, ""),
    row("phpunit", scripted::phpunit, "FAILURES!", TellFailures, ""),
    row("dotnet", compiled::dotnet, "Failed!  - Failed:     1, Passed:     1, Skipped:     0, Total:     2", MayHideFailures, ""),
    row("prove", points::prove, "Result: FAIL", TellFailures, ""),
    row("deno", scripted::deno, "FAILED | 1 passed | 1 failed (1ms)", TellFailures, ""),
    row("bun", scripted::bun, " 1 fail", TellFailures, ""),
    row("playwright", scripted::playwright, "  1 failed", MayHideFailures, "--list"),
    row("swift", compiled::swift, "✘ Test run with 2 tests failed after 0.1 seconds with 1 issue.", MayHideFailures, ""),
    row("ExUnit", scripted::exunit, "2 tests, 1 failure", MayHideFailures, "--dry-run"),
    row("bats", points::bats, "not ok 1 adds", MayHideFailures, ""),
    row("TAP", points::tap, "not ok 1 - adds", MayHideFailures, ""),
];

/// The runner with a name of the table.
pub fn named(name: &str) -> Option<&'static Runner> {
    RUNNERS.iter().find(|runner| runner.name == name)
}

/// What one runner's lines say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Lines of the runner's own.
    lines: u64,
    passed: u64,
    failed: u64,
    /// Tests of a line, such as `Ran 3 tests`, whose outcome is in a later one.
    announced: u64,
    /// Tests that a plan promised.
    planned: u64,
    /// Lines that look like tests and are none: skipped ones, files.
    excused: u64,
}

impl Tally {
    /// What an earlier line announced.
    fn take_announced(&mut self) -> u64 {
        std::mem::take(&mut self.announced)
    }

    fn count(&mut self, passed: u64, failed: u64) {
        self.passed = self.passed.saturating_add(passed);
        self.failed = self.failed.saturating_add(failed);
    }

    /// Of failures that other lines may count, too.
    fn fail_at_least(&mut self, failed: u64) {
        self.failed = self.failed.max(failed);
    }

    /// Counts of which the failures and what did not run are taken from the whole.
    fn count_of(&mut self, all: u64, failed: u64, not_run: u64) {
        self.count(all.saturating_sub(failed.saturating_add(not_run)), failed);
    }

    /// Whether a line like those that were read can make tests pass.
    fn may_pass(&self) -> bool {
        self.passed > 0 || self.announced > 0 || self.planned > 0
    }

    /// Whether a test was planned that has no outcome.
    fn is_cut_short(&self) -> bool {
        let settled = self.passed.saturating_add(self.failed);
        self.planned > settled.saturating_add(self.excused)
    }
}

/// What an output says of its tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
    /// The first runner that said so.
    pub runner: Option<&'static Runner>,
}

impl TestCounts {
    pub fn has_passed(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }
}

/// Reads the closing lines of some runners. Any failure counts, and all that passed.
pub fn read(text: &str, runners: &[&'static Runner]) -> TestCounts {
    let mut tallies = vec![Tally::default(); runners.len()];
    for line in plain(text).split(['\n', '\r']) {
        for (runner, tally) in runners.iter().zip(&mut tallies) {
            if (runner.read)(tally, line) {
                tally.lines += 1;
                break;
            }
        }
    }
    let mut outcome = TestCounts::default();
    let mut is_summed = false;
    for (runner, mut tally) in runners.iter().zip(tallies) {
        // These sum up what they print as points.
        is_summed |= tally.lines > 0 && is_in("node:test prove", runner.name);
        if is_in("TAP bats", runner.name) && is_summed {
            continue;
        }
        if tally.is_cut_short() {
            tally.fail_at_least(1);
        }
        if tally.passed > 0 || tally.failed > 0 {
            outcome.passed = outcome.passed.saturating_add(tally.passed);
            outcome.failed = outcome.failed.saturating_add(tally.failed);
            outcome.runner.get_or_insert(runner);
        }
    }
    outcome
}

/// Whether a text holds a line by which some runner's tests pass.
pub fn is_closing(text: &str) -> bool {
    plain(text).split(['\n', '\r']).any(|line| {
        RUNNERS.iter().any(|runner| {
            let mut tally = Tally::default();
            (runner.read)(&mut tally, line);
            tally.may_pass()
        })
    })
}

/// A text without what moves and colors the cursor of a terminal (ECMA-48). A sequence ends
/// with its line.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    parts.for_each(|part| plain.push_str(behind_sequence(part)));
    Cow::Owned(plain)
}

/// What comes after the sequence with which a text begins, its escape left out.
fn behind_sequence(text: &str) -> &str {
    let bytes = text.as_bytes();
    let found = match bytes.first() {
        Some(b']') => bytes.iter().position(|byte| matches!(byte, b'\n' | 0x07)),
        Some(b'[') => {
            let parameters = bytes[1..]
                .iter()
                .take_while(|byte| matches!(byte, b' '..=b'?'));
            Some(1 + parameters.count())
        }
        // Such as `(B`, which chooses a set of characters.
        _ => Some(
            bytes
                .iter()
                .take_while(|byte| matches!(byte, b' '..=b'/'))
                .count(),
        ),
    };
    let end = found.unwrap_or(0);
    match bytes.get(end) {
        Some(b'0'..=b'~' | 0x07) => &text[end + 1..],
        _ => &text[end..],
    }
}

#[cfg(test)]
mod tests;
