//! `log`: every recorded change of a state file, newest first.

use anyhow::Result;
use chrono::DateTime;
use clap::ValueHint;
use serde::Serialize;

use super::denies::filter::Since;
use super::install::difference;
use super::output::{self, Page, Paint, Show, writeln};
use super::{Answer, CliContext, number};
use crate::base::path;
use crate::recorder::changes::{self, ChangeRecord, Outcome};
use crate::recorder::contents::Contents;
use crate::recorder::entry::{BlobId, ChangeKind};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "`statewarden restore PATH --at ID` brings back what a file held before a change."
)]
pub struct Args {
    /// Only these files, and what lies below these directories [default: all]
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
struct Document {
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
    let since = args.since.map(|since| since.before(context.now));
    let is_wanted = |record: &ChangeRecord| {
        let is_below = |dir: &String| path::relative(&record.path, dir).is_some();
        let ts = DateTime::parse_from_rfc3339(&record.ts);
        (paths.is_empty() || paths.iter().any(is_below))
            && since.is_none_or(|since| ts.is_ok_and(|ts| ts >= since))
    };
    let recorder = context.recorder_dir();
    let mut changes = Vec::new();
    changes::each(&recorder, &mut |record| {
        if is_wanted(&record) {
            changes.push(record);
        }
    });
    changes.reverse();
    changes.truncate(args.limit.unwrap_or(usize::MAX));
    let document = Document {
        changes,
        contents: args.diff.then(|| Contents::of(&recorder)),
    };
    context.show(&document)
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        if self.changes.is_empty() {
            writeln!(page, "{}", page.context.empty("no changes are recorded"));
        }
        for record in &self.changes {
            say_record(record, page);
            if let Some(contents) = &self.contents {
                say_diff(record, contents, page);
            }
        }
    }
}

fn say_record(record: &ChangeRecord, page: &mut Page<'_>) {
    let path = page.context.project.main.relative(&record.path);
    let path = path.unwrap_or(&record.path);
    let act = match record.act {
        ChangeKind::Create => "created",
        ChangeKind::Change => "changed",
        ChangeKind::Remove => "removed",
    };
    let size = record.size.map_or("-".to_owned(), output::size);
    // The removal half of a rename that was undone breaks no rule itself.
    let code = record.code.as_deref().filter(|code| !code.is_empty());
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    let outcome = match record.decision {
        Outcome::Allowed => Paint::plain(""),
        Outcome::Detected => page.paint.red(&format!("  detected{code}")),
        Outcome::Undone => page.paint.red(&format!("  undone{code}")),
    };
    let actor = record.actor.as_deref().unwrap_or("unknown");
    let doubt = if record.certain { "" } else { "?" };
    let tool = record.tool.as_deref().unwrap_or("-");
    let about = format!("{actor}{doubt} by {tool}  {act} {path}  {size}");
    writeln!(page, "{}  {}  {about}{outcome}", record.id, record.ts);
}

/// Longer texts take long to be compared line by line.
const MAX_LINES: usize = 2_000;

fn say_diff(record: &ChangeRecord, contents: &Contents, page: &mut Page<'_>) {
    let text = |id: Option<BlobId>| match id {
        None => Ok(String::new()),
        Some(id) => {
            let bytes = contents.get(id).ok_or("the content is not kept")?;
            let text = String::from_utf8(bytes).map_err(|_| "the content is no text")?;
            match text.lines().count() {
                ..=MAX_LINES => Ok(text),
                _ => Err("the content is too long to be compared"),
            }
        }
    };
    match text(record.before).and_then(|before| Ok((before, text(record.after)?))) {
        Ok((before, after)) => difference::say(page, &before, &after),
        Err(why) => writeln!(page, "  ({why})"),
    }
}
