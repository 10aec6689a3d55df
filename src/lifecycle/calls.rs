//! The recorder at the events of the hook: which calls get a window, which events tell
//! that calls are over, and how what was found is said.

use std::borrow::Cow;

use crate::base::actor::AgentName;
use crate::base::disk::cache::DirCache;
use crate::base::path;
use crate::base::target::Target;
use crate::guard::claims::Claim;
use crate::guard::targets::{self, commands};
use crate::host::event::{Event, Kind, Tool, strings};
use crate::host::reply::Reply;
use crate::project::context::Context;
use crate::recorder::entry::{BlobId, Nanos};
use crate::recorder::mediate::{Recorder, dir};
use crate::recorder::telling::{self, Done, Finding, Hearer};
use crate::recorder::windows::{self, CallText, Caller, Doing, Running, Window};
use crate::shell::{Analysis, Scene};
use crate::systems::system;

/// From this version on a turn that ends can be told something.
const TELLS_AT_STOP: [u32; 3] = [2, 1, 163];

/// What the text of a call that runs code tells.
pub(crate) fn text_of(event: &Event<'_>, changes: &Analysis) -> Option<CallText> {
    let (text, programs) = match event.tool() {
        Tool::Shell(_) => {
            let text = event.input.command.as_str().to_owned();
            (text, changes.programs.clone())
        }
        Tool::Mcp(name) => {
            let commands = commands::of(event).unwrap_or_default();
            let dirs = commands.iter().filter_map(|command| command.cwd.as_deref());
            let dirs = dirs.map(|dir| format!("cd {dir}"));
            let arguments = event.arguments().unwrap_or_default();
            let texts = strings(&arguments)
                .into_iter()
                .map(|(_, text)| text.to_owned());
            let text = dirs.chain(texts).collect::<Vec<_>>().join("\n");
            (text, vec![name.to_owned()])
        }
        _ => return None,
    };
    let paths = changes
        .targets
        .iter()
        .map(|target| path::collapse(&target.path));
    Some(CallText {
        text,
        targets: paths.map(Cow::into_owned).collect(),
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

fn hearer(event: &Event<'_>) -> Hearer {
    Hearer {
        session: event.session().to_owned(),
        agent_id: event.agent_id().to_owned(),
    }
}

/// Before a call that was not refused. What a file tool writes is known, so it matters
/// only where others may write the same meanwhile.
pub(crate) fn before_call(
    context: &Context<'_>,
    event: &Event<'_>,
    call: Option<CallText>,
    written: Option<Target>,
) {
    if let Some(call) = call {
        let recorder = Recorder::around(context, &call.text, &call.targets);
        recorder.before(caller(event), call.clone());
    } else if let Some(target) = written
        && windows::is_any_open(&dir(&context.project))
    {
        let texts = event.input.texts().unwrap_or_default();
        let content = texts.content.filter(|_| event.tool() == Tool::Write);
        let doing = Doing::Writes {
            path: path::collapse(&target.path).into_owned(),
            content: content.map(|text| BlobId::of(text.as_bytes())),
        };
        Recorder::of(context).open(caller(event), doing);
    }
}

/// After a call: what it did, or what its file tool wrote, is judged. `claims` are those
/// of the call.
pub(crate) fn after_call(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) -> Reply {
    let caller = caller(event);
    let paths: Vec<String> = claims.iter().map(Claim::path).collect();
    let has_window = windows::is_open(&dir(&context.project), &caller.tool_use_id);
    let unannounced = match has_window {
        true => None,
        false => unannounced(context, event, &paths),
    };
    let text = match &unannounced {
        Some(Doing::RunsCode(call)) => &call.text,
        _ => event.input.command.as_str(),
    };
    let recorder = Recorder::around(context, text, &paths);
    let duration = event.duration_ms.value().as_i64();
    let found = recorder.after(
        &caller,
        unannounced.clone(),
        duration,
        background_task(event),
    );
    say(event.kind(), &found)
}

/// What a call did that has no window; `paths` are the governed ones among its targets.
fn unannounced(context: &Context<'_>, event: &Event<'_>, paths: &[String]) -> Option<Doing> {
    if event.tool().is_file_tool() {
        let path = paths
            .first()
            .filter(|_| event.kind() == Kind::PostToolUse)?;
        return Some(Doing::Wrote { path: path.clone() });
    }
    let scene = Scene {
        cwd: &context.cwd,
        env: context.env,
        disk: &DirCache::default(),
    };
    let changes = targets::of(event, &scene);
    let call = text_of(event, &changes.unwrap_or_default())?;
    let may_change = may_change_unseen(&call) || !paths.is_empty();
    may_change.then_some(Doing::RunsCode(call))
}

/// The task that goes on after its call, by the client's id for it; `Monitor` has a key
/// of its own.
fn background_task(event: &Event<'_>) -> Option<String> {
    let is_shell = matches!(event.tool(), Tool::Shell(_));
    let ids = [&event.response.background_task_id, &event.response.task_id];
    let id = ids.into_iter().find_map(|id| id.get());
    id.filter(|_| is_shell).map(str::to_owned)
}

/// Whether an event tells that a call is over, and how it ended.
fn over(event: &Event<'_>, window: &Window, end: Nanos) -> Option<Running> {
    let is_own = Hearer::of(&window.caller) == hearer(event);
    let is_of_session = window.caller.session == event.session();
    let ends_now = match (event.kind(), &window.state) {
        (Kind::SessionStart | Kind::SessionEnd, _) => is_of_session,
        (Kind::SubagentStop | Kind::Stop, Running::Waited) => is_own,
        // Before words of the user; news of a command come while others may run.
        (Kind::UserPromptSubmit, Running::Waited) => is_own && !is_news(event),
        (Kind::UserPromptSubmit, Running::Background { task }) => {
            return has_news_of(event, task).then_some(Running::Over { end });
        }
        (Kind::Stop, Running::Background { task }) => {
            let is_over = is_of_session && !goes_on(event, task);
            return is_over.then_some(Running::Over { end });
        }
        _ => false,
    };
    ends_now.then_some(Running::Dangling { end })
}

/// Whether a prompt is the client's news that commands in the background have ended.
fn is_news(event: &Event<'_>) -> bool {
    event.prompt.as_str().contains("<task-notification>")
}

fn has_news_of(event: &Event<'_>, task: &str) -> bool {
    let mut parts = event.prompt.as_str().split("<task-id>").skip(1);
    let is_it = |part: &str| {
        part.split_once("</task-id>")
            .is_some_and(|(id, _)| id.trim() == task)
    };
    is_news(event) && parts.any(is_it)
}

/// Whether the end of a turn lists a task; a client that lists none says nothing.
fn goes_on(event: &Event<'_>, task: &str) -> bool {
    let tasks = event.background_tasks.value();
    let all = tasks.as_array();
    all.is_none_or(|all| all.iter().any(|listed| listed["id"] == *task))
}

/// Judges the calls that an event ends, and tells the agent that hears it what concerns it.
fn close(context: &Context<'_>, event: &Event<'_>, can_tell: bool) -> Reply {
    let recorder = Recorder::of(context);
    let end = recorder.nanos();
    let is_over = |window: &Window| over(event, window, end);
    say(
        event.kind(),
        &recorder.close(&hearer(event), can_tell, &is_over),
    )
}

/// `UserPromptSubmit`: words of the user, or the client's news.
pub(crate) fn prompted(context: &Context<'_>, event: &Event<'_>) -> Reply {
    close(context, event, true)
}

/// The main thread's turn is over.
pub(crate) fn turn_ended(context: &Context<'_>, event: &Event<'_>) -> Reply {
    if !event.agent_id().is_empty() {
        return Reply::Silent;
    }
    let can_tell = !event.is_held() && context.env.client.as_deref().is_some_and(tells_at_stop);
    close(context, event, can_tell)
}

fn tells_at_stop(client: &str) -> bool {
    let numbers = client.split('.').map(|part| part.parse().unwrap_or(0));
    numbers.collect::<Vec<u32>>().as_slice() >= TELLS_AT_STOP.as_slice()
}

/// An agent begins or ends. What it would have been told is left to the main thread, since
/// an answer replaces its report.
pub(crate) fn agent_passed(context: &Context<'_>, event: &Event<'_>) {
    close(context, event, false);
    if event.kind() == Kind::SubagentStop {
        let agent = hearer(event);
        Recorder::of(context).pass_on(&|to| {
            let is_agent = *to == agent;
            Some(if is_agent { to.main_of() } else { to.clone() })
        });
    }
}

/// A session begins or ends.
pub(crate) fn session_passed(context: &Context<'_>, event: &Event<'_>) {
    let recorder = Recorder::of(context);
    if event.kind() == Kind::SessionStart {
        recorder.set_up();
    }
    close(context, event, false);
    recorder.tidy();
    if event.kind() == Kind::SessionEnd {
        recorder.pass_on(&|to| (to.session != event.session()).then(|| to.clone()));
    }
}

/// What was found as the answer to an event. The user hears of what was put back: it may
/// have been their own edit.
fn say(kind: Kind, found: &[Finding]) -> Reply {
    let Some(text) = telling::to_text(found) else {
        return Reply::Silent;
    };
    let is_put_back = |finding: &&Finding| matches!(finding.done, Done::PutBack(_));
    let put_back: Vec<Finding> = found.iter().filter(is_put_back).cloned().collect();
    Reply::Found {
        event: kind,
        holds: kind == Kind::PostToolUse && found.iter().any(|finding| finding.is_enforced),
        notice: telling::to_text(&put_back).map(|text| format!("statewarden: {text}")),
        text,
    }
}
