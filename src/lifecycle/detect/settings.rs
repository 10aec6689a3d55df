//! Settings, ours and Claude Code's, as a command may have left them.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::{changed, has_changed};
use crate::base::target::Act;
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::host::settings_json::Wiring;
use crate::lifecycle::{detect, gates};
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::read_client_text;
use crate::settings::load::Layers;
use crate::store;
use crate::systems::{own, system};

/// Our settings, and Claude Code's with our entries in them, as a command
/// may have left them. A file that has just changed has no say in that.
pub(super) fn settings_changed(context: &Context<'_>, since: DateTime<Utc>) -> Vec<Denial> {
    let files = context.project.settings_files(context.env).into_iter();
    // What was settled before the program first left a trace here is the user's.
    let trace = context.logs().own_folder().join(".gitignore");
    let is_late = |at| changed(&trace).is_some_and(|began| began < at);
    let (changed, kept): (Vec<_>, Vec<_>) = files.partition(|(_, path)| {
        changed(Path::new(path)).is_some_and(|at| at >= since && is_late(at))
    });
    let unwired = unwired(context, since);
    if changed.is_empty() {
        return unwired.into_iter().collect();
    }
    let before = Layers::read(kept).resolve(&system::known());
    let registry = Registry::new(&before.settings, &[]);
    let changed = changed.iter();
    changed
        .filter_map(|(_, path)| detect::objection(context, path, None, &registry))
        .chain(unwired)
        .collect()
}

/// No settings file runs the hook any more although the project's did, and
/// one of them has just changed: the call took the guard out.
fn unwired(context: &Context<'_>, since: DateTime<Utc>) -> Option<Denial> {
    let main = &context.project.main.dir;
    let project = context.project.client_settings();
    let user = context.project.user_settings();
    let may_be_wired = |path: &String| match read_client_text(path) {
        Ok(text) => {
            let wiring = Wiring::read(&text.unwrap_or_default());
            wiring.is_ok_and(|wiring| wiring.is_live())
        }
        Err(_) => true,
    };
    let was_wired = context.logs().own_folder().join(store::WIRED).exists();
    if !was_wired || project.iter().chain(&user).any(may_be_wired) {
        return None;
    }
    // A file that was removed shows in its directory only.
    let removed = |path: &&String| {
        !Path::new(path).exists() && has_changed(Path::new(&format!("{main}/.claude")), since)
    };
    let changed = project
        .iter()
        .find(|path| has_changed(Path::new(path), since))
        .or_else(|| project.iter().find(removed))?;
    Some(Denial {
        code: DenyCode::ProtectedFile,
        system: own::ID.to_owned(),
        mode: Mode::Enforce,
        act: Act::Edit,
        path: changed.clone(),
        shown: gates::shown(&context.project, Path::new(changed)),
        site: ".claude".to_owned(),
        entry: changed.rsplit('/').next().unwrap_or_default().to_owned(),
        why: "statewarden's hooks no longer run by it; `statewarden doctor` says what to mend"
            .to_owned(),
        instead: None,
        suggestion: None,
        agent: None,
    })
}
