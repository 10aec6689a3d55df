//! The recorder at the events of the hook: which calls are noted, which events say that calls
//! are over, and how what was found is reported.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use crate::base::actor::{Actor, AgentName};
use crate::base::clock;
use crate::base::disk::cache::DirCache;
use crate::base::path;
use crate::base::target::Target;
use crate::base::warn;
use crate::guard::claims::Claim;
use crate::guard::targets::{self, commands};
use crate::host::event::{Event, Kind, Tool, strings};
use crate::host::reply::Reply;
use crate::host::task_news::TaskNews;
use crate::project::context::Context;
use crate::project::sites::Site;
use crate::recorder::agents::{self, Note, What};
use crate::recorder::calls::{self, Call, CallText, Caller, Notes, Progress, Work};
use crate::recorder::contents::MAX_CONTENT;
use crate::recorder::entry::BlobId;
use crate::recorder::findings::{self, Finding, Recipient};
use crate::recorder::index::Index;
use crate::recorder::look::Scope;
use crate::recorder::mediate::{CallNote, Delivery, Recorder};
use crate::recorder::pipeline::Moment;
use crate::shell::{Analysis, Scene};
use crate::store::archive::Archive;
use crate::systems::system;

/// From this version on something can be said at the end of a turn.
const TELLS_AT_STOP: [u32; 3] = [2, 1, 163];

/// What the text of a call that runs code says.
pub(crate) fn text_of(event: &Event<'_>, changes: &Analysis) -> Option<CallText> {
    let (text, programs) = match event.tool() {
        Tool::Shell(_) => {
            let text = event.input.command.as_str().to_owned();
            (text, changes.programs.clone())
        }
        Tool::Mcp(_) => {
            let commands = commands::of(event).unwrap_or_default();
            let arguments = event.arguments().unwrap_or_default();
            let mut lines = Vec::new();
            for dir in commands.iter().filter_map(|command| command.cwd.as_deref()) {
                lines.push(format!("cd {dir}"));
            }
            lines.extend(
                strings(&arguments)
                    .iter()
                    .map(|(_, text)| (*text).to_owned()),
            );
            (lines.join("\n"), vec![event.tool_name.as_str().to_owned()])
        }
        Tool::Skill => {
            let arguments = event.arguments().unwrap_or_default();
            let texts = strings(&arguments).into_iter().map(|(_, text)| text);
            let text = texts.collect::<Vec<_>>().join("\n");
            (text, vec![event.tool_name.as_str().to_owned()])
        }
        _ => return None,
    };
    let targets = changes.targets.iter();
    let paths = targets.map(|target| path::collapse(&target.path).into_owned());
    Some(CallText {
        text,
        targets: paths.collect::<Vec<_>>().into(),
        programs,
        version_control: changes.checks_out,
    })
}

/// Whether a call may change what is governed, besides the targets that were read from it.
pub(crate) fn may_change_unseen(call: &CallText) -> bool {
    call.is_opaque() || system::are_named_in(&call.text)
}

fn caller(event: &Event<'_>) -> Caller {
    let actor = event.agent_type().map(AgentName::parse);
    Caller {
        session: event.session().to_owned(),
        agent_id: event.agent_id().to_owned(),
        actor: actor.map_or("main".to_owned(), |name| name.as_str().to_owned()),
        tool: event.tool_name.as_str().to_owned(),
        tool_use_id: event.tool_use_id.as_str().to_owned(),
    }
}

fn recipient(event: &Event<'_>) -> Recipient {
    Recipient {
        session: event.session().to_owned(),
        agent_id: event.agent_id().to_owned(),
    }
}

/// What is known of the beginning of a call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announcement {
    Seen,
    /// Its end was reported before.
    Repeated,
    /// Nobody saw it begin: what its end says proves nothing.
    Unseen,
}

/// Whether the call that has ended was seen before it ran.
pub(crate) fn announcement(context: &Context<'_>, event: &Event<'_>) -> Announcement {
    let call = calls::find(context.project.memory(), event.tool_use_id.as_str());
    let its = call.filter(|call| call.caller.is_of(event.session(), event.agent_id()));
    match its.map(|call| call.progress) {
        Some(Progress::Running | Progress::Interrupted) => Announcement::Seen,
        Some(_) => Announcement::Repeated,
        None => Announcement::Unseen,
    }
}

/// Why a command that has ended was not seen before it ran, as a clause.
pub(crate) fn why_unseen(context: &Context<'_>, event: &Event<'_>) -> &'static str {
    match work(context, event, &[]) {
        Some(_) => "its start was not seen",
        None => "it only reads, and such a call is not noted before it runs: declare a script",
    }
}

/// Before a call that was not refused.
pub(crate) fn before_call(
    context: &Context<'_>,
    event: &Event<'_>,
    call: Option<CallText>,
    written: Option<Target>,
    claims: &[Claim<'_>],
    noted: &Notes,
) {
    // The command of a skill runs within the call of its skill, whose end is its end.
    if event.kind() == Kind::PreSkillShellCommand {
        return;
    }
    if let Some(call) = call {
        let paths = one_of_each_site(claims);
        let recorder = Recorder::around(context, &call.text, &paths);
        recorder.before(
            caller(event),
            Scope::All,
            &|| Work::RunsCode(call.clone()),
            CallNote::Always,
            noted,
        );
    } else if let Some(target) = written {
        let path = path::collapse(&target.path);
        let moves_gates = claims
            .iter()
            .any(|claim| claim.governed.system.moves_gates(&claim.entry));
        let note = if moves_gates && event.actor() == Actor::Main {
            CallNote::Always
        } else {
            CallNote::BesideOthers
        };
        Recorder::of(context).before(
            caller(event),
            Scope::Path(&path),
            &|| Work::Writes {
                path: path.clone().into_owned(),
                // What is larger than a content that is kept is known by its stat alone.
                content: event
                    .input
                    .content_within(MAX_CONTENT)
                    .map(|text| BlobId::of(text.as_bytes())),
            },
            note,
            noted,
        );
    }
}

/// After a call: what it did, or what its file tool wrote, is judged. `claims` are those
/// of the call.
pub(crate) fn after_call(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) -> Reply {
    let paths = one_of_each_site(claims);
    let work = work(context, event, &paths);
    let text = match &work {
        Some(Work::RunsCode(call)) => &call.text,
        _ => event.input.command.as_str(),
    };
    let recorder = Recorder::around(context, text, &paths);
    let ran = event.duration_ms.value().as_i64();
    let found = recorder.after(&caller(event), work.clone(), ran, background_task(event));
    say(context, event.kind(), &found)
}

/// The first path that is claimed in each state directory.
fn one_of_each_site(claims: &[Claim<'_>]) -> Vec<String> {
    let mut known = HashSet::new();
    let first = claims
        .iter()
        .filter(|claim| known.insert((claim.governed.id(), claim.site_dir())));
    first.map(Claim::path).collect()
}

/// What a call can have done, by its text; `paths` are governed ones among its targets.
fn work(context: &Context<'_>, event: &Event<'_>, paths: &[String]) -> Option<Work> {
    if event.tool().is_file_tool() {
        if event.kind() != Kind::PostToolUse {
            return None;
        }
        return Some(Work::Writes {
            path: paths.first()?.clone(),
            content: None,
        });
    }
    let scene = Scene {
        cwd: &context.cwd,
        env: context.env,
        disk: &DirCache::default(),
    };
    let changes = targets::of(event, &scene);
    let call = text_of(event, &changes.unwrap_or_default())?;
    let may_change = may_change_unseen(&call) || !paths.is_empty();
    may_change.then_some(Work::RunsCode(call))
}

/// The task that goes on after its call, by the client's id for it; `Monitor` has a key
/// of its own.
fn background_task(event: &Event<'_>) -> Option<String> {
    if !matches!(event.tool(), Tool::Shell(_)) {
        return None;
    }
    let ids = [&event.response.background_task_id, &event.response.task_id];
    let id = ids.into_iter().find_map(|id| id.get());
    id.map(str::to_owned)
}

/// How a call went on, by what an event says. `background` are the agents that the user's
/// words do not end.
fn progress(event: &Event<'_>, call: &Call, background: &Background) -> Option<Progress> {
    if call.caller.session != event.session() {
        return None;
    }
    let is_own = call.caller.agent_id == event.agent_id();
    let is_over = match (event.kind(), &call.progress) {
        (Kind::SessionStart | Kind::SessionEnd, _) => call.is_running(),
        (Kind::SubagentStop | Kind::Stop, Progress::Running) => is_own,
        // News of a command come while others may run.
        (Kind::UserPromptSubmit, Progress::Running) => {
            !is_news(event) && !background.contains(&call.caller.agent_id)
        }
        (Kind::UserPromptSubmit, Progress::Background { task, .. }) => {
            let ended = Progress::BackgroundEnded {
                begun: call.began(),
            };
            return has_news_of(event, task).then_some(ended);
        }
        (Kind::Stop, Progress::Background { task, .. }) => {
            let ended = Progress::BackgroundEnded {
                begun: call.began(),
            };
            return (!goes_on(event, task)).then_some(ended);
        }
        _ => false,
    };
    is_over.then_some(Progress::Interrupted)
}

/// Agents by their ids.
type Background = BTreeSet<String>;

/// Whether a prompt is the client's news that commands in the background have ended.
fn is_news(event: &Event<'_>) -> bool {
    TaskNews::all(event).next().is_some()
}

fn has_news_of(event: &Event<'_>, task: &str) -> bool {
    TaskNews::all(event).any(|news| news.task() == Some(task))
}

/// Whether the end of a turn lists a task; a client that lists none says nothing.
fn goes_on(event: &Event<'_>, task: &str) -> bool {
    let tasks = event.background_tasks.value();
    let all = tasks.as_array();
    all.is_none_or(|all| all.iter().any(|listed| listed["id"] == *task))
}

/// Judges the calls that an event ends, and reports to the agent what concerns it.
fn close(context: &Context<'_>, event: &Event<'_>, delivery: Delivery<'_>) -> Reply {
    let recorder = Recorder::of(context);
    let background = match event.kind() {
        Kind::UserPromptSubmit => agents::in_background(&recorder.dir(), event.session()),
        _ => Background::new(),
    };
    let found = recorder.close(Moment::Later, event.session(), delivery, &|call| {
        progress(event, call, &background)
    });
    say(context, event.kind(), &found)
}

/// An agent hands work on, or has the answer: who runs in the background is known by that.
pub(crate) fn note_agent(context: &Context<'_>, event: &Event<'_>) {
    let call = event.tool_use_id.as_str().to_owned();
    let agent_type = |name: &str| AgentName::parse(name).as_str().to_owned();
    let what = match event.kind() {
        Kind::PreToolUse => What::Dispatched {
            call,
            by: event.agent_id().to_owned(),
            agent_type: agent_type(event.input.subagent_type.get().unwrap_or_default()),
        },
        Kind::PostToolUse => match event.response.launched() {
            Some(agent_id) => What::Launched {
                call,
                agent_id: agent_id.to_owned(),
            },
            None => What::Answered { call },
        },
        Kind::SubagentStart => What::Started {
            agent_id: event.agent_id().to_owned(),
            agent_type: agent_type(event.agent_type.get().unwrap_or_default()),
        },
        Kind::SubagentStop => What::Ended {
            agent_id: event.agent_id().to_owned(),
        },
        _ => return,
    };
    Recorder::of(context).note_agent(&Note {
        ts: clock::millis(context.now.get()),
        session: event.session().to_owned(),
        what,
    });
}

/// `UserPromptSubmit`: words of the user, or the client's news.
pub(crate) fn prompted(context: &Context<'_>, event: &Event<'_>) -> Reply {
    close(context, event, Delivery::To(&recipient(event)))
}

/// The main thread's turn is over.
pub(crate) fn turn_ended(context: &Context<'_>, event: &Event<'_>) -> Reply {
    if !event.agent_id().is_empty() {
        return Reply::Silent;
    }
    let can_tell = !event.is_held() && context.env.client.as_deref().is_some_and(tells_at_stop);
    let main = recipient(event);
    let delivery = if can_tell {
        Delivery::To(&main)
    } else {
        Delivery::Later
    };
    close(context, event, delivery)
}

fn tells_at_stop(client: &str) -> bool {
    let numbers = client.split('.').map(|part| part.parse().unwrap_or(0));
    numbers.collect::<Vec<u32>>().as_slice() >= TELLS_AT_STOP.as_slice()
}

/// An agent begins or ends. What is undelivered to it is left to the main thread, since
/// an answer replaces its report.
pub(crate) fn agent_passed(context: &Context<'_>, event: &Event<'_>) {
    note_agent(context, event);
    if event.kind() == Kind::SubagentStop {
        let agent = recipient(event);
        let delivery = Delivery::PassedOn(&|to| Some(main_for(to, &agent)));
        close(context, event, delivery);
    } else {
        close(context, event, Delivery::Later);
    }
}

/// Who is sent what waits for a recipient once an agent has ended.
fn main_for(to: &Recipient, ended: &Recipient) -> Recipient {
    if to == ended {
        Recipient::main_of(&to.session)
    } else {
        to.clone()
    }
}

/// A session begins. Gives the state directories around it, and what is known of all.
pub(crate) fn session_began<'c>(
    context: &'c Context<'_>,
    event: &Event<'_>,
) -> Option<(Vec<Site<'c>>, Index)> {
    close_session(context, event, Moment::SessionStart, Delivery::Later)
}

/// A session ends: what waits for it is dropped.
pub(crate) fn session_ended(context: &Context<'_>, event: &Event<'_>) {
    let others = Delivery::PassedOn(&|to| (to.session != event.session()).then(|| to.clone()));
    close_session(context, event, Moment::Later, others);
}

fn close_session<'c>(
    context: &'c Context<'_>,
    event: &Event<'_>,
    moment: Moment,
    delivery: Delivery<'_>,
) -> Option<(Vec<Site<'c>>, Index)> {
    let recorder = Recorder::of(context);
    recorder.close_session(moment, event.session(), delivery, &|call| {
        progress(event, call, &Background::new())
    })
}

/// What was found as the answer to an event. The user is shown all that was moved or put
/// back: it may be their own.
fn say(context: &Context<'_>, kind: Kind, found: &[Finding]) -> Reply {
    let Some(text) = findings::to_text(found) else {
        return Reply::Silent;
    };
    for folder in found.iter().filter_map(Finding::folder) {
        let folder = path::absolute(&context.project.main.dir, folder, None);
        let folder = Path::new(&folder);
        warn::unwritten(folder, Archive::note_reported(folder));
    }
    Reply::Context {
        event: kind,
        holds: kind == Kind::PostToolUse && found.iter().any(|finding| finding.is_enforced),
        notice: findings::to_notice(found),
        text,
    }
}
