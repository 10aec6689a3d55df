//! `replay`: what the guard would have denied in past sessions. Reads
//! Claude Code's transcripts, writes nothing.
//!
//! The guard of today is asked: today's settings, links and sites. What a file
//! held at the time is not known, so a text is judged by itself.

mod guard;
mod tally;

pub(super) use guard::each_line;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use anyhow::{Context as _, Result, bail};
use tally::{ReplayTally, TranscriptReport};

use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::{text, warn};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Transcripts, or folders of them (`~/.claude/projects/<project>`)
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Exit 1 when something would have been denied
    #[arg(long)]
    fail_on_deny: bool,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    // Nothing is denied of a system that is off, which looks like a good answer.
    context.require_wanted()?;
    let files = files_below(&args.paths, "jsonl")?;
    let reports = read_all(&files, context)?;
    check_transcripts(&files, &reports)?;
    let document = ReplayTally::of(reports);
    if document.unreadable_lines > 0 {
        warn::warn(&format!(
            "left out {} with a tool call",
            text::count(
                document.unreadable_lines,
                "unreadable line",
                "unreadable lines"
            )
        ));
    }
    context.show(&document)?;
    let refused = !document.refused.is_empty();
    Ok(Answer::yes_if(!(args.fail_on_deny && refused)))
}

/// The files that are named, and all with an extension below the folders that are.
pub(super) fn files_below(paths: &[PathBuf], extension: &str) -> Result<Vec<PathBuf>> {
    let files = files_where(paths, |path| {
        path.extension().is_some_and(|ext| ext == extension)
    })?;
    if files.is_empty() {
        bail!("no `*.{extension}` in the given folders");
    }
    Ok(files)
}

/// The files that are named, and those below the folders that are taken.
pub(super) fn files_where(
    paths: &[PathBuf],
    takes: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for path in paths {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => folders.push(path.clone()),
            Ok(_) => files.push(path.clone()),
            Err(error) => {
                return Err(error).with_context(|| format!("could not read `{}`", path.display()));
            }
        }
    }
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("could not list `{}`", folder.display()))?;
        for entry in entries {
            let found = entry.with_context(|| format!("could not list `{}`", folder.display()))?;
            let (path, kind) = (found.path(), found.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && takes(&path) {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// Says which files hold no record of Claude Code: nothing refused in them is no answer.
fn check_transcripts(files: &[PathBuf], reports: &[TranscriptReport]) -> Result<()> {
    let pairs = files.iter().zip(reports);
    let others = pairs.filter(|(_, report)| !report.is_transcript);
    let others: Vec<&PathBuf> = others.map(|(file, _)| file).collect();
    let shown = match others.as_slice() {
        [] => return Ok(()),
        [one] => format!("`{}`", one.display()),
        [first, more @ ..] => {
            let more = text::count(more.len(), "other file", "other files");
            format!("`{}` and {more}", first.display())
        }
    };
    if others.len() == files.len() {
        bail!("no transcript of Claude Code in {shown}");
    }
    warn::warn(&format!("left out {shown}: no transcript of Claude Code"));
    Ok(())
}

/// Reads the files on every core; the reports are in the order of the files.
fn read_all(files: &[PathBuf], context: &CliContext<'_>) -> Result<Vec<TranscriptReport>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let is_watched = io::stderr().is_terminal();
    let shared = guard::Surroundings::of(context);
    let read = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.min(files.len()))
            .map(|_| {
                scope.spawn(|| {
                    let mut reports = Vec::new();
                    while let Some((at, file)) = take(files, &next) {
                        reports.push((at, guard::read(file, &shared)?));
                        let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                        if is_watched && n.is_multiple_of(files.len() / 100 + 1) {
                            // A terminal that is gone is no reason to stop.
                            let _ = write!(io::stderr(), "\r{n} of {} files", files.len());
                        }
                    }
                    Ok(reports)
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| bail!("the transcript reader hit an internal error"))
        });
        ended.collect::<Result<Vec<_>>>()
    });
    if is_watched {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    let mut reports: Vec<(usize, TranscriptReport)> = read?.into_iter().flatten().collect();
    reports.sort_unstable_by_key(|(at, _)| *at);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

fn take<'f>(files: &'f [PathBuf], next: &AtomicUsize) -> Option<(usize, &'f Path)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, files.get(at)?))
}

impl Show for ReplayTally {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let title = format!(
            "{}, {}; {} would be denied, {} of them denied then as well",
            text::count(self.files, "file", "files"),
            text::count(self.calls, "call", "calls"),
            self.refused_calls,
            self.already_refused
        );
        writeln!(page, "{}", paint.bold(&title));
        if self.warned > 0 {
            writeln!(page, "{} would get a warning (`mode: warn`)", self.warned);
        }
        for row in &self.refused {
            let instead = paint.instead(row.suggestion.as_deref().unwrap_or_default());
            let (rule, name) = (paint.red(row.rule.as_str()), &row.name);
            let (count, system) = (row.count, &row.system);
            writeln!(page, "{count:>6}  {rule:<20}  {system}  {name}{instead}");
            for example in &row.examples {
                let place = paint.dim(&format!("{}:{}", example.at.file, example.at.line));
                let by = format!("{} by {}", example.at.tool, example.agent);
                writeln!(page, "          {place}  {by}: {}", example.what);
            }
        }
        self.suggest(page);
    }
}

impl ReplayTally {
    /// The settings that would let the possible false alarms through.
    fn suggest(&self, page: &mut Page<'_>) {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for candidate in &self.false_alarm_candidates {
            let of_system = names.entry(candidate.system.clone()).or_default();
            of_system.insert(candidate.name.clone());
        }
        if names.is_empty() {
            return;
        }
        writeln!(page);
        writeln!(
            page,
            "Possible false alarms: denied now, but read or edited by name later."
        );
        for candidate in &self.false_alarm_candidates {
            let used = &candidate.used;
            writeln!(
                page,
                "  {}  {} used it at {}",
                candidate.name, used.tool, used.place
            );
        }
        writeln!(
            page,
            "If these names belong to your project, add to `.claude/statewarden.yaml`:"
        );
        page.extra_names(&names);
    }
}
