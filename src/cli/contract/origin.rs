//! Where a row of a contract comes from.

use crate::base::disk::bounded_read::read_text;
use crate::cli::CliContext;
use crate::contract::table::{Dir, Role, Row};
use crate::settings::model::{Settings, SystemSettings};
use crate::systems::system::{self, System};

/// The word for rows that the program brings.
pub(super) const BUILT_IN: &str = "built in";

/// The settings files that there are, weakest first, each by itself.
pub(super) struct Origins(Vec<(String, Settings)>);

impl Origins {
    pub(super) fn read(context: &CliContext<'_>) -> Self {
        let files = context.project.settings_files(context.env);
        let files = files.into_iter().filter_map(|(layer, path)| {
            let text = read_text(&path).ok().flatten()?;
            let settings =
                Settings::resolve(&[(layer, &path, Ok(&text))], &system::known()).settings;
            Some((path, settings))
        });
        Self(files.collect())
    }

    /// A row that the system's own table does not hold stands in the settings.
    pub(super) fn of_row(&self, system: &dyn System, row: &Row<'_>) -> String {
        let built_in = system.contract().rows.iter();
        let is_built_in = built_in
            .filter(|known| known.bucket == row.bucket)
            .any(|known| known.title() == row.title());
        let adds = |own: &SystemSettings| {
            let mut globs = own.extra_globs.iter();
            own.extra_names.iter().any(|name| name == row.title())
                || globs.any(|glob| glob.as_str() == row.title())
        };
        self.of(system, is_built_in, adds)
    }

    pub(super) fn of_dir(&self, system: &dyn System, dir: &Dir<'_>) -> String {
        let is_built_in = system
            .contract()
            .dirs
            .iter()
            .any(|known| known.path == dir.path);
        let adds = |own: &SystemSettings| {
            let mut added = own.subdirectories.iter();
            added.any(|path| path.trim_matches('/') == dir.path)
        };
        self.of(system, is_built_in, adds)
    }

    pub(super) fn of_role(&self, system: &dyn System, role: &Role<'_>) -> String {
        let adds = |own: &SystemSettings| own.roles.get(role.agent).is_some_and(|r| r == role.role);
        let mut built_in = system.contract().roles.iter();
        let is_built_in =
            built_in.any(|known| (known.agent, known.role) == (role.agent, role.role));
        self.of(system, is_built_in, adds)
    }

    fn of(
        &self,
        system: &dyn System,
        is_built_in: bool,
        adds: impl Fn(&SystemSettings) -> bool,
    ) -> String {
        let id = system.id();
        let declares = |own: &SystemSettings| own.declared.is_some();
        let added = self.last(|settings| adds(settings.system(id)));
        let declared = || self.last(|settings| declares(settings.system(id)));
        match added.filter(|_| !is_built_in).or_else(declared) {
            Some(path) => path.to_owned(),
            None if is_built_in => BUILT_IN.to_owned(),
            None => "the settings".to_owned(),
        }
    }

    /// The strongest file that says so.
    fn last(&self, says: impl Fn(&Settings) -> bool) -> Option<&str> {
        let mut files = self.0.iter().rev();
        files
            .find(|(_, settings)| says(settings))
            .map(|(path, _)| path.as_str())
    }
}
