//! `agentmux`: its sessions, read and never written.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Subcommand;
use serde::Serialize;

use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::{self, read_text};
use crate::base::text;
use crate::project::files::InDir;
use crate::systems::agentmux;
use crate::systems::agentmux::event::{self, Events};
use crate::systems::agentmux::state::{self, Session};
use crate::systems::system::Files;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Only this session
    #[arg(long, global = true, value_name = "NAME")]
    session: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Subcommand)]
enum What {
    /// Where each session is
    #[default]
    Show,
    /// What is wrong with the files that AgentMux reads again; exit 1 when something is
    Validate,
    /// What the agents' tools have said and the orchestrator has not applied
    Events,
}

#[derive(Debug, Serialize)]
struct SessionStates {
    sessions: Vec<Session>,
}

#[derive(Debug, Serialize)]
struct Problems {
    problems: Vec<Problem>,
    #[serde(skip)]
    n_sessions: usize,
}

#[derive(Debug, Serialize)]
struct Problem {
    session: String,
    problem: String,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let dirs = dirs(args, context)?;
    let what = args.what.unwrap_or_default();
    if let What::Events = what {
        return context.show(&events(&dirs, context)?);
    }
    let session = |(name, dir): &(String, String)| {
        let files = InDir {
            dir: Path::new(dir),
        };
        state::session(name, &|file| files.text(file))
    };
    let sessions: Vec<Session> = dirs.iter().map(session).collect();
    match what {
        What::Validate => context.show(&Problems::of(&sessions)),
        _ => context.show(&SessionStates { sessions }),
    }
}

/// The directories of the wanted sessions, by name.
fn dirs(args: &Args, context: &CliContext<'_>) -> Result<Vec<(String, String)>> {
    context.require(agentmux::ID)?;
    let sites = context.sites_of(agentmux::ID).into_iter();
    let named = sites.map(|site| {
        let dir = site.dir();
        let name = dir.rsplit('/').next().unwrap_or_default();
        (name.to_owned(), dir.to_owned())
    });
    let mut dirs: Vec<_> = named.collect();
    if let Some(wanted) = &args.session {
        let known = names(&dirs);
        dirs.retain(|(name, _)| name == wanted);
        if dirs.is_empty() {
            bail!("no session `{wanted}`; the sessions here are {known}");
        }
    }
    Ok(dirs)
}

fn names(dirs: &[(String, String)]) -> String {
    if dirs.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<&str> = dirs.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

impl Problems {
    fn of(sessions: &[Session]) -> Self {
        let problems = sessions.iter().flat_map(|session| {
            session.problems.iter().map(|problem| Problem {
                session: session.name.clone(),
                problem: problem.clone(),
            })
        });
        Self {
            problems: problems.collect(),
            n_sessions: sessions.len(),
        }
    }
}

impl Show for Problems {
    fn text(&self, page: &mut Page<'_>) {
        for Problem { session, problem } in &self.problems {
            let line = format!("{session}: {problem}");
            writeln!(page, "{}", page.paint.red(&line));
        }
        if self.problems.is_empty() {
            let sessions = text::count(self.n_sessions, "session", "sessions");
            writeln!(page, "{sessions}, no problem");
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.problems.is_empty())
    }
}

/// A log of events that is larger is none.
const MAX_LOG: u64 = 256 << 20;

/// The events of one session: the wanted one, else the active one, else the only one.
fn events(dirs: &[(String, String)], context: &CliContext<'_>) -> Result<Events> {
    let dir = match dirs {
        [(_, dir)] => dir.clone(),
        [] => bail!("there is no session of AgentMux here"),
        several => active(several, context).with_context(|| {
            format!(
                "several sessions, and `.agentmux/.active_session` names none of them; pass `--session \
                 NAME`, one of {}",
                names(several)
            )
        })?,
    };
    let file = Path::new(&dir).join("tool_events.jsonl");
    let log = bounded_read::if_there(bounded_read::read(&file, MAX_LOG))
        .with_context(|| format!("could not read `{}`", file.display()))?;
    let cursor = InDir {
        dir: Path::new(&dir),
    }
    .text("tool_event_state.json");
    let cursor = event::cursor(cursor.as_deref());
    Ok(event::read(&log.unwrap_or_default(), cursor))
}

/// The session that the environment names, or that AgentMux itself says it works on.
fn active(dirs: &[(String, String)], context: &CliContext<'_>) -> Option<String> {
    if let Some(named) = context.project.feature_dir()
        && let Some((_, dir)) = dirs.iter().find(|(_, dir)| named.is_at(dir))
    {
        return Some(dir.clone());
    }
    let note = format!("{}/.agentmux/.active_session", context.project.main.dir);
    let note: serde_json::Value = serde_json::from_str(&read_text(&note).ok()??).ok()?;
    let feature_dir = note["feature_dir"].as_str()?.trim_end_matches('/');
    let name = feature_dir.rsplit('/').next()?;
    let (_, dir) = dirs.iter().find(|(known, _)| known == name)?;
    Some(dir.clone())
}

impl Show for SessionStates {
    fn text(&self, page: &mut Page<'_>) {
        if self.sessions.is_empty() {
            writeln!(page, "{}", page.context.empty("no session of AgentMux"));
        }
        for session in &self.sessions {
            writeln!(page, "{}", page.paint.bold(&session.name));
            let fields = [
                ("phase", &session.phase),
                ("last event", &session.last_event),
                ("resumes in", &session.resume_phase),
            ];
            for (label, value) in fields {
                let known = value.as_deref().unwrap_or("unknown");
                writeln!(page, "  {label:<12}{known}");
            }
            if let Some(round) = session.review_iteration {
                writeln!(page, "  reviews     {round}");
            }
            for problem in &session.problems {
                writeln!(page, "  {}", page.paint.red(problem));
            }
        }
    }
}

impl Show for Events {
    fn text(&self, page: &mut Page<'_>) {
        let n_events = self.unapplied.len();
        let events = text::count(n_events, "unapplied event", "unapplied events");
        writeln!(page, "{events} behind byte {}", self.cursor);
        for event in &self.unapplied {
            let at = event.timestamp.as_deref().unwrap_or("-");
            let (offset, tool) = (event.offset, &event.tool);
            writeln!(page, "{offset:>9}  {at}  {tool}  {}", event.payload);
        }
        if self.torn {
            writeln!(
                page,
                "the log ends in the middle of a line, which AgentMux would lose"
            );
        }
    }
}
