//! `denies list` and `denies show`: records, one line each or one whole.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::LogCounts;
use super::filter::{Decision, Query};
use crate::base::text;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::log::read::{self, Entry, TopN};

/// The JSON document. Records come out as they stand in the log, keys of a
/// later version included, and `code` beside `rule`.
#[derive(Serialize)]
struct Document {
    #[serde(serialize_with = "with_codes")]
    denies: Vec<Box<str>>,
    #[serde(skip)]
    query: Query,
    #[serde(skip)]
    is_verbose: bool,
    #[serde(skip)]
    read: LogCounts,
    #[serde(skip)]
    trial: Trial,
}

fn with_codes<S: Serializer>(lines: &[Box<str>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(lines.iter().filter_map(|line| with_code(line)))
}

fn with_code(line: &str) -> Option<Value> {
    let mut record: Value = serde_json::from_str(line).ok()?;
    let record_keys = record.as_object_mut()?;
    if let Some(rule) = record_keys.get("rule").cloned() {
        record_keys.insert("code".to_owned(), rule);
    }
    Some(record)
}

pub(super) fn run(
    query: Query,
    is_verbose: bool,
    context: &CliContext<'_>,
) -> anyhow::Result<Answer> {
    let mut newest = TopN::new(query.limit);
    let mut trial = Trial::default();
    let read = super::each_record(&query, context, &mut |entry, line| {
        if query.decision == Decision::Warn {
            trial.add(entry);
        }
        newest.offer(entry, || Box::<str>::from(line));
    })?;
    let document = Document {
        denies: newest.into_items().collect(),
        query,
        is_verbose,
        read,
        trial,
    };
    context.show(&document)
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        if self.denies.is_empty() {
            return super::say_none(&self.query, &self.read, page);
        }
        for line in &self.denies {
            if let Ok(Some(entry)) = read::parse(line) {
                say_entry(&entry, &self.query, page);
                if self.is_verbose {
                    say_details(&entry, page);
                }
            }
        }
        let shown = self.denies.len();
        let total = self.read.counts.of(self.query.decision);
        let newest = match shown as u64 == total {
            true => String::new(),
            false => format!("the newest {shown} of "),
        };
        let others = super::others(&self.query, &self.read.counts);
        writeln!(page, "{newest}{}{others}", self.query.decision.count(total));
        self.trial.text(page);
    }
}

/// One record on one line.
pub(super) fn say_entry(entry: &Entry<'_>, query: &Query, page: &mut Page<'_>) {
    let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
    let what = or(&entry.file_path, &or(&entry.name, &entry.reason));
    let main = &page.context.project.main;
    let what = main.relative(&what).map_or(what.clone(), str::to_owned);
    let more = match entry.also.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let decision = match query.decision {
        Decision::All => format!("{:<10}", entry.decision),
        _ => String::new(),
    };
    let rule = page.paint.red(&or(&entry.rule, "-"));
    let about = format!(
        "{}{more}  {} by {}",
        or(&what, "?"),
        or(&entry.tool, "?"),
        or(&entry.agent_type, "main")
    );
    let instead = page.paint.instead(&entry.suggestion);
    writeln!(page, "{}  {decision}{rule:<20}  {about}{instead}", entry.ts);
}

fn say_details(entry: &Entry<'_>, page: &mut Page<'_>) {
    let command = match entry.command_excerpt.as_ref() {
        "" => String::new(),
        command => format!("$ {command}"),
    };
    for detail in [&entry.id, command.as_str(), &entry.reason] {
        if !detail.is_empty() {
            writeln!(page, "    {}", page.paint.dim(detail));
        }
    }
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
    fn add(&mut self, entry: &Entry<'_>) {
        if entry.rule.is_empty() {
            return;
        }
        self.calls += 1;
        self.sessions.insert(entry.session_id.to_string());
        *self.rules.entry(entry.rule.to_string()).or_default() += 1;
        if entry.rule == "ad-hoc-name" && !entry.name.is_empty() {
            let names = self.unknown_names.entry(entry.system.to_string());
            names.or_default().insert(entry.name.to_string());
        }
    }

    fn text(&self, page: &mut Page<'_>) {
        if self.calls == 0 {
            return;
        }
        let rules = self.rules.iter();
        let rules: Vec<_> = rules.map(|(rule, n)| format!("{n} {rule}")).collect();
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
    #[serde(serialize_with = "with_codes")]
    denies: Vec<Box<str>>,
}

/// The records whose ids begin so.
pub(super) fn show(args: &ShowArgs, context: &CliContext<'_>) -> anyhow::Result<Answer> {
    let query = Query::everything();
    let mut denies = Vec::new();
    super::each_record(&query, context, &mut |entry, line| {
        if entry.id.starts_with(&args.id) {
            denies.push(Box::<str>::from(line));
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
        for (at, line) in self.denies.iter().enumerate() {
            if at > 0 {
                writeln!(page);
            }
            let record: BTreeMap<String, Value> = serde_json::from_str(line).unwrap_or_default();
            let first = FIRST.iter().filter_map(|key| record.get_key_value(*key));
            let is_further = |(key, _): &(&String, _)| !FIRST.contains(&key.as_str());
            for (key, value) in first.chain(record.iter().filter(is_further)) {
                let text = value.as_str().map_or(value.to_string(), str::to_owned);
                writeln!(page, "{:<16} {text}", page.paint.dim(key));
            }
        }
    }
}
