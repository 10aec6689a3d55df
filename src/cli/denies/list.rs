//! `denies list`: one line for each denial.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::filter::Query;
use crate::cli::{CliContext, output};
use crate::log::read::{self, Entry, TopN};

/// The JSON document. Records come out as they stand in the log, keys of a
/// later version included, one after the other.
#[derive(Debug, Serialize)]
struct Document {
    #[serde(serialize_with = "as_they_stand")]
    denies: Vec<Box<str>>,
}

fn as_they_stand<S: Serializer>(lines: &[Box<str>], to: S) -> Result<S::Ok, S::Error> {
    let records = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    to.collect_seq(records)
}

pub(super) fn run(
    passes: &Query,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut newest = TopN::new(passes.limit);
    let mut total = 0;
    super::each_denial(passes, context, &mut |entry, line| {
        total += 1;
        newest.offer(entry, || Box::<str>::from(line));
    })?;
    let document = Document {
        denies: newest.into_items().collect(),
    };
    context.print(out, &document, |out| {
        if total == 0 {
            return super::write_none(passes, context, out);
        }
        write_text(&document.denies, total, context, out)
    })
}

fn write_text(
    lines: &[Box<str>],
    total: usize,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in lines {
        if let Ok(Some(entry)) = read::parse(line) {
            write_entry(&entry, context, out)?;
        }
    }
    match lines.len() {
        all if all == total => writeln!(out, "{total} refused"),
        shown => writeln!(out, "the newest {shown} of {total} refused"),
    }
}

/// One denial on one line.
pub(super) fn write_entry(
    entry: &Entry<'_>,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let or = |text: &str, other: &str| match text {
        "" => other.to_owned(),
        text => output::printable(text),
    };
    let name = or(&entry.file_path, &entry.name);
    let below = format!("{}/", context.project.main.dir);
    let name = name.strip_prefix(&below).unwrap_or(&name);
    let more = match entry.also.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    writeln!(
        out,
        "{}  {}  {}{more}  {} by {}{}",
        output::printable(&entry.ts),
        context
            .paint
            .red(&format!("{:<20}", output::printable(&entry.rule))),
        or(name, "?"),
        or(&entry.tool, "?"),
        or(&entry.agent_type, "main"),
        context.paint.instead(&entry.suggestion),
    )
}
