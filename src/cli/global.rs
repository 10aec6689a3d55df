//! What `--system` may name, and which systems the settings switch off.

use std::ffi::OsStr;
use std::fmt;

use anyhow::{Result, bail};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use serde::Serialize;

use super::CliContext;
use super::output::{Page, writeln};
use crate::base::text::nearest;
use crate::contract::denial::Mode;
use crate::guard::claims::Claim;
use crate::project::registry::Registry;
use crate::settings::model::Settings;
use crate::systems::system;

/// Any text, with values that a shell completes.
#[derive(Clone)]
pub(super) struct Suggested(pub(super) fn() -> Vec<&'static str>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = (self.0)().into_iter();
        Some(Box::new(values.map(PossibleValue::new)))
    }
}

/// The systems of the program, then those of the settings.
pub(super) fn known_ids(settings: &Settings) -> Vec<&str> {
    let declared = settings.declared().map(|(id, _)| id);
    system::ids().into_iter().chain(declared).collect()
}

/// Refuses an id that no system has.
pub(super) fn check_id(id: &str, settings: &Settings) -> Result<()> {
    let known = known_ids(settings);
    if known.contains(&id) {
        return Ok(());
    }
    let all = known.join(", ");
    match nearest(id, known) {
        Some(near) => bail!("no system `{id}`; did you mean `{near}`? The systems here are {all}"),
        None => bail!("no system `{id}`; the systems here are {all}"),
    }
}

/// A system that the settings switch off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct SwitchedOff {
    pub(super) system: String,
    /// The settings file that says so.
    pub(super) by: String,
}

impl fmt::Display for SwitchedOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is switched off by `{}`", self.system, self.by)
    }
}

/// One line for each settings file that switches systems off.
pub(super) fn say_switched_off(off: &[SwitchedOff], page: &mut Page<'_>) {
    for same in off.chunk_by(|a, b| a.by == b.by) {
        let ids: Vec<&str> = same.iter().map(|off| off.system.as_str()).collect();
        let are = if ids.len() == 1 { "is" } else { "are" };
        writeln!(
            page,
            "{} {are} switched off by `{}`",
            ids.join(", "),
            same[0].by
        );
    }
}

impl<'a> CliContext<'a> {
    /// Says so where the settings switch a system off.
    pub(super) fn switched_off(&self, id: &str) -> Option<SwitchedOff> {
        let is_off = self.rules.settings.mode_of(id) == Mode::Off;
        is_off.then(|| SwitchedOff {
            system: id.to_owned(),
            by: (self.project.switched_off_by(self.env, id))
                .unwrap_or_else(|| "the settings".to_owned()),
        })
    }

    /// The switched-off system that a claim is of.
    pub(super) fn switched_off_among(&self, claims: &[Claim<'_>]) -> Option<SwitchedOff> {
        let ids = claims.iter().map(|claim| claim.governed.id());
        ids.into_iter().find_map(|id| self.switched_off(id))
    }

    /// Every system that the settings switch off, where `--system` names none.
    pub(super) fn all_switched_off(&self) -> Vec<SwitchedOff> {
        known_ids(&self.rules.settings)
            .into_iter()
            .filter(|id| self.wants(id))
            .filter_map(|id| self.switched_off(id))
            .collect()
    }

    /// Refuses to go on with a system that is switched off: nothing of it would be found.
    pub(super) fn require(&self, id: &str) -> Result<()> {
        match self.switched_off(id) {
            Some(off) => bail!("{off}; nothing of it is looked at"),
            None => Ok(()),
        }
    }

    /// Refuses to go on where `--system` names one that is switched off.
    pub(super) fn require_wanted(&self) -> Result<()> {
        self.system.map_or(Ok(()), |id| self.require(id))
    }

    /// The systems that `--system` leaves.
    pub(super) fn wanted_systems(&self) -> Result<Registry<'a>> {
        self.require_wanted()?;
        let mut registry = Registry::new(&self.rules.settings, self.declared);
        registry
            .governed
            .retain(|governed| self.wants(governed.id()));
        Ok(registry)
    }

    /// Every system, those that are switched off included.
    pub(super) fn complete_registry(&self) -> Registry<'a> {
        Registry::complete(&self.rules.settings, self.declared)
    }

    /// Whether a system is wanted by `--system`.
    pub(super) fn wants(&self, id: &str) -> bool {
        self.system.is_none_or(|wanted| wanted == id)
    }
}
