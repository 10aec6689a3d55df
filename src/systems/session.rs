//! The session `state.json`: `.claude/.docs/<session-id>/`, closed. The names
//! are those of its state schema reference.

pub mod check;
pub mod create;
mod schema;
pub mod state;
pub mod transition;

use chrono::{DateTime, Utc};

use self::state::{Phase, State};
use self::transition::Step;
use crate::base::actor::AgentName;
use crate::contract::denial::DenyCode;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Contract, Dir, DirKind, List, Row, Writer};
use crate::systems::system::{
    AgentEvent, ClosedGate, ContentError, Effects, FileOutcome, Files, Info, Judgement, Place,
    PriorText, System, View, split_site,
};
use crate::systems::workflow::{Proof, Workflow};

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

    fn at(&self, moment: &AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        let outcome = match *moment {
            AgentEvent::AgentStart { agent } => {
                Phase::for_agent(agent).and_then(|phase| newest(files, agent, phase, now))
            }
            AgentEvent::Wrote { entry, text } => written(files, entry, text, now),
            AgentEvent::AgentEnd { agent, .. } if Phase::for_agent(agent).is_none() => {
                let open = newest_of(&states(files)).map(|(file, _)| file.to_owned());
                open.ok().map(|file| FileOutcome::of_no_gate(&file, agent))
            }
            AgentEvent::AgentEnd { .. } | AgentEvent::TurnEnd { .. } => None,
        };
        Effects::of(outcome)
    }

    fn closed_gate(&self, agent: &AgentName, files: &dyn Files) -> Option<ClosedGate> {
        let phase = Phase::for_agent(agent)?;
        let sessions = states(files);
        let (file, text) = newest_of(&sessions).ok()?;
        let state = State::parse(text).ok()?;
        let before = state.unfinished_before(phase)?;
        let status = before.gate_status();
        Some(ClosedGate::new(file, before.phase.as_str(), status))
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<anyhow::Result<Workflow>> {
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
    let is_day = |day: &str| day.len() == 6 && Shape::Digits.matches(day);
    id.split_once('-')
        .is_some_and(|(day, words)| is_day(day) && Shape::Kebab.matches(words))
}

/// The state of every session, by its file below `.claude/.docs`.
pub fn states(files: &dyn Files) -> Vec<(String, String)> {
    let names = files
        .dirs()
        .into_iter()
        .map(|id| format!("{id}/state.json"));
    names
        .filter_map(|name| files.text(&name).map(|text| (name, text)))
        .collect()
}

/// The one of [`states`] that an agent's start belongs to: the newest by `updated_at`
/// with an unfinished phase. Unreadable sessions cannot be ranked and are left out.
///
/// # Errors
/// None has an unfinished phase, or the two newest were updated at the same time.
pub fn newest_of(sessions: &[(String, String)]) -> Result<(&str, &str), String> {
    let states = sessions.iter().filter_map(|(name, text)| {
        let state = State::parse(text).ok()?;
        state.unfinished()?;
        Some((state.updated_at.at, name.as_str(), text.as_str()))
    });
    let mut open: Vec<_> = states.collect();
    open.sort_unstable_by(|a, b| b.cmp(a));
    match open.as_slice() {
        [] => Err(none_open(sessions)),
        [(at, name, _), (next_at, other, _), ..] if at == next_at => Err(format!(
            "sessions `{other}` and `{name}` were updated at the same time"
        )),
        [(_, name, text), ..] => Ok((name, text)),
    }
}

/// Why there is no session to go on with. One that cannot be read may be the one
/// that was meant, so it is named.
fn none_open(sessions: &[(String, String)]) -> String {
    let why = "no session has an unfinished phase";
    let mut broken = sessions
        .iter()
        .filter_map(|(name, text)| Some((name, State::parse(text).err()?)));
    match broken.next() {
        Some((name, fault)) => format!("{why}, and `{name}` cannot be read: {fault}"),
        None => why.to_owned(),
    }
}

/// The start of an agent belongs to the newest unfinished session.
fn newest(
    files: &dyn Files,
    agent: &AgentName,
    phase: Phase,
    now: DateTime<Utc>,
) -> Option<FileOutcome> {
    let sessions = states(files);
    if sessions.is_empty() {
        return None;
    }
    Some(match newest_of(&sessions) {
        Ok((name, text)) => {
            let evidence = format!("agent `{agent}` started");
            let outcome = transition::apply(text, phase, Step::Start, &evidence, now);
            FileOutcome::new(name, outcome)
        }
        Err(why) => FileOutcome::new("", Err(why)),
    })
}

/// The main thread's write of `<phase>-report.md` completes the phase of that session.
fn written(files: &dyn Files, entry: &str, text: &str, now: DateTime<Utc>) -> Option<FileOutcome> {
    let (id, report) = entry.split_once('/')?;
    let phase = Phase::from_report(report)?;
    let file = format!("{id}/state.json");
    let state = files.text(&file)?;
    let step = Step::Complete {
        report: Some(report),
    };
    let evidence = format!("`{report}` was written");
    let mut outcome = match text.trim() {
        "" => Err(format!("`{report}` is empty")),
        _ => transition::apply(&state, phase, step, &evidence, now),
    };
    if let Ok(change) = &mut outcome {
        change.proof.push(Proof::artifact(entry));
    }
    Some(FileOutcome { file, outcome })
}
