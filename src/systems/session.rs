//! The session `state.json`: `.claude/.docs/<session-id>/`, closed. The names
//! are those of its state schema reference.

pub mod check;
pub mod create;
mod schema;
pub mod state;
pub mod transition;

use std::fmt;

use chrono::{DateTime, Utc};

use self::state::{Phase, State};
use self::transition::Step;
use crate::base::actor::AgentName;
use crate::base::text;
use crate::contract::denial::DenyCode;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Contract, Dir, DirKind, List, Row, Writer};
use crate::systems::gate_record::GateRecord;
use crate::systems::system::{
    AgentEvent, ClosedGate, ContentError, Effects, Files, Info, Judgement, Place, PriorText,
    System, View, of_no_gate, split_site,
};
use crate::systems::workflow::{Proof, UnreadableState, Workflow};

pub struct Session;

/// The id of the system.
pub const ID: &str = "session";

impl System for Session {
    fn info(&self) -> &Info<'_> {
        &INFO
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    /// Other tools may keep documents in `.claude/.docs/`; a directory is a
    /// session when its name says so, or when it holds or gets a `state.json`.
    fn locate<'p>(&self, path: &'p str, view: &dyn View) -> Option<Place<'p>> {
        let place = split_site(path, ".claude/.docs", 1)?;
        let id = place.site.rsplit('/').next().unwrap_or_default();
        let is_session = is_session_id(id)
            || place.entry == "state.json"
            || view.exists(&format!("{}/state.json", place.site));
        is_session.then_some(place)
    }

    fn judges(&self, entry: &str) -> bool {
        entry == "state.json"
    }

    fn check_content(&self, at: Place<'_>, text: &str, present: Option<&str>) -> Judgement {
        let Place { site, entry } = at;
        let id = site.rsplit('/').next().unwrap_or_default();
        check::check_content(text, present, Some(id)).map_err(|error| match error.code {
            DenyCode::IllegalTransition => {
                ContentError::illegal(format!("`{entry}` cannot become this: {}", error.message))
            }
            _ => error,
        })
    }

    fn moves_gates(&self, entry: &str) -> bool {
        Phase::from_report(entry).is_some()
    }

    fn at(&self, event: AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        Effects::of(match event {
            AgentEvent::Start { agent } => {
                Phase::for_agent(agent).and_then(|phase| newest(files, agent, phase, now))
            }
            AgentEvent::Wrote {
                agent: None,
                entries,
            } => entries.iter().find_map(|entry| written(files, entry, now)),
            AgentEvent::End { agent, .. } if Phase::for_agent(agent).is_none() => {
                let sessions = states(files);
                let open = newest_of(&sessions).ok();
                open.map(|(file, _)| of_no_gate(file, agent))
            }
            AgentEvent::Wrote { agent: Some(_), .. }
            | AgentEvent::End { .. }
            | AgentEvent::TurnEnd { .. } => None,
        })
    }

    fn closed_gate(&self, agent: &AgentName, _task: &str, files: &dyn Files) -> Option<ClosedGate> {
        let phase = Phase::for_agent(agent)?;
        let sessions = states(files);
        let (file, text) = newest_of(&sessions).ok()?;
        let state = State::parse(text).ok()?;
        let before = state.unfinished_before(phase)?;
        let (phase, status) = (before.phase.as_str(), before.gate_status());
        Some(ClosedGate::unmet(file, file, phase, status))
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        let text = files.text("state.json");
        text.map(|text| state::read_workflow(&text, &format!("{site}/state.json")))
            .into_iter()
            .collect()
    }
}

static INFO: Info<'static> = Info {
    gate_dir: Some(".claude/.docs"),
    landmarks: &[".claude/.docs/*"],
    prior: PriorText::Repairable,
    ..Info::new(ID)
};

static CONTRACT: Contract<'static> = Contract {
    source: "state schema reference of the coding skill",
    rows: List::Borrowed(&[
        main("state.json", "phases of the session").read_by("the main thread"),
        main("research-report.md", "report of the research phase"),
        main("plan-report.md", "report of the plan phase"),
        main("review-report.md", "report of the review phase"),
        // What `store::replace` puts beside the file while it writes it.
        Row::slug(
            &Slug {
                prefix: ".state.json.",
                shape: Shape::Digits,
                endings: &[".tmp"],
                regex: r"^\.state\.json\.[0-9]+\.tmp$",
                example: ".state.json.4711.tmp",
            },
            Writer::Main,
            "update in progress",
        )
        .ephemeral(),
    ]),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Closed)]),
    roles: List::Borrowed(&[]),
    fallback: None,
};

const fn main<'a>(name: &'a str, purpose: &'a str) -> Row<'a> {
    Row::file(name, Writer::Main, purpose)
}

/// `YYMMDD-words-of-the-task`: six digits, then words of `a-z0-9`, each after a `-`.
fn is_session_id(id: &str) -> bool {
    id.split_once('-').is_some_and(|(day, words)| {
        day.len() == 6 && Shape::Digits.matches(day) && Shape::Kebab.matches(words)
    })
}

/// The state file of a session.
#[derive(Clone, Debug)]
pub struct SessionFile {
    /// Below `.claude/.docs`.
    pub name: String,
    /// Or why it cannot be read.
    pub text: Result<String, String>,
}

impl SessionFile {
    /// # Errors
    /// It cannot be read, or is no state of a session.
    pub fn state(&self) -> Result<State, String> {
        State::parse(self.text.as_ref()?)
    }

    /// Where some phase is still to be finished: its state and its text.
    fn open(&self) -> Option<(State, &str)> {
        let (state, text) = (self.state().ok()?, self.text.as_deref().ok()?);
        state.unfinished()?;
        Some((state, text))
    }
}

/// The state file of every session.
pub fn states(files: &dyn Files) -> Vec<SessionFile> {
    let names = files
        .dirs()
        .into_iter()
        .map(|id| format!("{id}/state.json"));
    names
        .filter_map(|name| {
            let text = files.read(&name).transpose()?;
            Some(SessionFile { name, text })
        })
        .collect()
}

/// The `.claude/.docs` of a session's state file.
pub fn docs_of(file: &str) -> Option<&str> {
    file.rsplitn(3, '/').nth(2)
}

/// Whether a state file that cannot be read is of a newer session than one beside it: its name
/// begins with the day. It may be the one that goes on.
pub fn is_newer(torn: &str, other: &str) -> bool {
    docs_of(torn) == docs_of(other) && torn > other
}

/// The one of [`states`] that an agent's start belongs to: the newest by `updated_at`
/// with an unfinished phase. One that cannot be read holds those
/// before it.
///
/// # Errors
/// None has an unfinished phase, or the two newest were updated at the same time.
pub fn newest_of(sessions: &[SessionFile]) -> Result<(&str, &str), NotOne<'_>> {
    let states = sessions.iter().filter_map(|session| {
        let (state, text) = session.open()?;
        Some((state.updated_at.at, session.name.as_str(), text))
    });
    let mut open: Vec<_> = states.collect();
    open.sort_unstable_by(|a, b| b.cmp(a));
    if let Some((_, newest, _)) = open.first()
        && let Some((name, fault)) = torn(sessions).find(|(name, _)| is_newer(name, newest))
    {
        return Err(NotOne::NewestIsBroken(name, fault));
    }
    match open.as_slice() {
        [] => Err(NotOne::NoneIsOpen(torn(sessions).next())),
        [(at, name, _), (next_at, other, _), ..] if at == next_at => {
            Err(NotOne::SameTime(other, name))
        }
        [(_, name, text), ..] => Ok((name, text)),
    }
}

/// The sessions that cannot be read, and why.
fn torn(sessions: &[SessionFile]) -> impl Iterator<Item = (&str, String)> {
    let faults = sessions.iter();
    faults.filter_map(|session| Some((session.name.as_str(), session.state().err()?)))
}

/// Why there is no session to go on with. Sessions are named by their files.
#[derive(Debug)]
pub enum NotOne<'s> {
    /// With what is wrong with it.
    NewestIsBroken(&'s str, String),
    SameTime(&'s str, &'s str),
    /// With one that cannot be read.
    NoneIsOpen(Option<(&'s str, String)>),
}

impl NotOne<'_> {
    /// In a sentence that names each session as `name` gives it.
    pub fn with_names(&self, name: impl Fn(&str) -> &str) -> String {
        match self {
            Self::NewestIsBroken(file, fault) => format!(
                "`{}` is the newest session and cannot be read: {fault}",
                name(file)
            ),
            Self::SameTime(one, other) => format!(
                "sessions `{}` and `{}` were updated at the same time",
                name(one),
                name(other)
            ),
            Self::NoneIsOpen(None) => "no session has an unfinished phase".to_owned(),
            Self::NoneIsOpen(Some((file, fault))) => format!(
                "no session has an unfinished phase, and `{}` cannot be read: {fault}",
                name(file)
            ),
        }
    }
}

impl fmt::Display for NotOne<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_names(|file| file))
    }
}

/// The start of an agent belongs to the newest unfinished session.
fn newest(
    files: &dyn Files,
    agent: &AgentName,
    phase: Phase,
    now: DateTime<Utc>,
) -> Option<GateRecord> {
    let sessions = states(files);
    if sessions.is_empty() {
        return None;
    }
    Some(match newest_of(&sessions) {
        Ok((name, text)) => {
            let evidence = format!("agent `{agent}` started");
            let outcome = transition::apply(text, phase, Step::Start, &evidence, now);
            GateRecord::of(name, outcome).about(phase.as_str())
        }
        Err(why) => GateRecord::of("", Err(why.to_string())),
    })
}

/// The main thread's write of `<phase>-report.md` completes the phase of that session. A call
/// that says that it writes need not have written.
fn written(files: &dyn Files, entry: &str, now: DateTime<Utc>) -> Option<GateRecord> {
    let (id, report) = entry.split_once('/')?;
    let phase = Phase::from_report(report)?;
    let file = format!("{id}/state.json");
    let (text, state) = (files.read(entry).ok()??, files.text(&file)?);
    let step = Step::Complete {
        report: Some(report),
    };
    let evidence = format!("`{report}` was written");
    let mut outcome = match text::words(&text).next() {
        None => Err(format!("`{report}` is empty")),
        Some(_) => transition::apply(&state, phase, step, &evidence, now),
    };
    if let Ok(change) = &mut outcome {
        change.proof.push(Proof::artifact(entry));
    }
    Some(GateRecord::of(&file, outcome).about(phase.as_str()))
}
