//! `denies list`: one line for each denial.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

use super::super::{Context, output};
use super::filter::Passes;
use super::read::{self, Entry, Line, Newest};

/// The JSON document. Records come out as they stand in the log, keys of a
/// later version included.
#[derive(Debug, Serialize)]
struct Document {
    denies: Vec<serde_json::Value>,
}

pub(super) fn run(passes: &Passes, context: &Context<'_>, out: &mut dyn Write) -> Result<()> {
    let mut newest = Newest::new(passes.limit);
    super::each_denial(passes, context, &mut |entry, line| {
        newest.offer(entry, || Box::<str>::from(line));
    })?;
    let lines: Vec<Box<str>> = newest.into_items().collect();
    let denies = || {
        lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
    };
    match context.format {
        super::super::Format::Json => {
            let document = Document {
                denies: denies().collect(),
            };
            context.print(out, &document, |_| Ok(()))
        }
        super::super::Format::Text => Ok(write_text(&lines, context, out)?),
    }
}

fn write_text(lines: &[Box<str>], context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return writeln!(out, "nothing was refused");
    }
    for line in lines {
        if let Line::Record(entry, _) = read::parse(line.as_bytes()) {
            write_entry(&entry, context, out)?;
        }
    }
    writeln!(out, "{} refused", lines.len())
}

/// One denial on one line.
pub(super) fn write_entry(
    entry: &Entry<'_>,
    context: &Context<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let or = |text: &str, other: &str| match text {
        "" => other.to_owned(),
        text => output::printable(text),
    };
    let name = or(&entry.file_path, &entry.name);
    let below = format!("{}/", context.project.main.dir);
    let name = name.strip_prefix(&below).unwrap_or(&name);
    let instead = match entry.suggestion.as_ref() {
        "" => String::new(),
        instead => format!(" → {}", output::printable(instead)),
    };
    writeln!(
        out,
        "{}  {}  {}  {} by {}{}",
        output::printable(&entry.ts),
        context
            .paint
            .red(&format!("{:<20}", output::printable(&entry.rule))),
        or(name, "?"),
        or(&entry.tool, "?"),
        or(&entry.agent_type, "main"),
        context.paint.green(&instead),
    )
}
