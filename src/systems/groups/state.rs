//! The state of each task group, derived from its files on every question.
//!
//! Nothing is stored, so nothing is lost in a crash. Where the files leave
//! doubt the reading is fail-closed: no group is done early.

use std::cell::LazyCell;
use std::collections::HashMap;

use serde::Serialize;

use super::report::{self, Reading, ReportKind};
use super::stuck;
use super::tasks::{self, Section, Tasks};
use crate::base::string_enum::string_enum;
use crate::base::{path, text};
use crate::systems::workflow::{Gate, GateStatus, Proof, Workflow};

string_enum! {
    /// How far a group is.
    pub enum GroupState {
        /// No box is checked and there is no review.
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
    #[serde(skip)]
    pub n_tasks: usize,
    /// The verdict files that are there and cannot be read.
    #[serde(skip)]
    pub malformed: Vec<ReportKind>,
}

/// Rejections from which a stronger hand is called.
const ESCALATION_ROUND: u32 = 3;

/// How long a list in a reason may be.
const LIST_ROOM: usize = 80;

/// What the files of a change say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeState {
    /// In the order of `tasks.md`.
    pub groups: Vec<Group>,
    /// Why the change is not done, however its groups are.
    pub ungrouped: Option<String>,
}

/// Gives the text of a file by its path below the directory that holds `tasks.md`, or why it
/// cannot be read.
type Files<'a> = &'a dyn Fn(&str) -> Result<Option<String>, String>;

/// The verdict files that do not count, asked for once at most.
type Outdated<'a> = LazyCell<Vec<Doubt>, &'a dyn Fn() -> Vec<Doubt>>;

/// A verdict file that does not count, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Beside `tasks.md`.
    pub file: String,
    pub why: String,
}

/// Derives a change from its files; `None` where it has no `tasks.md`. The verdict files that
/// are older than the boxes are asked for where they decide.
pub fn derive(files: Files<'_>, outdated: &dyn Fn() -> Vec<Doubt>) -> Option<ChangeState> {
    let tasks = match files(super::TASKS) {
        Ok(text) => tasks::parse(&text?),
        Err(why) => {
            return Some(ChangeState {
                ungrouped: Some(format!("`tasks.md` cannot be read: {why}")),
                ..ChangeState::default()
            });
        }
    };
    let stops = stuck::read(files("STUCK.md"));
    let outdated = LazyCell::new(outdated);
    let mut n_headings: HashMap<u32, usize> = HashMap::new();
    for section in &tasks.groups {
        *n_headings.entry(section.number).or_default() += 1;
    }
    let conflict = tasks
        .conflict
        .as_ref()
        .map(|line| format!("a merge was left undone in `tasks.md` (`{line}`)"));
    let group = |section: &Section| {
        let copies = n_headings[&section.number];
        let evidence = Evidence::gather(section, files, &outdated);
        let state = if conflict.is_some() {
            GroupState::Error
        } else if stops.contains(section.number) {
            GroupState::Stuck
        } else if section.number == 0 || copies > 1 || section.n_tasks() == 0 {
            GroupState::Error
        } else {
            evidence.state()
        };
        let mut group = evidence.report(state, copies);
        group.reasons.extend(conflict.clone());
        if state != GroupState::GroupDone {
            group.reasons.extend(stops.unclear.clone());
        }
        group
    };
    Some(ChangeState {
        groups: tasks.groups.iter().map(group).collect(),
        ungrouped: ungrouped(&tasks),
    })
}

fn ungrouped(tasks: &Tasks) -> Option<String> {
    let lines = tasks.ungrouped.iter().map(usize::to_string).collect();
    let lines = text::join_limited(lines, LIST_ROOM);
    match (tasks.groups.len(), tasks.ungrouped.len()) {
        (0, _) => Some("`tasks.md` has no group (headings `## N. Name`)".to_owned()),
        (_, 0) => None,
        (_, n) => Some(format!(
            "open boxes that belong to no group: {n}, in line {lines}; move them below a heading `## N. Name`"
        )),
    }
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

/// A change as one workflow, for `status`.
pub fn workflow(change: &ChangeState, site: &str) -> Workflow {
    let ChangeState { groups, ungrouped } = change;
    let gates = groups.iter().map(|group| {
        let status = match group.state {
            GroupState::Pending => GateStatus::Pending,
            GroupState::GroupDone => GateStatus::Passed,
            GroupState::Stuck | GroupState::Error | GroupState::Escalation => GateStatus::Failed,
            GroupState::Developing | GroupState::Testing | GroupState::Reviewing => {
                GateStatus::InProgress
            }
        };
        Gate {
            proof: match status {
                GateStatus::Passed => group.proof(),
                _ => Vec::new(),
            },
            ..Gate::new(&format!("group {}", group.group), status)
        }
    });
    let open = groups
        .iter()
        .find(|group| group.state != GroupState::GroupDone);
    Workflow {
        active: (open.is_some() || ungrouped.is_some())
            && groups
                .iter()
                .any(|group| group.state != GroupState::Pending),
        phase: open.map(|group| format!("group {}", group.group)),
        iteration: open.and_then(|group| group.round).map(u64::from),
        gates: gates.collect(),
        next: match (open, ungrouped) {
            (Some(group), _) => group.next.as_str().into(),
            (None, Some(_)) if groups.is_empty() => {
                "give `tasks.md` its groups: headings `## N. Name` with boxes below".into()
            }
            (None, Some(why)) => format!("every group is done, the change is not: {why}").into(),
            (None, None) => "every group is done; archive the change".into(),
        },
        ..Workflow::new(super::ID, &path::below(site, super::TASKS))
    }
}

impl Group {
    /// What shows that it is done.
    fn proof(&self) -> Vec<Proof> {
        let boxes = Proof::Boxes {
            done: self.n_tasks,
            of: self.n_tasks,
        };
        let verdict = |kind: ReportKind| Proof::Verdict {
            line: format!("**Status:** {}", kind.values()[0]),
            at: kind.path(self.group),
        };
        let verdicts = [ReportKind::TestReport, ReportKind::Review].map(verdict);
        [boxes].into_iter().chain(verdicts).collect()
    }
}

/// What the files say about one group.
struct Evidence<'a> {
    section: &'a Section,
    /// Of the verdict files that are there.
    verdicts: Vec<(ReportKind, Reading)>,
    round: Option<u32>,
    /// Good ones that do not count, with the reason; known where the tester is done.
    outdated: Vec<(ReportKind, String)>,
}

impl<'a> Evidence<'a> {
    fn gather(section: &'a Section, files: Files<'_>, outdated: &Outdated<'_>) -> Self {
        let (mut verdicts, mut round) = (Vec::new(), None);
        for kind in [ReportKind::TestReport, ReportKind::Review] {
            let reading = match files(&kind.path(section.number)) {
                Ok(None) => continue,
                Ok(Some(text)) => {
                    if kind == ReportKind::Review {
                        round = report::round(&text);
                    }
                    report::read(kind, &text)
                }
                Err(why) => Reading::Malformed(why),
            };
            verdicts.push((kind, reading));
        }
        let mut evidence = Self {
            section,
            verdicts,
            round,
            outdated: Vec::new(),
        };
        if matches!(
            evidence.state(),
            GroupState::Reviewing | GroupState::GroupDone
        ) {
            let kinds = [ReportKind::TestReport, ReportKind::Review].into_iter();
            let doubt = |kind: ReportKind| {
                let file = kind.path(section.number);
                let doubt = outdated.iter().find(|doubt| doubt.file == file)?;
                Some((kind, doubt.why.clone()))
            };
            evidence.outdated = kinds.filter_map(doubt).collect();
        }
        evidence
    }

    fn verdict(&self, kind: ReportKind) -> Option<&Reading> {
        let (_, reading) = self.verdicts.iter().find(|(known, _)| *known == kind)?;
        Some(reading)
    }

    fn state(&self) -> GroupState {
        let review = self.verdict(ReportKind::Review);
        if review == Some(&Reading::Bad) && self.round >= Some(ESCALATION_ROUND) {
            return GroupState::Escalation;
        }
        if self.section.n_checked == 0 && review.is_none() {
            return GroupState::Pending;
        }
        if self.section.is_open() {
            return GroupState::Developing;
        }
        match (self.verdict(ReportKind::TestReport), review) {
            (None, _) => GroupState::Testing,
            (Some(Reading::Good), None | Some(Reading::Good)) => match self.outdated.first() {
                Some((ReportKind::TestReport, _)) => GroupState::Testing,
                None if review.is_some() => GroupState::GroupDone,
                Some((ReportKind::Review, _)) | None => GroupState::Reviewing,
            },
            _ => GroupState::Developing,
        }
    }

    fn report(self, state: GroupState, copies: usize) -> Group {
        let mut verdicts = self.verdicts.iter();
        let sent_back = verdicts.any(|(_, reading)| *reading != Reading::Good);
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
            n_tasks: self.section.n_tasks(),
        }
    }

    fn malformed(&self) -> Vec<ReportKind> {
        let verdicts = self.verdicts.iter();
        verdicts
            .filter(|(_, reading)| matches!(reading, Reading::Malformed(_)))
            .map(|(kind, _)| *kind)
            .collect()
    }

    fn reasons(&self, state: GroupState, copies: usize) -> Vec<String> {
        let section = self.section;
        let (number, n_checked) = (section.number, section.n_checked);
        let mut reasons = vec![match section.n_tasks() {
            1 => format!("{n_checked} of 1 box is checked"),
            n_tasks => format!("{n_checked} of {n_tasks} boxes are checked"),
        }];
        for (places, so) in [
            (&section.odd, "open, since only `[x]` is done"),
            (&section.others, "numbered for another group"),
            (&section.elsewhere, "open tasks of this group elsewhere"),
        ] {
            if !places.is_empty() {
                let places = text::join_limited(places.clone(), LIST_ROOM);
                reasons.push(format!("{so}: {places}"));
            }
        }
        if state == GroupState::Stuck {
            reasons.push(format!("`STUCK.md` names group {number}"));
        }
        if number == 0 {
            reasons.push("groups are numbered from 1".to_owned());
        }
        if copies > 1 {
            reasons.push(format!(
                "`tasks.md` has {copies} headings with number {number}"
            ));
        }
        for (kind, reading) in &self.verdicts {
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
            let mut outdated = self.outdated.iter();
            let doubt = outdated
                .find(|(doubted, _)| doubted == kind)
                .map_or(String::new(), |(_, why)| format!(", {why}"));
            reasons.push(format!("`{}` {says}{round}{doubt}", kind.path(number)));
        }
        reasons
    }

    fn next(&self, state: GroupState) -> String {
        let number = self.section.number;
        match state {
            GroupState::Pending => format!("dispatch the developer for group {number}"),
            GroupState::Developing => match self.malformed().first() {
                Some(kind) if !self.section.is_open() => {
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
            GroupState::Error if number == 0 => {
                "number the groups in `tasks.md` from 1: `## 1. Name`".to_owned()
            }
            GroupState::Error => {
                format!("repair `tasks.md`: one heading `## {number}. Name` with boxes below it")
            }
        }
    }
}

#[cfg(test)]
mod tests;
