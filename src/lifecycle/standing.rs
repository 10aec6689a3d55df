//! Which of the tests of a run decides: a failure stays until a test that passes makes up for it.

use crate::systems::gate_record::GateRecord;
use crate::systems::workflow::{Proof, TestResult};

/// What the tests of a run come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decisive<'r> {
    None,
    Passed(&'r GateRecord),
    Failed(&'r GateRecord),
}

/// Decides by the records of tests, oldest first.
pub fn decisive<'r>(records: impl Iterator<Item = &'r GateRecord>) -> Decisive<'r> {
    let mut failed: Vec<&GateRecord> = Vec::new();
    let mut passed = None;
    for record in records {
        match record.result {
            Some(TestResult::Passed) => {
                failed.retain(|failure| !makes_up_for(record, failure));
                passed = Some(record);
            }
            Some(TestResult::Failed) => failed.push(record),
            Some(TestResult::Unproved) | None => {}
        }
    }
    match (failed.last(), passed) {
        (Some(failure), _) => Decisive::Failed(failure),
        (None, Some(record)) => Decisive::Passed(record),
        (None, None) => Decisive::None,
    }
}

/// The same line, or the same runner with at least as many tests, in the same directory.
fn makes_up_for(passed: &GateRecord, failed: &GateRecord) -> bool {
    let (Some(passed_run), Some(failed_run)) = (Run::of(passed), Run::of(failed)) else {
        return false;
    };
    let is_whole = passed_run.tests >= failed_run.tests && passed.runner == failed.runner;
    passed_run.cwd == failed_run.cwd
        && (passed_run.is_same_line(&failed_run) || is_whole && passed.runner.is_some())
}

/// What of a run is compared.
struct Run<'r> {
    line: &'r str,
    /// `None` in the records of earlier versions.
    line_id: Option<&'r str>,
    cwd: &'r str,
    tests: u64,
}

impl<'r> Run<'r> {
    fn of(record: &'r GateRecord) -> Option<Self> {
        let Some(Proof::Command {
            line,
            cwd,
            passed,
            failed,
            ..
        }) = &record.command
        else {
            return None;
        };
        let tests = passed.unwrap_or(0).saturating_add(failed.unwrap_or(0));
        Some(Self {
            line,
            line_id: record.line_id.as_deref(),
            cwd,
            tests,
        })
    }

    /// The log keeps less of a line than there was: different ones may look alike in it.
    fn is_same_line(&self, other: &Self) -> bool {
        match (self.line_id, other.line_id) {
            (Some(one), Some(other)) => one == other,
            _ => self.line == other.line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: &str, cwd: &str, runner: &str, tests: u64, result: TestResult) -> GateRecord {
        let command = Proof::Command {
            line: line.to_owned(),
            cwd: cwd.to_owned(),
            status: None,
            passed: Some(tests),
            failed: None,
            at: String::new(),
        };
        GateRecord {
            command: Some(command),
            runner: Some(runner.to_owned()),
            result: Some(result),
            ..GateRecord::default()
        }
    }

    #[test]
    fn a_failure_stays_until_the_same_or_as_many_tests_pass() {
        use TestResult::{Failed, Passed, Unproved};
        let run = |line, cwd, tests, result| record(line, cwd, "libtest", tests, result);
        let failure = run("cargo test", ".", 5, Failed);
        for (then, is_proved) in [
            (run("cargo test", ".", 5, Passed), true),
            (run("cargo test", ".", 1, Passed), true),
            (run("cargo test --workspace", ".", 5, Passed), true),
            (run("cargo test --lib", ".", 4, Passed), false),
            (run("cargo test", "app", 5, Passed), false),
            (record("pytest", ".", "pytest", 9, Passed), false),
            (run("cargo test", ".", 5, Unproved), false),
        ] {
            let records = [run("cargo test", ".", 5, Passed), failure.clone(), then];
            let found = decisive(records.iter());
            assert_eq!(
                matches!(found, Decisive::Passed(_)),
                is_proved,
                "{records:?}"
            );
        }
        assert_eq!(decisive([].iter()), Decisive::None);
        let records = [run("cargo test", ".", 5, Passed), failure];
        assert!(matches!(decisive(records.iter()), Decisive::Failed(_)));
    }
}
