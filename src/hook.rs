//! The pipeline: stdin → event → targets → claims → decision → record → reply.
//!
//! Failure policy: what cannot be read is denied when its bytes name a
//! governed place, and let through with a word on stderr when they do not;
//! once a target is known to be governed, every failure refuses.

mod failure;

use std::borrow::Cow;

use failure::{answer_panics, around, current_dir, fault};

use crate::base::clock::{Clock, Now};
use crate::base::disk::cache::DirCache;
use crate::base::env::Env;
use crate::base::path;
use crate::base::target::Target;
use crate::guard::claims::{self, Claim, JudgeError};
use crate::guard::judge::judge_targets;
use crate::guard::outcome::conclude;
use crate::guard::targets::{self, Unread};
use crate::host::event::{Event, Kind, Tool};
use crate::host::reply::Reply;
use crate::host::stdin::{self, Input};
use crate::lifecycle::{agents, calls, config_change, post_tool_use, session_start};
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites;
use crate::settings::model::Settings;
use crate::shell::{Analysis, Scene};
use crate::store::{OTHER_HOST, note_other_host};
use crate::systems::declared::DeclaredSystem;
use crate::systems::system;

/// Serves one event from stdin. The process ends with it, so what a panic needs
/// in order to answer may stay for good. Gives the exit code.
pub fn main(project: Option<&'static str>, now: Clock) -> u8 {
    run(stdin::read(), project, now)
}

/// The same of a program without arguments; `None` where nothing stands on stdin.
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
    if other_host.is_none() && !event.may_concern() {
        return Reply::Silent;
    }
    let given = directory_of(&event).or(env.project_dir.as_deref().map(Cow::Borrowed));
    match (given.map(Cow::into_owned).or_else(current_dir), other_host) {
        (Some(cwd), Some(host)) => {
            around(cwd, &env, project, now, |world| {
                note_unguarded_host(world, host)
            });
            Reply::Silent
        }
        (Some(cwd), None) => answer(&event, &cwd, &env, project, now),
        (None, _) => {
            let what = "the event has no absolute `cwd`";
            fault(&input.bytes, what, &env, project, now)
        }
    }
}

/// The directory an event happened in; relative to what another one is, nobody says.
fn directory_of<'e>(event: &'e Event<'_>) -> Option<Cow<'e, str>> {
    let cwd = event.cwd.get().map(path::slashed);
    cwd.filter(|cwd| path::is_absolute(cwd))
}

/// Answers one event.
fn answer(event: &Event<'_>, cwd: &str, env: &Env, project: Option<&str>, now: Clock) -> Reply {
    let scene = Scene {
        cwd,
        env,
        disk: &DirCache::default(),
    };
    // The targets are known from the text; only they are worth a look at the disk.
    let read = match is_call(event) {
        true => targets::of(event, &scene),
        false => Ok(Analysis::default()),
    };
    let call = match &read {
        Ok(analysis) if is_call(event) => calls::text_of(event, analysis),
        _ => None,
    };
    let targets = read.map(|analysis| analysis.targets);
    let changes = match &targets {
        Ok(targets) => !targets.is_empty(),
        Err(Unread::Arguments(_)) => failure::names_governed_place(event.json().as_bytes()),
        Err(Unread::Command(..)) => true,
    };
    let is_understood = !call.as_ref().is_some_and(calls::may_change_unseen);
    let written = match &targets {
        Ok(targets) if event.tool().is_file_tool() => targets.first().cloned(),
        _ => None,
    };
    if is_call(event) && !changes && is_understood {
        return Reply::Silent;
    }
    let project = Project::discover(project, env, cwd);
    let layers = project.settings_layers(env);
    if is_call(event)
        && layers.leave_sites_alone()
        && reach_no_usual_site(&targets, &project)
        && (is_understood || has_no_usual_site(&project, cwd))
    {
        return Reply::Silent;
    }
    let rules = project.resolve(&layers);
    let declared = DeclaredSystem::all(&rules.settings);
    let world = Context {
        project,
        cwd: cwd.to_owned(),
        env,
        now: Now::of(now),
        rules: &rules,
        registry: &Registry::new(&rules.settings, &declared),
    };
    if matches!(event.kind(), Kind::SubagentStart | Kind::SubagentStop) {
        calls::agent_passed(&world, event);
    }
    if env.client.is_none() && event.is_of_tool() {
        session_start::prove(&world, event);
    }
    match (event.kind(), event.tool()) {
        _ if is_call(event) => {
            let (reply, claims) = guard(&world, event, targets);
            let call = call.filter(|_| !is_understood || !claims.is_empty());
            let written = written.filter(|_| !claims.is_empty());
            if !reply.refuses() {
                calls::before_call(&world, event, call, written);
            }
            reply
        }
        (Kind::PreToolUse, Tool::Agent) => agents::dispatched(&world, event),
        (Kind::PreToolUse, Tool::Handback) => agents::handed_back(&world, event),
        (Kind::PostToolUse, Tool::Agent) | (Kind::SubagentStop, _) => {
            agents::agent_ended(&world, event)
        }
        (Kind::PostToolUse | Kind::PostToolUseFailure, _) => post_tool_use::after(&world, event),
        (Kind::SubagentStart, _) => agents::agent_started(&world, event),
        (Kind::Stop, _) => agents::turn_ended(&world, event),
        (Kind::UserPromptSubmit, _) => calls::prompted(&world, event),
        (Kind::SessionStart, _) => session_start::session_started(&world, event),
        (Kind::SessionEnd, _) => {
            calls::session_passed(&world, event);
            Reply::Silent
        }
        (Kind::ConfigChange, _) => config_change::config_changed(&world, event),
        (Kind::PreToolUse | Kind::Other, _) => Reply::Silent,
    }
}

fn is_call(event: &Event<'_>) -> bool {
    event.kind() == Kind::PreToolUse && !matches!(event.tool(), Tool::Agent | Tool::Handback)
}

/// Whether no target is in a site of a built-in system, where they usually are. Most
/// writes have none, and then settings that make no sites need not be read.
fn reach_no_usual_site(targets: &Result<Vec<Target>, Unread>, project: &Project) -> bool {
    let Ok(targets) = targets else {
        return false;
    };
    let usual = Settings::default();
    let registry = Registry::new(&usual, &[]);
    let is_named = |target: &Target| system::are_named_in(&target.path);
    !targets.iter().any(is_named)
        && claims::of(targets, project, &registry).is_ok_and(|claims| claims.is_empty())
}

/// Whether there is nothing that a call could change unseen: no folder of ours, and no
/// site of a built-in system around.
fn has_no_usual_site(project: &Project, cwd: &str) -> bool {
    let usual = Settings::default();
    let registry = Registry::new(&usual, &[]);
    let around = || sites::around(project, &registry, &[cwd.to_owned()]);
    !project.logs().own_folder().is_dir() && around().is_empty()
}

/// The pipeline of a call that changes something; with the claims of a call that was judged.
fn guard<'w>(
    context: &Context<'w>,
    event: &Event<'_>,
    targets: Result<Vec<Target>, Unread>,
) -> (Reply, Vec<Claim<'w>>) {
    let judged = match targets {
        Ok(targets) => judge_targets(context, event, &targets),
        // With every system switched off there is no place to keep.
        Err(_) if context.registry.governed.is_empty() => return (Reply::Silent, Vec::new()),
        Err(unread) => Err(JudgeError::Call(unread)),
    };
    match judged {
        Ok((decision, claims)) => (conclude(context, event, &decision, &claims), claims),
        Err(unsettled) => {
            let reply = failure::refuse_unsettled(context, event, &unsettled);
            (reply, Vec::new())
        }
    }
}

/// Remembers, for `doctor`, that a host runs the hook whose calls are not judged.
fn note_unguarded_host(context: &Context<'_>, host: &str) {
    if context.is_concerned(&context.sites_around()) {
        let noted = note_other_host(context.logs().own_folder(), host, context.now.get());
        context.warn_about(OTHER_HOST, noted);
    }
}
