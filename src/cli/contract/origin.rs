//! Where a row of a contract comes from.

use crate::base::disk::bounded_read::read_text;
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
        let files = context.project.settings_files(context.env);
        let texts = files.into_iter().filter_map(|(layer, path)| {
            let text = read_text(&path).ok().flatten()?;
            Some((layer, path, text))
        });
        let texts: Vec<_> = texts.collect();
        let read = texts
            .iter()
            .map(|(layer, path, text)| (*layer, &**path, Ok(&**text)));
        let read: Vec<_> = read.collect();
        let known = system::known();
        let up_to = |at: usize| Settings::resolve(&read[..=at], &known).settings;
        let files = texts.iter().enumerate();
        Self(
            files
                .map(|(at, (_, path, _))| (path.clone(), up_to(at)))
                .collect(),
        )
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
