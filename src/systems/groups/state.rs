//! The state of each task group, derived from its files on every question.
//!
//! Nothing is stored, so nothing is lost in a crash. Where the files leave
//! doubt the reading is fail-closed: no group is done early.

use std::collections::HashMap;

use serde::Serialize;

use crate::path;
use crate::words::words;
use crate::workflow::{Gate, GateStatus, Workflow};

use super::report::{self, Reading, ReportKind};
use super::stuck;
use super::tasks::{self, Section};

words! {
    /// How far a group is.
    pub enum GroupState {
        /// No box is checked and nobody has reviewed.
        Pending = "PENDING",
        Developing = "DEVELOPING",
        /// All boxes are checked, a test report is missing.
        Testing = "TESTING",
        /// The tests pass, a review is missing.
        Reviewing = "REVIEWING",
        GroupDone = "GROUP_DONE",
        /// Rejected three times.
        Escalation = "ESCALATION",
        /// `STUCK.md` names the group.
        Stuck = "STUCK",
        /// `tasks.md` does not say what the group is.
        Error = "ERROR",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    pub group: u32,
    pub name: String,
    pub state: GroupState,
    /// A verdict sends the group back to its developer.
    pub rework: bool,
    /// The reviewer's round, where a review says it.
    pub round: Option<u32>,
    pub reasons: Vec<String>,
    pub next: String,
    /// The verdict files that are there and cannot be read.
    #[serde(skip)]
    pub malformed: Vec<ReportKind>,
}

/// Rejections from which a stronger hand is called.
const ESCALATION_ROUND: u32 = 3;

/// The groups in the order of `tasks.md`. `files` gives the text of a file by
/// its path below the directory that holds `tasks.md`; `None` where that is missing.
pub fn derive(files: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Group>> {
    let sections = tasks::parse(&files(super::TASKS)?);
    let stuck = stuck::mentions(&files("STUCK.md").unwrap_or_default());
    let mut n_headings: HashMap<u32, usize> = HashMap::new();
    for section in &sections {
        *n_headings.entry(section.number).or_default() += 1;
    }
    let group = |section: &Section| {
        let copies = n_headings[&section.number];
        let evidence = Evidence::gather(section, files);
        let state = if stuck.contains(section.number) {
            GroupState::Stuck
        } else if section.number == 0 || copies > 1 || section.n_tasks() == 0 {
            GroupState::Error
        } else {
            evidence.state()
        };
        evidence.report(state, copies)
    };
    Some(sections.iter().map(group).collect())
}

/// The verdict files a role must still write, with the reason: a tester owes
/// test reports, a reviewer owes reviews.
pub fn owed(groups: &[Group], kind: ReportKind) -> Vec<(String, String)> {
    let waiting = match kind {
        ReportKind::TestReport => GroupState::Testing,
        ReportKind::Review => GroupState::Reviewing,
    };
    let closed = [GroupState::Stuck, GroupState::Error];
    let why = |group: &Group| match group.state {
        state if state == waiting => Some(format!("group {} waits for it", group.group)),
        state if group.malformed.contains(&kind) && !closed.contains(&state) => {
            Some(format!("its status line cannot be read; {}", kind.wanted()))
        }
        _ => None,
    };
    groups
        .iter()
        .filter_map(|group| Some((kind.path(group.group), why(group)?)))
        .collect()
}

/// The groups as one workflow, for `status`.
pub fn workflow(groups: &[Group], site: &str) -> Workflow {
    let gates = groups.iter().map(|group| Gate {
        name: format!("group {}", group.group),
        status: match group.state {
            GroupState::Pending => GateStatus::Pending,
            GroupState::GroupDone => GateStatus::Passed,
            GroupState::Stuck | GroupState::Error | GroupState::Escalation => GateStatus::Failed,
            GroupState::Developing | GroupState::Testing | GroupState::Reviewing => {
                GateStatus::InProgress
            }
        },
        timestamp: None,
        agent: None,
    });
    let open = groups
        .iter()
        .find(|group| group.state != GroupState::GroupDone);
    Workflow {
        system: super::ID,
        file: path::below(site, super::TASKS),
        active: open.is_some()
            && groups
                .iter()
                .any(|group| group.state != GroupState::Pending),
        phase: open.map(|group| format!("group {}", group.group)),
        iteration: open.and_then(|group| group.round).map(u64::from),
        max_iterations: None,
        gates: gates.collect(),
        next: match open {
            Some(group) => group.next.clone(),
            None if groups.is_empty() => {
                "give `tasks.md` its groups: headings `## N. Name` with boxes below".to_owned()
            }
            None => "every group is done; archive the change".to_owned(),
        },
        updated_at: None,
    }
}

/// What the files say about one group.
struct Evidence<'a> {
    section: &'a Section,
    tests: Option<Reading>,
    review: Option<Reading>,
    round: Option<u32>,
}

impl<'a> Evidence<'a> {
    fn gather(section: &'a Section, files: &dyn Fn(&str) -> Option<String>) -> Self {
        let text = |kind: ReportKind| files(&kind.path(section.number));
        let review = text(ReportKind::Review);
        Self {
            section,
            tests: text(ReportKind::TestReport)
                .map(|text| report::read(ReportKind::TestReport, &text)),
            round: review.as_deref().and_then(report::round),
            review: review.map(|text| report::read(ReportKind::Review, &text)),
        }
    }

    fn state(&self) -> GroupState {
        let rejected = self.review == Some(Reading::Bad);
        if rejected && self.round >= Some(ESCALATION_ROUND) {
            return GroupState::Escalation;
        }
        if self.section.n_checked == 0 && self.review.is_none() {
            return GroupState::Pending;
        }
        if self.section.n_unchecked > 0 {
            return GroupState::Developing;
        }
        match (&self.tests, &self.review) {
            (None, _) => GroupState::Testing,
            (Some(Reading::Good), None) => GroupState::Reviewing,
            (Some(Reading::Good), Some(Reading::Good)) => GroupState::GroupDone,
            _ => GroupState::Developing,
        }
    }

    fn report(self, state: GroupState, copies: usize) -> Group {
        let sent_back = [&self.tests, &self.review]
            .into_iter()
            .flatten()
            .any(|reading| *reading != Reading::Good);
        Group {
            group: self.section.number,
            name: self.section.name.clone(),
            state,
            rework: match state {
                GroupState::Developing => sent_back,
                state => state == GroupState::Escalation,
            },
            round: self.round,
            reasons: self.reasons(state, copies),
            next: self.next(state),
            malformed: self.malformed(),
        }
    }

    fn verdicts(&self) -> impl Iterator<Item = (ReportKind, &Reading)> {
        let tests = self
            .tests
            .iter()
            .map(|reading| (ReportKind::TestReport, reading));
        tests.chain(
            self.review
                .iter()
                .map(|reading| (ReportKind::Review, reading)),
        )
    }

    fn malformed(&self) -> Vec<ReportKind> {
        self.verdicts()
            .filter(|(_, reading)| matches!(reading, Reading::Malformed(_)))
            .map(|(kind, _)| kind)
            .collect()
    }

    fn reasons(&self, state: GroupState, copies: usize) -> Vec<String> {
        let Section {
            number, n_checked, ..
        } = self.section;
        let mut reasons = vec![match self.section.n_tasks() {
            1 => format!("{n_checked} of 1 box is checked"),
            n_tasks => format!("{n_checked} of {n_tasks} boxes are checked"),
        }];
        if state == GroupState::Stuck {
            reasons.push(format!("`STUCK.md` names group {number}"));
        }
        if *number == 0 {
            reasons.push("groups are numbered from 1".to_owned());
        }
        if copies > 1 {
            reasons.push(format!(
                "`tasks.md` has {copies} headings with number {number}"
            ));
        }
        for (kind, reading) in self.verdicts() {
            let [good, bad] = kind.values();
            let says = match reading {
                Reading::Good => format!("says {good}"),
                Reading::Bad => format!("says {bad}"),
                Reading::Conflict => format!("says both {good} and {bad}"),
                Reading::Malformed(why) => format!("cannot be read: {why}"),
            };
            let round = match (kind, self.round) {
                (ReportKind::Review, Some(round)) => format!(" in round {round}"),
                _ => String::new(),
            };
            reasons.push(format!("`{}` {says}{round}", kind.path(*number)));
        }
        reasons
    }

    fn next(&self, state: GroupState) -> String {
        let number = self.section.number;
        match state {
            GroupState::Pending => format!("dispatch the developer for group {number}"),
            GroupState::Developing => match self.malformed().first() {
                Some(kind) if self.section.n_unchecked == 0 => {
                    format!(
                        "have `{}` written again with an exact status line",
                        kind.path(number)
                    )
                }
                _ => format!("dispatch the developer for group {number}; see the reasons"),
            },
            GroupState::Testing => {
                format!("dispatch the tester, who writes `test-reports/{number}.md`")
            }
            GroupState::Reviewing => {
                format!("dispatch the reviewer, who writes `review/{number}.md`")
            }
            GroupState::GroupDone => "nothing: the group is done".to_owned(),
            GroupState::Escalation => {
                format!("hand group {number} to a stronger developer or the architect")
            }
            GroupState::Stuck => {
                "a person decides; then strike the line in `STUCK.md` through or mark it RESOLVED, in capitals"
                    .to_owned()
            }
            GroupState::Error => {
                format!("repair `tasks.md`: one heading `## {number}. Name` with boxes below it")
            }
        }
    }
}

#[cfg(test)]
mod tests;
