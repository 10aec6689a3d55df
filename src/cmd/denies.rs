//! `denies`: the morning after.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use serde::Serialize;

use super::{Answer, Context, output};
use crate::decision::DenyCode;
use crate::record::{Record, What};
use crate::reply;
use crate::sites;
use crate::store::log::{LogFile, Logs};

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
}

/// Filters combine: a record must pass all of them.
#[derive(Debug, clap::Args)]
struct Filter {
    /// Only since then: `30m`, `24h`, `7d`, a date, or an RFC 3339 time
    #[arg(long, global = true, value_name = "WHEN")]
    since: Option<String>,
    /// Only this Claude Code session
    #[arg(long, global = true, value_name = "S")]
    session: Option<String>,
    /// Only this agent; `main` is the main thread
    #[arg(long, global = true, value_name = "A")]
    agent: Option<String>,
    /// Only this deny code
    #[arg(long, global = true, value_name = "R", value_parser = rule)]
    rule: Option<DenyCode>,
    /// Only the newest N
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Rotated logs as well
    #[arg(long, global = true)]
    all: bool,
}

fn rule(text: &str) -> Result<DenyCode, String> {
    let code = DenyCode::ALL.into_iter().find(|code| code.as_str() == text);
    code.ok_or_else(|| {
        let codes: Vec<&str> = DenyCode::ALL.iter().map(|code| code.as_str()).collect();
        format!("the rules are {}", codes.join(", "))
    })
}

#[derive(Debug, Serialize)]
struct Document {
    denies: Vec<Record>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>, out: &mut dyn Write) -> Result<Answer> {
    let Verb::List = args.verb.as_ref().unwrap_or(&Verb::List);
    let since = args
        .filter
        .since
        .as_deref()
        .map(|text| since(text, context.now))
        .transpose()?;
    let mut denies = Vec::new();
    for log in logs(context, args.filter.all)? {
        read(&log, &mut |record| {
            if args.filter.passes(&record, since)
                && context.wants(record.system.as_deref().unwrap_or_default())
            {
                denies.push(record);
            }
        })?;
    }
    denies.sort_by(|a, b| (&a.ts, &a.id).cmp(&(&b.ts, &b.id)));
    if let Some(limit) = args.filter.limit {
        denies.drain(..denies.len().saturating_sub(limit as usize));
    }
    let document = Document { denies };
    context.print(out, &document, |out| write_text(&document, context, out))?;
    Ok(Answer::Yes)
}

/// Every deny log of the project: one for each devt site, one for the rest.
fn logs(context: &Context<'_>, rotated: bool) -> Result<Vec<PathBuf>> {
    let own = Logs::of(Path::new(&context.project.main.dir)).denies();
    let devt = context.with_all_systems(|catalog| {
        let sites = sites::find(&context.project, catalog);
        let devt = sites
            .iter()
            .filter(|site| site.governed.system.id() == "devt");
        devt.map(|site| Logs::devt(Path::new(&site.dir())))
            .collect::<Vec<LogFile>>()
    });
    let mut paths = Vec::new();
    for log in devt.into_iter().chain([own]) {
        if rotated {
            paths.extend(log.generations());
        }
        paths.push(log.path());
    }
    Ok(paths)
}

/// Reads the denials of this program from a log, tolerating torn and foreign lines.
fn read(path: &Path, take: &mut dyn FnMut(Record)) -> Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(error).with_context(|| format!("could not open `{}`", path.display()));
        }
    };
    let mut unreadable = 0;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .with_context(|| format!("could not read `{}`", path.display()))?
        > 0
    {
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) if record.source == "statewarden" && record.decision == What::Deny => {
                take(record)
            }
            Ok(_) => {}
            // Other programs write records of their own into devt's log.
            Err(_) if serde_json::from_slice::<serde_json::Value>(&line).is_ok() => {}
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => unreadable += 1,
        }
        line.clear();
    }
    if unreadable > 0 {
        reply::complain(&format!(
            "{unreadable} unreadable line(s) in `{}` left out",
            path.display()
        ));
    }
    Ok(())
}

impl Filter {
    fn passes(&self, record: &Record, since: Option<DateTime<Utc>>) -> bool {
        let agent = |wanted: &str| match record.agent_type.as_deref() {
            None | Some("") => wanted == "main",
            Some(agent) => {
                agent == wanted || crate::actor::AgentName::parse(agent).as_str() == wanted
            }
        };
        let recent = |since| DateTime::parse_from_rfc3339(&record.ts).is_ok_and(|ts| ts >= since);
        self.session
            .as_ref()
            .is_none_or(|session| record.session_id.as_ref() == Some(session))
            && self.agent.as_deref().is_none_or(agent)
            && self.rule.is_none_or(|rule| record.rule == Some(rule))
            && since.is_none_or(recent)
    }
}

/// Parses `30m`, `24h`, `7d`, `2w`, `YYYY-MM-DD` (UTC) or an RFC 3339 time.
fn since(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>> {
    if let Ok(date) = text.parse::<NaiveDate>() {
        return Ok(date.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    let (number, unit) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    let span = number.parse::<u32>().ok().and_then(|n| match unit {
        "s" => TimeDelta::try_seconds(n.into()),
        "m" => TimeDelta::try_minutes(n.into()),
        "h" => TimeDelta::try_hours(n.into()),
        "d" => TimeDelta::try_days(n.into()),
        "w" => TimeDelta::try_weeks(n.into()),
        _ => None,
    });
    match span.and_then(|span| now.checked_sub_signed(span)) {
        Some(time) => Ok(time),
        None => {
            let yesterday = now
                .checked_sub_days(Days::new(1))
                .unwrap_or(now)
                .date_naive();
            bail!(
                "`--since {text}` is neither a span such as `24h` nor a date such as `{yesterday}`"
            )
        }
    }
}

fn write_text(document: &Document, context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    if document.denies.is_empty() {
        return writeln!(out, "nothing was refused");
    }
    for record in &document.denies {
        let rule = record.rule.map_or("", DenyCode::as_str);
        let who = record.agent_type.as_deref().unwrap_or("main");
        let tool = record.tool.as_deref().unwrap_or("?");
        let name = record
            .file_path
            .as_deref()
            .or(record.name.as_deref())
            .unwrap_or("?");
        let name = name
            .strip_prefix(&format!("{}/", context.project.main.dir))
            .unwrap_or(name);
        let instead = record
            .suggestion
            .as_deref()
            .map(|name| format!(" → {name}"))
            .unwrap_or_default();
        writeln!(
            out,
            "{}  {}  {}  {} by {}{}",
            record.ts,
            context.paint.red(&format!("{rule:<20}")),
            output::printable(name),
            output::printable(tool),
            output::printable(who),
            context.paint.green(&output::printable(&instead)),
        )?;
    }
    writeln!(out, "{} refused", document.denies.len())
}
