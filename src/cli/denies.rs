//! `denies`: the morning after. Reads the logs as streams; what it holds in
//! memory is what it prints.

pub(in crate::cli) mod filter;
mod follow;
mod list;
mod report;
mod stats;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use filter::{Filter, Query};

use super::{Answer, CliContext, Format, output};
use crate::base::warn;
use crate::log::append::{LogFile, Logs};
use crate::log::read::{self, Entry, Reach};
use crate::systems::devt;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// One line for each denial, oldest first
    List,
    /// How many denials, by rule, agent, system, name, day or session
    Stats(stats::Args),
    /// One self-contained HTML page: totals, timeline, loops, recoveries, every record
    Report(report::Args),
    /// Print new denials as they are logged, until interrupted
    Follow,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>, out: &mut dyn Write) -> Result<Answer> {
    let passes = args.filter.resolve(context)?;
    match args.verb.as_ref().unwrap_or(&Verb::List) {
        Verb::List => list::run(&passes, context, out)?,
        Verb::Stats(stats) => stats::run(stats, &passes, context, out)?,
        Verb::Report(report) => report::run(report, &passes, context, out)?,
        Verb::Follow if passes.reach == Reach::All || passes.limit.is_some() => {
            bail!(
                "`denies follow` prints what comes: `--all` and `--limit` have no meaning with it"
            )
        }
        Verb::Follow => follow::run(&passes, context, out)?,
    }
    Ok(Answer::Yes)
}

/// Says that there is no denial, or none that the filter lets through; and of a log
/// without any, whether that is because nothing is refused here, or nothing ran.
fn write_none(passes: &Query, context: &CliContext<'_>, out: &mut dyn Write) -> io::Result<()> {
    let words = passes.in_words();
    if !words.is_empty() {
        return writeln!(out, "no denial matches ({})", output::printable(&words));
    }
    writeln!(out, "nothing was refused")?;
    let log = context.project.logs().events();
    let (mut sessions, mut told) = (0, 0);
    let mut take = |entry: &Entry<'_>, _: &str| match entry.decision.as_ref() {
        "heartbeat" => sessions += 1,
        "warn" | "detected" => told += 1,
        _ => {}
    };
    if let Err(error) = read::entries(&log, Reach::All, &mut take) {
        warn::warn(&format!("{error:#}"));
        return Ok(());
    }
    match (told, sessions) {
        (0, 0) => writeln!(
            out,
            "the hook never reported in here; see `statewarden doctor`"
        ),
        (0, _) => Ok(()),
        _ => {
            let log = log.path();
            writeln!(
                out,
                "{told} warned about or detected; see `{}`",
                log.display()
            )
        }
    }
}

/// Every deny log of the project: one for each devt site, one for the rest.
///
/// The site at the root is one of them before it is there, for who waits for it.
fn logs(context: &CliContext<'_>) -> Vec<LogFile> {
    let mut dirs = vec![PathBuf::from(context.project.main.path(".devt/state"))];
    dirs.extend(context.sites_of(devt::ID, |site| PathBuf::from(site.dir())));
    dirs.sort_unstable();
    dirs.dedup();
    let devt = dirs.iter().map(|dir| Logs::devt(dir));
    devt.chain([context.project.logs().denies()]).collect()
}

/// Hands the denials that pass to `take`, log by log, with their lines. Tells people
/// on stderr where older ones are left out.
fn each_denial(
    passes: &Query,
    context: &CliContext<'_>,
    take: &mut dyn FnMut(&Entry<'_>, &str),
) -> Result<()> {
    let mut tell = passes.reach == Reach::PriorText && context.format == Format::Text;
    for log in logs(context) {
        if tell && !log.generations().is_empty() {
            warn::warn("older denials are in rotated logs; `--all` counts them as well");
            tell = false;
        }
        read::denials(&log, passes.reach, &mut |entry, line| {
            if passes.let_through(entry) {
                take(entry, line);
            }
        })?;
    }
    Ok(())
}
