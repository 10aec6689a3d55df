//! The line: stdin → event → targets → claims → decision → effects → reply.
//!
//! Failure policy: what cannot be read is refused when its bytes name a
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
use crate::guard::claims::{self, JudgeError};
use crate::guard::judge::{judge_targets, scene};
use crate::guard::outcome::conclude;
use crate::guard::targets::{self, Unread};
use crate::host::event::{Event, Kind, Tool};
use crate::host::reply::Reply;
use crate::host::stdin::{self, Input};
use crate::lifecycle::{agents, config_change, post_tool_use, session_start};
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::settings::model::Settings;
use crate::store::{OTHER_HOST, note_other_host};
use crate::systems::declared::DeclaredSystem;
use crate::systems::system;

/// Serves one event from stdin. The process ends with it, so what a panic needs
/// in order to answer may stay for good. Gives the exit code.
pub fn main(project: Option<&'static str>, now: Clock) -> u8 {
    run(stdin::read(failure::names_governed_place), project, now)
}

/// The same of a program without arguments; `None` where nothing stands on stdin.
pub fn main_unless_empty(now: Clock) -> Option<u8> {
    let input = stdin::read(failure::names_governed_place);
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
        Ok(event) => event.with_bulk(input.bulk),
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
    let cwd = event.cwd().map(path::slashed);
    cwd.filter(|cwd| path::is_absolute(cwd))
}

/// Answers one event; a call is judged in every reading of its bytes.
fn answer(event: &Event<'_>, cwd: &str, env: &Env, project: Option<&str>, now: Clock) -> Reply {
    // The targets are known from the text; only they are worth a look at the disk.
    let guards = is_call(event);
    let ground = match event.tool().runs_commands() {
        true => DirCache::kept(),
        false => DirCache::default(),
    };
    let readings = read(event, cwd, env, &ground);
    let changes = !readings.iter().all(Reading::has_no_target);
    if guards && !changes {
        return Reply::Silent;
    }
    let unread = readings.iter().find_map(Reading::unread_arguments);
    if let Some(unread) = unread.filter(|_| !failure::names_governed_place(event.bytes())) {
        return fault(event.bytes(), &unread.to_string(), env, project, now);
    }
    let project = Project::discover(project, env, cwd);
    let layers = project.settings_layers(env);
    if changes && layers.leave_sites_alone() && reach_no_usual_site(&readings, &project, &ground) {
        return Reply::Silent;
    }
    let rules = layers.resolve(&system::known());
    let declared = DeclaredSystem::all(&rules.settings);
    let world = Context {
        project,
        cwd: cwd.to_owned(),
        env,
        now: Now::of(now),
        rules: &rules,
        registry: &Registry::new(&rules.settings, &declared),
    };
    match (event.kind(), event.tool()) {
        _ if changes => guard(&world, readings, &ground),
        (Kind::PreToolUse, Tool::Agent) => agents::dispatched(&world, event),
        (Kind::PreToolUse, Tool::Handback) => agents::handed_back(&world, event),
        (Kind::PostToolUse, Tool::Agent) | (Kind::SubagentStop, _) => {
            agents::agent_ended(&world, event)
        }
        (Kind::PostToolUse | Kind::PostToolUseFailure, _) => post_tool_use::after(&world, event),
        (Kind::SubagentStart, _) => agents::agent_started(&world, event),
        (Kind::Stop, _) => agents::turn_ended(&world, event),
        (Kind::SessionStart, _) => session_start::session_started(&world, event),
        (Kind::ConfigChange, _) => config_change::config_changed(&world, event),
        (Kind::PreToolUse | Kind::Other, _) => Reply::Silent,
    }
}

/// One reading of a call's bytes, and what it would change.
struct Reading<'e> {
    event: Cow<'e, Event<'e>>,
    targets: Result<Vec<Target>, Unread>,
}

impl Reading<'_> {
    fn has_no_target(&self) -> bool {
        self.targets.as_ref().is_ok_and(Vec::is_empty)
    }

    fn unread_arguments(&self) -> Option<&Unread> {
        let unread = self.targets.as_ref().err()?;
        matches!(unread, Unread::Arguments(_)).then_some(unread)
    }
}

fn is_call(event: &Event<'_>) -> bool {
    event.kind() == Kind::PreToolUse && !matches!(event.tool(), Tool::Agent | Tool::Handback)
}

/// The readings that are calls to be judged before they run.
fn read<'e>(event: &'e Event<'e>, cwd: &str, env: &Env, ground: &DirCache) -> Vec<Reading<'e>> {
    let reading = |event: Cow<'e, Event<'e>>| {
        let targets = {
            let cwd = directory_of(&event).unwrap_or(Cow::Borrowed(cwd));
            targets::of(&event, &scene(&cwd, env, ground))
        };
        Reading { event, targets }
    };
    event
        .readings()
        .filter(|event| is_call(event))
        .map(reading)
        .collect()
}

/// Whether no reading has a target in a site of a built-in system, where they usually
/// are. Most writes have none, and then settings that make no sites need not be read.
fn reach_no_usual_site(readings: &[Reading<'_>], project: &Project, ground: &DirCache) -> bool {
    let usual = Settings::default();
    let registry = Registry::new(&usual, &[]);
    let is_elsewhere = |targets: &Vec<Target>| {
        !targets
            .iter()
            .any(|target| system::are_named_in(&target.path))
            && claims::of(targets, project, &registry, ground).is_ok_and(|claims| claims.is_empty())
    };
    let mut targets = readings.iter().map(|reading| &reading.targets);
    targets.all(|targets| targets.as_ref().is_ok_and(is_elsewhere))
}

fn guard(context: &Context<'_>, readings: Vec<Reading<'_>>, ground: &DirCache) -> Reply {
    let replies = readings
        .into_iter()
        .map(|reading| guard_reading(context, reading, ground));
    replies.max_by_key(Reply::weight).unwrap_or(Reply::Silent)
}

/// The line itself.
fn guard_reading(
    context: &Context<'_>,
    Reading { event, targets }: Reading<'_>,
    ground: &DirCache,
) -> Reply {
    let event = &event;
    let judged = match targets {
        Ok(targets) => judge_targets(context, event, &targets, ground),
        // With every system switched off there is no place to keep.
        Err(_) if context.registry.governed.is_empty() => return Reply::Silent,
        Err(unread) => Err(JudgeError::Call(unread)),
    };
    let (decision, claims) = match judged {
        Ok(judged) => judged,
        Err(unsettled) => return failure::refuse_unsettled(context, event, &unsettled),
    };
    conclude(context, event, &decision, &claims)
}

/// Remembers, for `doctor`, that a host runs the hook whose calls are not judged.
fn note_unguarded_host(context: &Context<'_>, host: &str) {
    if context.is_concerned(&context.sites_around()) {
        let noted = note_other_host(context.logs().own_folder(), host, context.now.get());
        context.warn_about(OTHER_HOST, noted);
    }
}
