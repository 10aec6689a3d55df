//! What the page tells, gathered in one pass over each log.
//!
//! Whether an agent recovered is recorded by the hook. Where it is not, it is
//! inferred: the file that the refusal named instead lies in the same site and
//! was last changed within an hour after the agent's last try. The page says
//! which is which.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use crate::cli::CliContext;
use crate::cli::denies::filter::Query;
use crate::cli::denies::stats::{By, Group, Tally};
use crate::log::read::{self, Entry, Reach, TopN};
use crate::store::modified;

/// A name refused this often to one agent in one session is a loop.
const LOOP: u64 = 3;

/// Rows of a top list.
const TOP: u32 = 20;

/// Loops listed.
const LOOPS: usize = 20;

/// How soon after a refusal a changed file speaks for a recovery.
const SOON: TimeDelta = TimeDelta::hours(1);

/// What became of a denial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outcome {
    Recovered,
    Inferred,
    Again,
    #[default]
    Open,
}

/// One denial as the page lists it.
pub(super) struct Row {
    id: String,
    pub(super) thread: Thread,
    pub(super) ts: String,
    pub(super) rule: String,
    pub(super) system: String,
    pub(super) name: String,
    pub(super) suggestion: String,
    pub(super) tool: String,
    pub(super) reason: String,
    pub(super) outcome: Outcome,
}

/// One agent's tries at one file in one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    pub(super) session: String,
    pub(super) agent: String,
    file: String,
}

/// How such tries went.
#[derive(Debug, Default)]
struct Tries {
    name: String,
    refused: u64,
    recovered: u64,
    first: String,
    last: String,
    last_id: String,
    last_outcome: Outcome,
    /// The file the last refusal named instead.
    instead: String,
}

/// Where the denials went; the four parts add up to all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Funnel {
    pub(super) recovered: u64,
    pub(super) inferred: u64,
    pub(super) again: u64,
    pub(super) open: u64,
}

/// The same file refused again and again.
pub(super) struct Loop {
    pub(super) thread: Thread,
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) first: String,
    pub(super) last: String,
    pub(super) outcome: Outcome,
}

/// A top list and how many groups there are in all.
pub(super) struct Top {
    pub(super) title: &'static str,
    pub(super) groups: Vec<Group>,
    pub(super) distinct: usize,
}

/// Records that are no denials, by their decision.
#[derive(Debug, Default)]
pub(super) struct Others {
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) last_heartbeat: Option<String>,
}

pub(super) struct Findings {
    /// Names, rules, agents and systems.
    pub(super) tops: [Top; 4],
    pub(super) sessions: usize,
    /// Denials by hour, `2026-01-31T23`.
    pub(super) hours: BTreeMap<String, u64>,
    pub(super) funnel: Funnel,
    pub(super) loops: Vec<Loop>,
    pub(super) others: Others,
    /// The newest, oldest of them first.
    pub(super) records: Vec<Row>,
}

impl Findings {
    pub(super) fn collect(passes: &Query, shown: u32, context: &CliContext<'_>) -> Result<Self> {
        let (resolved, others) = read_events(passes, context)?;
        let tops = [By::Name, By::Rule, By::Agent, By::System];
        let mut tallies = tops.map(Tally::new);
        let mut sessions = Tally::new(By::Session);
        let mut hours = BTreeMap::new();
        let mut threads: HashMap<Thread, Tries> = HashMap::new();
        let mut newest = TopN::new(Some(shown));
        super::super::each_record(passes, context, &mut |entry, _| {
            tallies.iter_mut().for_each(|tally| tally.add(entry));
            sessions.add(entry);
            let hour = entry.ts.get(..13).unwrap_or("unknown");
            match hours.get_mut(hour) {
                Some(count) => *count += 1,
                None => {
                    hours.insert(hour.to_owned(), 1_u64);
                }
            }
            let thread = Thread::of(entry);
            let outcome = match resolved.contains(entry.id.as_ref()) {
                true => Outcome::Recovered,
                false => Outcome::Open,
            };
            threads
                .entry(thread.clone())
                .or_default()
                .add(entry, outcome);
            newest.offer(entry, || Row::new(entry, thread, outcome));
        })?;
        let mut disk = Disk::default();
        let mut records: Vec<Row> = newest.into_items().collect();
        records
            .iter_mut()
            .for_each(|row| row.settle(&threads, &mut disk));
        let [names, rules, agents, systems] = tallies;
        Ok(Self {
            tops: [
                Top::of("Names", names),
                Top::of("Rules", rules),
                Top::of("Agents", agents),
                Top::of("Systems", systems),
            ],
            sessions: sessions.len(),
            hours,
            funnel: funnel(&threads, &mut disk),
            loops: loops(&threads, &mut disk),
            others,
            records,
        })
    }

    pub(super) fn total(&self) -> u64 {
        let Funnel {
            recovered,
            inferred,
            again,
            open,
        } = &self.funnel;
        recovered + inferred + again + open
    }
}

/// The ids of the denials with a recorded recovery, and the counts of the rest.
fn read_events(passes: &Query, context: &CliContext<'_>) -> Result<(HashSet<String>, Others)> {
    let log = context.project.logs().events();
    let (mut resolved, mut others) = (HashSet::new(), Others::default());
    read::entries(&log, Reach::All, &mut |entry, _| {
        if entry.source != "statewarden" {
            return;
        }
        resolved.extend(entry.closes().map(str::to_owned));
        if passes.is_recent(&entry.ts) {
            *others.counts.entry(entry.decision.to_string()).or_default() += 1;
        }
        let last = others.last_heartbeat.as_deref().unwrap_or_default();
        if entry.decision == "heartbeat" && entry.ts.as_ref() > last {
            others.last_heartbeat = Some(entry.ts.to_string());
        }
    })?;
    Ok((resolved, others))
}

impl Thread {
    fn of(entry: &Entry<'_>) -> Self {
        let file = match entry.file_path.as_ref() {
            "" => &entry.name,
            _ => &entry.file_path,
        };
        Self {
            session: entry.session_id.to_string(),
            agent: entry.agent(),
            file: file.to_string(),
        }
    }
}

impl Tries {
    fn add(&mut self, entry: &Entry<'_>, outcome: Outcome) {
        self.refused += 1;
        self.recovered += u64::from(outcome == Outcome::Recovered);
        if self.first.is_empty() {
            self.first = entry.ts.to_string();
            self.name = entry.name.to_string();
        }
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

impl Top {
    fn of(title: &'static str, tally: Tally) -> Self {
        Self {
            title,
            distinct: tally.len(),
            groups: tally.into_groups(Some(TOP)),
        }
    }
}

impl Row {
    /// What became of an open denial: the last one of its thread knows, the others were tried again.
    fn settle(&mut self, threads: &HashMap<Thread, Tries>, disk: &mut Disk) {
        if self.outcome == Outcome::Open
            && let Some(tries) = threads.get(&self.thread)
        {
            self.outcome = match tries.last_id == self.id {
                true => tries.outcome(disk),
                false => Outcome::Again,
            };
        }
    }

    fn new(entry: &Entry<'_>, thread: Thread, outcome: Outcome) -> Self {
        Self {
            id: entry.id.to_string(),
            thread,
            ts: entry.ts.to_string(),
            rule: entry.rule.to_string(),
            system: entry.system.to_string(),
            name: entry.what().to_owned(),
            suggestion: entry.suggestion.to_string(),
            tool: entry.tool.to_string(),
            reason: entry.reason.to_string(),
            outcome,
        }
    }
}

fn funnel(threads: &HashMap<Thread, Tries>, disk: &mut Disk) -> Funnel {
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

fn loops(threads: &HashMap<Thread, Tries>, disk: &mut Disk) -> Vec<Loop> {
    let mut loops: Vec<Loop> = threads
        .iter()
        .filter(|(_, tries)| tries.refused >= LOOP)
        .map(|(thread, tries)| Loop {
            thread: thread.clone(),
            name: tries.name.clone(),
            count: tries.refused,
            first: tries.first.clone(),
            last: tries.last.clone(),
            outcome: tries.outcome(disk),
        })
        .collect();
    loops.sort_unstable_by(|a, b| (b.count, &b.last, &b.name).cmp(&(a.count, &a.last, &a.name)));
    loops.truncate(LOOPS);
    loops
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
