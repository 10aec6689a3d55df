//! Which command lines are tests whose output can be believed: a closed grammar of what may be
//! around a test runner.
//!
//! Nothing is believed that is not read: a word outside the grammar may have printed what the
//! runner did not, and is named.

mod declared;
mod exit;
mod lists;
mod streams;
mod words;

use std::collections::HashMap;

pub use self::declared::is_declared;
use super::parse;
use super::test_tools as tools;
use crate::formats::test_output::{LastLines, Runner, TestCounts};

/// A line that starts tests.
#[derive(Clone, Debug, Default)]
pub struct TestLine {
    /// The programs that test, or launch tests, as they are written.
    pub programs: Vec<String>,
    /// The rows of the table of outputs that its tests may print.
    pub runners: Vec<&'static Runner>,
    /// Whether its words say that it tests, and not only what it prints.
    pub intent: Intent,
    /// The directories that it changes to, and words that may be paths: each of those that are
    /// there has to be in the project.
    pub dirs: Vec<String>,
    pub paths: Vec<String>,
    /// Why what it prints proves nothing: the word that may have printed it.
    pub doubt: Option<String>,
    status: Failure,
    errors: Errors,
    filters: Vec<Filter>,
}

/// What a line is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intent {
    Test,
    /// A task that may be anything.
    #[default]
    Task,
}

/// Whether a test that fails makes the line fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    /// There is no test.
    #[default]
    None,
    /// The shell ends with a failure.
    Ends,
    /// The command that it is in fails.
    Fails,
    Lost,
}

impl Failure {
    /// What that of a shell is for the shell that it is in.
    fn outside(self) -> Self {
        if self == Self::Ends {
            Self::Fails
        } else {
            self
        }
    }
}

/// Where what a test writes to its second stream is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Errors {
    #[default]
    Seen,
    Dropped,
}

/// What is between a test and what is seen of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Filter {
    /// The last lines.
    Tail,
    /// The lines that hold one of these.
    Lines(Vec<String>),
    Other(String),
}

impl TestLine {
    /// Why an output does not show that all tests passed, although it says so.
    pub fn hides_failures(&self, outcome: &TestCounts) -> Option<String> {
        if self.status < Failure::Lost {
            return None;
        }
        if self.errors == Errors::Dropped {
            return Some("`2>` hides what a runner says of a crash".to_owned());
        }
        let runner = outcome.runner?;
        let hides = |filter: &&Filter| match filter {
            Filter::Tail => runner.last_lines == LastLines::MayHideFailures,
            Filter::Lines(texts) => !texts
                .iter()
                .any(|text| runner.failing.contains(text.as_str())),
            Filter::Other(_) => true,
        };
        let filter = self.filters.iter().find(hides)?;
        Some(match filter {
            Filter::Tail => format!("`tail` may hide failures of {}", runner.name),
            Filter::Lines(_) => format!("`grep` hides the failures of {}", runner.name),
            Filter::Other(word) => format!("`{word}` may hide failures"),
        })
    }

    /// Whether the line ends with a failure where a test in it fails.
    pub fn fails_with_its_tests(&self) -> bool {
        self.status < Failure::Lost
    }
}

/// Reads a line; `None` where it starts no test.
pub fn read(line: &str) -> Option<TestLine> {
    if !tools::are_named_in(line) {
        return None;
    }
    let mut reading = LineReading::default();
    let (list, limit) = parse::statements(line, 0);
    let status = reading.list(&list);
    if status == Failure::None {
        return None;
    }
    if limit.is_some() {
        reading.doubt("syntax");
    }
    Some(TestLine {
        status,
        ..reading.line
    })
}

/// What is known of a variable.
#[derive(Clone)]
enum Value {
    /// One of these, by the branch or the round of the loop.
    Texts(Vec<String>),
    /// An exit status.
    Number,
}

#[derive(Default)]
struct LineReading {
    line: TestLine,
    variables: HashMap<String, Value>,
    /// The files that tests write their output to.
    logs: Vec<String>,
    ends_at_failure: bool,
    has_pipefail: bool,
    depth: usize,
}

#[cfg(test)]
mod tests;
