//! `denies list` and `denies show`: records, one line each or one whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::bail;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::LogCounts;
use super::filter::{LoggedDecision, Query};
use super::rows::{self, End, RecordRow};
use crate::base::text;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::log::read::{self, Entry, TopN};

/// The JSON document. Records come out as their log holds them, keys of a later version
/// included, with `code` beside `rule`, and `recovered_at` where a recovery closed a denial.
#[derive(Serialize)]
struct Listed {
    denies: Vec<Record>,
    #[serde(skip)]
    query: Query,
    #[serde(skip)]
    detail: Detail,
    #[serde(skip)]
    read: LogCounts,
    #[serde(skip)]
    recovered: u64,
    #[serde(skip)]
    trial: Trial,
}

/// How much is printed of each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Line,
    /// With its id, command and reason.
    Verbose,
}

struct Record {
    line: Box<str>,
    recovered_at: Option<String>,
}

impl Record {
    fn end(&self) -> End {
        match self.recovered_at {
            Some(_) => End::Recovered,
            None => End::Open,
        }
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut record: Value =
            serde_json::from_str(&self.line).map_err(serde::ser::Error::custom)?;
        if let Some(keys) = record.as_object_mut() {
            if let Some(rule) = keys.get("rule").cloned() {
                keys.insert("code".to_owned(), rule);
            }
            if let Some(time) = &self.recovered_at {
                keys.insert("recovered_at".to_owned(), time.as_str().into());
            }
        }
        record.serialize(to)
    }
}

pub(super) fn run(
    query: Query,
    detail: Detail,
    context: &CliContext<'_>,
) -> anyhow::Result<Answer> {
    let recoveries = if query.decision.includes(LoggedDecision::Deny) {
        super::recoveries(context)
    } else {
        HashMap::new()
    };
    let mut newest = TopN::new(query.limit);
    let mut trial = Trial::default();
    let mut recovered = 0;
    let read = super::each_record(&query, context, &mut |entry, line| {
        if query.decision == LoggedDecision::Warn {
            trial.add(entry, context);
        }
        let recovered_at = recoveries.get(entry.id.as_ref()).cloned();
        recovered += u64::from(recovered_at.is_some());
        newest.offer(entry, || Record {
            line: line.into(),
            recovered_at,
        });
    })?;
    context.show(&Listed {
        denies: newest.into_items().collect(),
        query,
        detail,
        read,
        recovered,
        trial,
    })
}

impl Show for Listed {
    fn text(&self, page: &mut Page<'_>) {
        if self.denies.is_empty() {
            return super::say_none(&self.query, &self.read, page);
        }
        let rows = self.denies.iter().filter_map(|record| {
            let entry = read::parse(&record.line).ok()??;
            Some(self.row(&entry, record.end(), page.context))
        });
        rows::say(&rows.collect::<Vec<_>>(), page);
        self.say_total(page);
        self.trial.text(page);
    }
}

impl Listed {
    fn row(&self, entry: &Entry<'_>, end: End, context: &CliContext<'_>) -> RecordRow {
        let mut row = RecordRow::new(entry, end, context);
        if self.query.decision == LoggedDecision::All {
            row.decision = entry.decision.to_string();
        }
        if self.detail == Detail::Verbose {
            row.details = details(entry);
        }
        row
    }

    fn say_total(&self, page: &mut Page<'_>) {
        let shown = self.denies.len();
        let total = self.read.counts.of(self.query.decision);
        let newest = if shown as u64 == total {
            String::new()
        } else {
            format!("the newest {shown} of ")
        };
        let recovered = match self.recovered {
            0 => String::new(),
            n => format!(", {n} of them recovered (✓)"),
        };
        let others = super::others(&self.query, &self.read.counts);
        let count = self.query.decision.count(total);
        writeln!(page, "{newest}{count}{recovered}{others}");
    }
}

/// The id, the command and the reason.
fn details(entry: &Entry<'_>) -> Vec<String> {
    let command = match entry.command_excerpt.as_ref() {
        "" => String::new(),
        command => format!("$ {command}"),
    };
    let all = [entry.id.to_string(), command, entry.reason.to_string()];
    all.into_iter()
        .filter(|detail| !detail.is_empty())
        .collect()
}

/// What a trial in `mode: warn` found: the calls that `mode: enforce` would have denied.
#[derive(Default)]
struct Trial {
    calls: u64,
    sessions: BTreeSet<String>,
    rules: BTreeMap<String, u64>,
    /// By system: names that no contract knows.
    unknown_names: BTreeMap<String, BTreeSet<String>>,
}

impl Trial {
    fn add(&mut self, entry: &Entry<'_>, context: &CliContext<'_>) {
        if entry.rule.is_empty() {
            return;
        }
        self.calls += 1;
        self.sessions.insert(entry.session_id.to_string());
        *self.rules.entry(entry.rule.to_string()).or_default() += 1;
        let is_slip = super::is_slip(&entry.system, &entry.suggestion, context);
        if entry.rule == "ad-hoc-name" && !entry.name.is_empty() && !is_slip {
            let names = self.unknown_names.entry(entry.system.to_string());
            names.or_default().insert(entry.name.to_string());
        }
    }

    fn text(&self, page: &mut Page<'_>) {
        if self.calls == 0 {
            return;
        }
        let rules: Vec<_> = (self.rules.iter())
            .map(|(rule, n)| format!("{n} {rule}"))
            .collect();
        let calls = text::count(self.calls, "call", "calls");
        let sessions = text::count(self.sessions.len(), "session", "sessions");
        let title = format!("`mode: enforce` would have denied {calls} in {sessions}");
        writeln!(page);
        writeln!(page, "{}: {}", page.paint.bold(&title), rules.join(", "));
        if self.unknown_names.is_empty() {
            return;
        }
        writeln!(
            page,
            "Which of these names should exist? Add them to `.claude/statewarden.yaml`:"
        );
        page.extra_names(&self.unknown_names);
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// The record's id, or its beginning; `denies list -v` prints ids
    #[arg(value_name = "ID")]
    id: String,
}

/// Records with all that they hold.
#[derive(Serialize)]
struct Whole {
    denies: Vec<Record>,
}

/// The records whose ids begin so.
pub(super) fn show(args: &ShowArgs, context: &CliContext<'_>) -> anyhow::Result<Answer> {
    let query = Query::everything();
    let recoveries = super::recoveries(context);
    let mut denies = Vec::new();
    super::each_record(&query, context, &mut |entry, line| {
        if entry.id.starts_with(&args.id) {
            denies.push(Record {
                line: line.into(),
                recovered_at: recoveries.get(entry.id.as_ref()).cloned(),
            });
        }
    })?;
    if denies.is_empty() {
        bail!(
            "no record `{}`; `statewarden denies list -v --decision all --all` prints the ids",
            args.id
        );
    }
    context.show(&Whole { denies })
}

/// What a record is read for comes first.
const FIRST: [&str; 8] = [
    "id",
    "ts",
    "decision",
    "rule",
    "system",
    "file_path",
    "command_excerpt",
    "reason",
];

impl Show for Whole {
    fn text(&self, page: &mut Page<'_>) {
        for (at, record) in self.denies.iter().enumerate() {
            if at > 0 {
                writeln!(page);
            }
            let keys: BTreeMap<String, Value> =
                serde_json::from_str(&record.line).unwrap_or_default();
            let first = FIRST.iter().filter_map(|key| keys.get_key_value(*key));
            let further = keys
                .iter()
                .filter(|(key, _)| !FIRST.contains(&key.as_str()));
            for (key, value) in first.chain(further) {
                let text = value.as_str().map_or(value.to_string(), str::to_owned);
                let title = page.paint.dim(key);
                page.hanging(format_args!("{title:<16} "), 17, &text);
            }
            if let Some(time) = &record.recovered_at {
                writeln!(page, "{:<16} {time}", page.paint.dim("recovered_at"));
            }
        }
    }
}
