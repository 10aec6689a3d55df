//! The pipeline: stdin → event → targets → claims → decision → record → reply.
//!
//! Failure policy: what cannot be read is denied when its bytes name a
//! governed place, and let through with a word on stderr when they do not;
//! once a target is known to be governed, every failure refuses.

mod failure;

use std::borrow::Cow;
use std::ops::ControlFlow;

use failure::{answer_panics, around, current_dir, fault, in_context};

use crate::base::clock::Clock;
use crate::base::disk::cache::DirCache;
use crate::base::env::Env;
use crate::base::path;
use crate::guard::claims::JudgeError;
use crate::guard::outcome::conclude;
use crate::host::event::{Event, HookPoint};
use crate::host::reply::Reply;
use crate::host::stdin::{self, Input};
use crate::lifecycle::early_exit::Reading;
use crate::lifecycle::{
    agents, calls, config_change, evidence, judge, nested, post_tool_use, session_start,
    settings_review, strict,
};
use crate::project::context::Context;
use crate::project::roots::Project;
use crate::recorder::calls::Notes;
use crate::shell::Scene;

/// Serves one event from stdin. The process ends with it, so what a panic needs
/// in order to answer may stay for good. Gives the exit code.
pub fn main(project: Option<&'static str>, now: Clock) -> u8 {
    run(stdin::read(), project, now)
}

/// The same of a program without arguments; `None` where stdin is empty.
pub fn main_unless_empty(now: Clock) -> Option<u8> {
    let input = stdin::read();
    (!input.bytes.is_empty()).then(|| run(input, None, now))
}

fn run(input: Input, project: Option<&'static str>, now: Clock) -> u8 {
    let input: &'static Input = Box::leak(Box::new(input));
    answer_panics(&input.bytes, project, now);
    let reply = serve(input, project, now);
    reply.unless_held_before(&input.bytes).send()
}

fn serve(input: &Input, project: Option<&str>, now: Clock) -> Reply {
    let event = match Event::parse(&input.bytes) {
        Ok(event) => event,
        Err(error) => {
            let unreadable = format!("the event is not readable: {error}");
            let what = input.trouble.as_ref().unwrap_or(&unreadable);
            return fault(&input.bytes, what, &Env::read(), project, now);
        }
    };
    let env = Env::read();
    let other_host = event.other_host(&env);
    let point = event.point();
    if other_host.is_none() && point.is_none() {
        return Reply::Silent;
    }
    let given = directory_of(&event).or(env.project_dir.as_deref().map(Cow::Borrowed));
    let Some(cwd) = given.map(Cow::into_owned).or_else(current_dir) else {
        let what = "the event has no absolute `cwd`";
        return fault(&input.bytes, what, &env, project, now);
    };
    match (other_host, point) {
        (Some(host), _) => {
            around(cwd, &env, project, now, |context| {
                note_unguarded_host(context, host)
            });
            Reply::Silent
        }
        (None, Some(point)) => answer(&event, point, cwd, &env, project, now),
        (None, None) => Reply::Silent,
    }
}

/// The directory an event happened in; what a relative one is relative to is not known.
fn directory_of<'e>(event: &'e Event<'_>) -> Option<Cow<'e, str>> {
    let cwd = event.cwd.get().map(path::slashed);
    cwd.filter(|cwd| path::is_absolute(cwd))
}

/// Answers one event.
fn answer(
    event: &Event<'_>,
    point: HookPoint,
    cwd: String,
    env: &Env,
    project: Option<&str>,
    now: Clock,
) -> Reply {
    if point == HookPoint::BeforeCall {
        return before_call(event, cwd, env, project, now);
    }
    let project = Project::discover(project, env, &cwd);
    let noted = Notes::of(&project);
    let of_agent = nested::as_agent(event, &noted);
    let event = of_agent.as_ref().unwrap_or(event);
    let held = settings_review::review(&project, env, &noted);
    let rules = project.rules(env);
    in_context(project, &rules, cwd, env, now, |context| {
        if env.client.is_none() && event.is_of_tool() {
            session_start::prove(context, event);
        }
        let reply = at(point, context, event);
        if point == HookPoint::SessionStart {
            settings_review::begin(context);
        }
        let reply = settings_review::tell(context, &held, reply);
        if point == HookPoint::SessionStart {
            strict::begin(context, reply)
        } else {
            reply
        }
    })
}

/// Leads an event that is about no call to what it is about.
fn at(point: HookPoint, context: &Context<'_>, event: &Event<'_>) -> Reply {
    match point {
        HookPoint::BeforeCall => Reply::Silent,
        HookPoint::Dispatch => {
            let reply = agents::dispatched(context, event);
            if !reply.refuses() {
                calls::note_agent(context, event);
            }
            reply
        }
        HookPoint::HandBack => agents::handed_back(context, event),
        HookPoint::AfterCall => post_tool_use::after(context, event),
        HookPoint::AgentStart => {
            calls::agent_passed(context, event);
            agents::agent_started(context, event)
        }
        HookPoint::AgentEnd => {
            if event.is_of_tool() {
                calls::note_agent(context, event);
            } else {
                calls::agent_passed(context, event);
            }
            agents::agent_ended(context, event)
        }
        HookPoint::TurnEnd => agents::turn_ended(context, event),
        HookPoint::Prompt => {
            agents::agents_failed(context, event);
            evidence::background_ended(context, event);
            calls::prompted(context, event)
        }
        HookPoint::SessionStart => session_start::session_started(context, event),
        HookPoint::SessionEnd => {
            calls::session_ended(context, event);
            Reply::Silent
        }
        HookPoint::SettingsChange => config_change::config_changed(context, event),
    }
}

/// The pipeline: a call leaves it as soon as nothing more needs to be known of it.
fn before_call(
    event: &Event<'_>,
    cwd: String,
    env: &Env,
    project: Option<&str>,
    now: Clock,
) -> Reply {
    let scene = Scene {
        cwd: &cwd,
        env,
        disk: &DirCache::default(),
    };
    // The targets are known from the text; only they are worth a look at the disk.
    let reading = Reading::of(event, &scene);
    if reading.exit_by_text(event).is_some() {
        return Reply::Silent;
    }
    let project = Project::discover(project, env, &cwd);
    let noted = Notes::of(&project);
    let held = settings_review::review(&project, env, &noted);
    let rules = match reading.exit_by_place(&project, env, &cwd) {
        ControlFlow::Break(_) => return Reply::Silent,
        ControlFlow::Continue(rules) => rules,
    };
    in_context(project, &rules, cwd, env, now, |context| {
        let of_agent = nested::as_agent(event, &noted);
        let event = of_agent.as_ref().unwrap_or(event);
        if env.client.is_none() {
            session_start::prove(context, event);
        }
        let reply = guard(context, event, reading, &noted);
        settings_review::tell(context, &held, reply)
    })
}

/// Judges a call that changes something, and keeps what the recorder has to know of it.
fn guard(context: &Context<'_>, event: &Event<'_>, reading: Reading, noted: &Notes) -> Reply {
    let is_understood = reading.is_understood();
    let judged = match reading.changes {
        Ok(changes) => judge::judge_call(context, event, changes),
        // With every system switched off there is no place to keep.
        Err(_) if context.registry.governed.is_empty() => return Reply::Silent,
        Err(unread) => Err(JudgeError::Call(unread)),
    };
    let (reply, claims) = match judged {
        Ok((decision, claims)) => (conclude(context, event, &decision, &claims), claims),
        Err(error) => return failure::refuse_unjudged(context, event, &error),
    };
    if !reply.refuses() {
        let (call, written) = if !claims.is_empty() {
            (reading.call, reading.written)
        } else if !is_understood {
            (reading.call, None)
        } else {
            (None, None)
        };
        calls::before_call(context, event, call, written, &claims, noted);
        settings_review::begin(context);
    }
    reply
}

/// Remembers, for `doctor`, that a host runs the hook whose calls are not judged.
fn note_unguarded_host(context: &Context<'_>, host: &str) {
    if context.is_concerned() {
        let noted = context.project.note_other_host(host, context.now.get());
        context.warn_about_state(noted);
    }
}
