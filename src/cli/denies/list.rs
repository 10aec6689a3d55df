//! `denies list` and `denies show`: records, one line each or one whole.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anyhow::bail;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::LogCounts;
use super::filter::{Decision, Query};
use crate::base::text;
use crate::cli::{CliContext, output};
use crate::log::read::{self, Entry, TopN};

/// The JSON document. Records come out as they stand in the log, keys of a
/// later version included, and `code` beside `rule`.
#[derive(Debug, Serialize)]
struct Document {
    #[serde(serialize_with = "with_codes")]
    denies: Vec<Box<str>>,
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
    query: &Query,
    is_verbose: bool,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut newest = TopN::new(query.limit);
    let mut trial = Trial::default();
    let read = super::each_record(query, context, &mut |entry, line| {
        if query.decision == Decision::Warn {
            trial.add(entry);
        }
        newest.offer(entry, || Box::<str>::from(line));
    })?;
    let document = Document {
        denies: newest.into_items().collect(),
    };
    context.print(out, &document, |out| {
        if document.denies.is_empty() {
            return super::write_none(query, &read, context, out);
        }
        for line in &document.denies {
            if let Ok(Some(entry)) = read::parse(line) {
                write_entry(&entry, query, context, out)?;
                if is_verbose {
                    write_details(&entry, context, out)?;
                }
            }
        }
        write_total(document.denies.len(), query, &read, out)?;
        trial.write(context, out)
    })
}

fn write_total(
    shown: usize,
    query: &Query,
    read: &LogCounts,
    out: &mut dyn Write,
) -> io::Result<()> {
    let total = read.counts.of(query.decision);
    if shown as u64 != total {
        write!(out, "the newest {shown} of ")?;
    }
    write!(out, "{}", query.decision.count(total))?;
    super::write_others(query, &read.counts, out)
}

/// One record on one line.
pub(super) fn write_entry(
    entry: &Entry<'_>,
    query: &Query,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let or = |text: &str, other: &str| match text {
        "" => other.to_owned(),
        text => output::printable(text),
    };
    let what = or(&entry.file_path, or(&entry.name, &entry.reason).as_str());
    let below = format!("{}/", context.project.main.dir);
    let what = what.strip_prefix(&below).unwrap_or(&what);
    let more = match entry.also.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let decision = match query.decision {
        Decision::All => format!("{:<10}", output::printable(&entry.decision)),
        _ => String::new(),
    };
    writeln!(
        out,
        "{}  {decision}{}  {}{more}  {} by {}{}",
        output::printable(&entry.ts),
        context.paint.red(&format!("{:<20}", or(&entry.rule, "-"))),
        or(what, "?"),
        or(&entry.tool, "?"),
        or(&entry.agent_type, "main"),
        context.paint.instead(&entry.suggestion),
    )
}

fn write_details(
    entry: &Entry<'_>,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let command = match entry.command_excerpt.as_ref() {
        "" => String::new(),
        command => format!("$ {command}"),
    };
    for detail in [&entry.id, command.as_str(), &entry.reason] {
        if !detail.is_empty() {
            writeln!(out, "    {}", context.paint.dim(detail))?;
        }
    }
    Ok(())
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

    fn write(&self, context: &CliContext<'_>, out: &mut dyn Write) -> io::Result<()> {
        if self.calls == 0 {
            return Ok(());
        }
        let rules = self.rules.iter();
        let rules: Vec<_> = rules.map(|(rule, n)| format!("{n} {rule}")).collect();
        let calls = text::count(self.calls, "call", "calls");
        let sessions = text::count(self.sessions.len(), "session", "sessions");
        writeln!(out)?;
        let title = format!("`mode: enforce` would have denied {calls} in {sessions}");
        let rules = output::printable(&rules.join(", "));
        writeln!(out, "{}: {rules}", context.paint.bold(&title))?;
        if self.unknown_names.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "Which of these names should exist? Add them to `.claude/statewarden.yaml`:"
        )?;
        writeln!(out, "  systems:")?;
        for (system, names) in &self.unknown_names {
            let names: Vec<_> = names.iter().map(|name| yaml_text(name)).collect();
            writeln!(out, "    {}:", output::printable(system))?;
            writeln!(out, "      extra_names: [{}]", names.join(", "))?;
        }
        Ok(())
    }
}

/// A name as YAML reads it; a plain one without quotes.
fn yaml_text(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => serde_json::to_string(name).unwrap_or_default(),
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// The record's id, or its beginning; `denies list -v` prints ids
    #[arg(value_name = "ID")]
    id: String,
}

/// The records whose ids begin so, with all that they hold.
pub(super) fn show(
    args: &ShowArgs,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
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
    let document = Document { denies };
    context.print(out, &document, |out| {
        for (at, line) in document.denies.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            write_whole(line, context, out)?;
        }
        Ok(())
    })
}

fn write_whole(line: &str, context: &CliContext<'_>, out: &mut dyn Write) -> io::Result<()> {
    let record: BTreeMap<String, Value> = serde_json::from_str(line).unwrap_or_default();
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
    let first = FIRST
        .into_iter()
        .filter_map(|key| record.get_key_value(key));
    let rest = record
        .iter()
        .filter(|(key, _)| !FIRST.contains(&key.as_str()));
    for (key, value) in first.chain(rest) {
        let value = match value {
            Value::String(text) => output::printable(text),
            other => output::printable(&other.to_string()),
        };
        writeln!(out, "{} {value}", context.paint.dim(&format!("{key:<16}")))?;
    }
    Ok(())
}
