//! The findings of all files put together.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::contract::denial::{Denial, DenyCode};

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
    pub(super) denied: Vec<DeniedCall>,
    /// The last reading or editing of each path in a site, by session and path.
    pub(super) used: HashMap<(String, String), TranscriptPlace>,
}

/// One call that would be denied.
pub(super) struct DeniedCall {
    pub(super) session: String,
    pub(super) id: String,
    pub(super) at: TranscriptPlace,
    pub(super) agent: String,
    /// The path or the command, as the call wrote it.
    pub(super) what: String,
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
    /// Calls that would be denied; `refused` counts their denials.
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

/// A name that is denied although it was of use.
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
        let mut denied = Vec::new();
        let mut copies = HashSet::new();
        for (file, report) in reports.into_iter().enumerate() {
            for (key, moment) in report.used {
                let later =
                    |(_, known): &(usize, TranscriptPlace)| known.timestamp < moment.timestamp;
                if used.get(&key).is_none_or(later) {
                    used.insert(key, (file, moment));
                }
            }
            let own = report.denied.into_iter().map(|call| (file, call));
            // A session that was forked starts with a copy of the other's lines.
            denied.extend(own.filter(|(_, call)| {
                call.id.is_empty() || copies.insert((call.id.clone(), call.at.timestamp.clone()))
            }));
        }
        let then = denied.iter().map(|(_, call)| call.then);
        let already_refused = then.filter(|then| *then == Then::Refused).count() as u64;
        Self {
            files: n_files,
            calls,
            refused_calls: denied.len() as u64,
            already_refused,
            warned,
            unreadable_lines,
            false_alarm_candidates: candidates(files, &denied, &used),
            refused: rows(files, &denied),
        }
    }
}

/// The denials by rule, system and name, most frequent first.
fn rows(files: &[PathBuf], denied: &[(usize, DeniedCall)]) -> Vec<Row> {
    let mut places: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    let calls = denied.iter();
    let denials =
        calls.flat_map(|(file, call)| call.denials.iter().map(move |it| (file, call, it)));
    for (file, call, denial) in denials {
        let key = (denial.code.as_str(), &*denial.system, &*denial.entry);
        let at = *places.entry(key).or_insert_with(|| {
            rows.push(Row {
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
            row.examples.push(Example {
                file: display_path(&files[*file]),
                line: call.at.line,
                timestamp: call.at.timestamp.clone(),
                agent: call.agent.clone(),
                tool: call.at.tool.clone(),
                what: call.what.clone(),
            });
        }
    }
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

/// Names that a call used after one that would be denied today and ran then,
/// each path once.
fn candidates(
    files: &[PathBuf],
    denied: &[(usize, DeniedCall)],
    used: &HashMap<(String, String), (usize, TranscriptPlace)>,
) -> Vec<Candidate> {
    let (mut seen, mut candidates) = (HashSet::new(), Vec::new());
    for (file, call) in denied.iter().filter(|(_, call)| call.then == Then::Ran) {
        for denial in call.denials.iter().filter(|it| it.code.is_about_names()) {
            let key = (call.session.clone(), denial.path.clone());
            let Some((used_in, moment)) = used.get(&key) else {
                continue;
            };
            let later = match moment.timestamp.cmp(&call.at.timestamp) {
                Ordering::Greater => true,
                Ordering::Equal => used_in == file && moment.line > call.at.line,
                Ordering::Less => false,
            };
            if later && seen.insert((&denial.system, &denial.path)) {
                candidates.push(Candidate {
                    code: denial.code,
                    rule: denial.code,
                    system: denial.system.clone(),
                    name: denial.entry.clone(),
                    path: denial.path.clone(),
                    refused: place(&files[*file], &call.at),
                    used: place(&files[*used_in], moment),
                });
            }
        }
    }
    candidates
}

fn place(file: &Path, moment: &TranscriptPlace) -> Place {
    Place {
        place: format!("{}:{}", display_path(file), moment.line),
        tool: moment.tool.clone(),
        timestamp: moment.timestamp.clone(),
    }
}

fn display_path(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}
