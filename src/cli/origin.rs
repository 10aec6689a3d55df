//! Whose run of a verb this is. A client's variables say that a call runs it; that they are missing
//! says little, since a command can drop them.

use chrono::{DateTime, TimeDelta, Utc};

use super::CliContext;
use super::output::LocalTime;
use crate::base::actor::Actor;
use crate::base::clock::millis;
use crate::base::{env, process};
use crate::project::roots::Project;
use crate::recorder::calls::{self, Call, Caller, Notes, Work};

/// A session that is older than a call by less than this may be the call's: its age is measured
/// in hundredths of a second.
const MARGIN: TimeDelta = TimeDelta::milliseconds(100);

/// Who runs this process.
pub(super) enum Origin {
    /// A client, in one of its calls.
    Call,
    /// Nothing that a call has started.
    Elsewhere,
    /// One of these calls may have started it: they run, or have just ended.
    Unclear(Vec<Call>),
}

impl Origin {
    pub(super) fn of(context: &CliContext<'_>) -> Self {
        if env::is_in_client() || process::has_client_above() {
            return Self::Call;
        }
        let clock = context.now.timestamp_nanos_opt().unwrap_or_default();
        let mut calls = calls::recent(context.project.memory(), clock);
        if calls.is_empty() {
            return Self::Elsewhere;
        }
        let session =
            process::session_age().map(|age| context.now - TimeDelta::milliseconds(age) + MARGIN);
        // What a call starts is in the call's session, or in one that is younger.
        calls.retain(|call| session.is_none_or(|session| session > began(call)));
        if calls.is_empty() {
            Self::Elsewhere
        } else {
            Self::Unclear(calls)
        }
    }

    /// Why what only a person may do is not done: a call started this process, or may have.
    pub(super) fn objection(&self) -> Option<String> {
        match self {
            Self::Elsewhere => None,
            Self::Call => Some("a call of a client runs this".to_owned()),
            Self::Unclear(calls) => calls.first().map(doubt),
        }
    }

    /// The agent's call that runs this process: one that runs code now, and names this program
    /// where any does. `None` where it may be the main thread's, or no call's.
    pub(super) fn caller(&self, project: &Project) -> Option<Caller> {
        let mut calls = match self {
            Self::Elsewhere => return None,
            Self::Call => Notes::of(project).running().cloned().collect(),
            Self::Unclear(calls) => calls.clone(),
        };
        calls.retain(|call| matches!(call.work, Work::RunsCode(_)));
        if calls.iter().any(names_us) {
            calls.retain(names_us);
        }
        if calls.iter().any(|call| call.caller.agent_id.is_empty()) {
            return None;
        }
        calls.into_iter().next().map(|call| call.caller)
    }
}

fn names_us(call: &Call) -> bool {
    match &call.work {
        Work::RunsCode(call) => call.text.contains("statewarden"),
        Work::Writes { .. } => false,
    }
}

fn began(call: &Call) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(call.opened_here())
}

/// That a call may have started this process, and what a person does then.
fn doubt(call: &Call) -> String {
    let actor = call.caller.actor().unwrap_or(Actor::Main);
    let began = LocalTime::of_system().clock(&millis(began(call)));
    let elsewhere = if cfg!(target_os = "linux") {
        ", or use a terminal that was open before"
    } else {
        ""
    };
    format!(
        "a command of {actor} that began at {began} may run this: wait until it has been over for ten seconds, end \
         its session{elsewhere}"
    )
}

/// Why this process is not known to be a person's, at a terminal and in no call.
pub(super) fn no_person(context: &CliContext<'_>) -> Option<String> {
    if env::is_at_terminal() {
        Origin::of(context).objection()
    } else {
        Some("this is no terminal".to_owned())
    }
}
