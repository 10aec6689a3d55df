//! What the page shows, gathered in one pass over each log.
//!
//! Whether an agent recovered is recorded by the hook. Where it is not, it is
//! inferred: the file that the denial named instead is in the same site and
//! was last changed within an hour after the agent's last try. The page says
//! which is which.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use serde::Serialize;

use crate::base::text;
use crate::cli::denies::filter::Query;
use crate::cli::denies::is_slip;
use crate::cli::output::printable;
use crate::cli::{CliContext, difference};
use crate::log::append::LogFile;
use crate::log::read::{self, Entry, Reach, TopN};
use crate::recorder::contents::Contents;
use crate::recorder::entry::BlobId;
use crate::store::modified;
use crate::systems::own;

/// How soon after a refusal a changed file speaks for a recovery.
const SOON: TimeDelta = TimeDelta::hours(1);

/// The page shows what the newest of these changes did, so many lines each, cut to so many
/// characters.
const DIFFS: usize = 500;
const DIFF_LINES: usize = 40;
const DIFF_COLUMNS: usize = 200;

/// What became of a denial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DenialOutcome {
    Recovered,
    Inferred,
    Again,
    #[default]
    Open,
}

impl DenialOutcome {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Recovered | Self::Inferred => "recovered",
            Self::Again => "denied again",
            Self::Open => "not recovered",
        }
    }
}

/// A record as the page gets it.
#[derive(Serialize)]
pub(super) struct DenialRow {
    id: String,
    ts: String,
    decision: String,
    code: String,
    pub(super) system: String,
    pub(super) name: String,
    /// Relative to the project where it is below it.
    path: String,
    pub(super) suggestion: String,
    /// Whether the suggestion resembles the name.
    slip: bool,
    agent: String,
    session: String,
    tool: String,
    command: String,
    reason: String,
    /// Of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<DenialOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered_at: Option<String>,
    /// What the call did to the file, line by line, where its contents are kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    /// A place among the page's rows of contracts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contract: Option<usize>,
    /// The agent's tries at the file in the session.
    #[serde(skip)]
    thread: String,
    /// The contents before and after.
    #[serde(skip)]
    blobs: [Option<BlobId>; 2],
}

/// How one agent's tries at one file in one session went.
#[derive(Debug, Default)]
struct Tries {
    refused: u64,
    recovered: u64,
    last: String,
    last_id: String,
    last_outcome: DenialOutcome,
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
    /// The parts that are not empty, in words.
    pub(super) fn parts(&self) -> Vec<String> {
        let parts = [
            (self.recovered + self.inferred, DenialOutcome::Recovered),
            (self.again, DenialOutcome::Again),
            (self.open, DenialOutcome::Open),
        ];
        let there = parts.iter().filter(|(n, _)| *n > 0);
        there
            .map(|(n, outcome)| format!("{n} {}", outcome.words()))
            .collect()
    }

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
    pub(super) records: Vec<DenialRow>,
    /// Those that the logs name.
    pub(super) sessions: BTreeSet<String>,
    /// The ids of the agents that were denied.
    pub(super) denied_agents: HashSet<String>,
}

impl Findings {
    pub(super) fn collect(query: &Query, shown: u32, context: &CliContext<'_>) -> Result<Self> {
        let events = context.project.logs().events();
        let recoveries = read::recoveries(&events)?;
        let (mut last_ran, mut sessions) = heartbeats(&events, query)?;
        let mut denied_agents = HashSet::new();
        let mut threads: HashMap<String, Tries> = HashMap::new();
        let mut newest = TopN::new(Some(shown));
        let read = super::super::each_record(query, context, &mut |entry, _| {
            last_ran = last_ran.take().max(Some(entry.ts.to_string()));
            if !entry.session_id.is_empty() {
                sessions.insert(entry.session_id.to_string());
            }
            if entry.is_denial() {
                denied_agents.insert(entry.agent_id.to_string());
            }
            let recovery = recoveries.get(entry.id.as_ref());
            let outcome = entry.is_denial().then_some(match recovery {
                Some(_) => DenialOutcome::Recovered,
                None => DenialOutcome::Open,
            });
            let thread = thread(entry);
            if let Some(outcome) = outcome {
                let tries = threads.entry(thread.clone()).or_default();
                tries.add(entry, outcome);
            }
            newest.offer(entry, || DenialRow {
                outcome,
                recovered_at: recovery.cloned(),
                ..DenialRow::new(entry, thread, context)
            });
        })?;
        let mut disk = Disk::default();
        let mut records: Vec<DenialRow> = newest.into_items().collect();
        records
            .iter_mut()
            .for_each(|row| row.settle(&threads, &mut disk));
        let contents = Contents::of(&context.recorder_dir());
        let changed = records.iter_mut().rev().filter(|row| row.has_change());
        changed.take(DIFFS).for_each(|row| row.add_diff(&contents));
        Ok(Self {
            funnel: funnel(&threads, &mut disk),
            total: read.counts.of(query.decision),
            last_ran,
            records,
            sessions,
            denied_agents,
        })
    }
}

/// The time of the last heartbeat, and the sessions of those that pass the filter.
fn heartbeats(events: &LogFile, query: &Query) -> Result<(Option<String>, BTreeSet<String>)> {
    let (mut last, mut sessions) = (None, BTreeSet::new());
    read::entries(events, Reach::All, &mut |entry, _| {
        if entry.source == "statewarden" && entry.decision == "heartbeat" {
            last = last.take().max(Some(entry.ts.to_string()));
            if query.lets_through(entry) && !entry.session_id.is_empty() {
                sessions.insert(entry.session_id.to_string());
            }
        }
    })?;
    Ok((last, sessions))
}

fn thread(entry: &Entry<'_>) -> String {
    let file = match entry.file_path.as_ref() {
        "" => &entry.name,
        _ => &entry.file_path,
    };
    [&*entry.session_id, &entry.agent(), file].join("\0")
}

impl Tries {
    fn add(&mut self, entry: &Entry<'_>, outcome: DenialOutcome) {
        self.refused += 1;
        self.recovered += u64::from(outcome == DenialOutcome::Recovered);
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
    fn outcome(&self, disk: &mut Disk) -> DenialOutcome {
        match self.last_outcome {
            DenialOutcome::Open if disk.changed_soon_after(&self.instead, &self.last) => {
                DenialOutcome::Inferred
            }
            outcome => outcome,
        }
    }
}

impl DenialRow {
    /// Whether the call would have changed statewarden itself.
    pub(super) fn is_of_guard(&self) -> bool {
        self.system == own::ID
    }

    /// Who tried what, and what to write instead.
    pub(super) fn key(&self) -> [&str; 4] {
        [&self.agent, &self.code, &self.name, &self.suggestion]
    }

    /// What became of an open denial: the last one of its thread knows, the others were tried again.
    fn settle(&mut self, threads: &HashMap<String, Tries>, disk: &mut Disk) {
        if self.outcome == Some(DenialOutcome::Open)
            && let Some(tries) = threads.get(&self.thread)
        {
            self.outcome = Some(if tries.last_id == self.id {
                tries.outcome(disk)
            } else {
                DenialOutcome::Again
            });
        }
    }

    fn new(entry: &Entry<'_>, thread: String, context: &CliContext<'_>) -> Self {
        let relative = context.project.main.relative(&entry.file_path);
        let path = relative.unwrap_or(&entry.file_path);
        Self {
            id: printable(&entry.id),
            ts: printable(&entry.ts),
            decision: printable(&entry.decision),
            code: printable(entry.code()),
            system: printable(&entry.system),
            name: printable(if entry.name.is_empty() {
                path
            } else {
                &entry.name
            }),
            path: printable(path),
            suggestion: printable(&entry.suggestion),
            slip: is_slip(&entry.system, &entry.suggestion, context),
            agent: printable(&entry.agent()),
            session: printable(&entry.session_id),
            tool: printable(&entry.tool),
            command: printable(&entry.command_excerpt),
            reason: printable(&entry.reason),
            outcome: None,
            recovered_at: None,
            diff: String::new(),
            contract: None,
            thread,
            blobs: [&entry.before, &entry.after].map(|id| BlobId::parse(id)),
        }
    }

    fn has_change(&self) -> bool {
        self.blobs.iter().any(Option::is_some)
    }

    fn add_diff(&mut self, contents: &Contents) {
        let [before, after] = self.blobs;
        self.diff = match difference::of_contents(contents, before, after) {
            Ok(lines) => excerpt_of(&lines),
            Err(why) => why.to_owned(),
        };
    }
}

/// The first lines of a difference.
fn excerpt_of(lines: &[String]) -> String {
    let first = lines.iter().take(DIFF_LINES);
    let mut shown: Vec<_> = first
        .map(|line| text::excerpt(line, DIFF_COLUMNS))
        .collect();
    match lines.len().saturating_sub(DIFF_LINES) {
        0 => {}
        more => {
            shown.push(format!("… and {}", text::count(more, "more line", "more lines")).into())
        }
    }
    shown.join("\n")
}

fn funnel(threads: &HashMap<String, Tries>, disk: &mut Disk) -> Funnel {
    let mut funnel = Funnel::default();
    for tries in threads.values() {
        funnel.recovered += tries.recovered;
        let unresolved = tries.refused - tries.recovered;
        match tries.outcome(disk) {
            DenialOutcome::Inferred => funnel.inferred += 1,
            DenialOutcome::Open | DenialOutcome::Again => funnel.open += 1,
            DenialOutcome::Recovered => {
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
        let changed = self.0.entry(file.to_owned()).or_insert_with(|| {
            let meta = fs::metadata(file).ok()?;
            Some(modified(&meta))
        });
        let after = changed.map(|changed| changed.signed_duration_since(ts));
        after.is_some_and(|after| after > TimeDelta::zero() && after <= SOON)
    }
}
