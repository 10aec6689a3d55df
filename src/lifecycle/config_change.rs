//! Changes of Claude Code's settings after which they would no longer run the hook.

use std::path::Path;

use crate::base::path;
use crate::base::target::Act;
use crate::base::text;
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::host::event::Event;
use crate::host::reply::Reply;
use crate::host::settings_json::Wiring;
use crate::lifecycle::gates;
use crate::log::record::{Record, What};
use crate::project::context::Context;
use crate::project::roots::read_client_text;
use crate::recorder::changes;
use crate::systems::own;

/// What the settings files on the disk make of the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookState {
    Wired,
    /// One of them switches all hooks off.
    Disabled,
    Unwired,
}

/// `ConfigChange`: holds such a change, so that the session that runs keeps its hooks.
pub(crate) fn config_changed(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let is_held = match hook_state(context) {
        HookState::Wired => false,
        HookState::Disabled => context.is_concerned(),
        HookState::Unwired => was_wired(context),
    };
    let Some(file) = event.file_path.get() else {
        return Reply::Silent;
    };
    if !is_held {
        return Reply::Silent;
    }
    let denial = unwired_by(context, &path::slashed(file));
    let reason = format!(
        "statewarden's hooks would no longer run after this change of `{}`, so this session keeps \
         the settings it has. Put the file back as it was, or end the session to work without the \
         hooks. More: `statewarden doctor`.",
        text::excerpt(&denial.display_path, 160)
    );
    let (denials, now) = (std::slice::from_ref(&denial), context.now.get());
    let record = Record::from_denials(What::Detected, denials, &reason, event, now);
    context.append(&context.logs().events(), &record);
    Reply::Block { reason }
}

/// Whether the settings ran the hook when a session began, or `install` put it there. The mark
/// in the memory outlasts a clean-up of the project, and an `uninstall` by a call. Where both are
/// gone, the contents that the recorder has kept of the settings still say it.
pub(crate) fn was_wired(context: &Context<'_>) -> bool {
    let memory = context.project.memory();
    let mut settings = context.project.client_settings().into_iter();
    context.project.was_wired()
        || settings.any(|file| {
            let contents = changes::last_contents(memory, &file);
            contents.iter().any(|text| runs_the_hook(text))
        })
}

fn runs_the_hook(settings: &[u8]) -> bool {
    let wiring = Wiring::read(&String::from_utf8_lossy(settings));
    wiring.is_ok_and(|wiring| wiring.is_ours())
}

pub(crate) fn hook_state(context: &Context<'_>) -> HookState {
    let mut state = HookState::Unwired;
    // The file that wins comes first.
    let mut plugin = None;
    for file in context.project.session_settings() {
        let text = read_client_text(&file);
        match text.map(|text| Wiring::read(&text.unwrap_or_default())) {
            Ok(Ok(wiring)) if wiring.disables_hooks() => return HookState::Disabled,
            Ok(Ok(wiring)) => {
                plugin = plugin.or(wiring.plugin);
                if wiring.guards() {
                    state = HookState::Wired;
                }
            }
            // What a file says that cannot be read is not known.
            Err(_) => state = HookState::Wired,
            Ok(Err(_)) => {}
        }
    }
    match context.env.plugin_root {
        Some(_) if plugin != Some(false) => HookState::Wired,
        _ => state,
    }
}

/// A settings file that has lost the hook.
pub(crate) fn unwired_by(context: &Context<'_>, file: &str) -> Denial {
    Denial {
        code: DenyCode::ProtectedFile,
        system: own::ID.to_owned(),
        mode: Mode::Enforce,
        act: Act::Edit,
        path: file.to_owned(),
        display_path: gates::display_path(&context.project, Path::new(file)),
        site: ".claude".to_owned(),
        entry: file.rsplit('/').next().unwrap_or_default().to_owned(),
        why: "statewarden's hooks no longer run by it; `statewarden doctor` says what to mend"
            .to_owned(),
        instead: None,
        suggestion: None,
        agent: None,
    }
}
