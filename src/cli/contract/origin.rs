//! Where a row of a contract comes from.

use crate::cli::CliContext;
use crate::contract::table::Contract;
use crate::project::registry::Registry;
use crate::settings::model::Settings;
use crate::systems::declared::DeclaredSystem;
use crate::systems::system::{self, System};

/// The word for rows that the program brings.
pub(super) const BUILT_IN: &str = "built in";

/// Each settings file that there is, weakest first, with what holds as far as it.
pub(super) struct Origins(Vec<(String, Settings)>);

impl Origins {
    pub(super) fn read(context: &CliContext<'_>) -> Self {
        Self(context.project.settings_by_file(context.env))
    }

    /// The first file with which the contract has it, unless the program's own has.
    pub(super) fn of(&self, system: &dyn System, has: impl Fn(&Contract<'_>) -> bool) -> String {
        let id = system.id();
        if system::by_id(id).is_some_and(|built_in| has(built_in.contract())) {
            return BUILT_IN.to_owned();
        }
        let adds = |settings: &Settings| {
            let declared = DeclaredSystem::all(settings);
            let registry = Registry::complete(settings, &declared);
            registry
                .get(id)
                .is_some_and(|governed| has(&governed.contract))
        };
        let mut files = self.0.iter();
        let file = files.find(|(_, settings)| adds(settings));
        file.map_or("the settings", |(path, _)| path).to_owned()
    }
}
