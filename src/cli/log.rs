//! `log`: every recorded change of a state file, newest first.

use std::collections::HashMap;

use anyhow::Result;
use chrono::DateTime;
use clap::ValueHint;
use serde::Serialize;

use super::denies::filter::Since;
use super::output::{self, Page, Paint, Painted, Show, writeln};
use super::{Answer, CliContext, difference, number};
use crate::base::path;
use crate::recorder::changes::{self, ChangeRecord, Outcome};
use crate::recorder::contents::Contents;
use crate::recorder::entry::ChangeKind;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "`statewarden restore PATH --at ID` brings back what a file held before a change."
)]
pub struct Args {
    /// Only these files, and what is below these directories [default: all]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<String>,
    /// Only since then: `30m`, `24h`, `7d`, a date, or an RFC 3339 time
    #[arg(long, value_name = "WHEN", value_parser = Since::parse)]
    since: Option<Since>,
    /// Only the newest N
    #[arg(long, value_name = "N", value_parser = number::<usize>(1..=u64::MAX))]
    limit: Option<usize>,
    /// Show what each change did to the text
    #[arg(long)]
    diff: bool,
}

#[derive(Serialize)]
struct ChangeLog {
    changes: Vec<ChangeRecord>,
    /// With `--diff`.
    #[serde(skip)]
    contents: Option<Contents>,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let paths: Vec<String> = args
        .paths
        .iter()
        .map(|path| context.in_project(path))
        .collect();
    let earliest = args.since.map(|since| since.before(context.now));
    let recorder = context.recorder_dir();
    let mut changes = Vec::new();
    changes::each(&recorder, &mut |record| {
        let mut dirs = paths.iter();
        let is_of_path =
            paths.is_empty() || dirs.any(|dir| path::relative(&record.path, dir).is_some());
        let ts = DateTime::parse_from_rfc3339(&record.ts);
        if is_of_path && earliest.is_none_or(|earliest| ts.is_ok_and(|ts| ts >= earliest)) {
            changes.push(record);
        }
    });
    changes.reverse();
    changes.truncate(args.limit.unwrap_or(usize::MAX));
    let document = ChangeLog {
        changes,
        contents: args.diff.then(|| Contents::of(&recorder)),
    };
    context.show(&document)
}

impl Show for ChangeLog {
    fn text(&self, page: &mut Page<'_>) {
        if self.changes.is_empty() {
            writeln!(page, "{}", page.context.empty("no changes are recorded"));
        }
        let ids = beginnings(&self.changes);
        let records = self.changes.iter().zip(ids);
        let rows: Vec<_> = records
            .map(|(record, id)| cells(record, id, page))
            .collect();
        let widths = page.widths(&rows, &NARROW);
        let mut day = String::new();
        for (record, row) in self.changes.iter().zip(&rows) {
            page.day_of(&record.ts, &mut day);
            page.row(row, &widths);
            say_outcome(record, page);
            if let Some(contents) = &self.contents {
                say_diff(record, contents, page);
            }
        }
    }
}

/// Of each id its first part, the time, where no other change of the file has it: `restore`
/// takes a path and the beginning of an id.
fn beginnings(changes: &[ChangeRecord]) -> Vec<&str> {
    let times = changes.iter().map(|change| {
        let (time, _) = change.id.split_once('-').unwrap_or((&change.id, ""));
        (change.path.as_str(), time)
    });
    let mut known = HashMap::new();
    for time in times.clone() {
        *known.entry(time).or_insert(0) += 1;
    }
    let beginnings = changes.iter().zip(times).map(|(change, time)| {
        if known[&time] == 1 {
            time.1
        } else {
            &change.id
        }
    });
    beginnings.collect()
}

/// The columns that give way on a narrow terminal, in this order.
const NARROW: [usize; 3] = [5, 3, 2];

fn cells(record: &ChangeRecord, id: &str, page: &Page<'_>) -> [Painted; 7] {
    let path = page.context.below_root(&record.path);
    let actor = record.actor.as_deref().unwrap_or("unknown");
    let doubt = if record.certain { "" } else { "?" };
    let act = match record.act {
        ChangeKind::Create => "created",
        ChangeKind::Change => "changed",
        ChangeKind::Remove => "removed",
    };
    [
        Paint::plain(&page.local_time.clock(&record.ts)),
        page.paint.dim(id),
        Paint::plain(&format!("{actor}{doubt}")),
        Paint::plain(record.tool.as_deref().unwrap_or("-")),
        Paint::plain(act),
        Paint::plain(path).path(),
        Paint::plain(&record.size.map_or(String::new(), output::size)),
    ]
}

/// What is against the rules has a line of its own.
fn say_outcome(record: &ChangeRecord, page: &mut Page<'_>) {
    let outcome = match record.decision {
        Outcome::Allowed => return,
        Outcome::Detected => "detected",
        Outcome::Undone => "undone",
    };
    // The removal half of a rename that was undone breaks no rule itself.
    let about = match record.code.as_deref() {
        None | Some("") => outcome.to_owned(),
        Some(code) => format!("{outcome}: {code}"),
    };
    writeln!(page, "       {}", page.paint.red(&about));
}

fn say_diff(record: &ChangeRecord, contents: &Contents, page: &mut Page<'_>) {
    match difference::of_contents(contents, record.before, record.after) {
        Ok(lines) => lines.iter().for_each(|line| writeln!(page, "{line}")),
        Err(why) => writeln!(page, "  ({why})"),
    }
}
