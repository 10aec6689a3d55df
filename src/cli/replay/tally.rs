//! The findings of all files put together.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::contract::denial::DenyCode;

/// Examples kept for each row.
const EXAMPLES: usize = 3;

/// What one file told.
#[derive(Default)]
pub(super) struct Report {
    /// Whether any line is the client's, or there is none.
    pub(super) is_transcript: bool,
    pub(super) calls: u64,
    pub(super) warned: u64,
    pub(super) unreadable_lines: u64,
    pub(super) refused: Vec<Refused>,
    /// The last reading or editing of each path in a site, by session and path.
    pub(super) used: HashMap<(String, String), TranscriptPlace>,
}

/// One call that would be refused, for each of its denials.
pub(super) struct Refused {
    pub(super) session: String,
    pub(super) call_id: String,
    pub(super) rule: DenyCode,
    pub(super) system: String,
    pub(super) name: String,
    pub(super) suggestion: Option<String>,
    /// The refused path, absolute.
    pub(super) path: String,
    pub(super) leads: Leads,
    pub(super) at: TranscriptPlace,
    pub(super) agent: String,
    /// The path or the command, as the call wrote it.
    pub(super) what: String,
    pub(super) then: Then,
}

/// Whether a denial is the first of its call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    Call,
    Further,
}

/// What became of the call at the time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Ran,
    Refused,
}

/// A place in a transcript.
#[derive(Clone)]
pub(super) struct TranscriptPlace {
    pub(super) timestamp: String,
    pub(super) line: u64,
    pub(super) tool: String,
}

/// The JSON document.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) files: usize,
    pub(super) calls: u64,
    pub(super) refused: Vec<Row>,
    /// Calls that would be refused; `refused` counts their denials.
    pub(super) refused_calls: u64,
    /// How many of these a hook refused at the time.
    pub(super) already_refused: u64,
    pub(super) warned: u64,
    pub(super) unreadable_lines: u64,
    pub(super) false_alarm_candidates: Vec<Candidate>,
}

#[derive(Debug, Serialize)]
pub(super) struct Row {
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

#[derive(Debug, Serialize)]
pub(super) struct Example {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) timestamp: String,
    pub(super) agent: String,
    pub(super) tool: String,
    pub(super) what: String,
}

/// A name that is refused although it was of use.
#[derive(Debug, Serialize)]
pub(super) struct Candidate {
    pub(super) code: DenyCode,
    pub(super) rule: DenyCode,
    pub(super) system: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) refused: Place,
    pub(super) used: Place,
}

#[derive(Debug, Serialize)]
pub(super) struct Place {
    /// `FILE:LINE`
    pub(super) place: String,
    pub(super) tool: String,
    pub(super) timestamp: String,
}

impl Document {
    /// `reports` stand in the order of `files`.
    pub(super) fn of(files: &[PathBuf], reports: Vec<Report>) -> Self {
        let n_files = reports.iter().filter(|report| report.is_transcript).count();
        let calls = reports.iter().map(|report| report.calls).sum();
        let warned = reports.iter().map(|report| report.warned).sum();
        let unreadable_lines = reports.iter().map(|report| report.unreadable_lines).sum();
        let mut used: HashMap<(String, String), (usize, TranscriptPlace)> = HashMap::new();
        let mut refused = Vec::new();
        let mut copies = HashSet::new();
        for (file, report) in reports.into_iter().enumerate() {
            for (key, moment) in report.used {
                let later =
                    |(_, known): &(usize, TranscriptPlace)| known.timestamp < moment.timestamp;
                if used.get(&key).is_none_or(later) {
                    used.insert(key, (file, moment));
                }
            }
            let own = report.refused.into_iter().map(|refused| (file, refused));
            // A session that was forked starts with a copy of the other's lines.
            refused.extend(own.filter(|(_, refused)| {
                refused.call_id.is_empty()
                    || copies.insert((
                        refused.call_id.clone(),
                        refused.at.timestamp.clone(),
                        refused.path.clone(),
                    ))
            }));
        }
        let candidates = candidates(files, &refused, &used);
        let leading = |then: fn(Then) -> bool| {
            let calls = refused.iter().map(|(_, refused)| refused);
            calls
                .filter(|refused| refused.leads == Leads::Call && then(refused.then))
                .count() as u64
        };
        Self {
            files: n_files,
            calls,
            refused_calls: leading(|_| true),
            already_refused: leading(|then| then == Then::Refused),
            warned,
            unreadable_lines,
            false_alarm_candidates: candidates,
            refused: rows(files, refused),
        }
    }
}

/// The denials by rule, system and name, most frequent first.
fn rows(files: &[PathBuf], refused: Vec<(usize, Refused)>) -> Vec<Row> {
    let mut places: HashMap<(&str, String, String), usize> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for (file, refused) in refused {
        let key = (
            refused.rule.as_str(),
            refused.system.clone(),
            refused.name.clone(),
        );
        let at = *places.entry(key).or_insert_with(|| {
            rows.push(Row {
                code: refused.rule,
                rule: refused.rule,
                system: refused.system,
                name: refused.name,
                count: 0,
                suggestion: refused.suggestion,
                examples: Vec::new(),
            });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.count += 1;
        if row.examples.len() < EXAMPLES {
            row.examples.push(Example {
                file: shown(&files[file]),
                line: refused.at.line,
                timestamp: refused.at.timestamp,
                agent: refused.agent,
                tool: refused.at.tool,
                what: refused.what,
            });
        }
    }
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

/// Names that a call used after one that would be refused today and ran then,
/// each path once.
fn candidates(
    files: &[PathBuf],
    refused: &[(usize, Refused)],
    used: &HashMap<(String, String), (usize, TranscriptPlace)>,
) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    let about_names = refused
        .iter()
        .filter(|(_, refused)| refused.then == Then::Ran && refused.rule.is_about_names());
    about_names
        .filter_map(|(file, refused)| {
            let key = (refused.session.clone(), refused.path.clone());
            let (used_in, moment) = used.get(&key)?;
            let later = match moment.timestamp.cmp(&refused.at.timestamp) {
                Ordering::Greater => true,
                Ordering::Equal => used_in == file && moment.line > refused.at.line,
                Ordering::Less => false,
            };
            if !later || !seen.insert((&refused.system, &refused.path)) {
                return None;
            }
            Some(Candidate {
                code: refused.rule,
                rule: refused.rule,
                system: refused.system.clone(),
                name: refused.name.clone(),
                path: refused.path.clone(),
                refused: place(&files[*file], &refused.at),
                used: place(&files[*used_in], moment),
            })
        })
        .collect()
}

fn place(file: &Path, moment: &TranscriptPlace) -> Place {
    Place {
        place: format!("{}:{}", shown(file), moment.line),
        tool: moment.tool.clone(),
        timestamp: moment.timestamp.clone(),
    }
}

fn shown(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}
