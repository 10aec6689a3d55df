//! `denies`: the morning after. Reads the logs as streams; what it holds in
//! memory is what it prints.

pub(in crate::cli) mod filter;
mod list;
mod report;
pub(in crate::cli) mod rows;
mod stats;

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;
use filter::{Counts, Filter, LoggedDecision, Query};

use super::output::{Page, writeln};
use super::{Answer, CliContext, Format};
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
    /// With each record's id, command and reason
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// One line for each record, oldest first
    List,
    /// Everything about one record, with the command
    Show(list::ShowArgs),
    /// How many, by rule, agent, system, name, day or session
    Stats(stats::Args),
    /// One self-contained HTML page: timeline, loops, recoveries, every record
    Report(report::Args),
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let verb = args.verb.as_ref().unwrap_or(&Verb::List);
    let default = match verb {
        Verb::Report(_) => LoggedDecision::All,
        _ => LoggedDecision::Deny,
    };
    let query = args.filter.resolve(default, context);
    match verb {
        Verb::List => {
            let detail = if args.verbose {
                list::Detail::Verbose
            } else {
                list::Detail::Line
            };
            list::run(query, detail, context)
        }
        Verb::Show(show) => list::show(show, context),
        Verb::Stats(stats) => stats::run(stats, query, context),
        Verb::Report(report) => report::run(report, &query, context),
    }
}

/// Says that there is no such record, or none that the filter lets through; and where
/// there are no others either, whether the hook ran at all.
fn say_none(query: &Query, read: &LogCounts, page: &mut Page<'_>) {
    let (noun, words) = (query.decision.noun(), query.in_words(&page.local_time));
    let others = others(query, &read.counts);
    if !words.is_empty() {
        return writeln!(page, "no {noun} matches ({words}){others}");
    }
    writeln!(page, "no {noun} is recorded{others}");
    let is_silent = read.heartbeats == 0 && read.counts == Counts::default();
    let events = page.context.project.logs().events();
    if is_silent && events.generations().is_empty() {
        let advice = "see `statewarden doctor`";
        writeln!(page, "the hook has never run here; {advice}");
    }
}

/// What else is recorded, for the end of a line.
fn others(query: &Query, counts: &Counts) -> String {
    match counts.besides(query.decision) {
        others if others.is_empty() => others,
        others => format!("; and {others} (`--decision all` lists them)"),
    }
}

/// The deny logs of the project: one for each devt site, one for the rest.
pub(super) fn deny_logs(context: &CliContext<'_>) -> Vec<LogFile> {
    let sites = context.sites_of(devt::ID);
    let mut dirs: Vec<_> = sites.iter().map(|site| PathBuf::from(site.dir())).collect();
    dirs.sort_unstable();
    dirs.dedup();
    let of_sites = dirs.iter().map(|dir| Logs::devt(dir));
    of_sites.chain([context.project.logs().denies()]).collect()
}

/// Every log, and whether it is one that holds what is wanted.
fn logs(query: &Query, context: &CliContext<'_>) -> Vec<(LogFile, bool)> {
    let of_denials = query.decision.includes(LoggedDecision::Deny);
    let mut logs: Vec<_> = (deny_logs(context).into_iter())
        .map(|log| (log, of_denials))
        .collect();
    logs.push((
        context.project.logs().events(),
        query.decision != LoggedDecision::Deny,
    ));
    logs
}

/// When denials were recovered from, by their ids. An unreadable log of events hides
/// recoveries, not denials.
pub(super) fn recoveries(context: &CliContext<'_>) -> HashMap<String, String> {
    read::recoveries(&context.project.logs().events()).unwrap_or_else(|error| {
        warn::warn(&format!("{error:#}"));
        HashMap::new()
    })
}

/// Whether the name to use instead resembles the denied one; a contract's fallback does not.
fn is_slip(system: &str, suggestion: &str, context: &CliContext<'_>) -> bool {
    let fallback = context
        .registry
        .get(system)
        .and_then(|known| known.contract.fallback);
    !suggestion.is_empty() && Some(suggestion) != fallback
}

/// What all logs together hold.
#[derive(Default)]
struct LogCounts {
    counts: Counts,
    heartbeats: u64,
}

/// Hands the wanted records to `take`, log by log, with their lines. Says on stderr where
/// older ones are left out.
fn each_record(
    query: &Query,
    context: &CliContext<'_>,
    take: &mut dyn FnMut(&Entry<'_>, &str),
) -> Result<LogCounts> {
    let mut found = LogCounts::default();
    let mut warns = query.reach == Reach::Newest && context.format == Format::Text;
    for (log, is_wanted) in logs(query, context) {
        if warns && is_wanted && !log.generations().is_empty() {
            warn::warn("older records are in rotated logs; `--all` counts them as well");
            warns = false;
        }
        let read = read::entries(&log, query.reach, &mut |entry, line| {
            found.heartbeats += u64::from(entry.decision == "heartbeat");
            if let Some(decision) = query.decision_of(entry) {
                found.counts.add(decision);
                if query.decision.includes(decision) {
                    take(entry, line);
                }
            }
        });
        match read {
            // What is only counted besides makes the answer no other.
            Err(error) if !is_wanted => warn::warn(&format!("{error:#}")),
            read => read?,
        }
    }
    Ok(found)
}
