//! How far a call has to go through the pipeline before it may pass: most calls leave it early.

use std::ops::ControlFlow;

use crate::base::env::Env;
use crate::base::string_enum::string_enum;
use crate::base::target::Target;
use crate::guard::claims;
use crate::guard::targets::{self, Unread};
use crate::host::event::Event;
use crate::lifecycle::calls;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites;
use crate::recorder::calls::CallText;
use crate::settings::merge::Resolved;
use crate::settings::model::Settings;
use crate::shell::{Analysis, Scene};
use crate::systems::system;

string_enum! {
    /// The step of the pipeline that lets a call pass.
    pub enum Exit {
        /// It changes no file, and its text says all that it does.
        Targets = "targets",
        /// It changes nothing where the built-in systems have their state, and neither settings
        /// nor contracts add a system there.
        Places = "places",
        /// Nothing that it changes is in a state directory.
        Claims = "claims",
        /// No rule objects.
        Rules = "rules",
    }
}

impl Exit {
    /// What the step knows of the call, as a clause.
    pub fn why(self) -> &'static str {
        match self {
            Self::Targets => "the call changes no file, and its text says all that it does",
            Self::Places => {
                "nothing that it changes is in a state directory, and no settings add any"
            }
            Self::Claims => "nothing that it changes is in a state directory",
            Self::Rules => "it is in a state directory, and no rule objects",
        }
    }
}

/// What the text of a call says.
pub struct Reading {
    pub(crate) changes: Result<Analysis, Unread>,
    /// Of a call that runs code.
    pub(crate) call: Option<CallText>,
    /// What a file tool writes.
    pub(crate) written: Option<Target>,
}

impl Reading {
    pub fn of(event: &Event<'_>, scene: &Scene<'_>) -> Self {
        let changes = targets::of(event, scene);
        let (call, written) = match &changes {
            Ok(changes) if event.tool().is_file_tool() => {
                let written = changes.targets.first().cloned();
                (calls::text_of(event, changes), written)
            }
            Ok(changes) => (calls::text_of(event, changes), None),
            Err(_) => (None, None),
        };
        Self {
            changes,
            call,
            written,
        }
    }

    /// Whether the call does nothing but what its text says.
    pub(crate) fn is_understood(&self) -> bool {
        !self.call.as_ref().is_some_and(calls::may_change_unseen)
    }

    /// The exit of a call about which its text says enough.
    pub fn exit_by_text(&self, event: &Event<'_>) -> Option<Exit> {
        let changes = match &self.changes {
            Ok(changes) => !changes.targets.is_empty() || !changes.own_commands.is_empty(),
            Err(Unread::Arguments(_)) => system::are_named_in_event(event.json()),
            Err(Unread::Command(..)) => true,
        };
        (!changes && self.is_understood()).then_some(Exit::Targets)
    }

    /// The exit of a call that is far from all state, for which the settings are not made out;
    /// of any other call, what they say.
    pub fn exit_by_place(
        &self,
        project: &Project,
        env: &Env,
        cwd: &str,
    ) -> ControlFlow<Exit, Resolved> {
        let Ok(changes) = &self.changes else {
            return ControlFlow::Continue(project.rules(env));
        };
        if project.has_contracts(env) {
            return ControlFlow::Continue(project.rules(env));
        }
        let layers = project.settings_layers(env);
        let is_far = !layers.may_make_site()
            && (self.is_understood() || has_no_usual_site(project, cwd))
            && reach_no_usual_site(changes, project);
        if is_far {
            ControlFlow::Break(Exit::Places)
        } else if project.keeps_settings(env) {
            ControlFlow::Continue(project.rules(env))
        } else {
            ControlFlow::Continue(project.resolve(&layers))
        }
    }
}

/// Whether no target is in a site of a built-in system, where they usually are.
fn reach_no_usual_site(changes: &Analysis, project: &Project) -> bool {
    let (usual, targets) = (Settings::default(), &changes.targets);
    let registry = Registry::new(&usual, &[]);
    changes.own_commands.is_empty()
        && !targets
            .iter()
            .any(|target| system::are_named_in(&target.path))
        && claims::of(targets, project, &registry).is_ok_and(|claims| claims.is_empty())
}

/// Whether there is nothing that a call could change unseen: no folder of ours, and no
/// site of a built-in system around.
fn has_no_usual_site(project: &Project, cwd: &str) -> bool {
    let usual = Settings::default();
    let registry = Registry::new(&usual, &[]);
    !project.has_memory()
        && !project.own_folder().is_dir()
        && sites::around(project, &registry, &[cwd.to_owned()]).is_empty()
}
