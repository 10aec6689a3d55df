//! What the page tells, gathered in one pass over each log.
//!
//! Whether an agent recovered is recorded by the hook. Where it is not, it is
//! inferred: the file that the refusal named instead lies in the same site and
//! was last changed within an hour after the agent's last try. The page says
//! which is which.

use std::collections::HashMap;
use std::fs;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use serde::Serialize;

use crate::cli::CliContext;
use crate::cli::denies::filter::Query;
use crate::cli::output::printable;
use crate::log::read::{self, Entry, Reach, TopN};
use crate::store::modified;

/// How soon after a refusal a changed file speaks for a recovery.
const SOON: TimeDelta = TimeDelta::hours(1);

/// What became of a denial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Recovered,
    Inferred,
    Again,
    #[default]
    Open,
}

/// A record as the page gets it.
#[derive(Serialize)]
pub(super) struct Row {
    id: String,
    ts: String,
    decision: String,
    code: String,
    pub(super) system: String,
    pub(super) name: String,
    /// Relative to the project where it lies there.
    path: String,
    pub(super) suggestion: String,
    agent: String,
    session: String,
    tool: String,
    command: String,
    reason: String,
    /// Of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered_at: Option<String>,
    /// A place among the page's rows of contracts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contract: Option<usize>,
    /// The agent's tries at the file in the session.
    #[serde(skip)]
    thread: String,
}

/// How one agent's tries at one file in one session went.
#[derive(Debug, Default)]
struct Tries {
    refused: u64,
    recovered: u64,
    last: String,
    last_id: String,
    last_outcome: Outcome,
    /// The file the last refusal named instead.
    instead: String,
}

/// Where the denials went; the four parts add up to all.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Funnel {
    recovered: u64,
    #[serde(rename = "recovered_inferred")]
    inferred: u64,
    #[serde(rename = "refused_again")]
    again: u64,
    open: u64,
}

impl Funnel {
    pub(super) fn denied(&self) -> u64 {
        self.recovered + self.inferred + self.again + self.open
    }
}

pub(super) struct Findings {
    pub(super) funnel: Funnel,
    /// Records of every wanted decision.
    pub(super) total: u64,
    /// When the hook ran last, as the logs know.
    pub(super) last_ran: Option<String>,
    /// The newest, oldest of them first.
    pub(super) records: Vec<Row>,
}

impl Findings {
    pub(super) fn collect(query: &Query, shown: u32, context: &CliContext<'_>) -> Result<Self> {
        let (recoveries, mut last_ran) = read_events(context)?;
        let mut threads: HashMap<String, Tries> = HashMap::new();
        let mut newest = TopN::new(Some(shown));
        let read = super::super::each_record(query, context, &mut |entry, _| {
            last_ran = last_ran.take().max(Some(entry.ts.to_string()));
            let recovery = recoveries.get(entry.id.as_ref());
            let outcome = entry.is_denial().then_some(match recovery {
                Some(_) => Outcome::Recovered,
                None => Outcome::Open,
            });
            let thread = thread(entry);
            if let Some(outcome) = outcome {
                let tries = threads.entry(thread.clone()).or_default();
                tries.add(entry, outcome);
            }
            newest.offer(entry, || Row {
                outcome,
                recovered_at: recovery.cloned(),
                ..Row::new(entry, thread, context)
            });
        })?;
        let mut disk = Disk::default();
        let mut records: Vec<Row> = newest.into_items().collect();
        records
            .iter_mut()
            .for_each(|row| row.settle(&threads, &mut disk));
        Ok(Self {
            funnel: funnel(&threads, &mut disk),
            total: read.counts.of(query.decision),
            last_ran,
            records,
        })
    }
}

/// When the denials with a recorded recovery were recovered, by their ids; and the last heartbeat.
fn read_events(context: &CliContext<'_>) -> Result<(HashMap<String, String>, Option<String>)> {
    let log = context.project.logs().events();
    let (mut recoveries, mut last_ran) = (HashMap::new(), None);
    read::entries(&log, Reach::All, &mut |entry, _| {
        if let Some(id) = entry.closes() {
            recoveries.insert(id.to_owned(), entry.ts.to_string());
        }
        if entry.source == "statewarden" && entry.decision == "heartbeat" {
            last_ran = last_ran.take().max(Some(entry.ts.to_string()));
        }
    })?;
    Ok((recoveries, last_ran))
}

fn thread(entry: &Entry<'_>) -> String {
    let file = match entry.file_path.as_ref() {
        "" => &entry.name,
        _ => &entry.file_path,
    };
    [&*entry.session_id, &entry.agent(), file].join("\0")
}

impl Tries {
    fn add(&mut self, entry: &Entry<'_>, outcome: Outcome) {
        self.refused += 1;
        self.recovered += u64::from(outcome == Outcome::Recovered);
        self.last = entry.ts.to_string();
        self.last_id = entry.id.to_string();
        self.last_outcome = outcome;
        let site = entry.file_path.strip_suffix(entry.name.as_ref());
        self.instead = match site {
            Some(site) if !entry.suggestion.is_empty() => format!("{site}{}", entry.suggestion),
            _ => String::new(),
        };
    }

    /// What became of the last try.
    fn outcome(&self, disk: &mut Disk) -> Outcome {
        match self.last_outcome {
            Outcome::Open if disk.changed_soon_after(&self.instead, &self.last) => {
                Outcome::Inferred
            }
            outcome => outcome,
        }
    }
}

impl Row {
    /// What became of an open denial: the last one of its thread knows, the others were tried again.
    fn settle(&mut self, threads: &HashMap<String, Tries>, disk: &mut Disk) {
        if self.outcome == Some(Outcome::Open)
            && let Some(tries) = threads.get(&self.thread)
        {
            self.outcome = Some(match tries.last_id == self.id {
                true => tries.outcome(disk),
                false => Outcome::Again,
            });
        }
    }

    fn new(entry: &Entry<'_>, thread: String, context: &CliContext<'_>) -> Self {
        let path = context.project.main.relative(&entry.file_path);
        let path = path.unwrap_or(&entry.file_path);
        Self {
            id: printable(&entry.id),
            ts: printable(&entry.ts),
            decision: printable(&entry.decision),
            code: printable(&entry.rule),
            system: printable(&entry.system),
            name: printable(if entry.name.is_empty() {
                path
            } else {
                &entry.name
            }),
            path: printable(path),
            suggestion: printable(&entry.suggestion),
            agent: printable(&entry.agent()),
            session: printable(&entry.session_id),
            tool: printable(&entry.tool),
            command: printable(&entry.command_excerpt),
            reason: printable(&entry.reason),
            outcome: None,
            recovered_at: None,
            contract: None,
            thread,
        }
    }
}

fn funnel(threads: &HashMap<String, Tries>, disk: &mut Disk) -> Funnel {
    let mut funnel = Funnel::default();
    for tries in threads.values() {
        funnel.recovered += tries.recovered;
        let unresolved = tries.refused - tries.recovered;
        match tries.outcome(disk) {
            Outcome::Inferred => funnel.inferred += 1,
            Outcome::Open | Outcome::Again => funnel.open += 1,
            Outcome::Recovered => {
                funnel.again += unresolved;
                continue;
            }
        }
        funnel.again += unresolved - 1;
    }
    funnel
}

/// When files were last changed, asked once for each.
#[derive(Default)]
struct Disk(HashMap<String, Option<DateTime<Utc>>>);

impl Disk {
    fn changed_soon_after(&mut self, file: &str, ts: &str) -> bool {
        let (false, Ok(ts)) = (file.is_empty(), DateTime::parse_from_rfc3339(ts)) else {
            return false;
        };
        let ask = || Some(modified(&fs::metadata(file).ok()?));
        let changed = self.0.entry(file.to_owned()).or_insert_with(ask);
        let after = changed.map(|changed| changed.signed_duration_since(ts));
        after.is_some_and(|after| after > TimeDelta::zero() && after <= SOON)
    }
}
