//! Settings, ours and Claude Code's, as a command may have left them.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::{changed, has_changed};
use crate::catalog::Catalog;
use crate::decision::{Denial, DenyCode};
use crate::gates;
use crate::hook::World;
use crate::layers::Layers;
use crate::project::read_client_text;
use crate::settings::Mode;
use crate::store;
use crate::systems::own;
use crate::target::Act;
use crate::wiring::Wiring;

impl World<'_> {
    /// Our settings, and Claude Code's with our entries in them, as a command
    /// may have left them. A file that has just changed has no say in that.
    pub(super) fn settings_changed(&self, since: DateTime<Utc>) -> Vec<Denial> {
        let files = self.project.settings_files(self.env).into_iter();
        // What was settled before the program first left a trace here is the user's.
        let trace = self.logs().own_folder().join(".gitignore");
        let is_late = |at| changed(&trace).is_some_and(|began| began < at);
        let (changed, kept): (Vec<_>, Vec<_>) = files.partition(|(_, path)| {
            changed(Path::new(path)).is_some_and(|at| at >= since && is_late(at))
        });
        let unwired = self.unwired(since);
        if changed.is_empty() {
            return unwired.into_iter().collect();
        }
        let before = Layers::read(kept).resolve();
        let catalog = Catalog::new(&before.settings, &[]);
        let changed = changed.iter();
        changed
            .filter_map(|(_, path)| self.objection(path, None, &catalog))
            .chain(unwired)
            .collect()
    }

    /// No settings file runs the hook any more although the project's did, and
    /// one of them has just changed: the call took the guard out.
    fn unwired(&self, since: DateTime<Utc>) -> Option<Denial> {
        let main = &self.project.main.dir;
        let project = self.project.client_settings();
        let user = self.project.user_settings();
        let may_be_wired = |path: &String| match read_client_text(path) {
            Ok(text) => {
                let wiring = Wiring::read(&text.unwrap_or_default());
                wiring.is_ok_and(|wiring| wiring.is_live())
            }
            Err(_) => true,
        };
        let was_wired = self.logs().own_folder().join(store::WIRED).exists();
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
            shown: gates::shown(&self.project, Path::new(changed)),
            site: ".claude".to_owned(),
            entry: changed.rsplit('/').next().unwrap_or_default().to_owned(),
            why: "statewarden's hooks no longer run by it; `statewarden doctor` says what to mend"
                .to_owned(),
            instead: None,
            suggestion: None,
            agent: None,
        })
    }
}
