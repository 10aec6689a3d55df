//! Strict mode at the start of a session: each shell starts again behind `statewarden fence`.

mod places;

use std::io::Write as _;
use std::path::Path;

pub use places::read_only;

use crate::base::disk::bounded_read::read_text;
use crate::base::disk::cache::DirCache;
use crate::base::env;
use crate::guard::fence::{Access, access};
use crate::guard::targets;
use crate::host::env_file;
use crate::host::event::{Event, Tool};
use crate::host::reply::Reply;
use crate::lifecycle::evidence::output;
use crate::project::context::Context;
use crate::shell::Scene;
use crate::store::{append, fence};

/// Puts the shells of a session behind the fence, where the settings say so; what keeps them out
/// the user is shown. The last that the hook does: the process is in a namespace of its own then.
pub(crate) fn begin(context: &Context<'_>, mut reply: Reply) -> Reply {
    if !context.rules.settings.strict {
        return reply;
    }
    let why = fence_shells(context).err();
    if context.own_folder().is_dir() && context.project.state().unfenced != why {
        let noted = context
            .project
            .change_state(|state| state.unfenced.clone_from(&why));
        context.warn_about_state(noted);
    }
    if let Some(why) = why {
        reply.add_notice(&format!(
            "statewarden: `strict` is not in force, commands run as without it: {why}. \
             `statewarden doctor` says what is missing."
        ));
    }
    reply
}

/// Adds the line to the session's file, once it is known that a fence can be had here.
fn fence_shells(context: &Context<'_>) -> Result<(), String> {
    let named = context.env.env_file.as_deref();
    let file = named.ok_or("Claude Code names no `CLAUDE_ENV_FILE`")?;
    let started = env::own_program().next();
    let program = started.ok_or("the path of this program is not known")?;
    let line = env_file::line(&program, &context.project.session_root().dir, file);
    let path = Path::new(file);
    // A session that is continued has it already.
    if read_text(path).is_ok_and(|text| text.is_some_and(|text| text.contains(&line))) {
        return Ok(());
    }
    let unwritten = |error| format!("`{file}` cannot be written: {error}");
    let (mut opened, _) = append::open(path).map_err(unwritten)?;
    let above = path.parent().map(Path::to_owned);
    fence::enter(above.into_iter().collect()).map_err(|why| why.to_string())?;
    opened.write_all(line.as_bytes()).map_err(unwritten)
}

/// How a program says that a place is read-only (strerror(3), and Node).
const REFUSED: [&str; 2] = ["Read-only file system", "EROFS"];

/// Says what to do where a command ran into the fence.
pub(crate) fn explain(context: &Context<'_>, event: &Event<'_>, reply: Reply) -> Reply {
    let settings = &context.rules.settings;
    if reply != Reply::Silent || !settings.strict || !matches!(event.tool(), Tool::Shell(_)) {
        return reply;
    }
    let printed = output::of(event).unwrap_or_default();
    if !REFUSED.iter().any(|sign| printed.contains(sign)) {
        return reply;
    }
    let scene = Scene {
        cwd: &context.cwd,
        env: context.env,
        disk: &DirCache::default(),
    };
    let read = targets::of(event, &scene);
    if read.is_ok_and(|line| access(&line, settings, context.registry) == Access::Full) {
        return reply;
    }
    let text = "statewarden: state directories are read-only for this command (`strict: true`), since its text does \
                not say all that it writes. Use Write or Edit, or a command of its own whose words are plain. If a \
                program has to write there, ask the user to list it in `systems.<id>.programs` of the settings.";
    Reply::context(event.kind(), text.to_owned())
}
