//! Settings, ours and Claude Code's, as a command may have left them.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::{changed, has_changed};
use crate::contract::denial::Denial;
use crate::lifecycle::config_change::{HookState, hook_state, unwired_by, was_wired};
use crate::lifecycle::detect;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::settings::load::Layers;
use crate::systems::system;

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

/// The settings no longer run the hook although they did, and one of the project's has just
/// changed: the call took the guard out.
fn unwired(context: &Context<'_>, since: DateTime<Utc>) -> Option<Denial> {
    if !was_wired(context) || hook_state(context) == HookState::Wired {
        return None;
    }
    let main = &context.project.main.dir;
    let project = context.project.client_settings();
    // A file that was removed shows in its directory only.
    let removed = |path: &&String| {
        !Path::new(path).exists() && has_changed(Path::new(&format!("{main}/.claude")), since)
    };
    let changed = project
        .iter()
        .find(|path| has_changed(Path::new(path), since))
        .or_else(|| project.iter().find(removed))?;
    Some(unwired_by(context, changed))
}
