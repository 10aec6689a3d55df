//! The findings of all files put together.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::contract::denial::{Denial, DenyCode};

/// Examples kept for each row.
const EXAMPLES: usize = 3;

/// What was found in one file.
#[derive(Default)]
pub(super) struct TranscriptReport {
    /// Whether any line is the client's, or there is none.
    pub(super) is_transcript: bool,
    pub(super) calls: u64,
    pub(super) warned: u64,
    pub(super) unreadable_lines: u64,
    pub(super) denied: Vec<DeniedCall>,
    /// The last reading or editing of each path in a site, by session and path.
    pub(super) used: HashMap<(String, String), FirstUse>,
}

/// One call that would be denied.
pub(super) struct DeniedCall {
    pub(super) session: String,
    pub(super) id: String,
    pub(super) example: Example,
    pub(super) then: Then,
    pub(super) denials: Vec<Denial>,
}

/// What became of the call at the time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Ran,
    Refused,
}

/// A place in a transcript.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FirstUse {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) timestamp: String,
    pub(super) tool: String,
}

impl FirstUse {
    /// Whether it was later; within one millisecond, further down in the same file.
    fn is_after(&self, other: &Self) -> bool {
        match self.timestamp.cmp(&other.timestamp) {
            Ordering::Greater => true,
            Ordering::Equal => self.file == other.file && self.line > other.line,
            Ordering::Less => false,
        }
    }
}

/// The JSON document.
#[derive(Debug, Default, Serialize)]
pub(super) struct ReplayTally {
    pub(super) files: usize,
    pub(super) calls: u64,
    pub(super) refused: Vec<TallyRow>,
    /// Calls that would be denied; `refused` counts their denials.
    pub(super) refused_calls: u64,
    /// How many of these a hook refused at the time.
    pub(super) already_refused: u64,
    pub(super) warned: u64,
    pub(super) unreadable_lines: u64,
    pub(super) false_alarm_candidates: Vec<Candidate>,
}

#[derive(Debug, Serialize)]
pub(super) struct TallyRow {
    pub(super) code: DenyCode,
    /// The same, as logs call it.
    pub(super) rule: DenyCode,
    pub(super) system: String,
    pub(super) name: String,
    pub(super) count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) suggestion: Option<String>,
    pub(super) examples: Vec<Example>,
}

/// One call.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Example {
    #[serde(flatten)]
    pub(super) at: FirstUse,
    pub(super) agent: String,
    /// The path or the command, as the call wrote it.
    pub(super) what: String,
}

/// A name that is denied although it was of use.
#[derive(Debug, Serialize)]
pub(super) struct Candidate {
    pub(super) code: DenyCode,
    pub(super) rule: DenyCode,
    pub(super) system: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) refused: Moment,
    pub(super) used: Moment,
}

#[derive(Debug, Serialize)]
pub(super) struct Moment {
    /// `FILE:LINE`
    pub(super) place: String,
    pub(super) tool: String,
    pub(super) timestamp: String,
}

impl Moment {
    fn of(at: &FirstUse) -> Self {
        Self {
            place: format!("{}:{}", at.file, at.line),
            tool: at.tool.clone(),
            timestamp: at.timestamp.clone(),
        }
    }
}

impl ReplayTally {
    pub(super) fn of(reports: Vec<TranscriptReport>) -> Self {
        let mut document = Self::default();
        let mut used: HashMap<(String, String), FirstUse> = HashMap::new();
        let mut denied = Vec::new();
        let mut copies = HashSet::new();
        for report in reports {
            document.files += usize::from(report.is_transcript);
            document.calls += report.calls;
            document.warned += report.warned;
            document.unreadable_lines += report.unreadable_lines;
            for (key, at) in report.used {
                let known = used.get(&key);
                if known.is_none_or(|known| known.timestamp < at.timestamp) {
                    used.insert(key, at);
                }
            }
            // A session that was forked starts with a copy of the other's lines.
            denied.extend(report.denied.into_iter().filter(|call| {
                let copy = (call.id.clone(), call.example.at.timestamp.clone());
                call.id.is_empty() || copies.insert(copy)
            }));
        }
        let refused_then = denied.iter().filter(|call| call.then == Then::Refused);
        Self {
            already_refused: refused_then.count() as u64,
            refused_calls: denied.len() as u64,
            false_alarm_candidates: candidates(&denied, &used),
            refused: rows(&denied),
            ..document
        }
    }
}

/// The denials by rule, system and name, most frequent first.
fn rows(denied: &[DeniedCall]) -> Vec<TallyRow> {
    let mut places: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut rows: Vec<TallyRow> = Vec::new();
    for call in denied {
        for denial in &call.denials {
            let key = (denial.code.as_str(), &*denial.system, &*denial.entry);
            let at = *places.entry(key).or_insert_with(|| {
                rows.push(TallyRow {
                    code: denial.code,
                    rule: denial.code,
                    system: denial.system.clone(),
                    name: denial.entry.clone(),
                    count: 0,
                    suggestion: denial.suggestion.clone(),
                    examples: Vec::new(),
                });
                rows.len() - 1
            });
            let row = &mut rows[at];
            row.count += 1;
            if row.examples.len() < EXAMPLES {
                row.examples.push(call.example.clone());
            }
        }
    }
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

/// Names that a call used after one that would be denied today and ran then,
/// each path once.
fn candidates(denied: &[DeniedCall], used: &HashMap<(String, String), FirstUse>) -> Vec<Candidate> {
    let (mut seen, mut candidates) = (HashSet::new(), Vec::new());
    for call in denied.iter().filter(|call| call.then == Then::Ran) {
        let at = &call.example.at;
        for denial in call.denials.iter().filter(|it| it.code.subject().is_name()) {
            let key = (call.session.clone(), denial.path.clone());
            if let Some(used) = used.get(&key)
                && used.is_after(at)
                && seen.insert((&denial.system, &denial.path))
            {
                candidates.push(Candidate {
                    code: denial.code,
                    rule: denial.code,
                    system: denial.system.clone(),
                    name: denial.entry.clone(),
                    path: denial.path.clone(),
                    refused: Moment::of(at),
                    used: Moment::of(used),
                });
            }
        }
    }
    candidates
}
