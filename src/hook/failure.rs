//! What the hook answers when something fails: closed where a governed place is
//! known or named, open with a word on stderr elsewhere.

use crate::systems::system;
use std::{panic, process};

use crate::base::clock::{Clock, Now};
use crate::base::env::Env;
use crate::base::{path, warn};
use crate::guard::claims::{self, JudgeError};
use crate::guard::excerpt::Excerpts;
use crate::guard::outcome::denial_log;
use crate::host::event::Event;
use crate::host::reply::Reply;
use crate::host::stdin;
use crate::log::record::{Record, What};
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::Site;
use crate::recorder::places::{self, Around};
use crate::settings::merge::Resolved;
use crate::settings::model::OnError;
use crate::systems::declared::DeclaredSystem;

/// A bug must not become an exit code that lets a call through. The release
/// build does not unwind, so the answer is given where the panic is.
pub(super) fn answer_panics(bytes: &'static [u8], project: Option<&'static str>, now: Clock) {
    panic::set_hook(Box::new(move |bug| {
        warn::warn(&bug.to_string());
        let what = "statewarden hit an internal error";
        // A bug on the way to the log must not cost the refusal.
        let reply =
            refusal(bytes, what).unwrap_or_else(|| fault(bytes, what, &Env::read(), project, now));
        #[expect(
            clippy::disallowed_methods,
            clippy::exit,
            reason = "there is no way back to main"
        )]
        process::exit(reply.unless_held_before(bytes).send().into());
    }));
}

/// The answer to bytes that are no event, or to a failure before a claim was known.
pub(super) fn fault(
    bytes: &[u8],
    what: &str,
    env: &Env,
    project: Option<&str>,
    now: Clock,
) -> Reply {
    let on_error = note_fault(what, env, project, now);
    refusal(bytes, what).unwrap_or_else(|| match on_error {
        OnError::Open => Reply::Complain {
            message: what.to_owned(),
        },
        OnError::Closed => Reply::Refuse {
            message: format!("denied: {what} (`on_error: closed`)"),
        },
    })
}

/// The answer where the bytes name a governed place.
fn refusal(bytes: &[u8], what: &str) -> Option<Reply> {
    let text = String::from_utf8_lossy(bytes);
    let names_place = system::are_named_in_event(&text) && stdin::may_be_before_call(bytes);
    names_place.then(|| Reply::Refuse {
        message: format!(
            "denied: {what}, and it names a workflow state directory. Try the call again; \
             `statewarden doctor` shows whether the installation is sound"
        ),
    })
}

/// Records a failure where the project is known and concerned; gives what its settings
/// say of failures.
fn note_fault(what: &str, env: &Env, project: Option<&str>, now: Clock) -> OnError {
    let given = project.or(env.project_dir.as_deref());
    let Some(dir) = given.map(str::to_owned).or_else(current_dir) else {
        return OnError::Open;
    };
    around(dir, env, project, now, |world| {
        if world.is_concerned() {
            let record = Record::new(What::Fault, what, None, world.now.get());
            world.append(&world.logs().events(), &record);
        }
        world.rules.settings.on_error
    })
}

/// Does what needs no call around a directory.
pub(super) fn around<R>(
    dir: String,
    env: &Env,
    project: Option<&str>,
    now: Clock,
    act: impl FnOnce(&Context<'_>) -> R,
) -> R {
    let project = Project::discover(project, env, &dir);
    let rules = project.rules(env);
    in_context(project, &rules, dir, env, now, act)
}

/// The same in a project whose settings are known.
pub(super) fn in_context<R>(
    project: Project,
    rules: &Resolved,
    cwd: String,
    env: &Env,
    now: Clock,
    act: impl FnOnce(&Context<'_>) -> R,
) -> R {
    let declared = DeclaredSystem::all(&rules.settings);
    act(&Context {
        project,
        cwd,
        env,
        now: Now::of(now),
        rules,
        registry: &Registry::new(&rules.settings, &declared),
    })
}

/// The last resort of an event that names no directory.
pub(super) fn current_dir() -> Option<String> {
    std::env::current_dir().ok().map(|dir| path::from_os(&dir))
}

/// The state directory that a call concerns which could not be judged: of its path, else the
/// nearest one that the call names.
fn site_of(context: &Context<'_>, event: &Event<'_>, error: &JudgeError) -> Option<String> {
    if let Some(path) = error.path() {
        let site = claims::site_of(path, &context.project, context.registry);
        return site.map(|site| site.dir().to_owned());
    }
    let system = error.system()?;
    let around = Around {
        cwd: &context.cwd,
        home: context.env.home.as_deref(),
        text: event.input.command.get().unwrap_or_default(),
        targets: &[],
    };
    let sites = places::around(&context.project, context.registry, &around);
    let of_system = sites.iter().filter(|site| site.governed.id() == system);
    let dirs = of_system.map(Site::dir);
    dirs.max_by_key(|dir| dir.len()).map(str::to_owned)
}

/// Refuses a call that could not be judged.
pub(super) fn refuse_unjudged(
    context: &Context<'_>,
    event: &Event<'_>,
    error: &JudgeError,
) -> Reply {
    let reason = error.reason();
    let mut record = Record::new(What::Deny, &reason, Some(event), context.now.get());
    record.command_excerpt = Excerpts::around(context).of_call(event);
    record.rule = Some(error.code());
    record.system = error.system().map(str::to_owned);
    record.file_path = error.path().map(str::to_owned);
    let site = site_of(context, event, error);
    let system = error.system().unwrap_or_default();
    let log = denial_log(&context.logs(), system, site.as_deref());
    context.append(&log, &record);
    Reply::denial(event.kind(), reason)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use chrono::DateTime;

    use super::*;

    const CHILD: &str = "STATEWARDEN_TEST_PANIC";

    /// Answering a panic ends the process, so the test runs itself once more.
    #[track_caller]
    fn check(event: &str, code: i32, said: &str) {
        let this = std::env::current_exe().unwrap();
        let name = "hook::failure::tests::a_bug_refuses_what_names_a_governed_place";
        let output = Command::new(this)
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, event)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(
            stderr.contains("a bug") && stderr.contains(said),
            "{stderr}"
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tells the second run what to do")]
    fn a_bug_refuses_what_names_a_governed_place() {
        if let Ok(event) = std::env::var(CHILD) {
            answer_panics(event.leak().as_bytes(), None, || DateTime::UNIX_EPOCH);
            panic!("a bug");
        }
        let governed = r#"{"hook_event_name":"PreToolUse","cwd":"/p","x":".devt/state/a.md"}"#;
        check(governed, 2, "denied: statewarden hit an internal error");
        let other = r#"{"hook_event_name":"PreToolUse","cwd":"/p","x":"src/a.rs"}"#;
        check(other, 0, "statewarden hit an internal error");
    }
}
