//! Which settings files count for a project.

use std::path::Path;

use crate::base::disk::list;
use crate::base::env::Env;
use crate::contract::denial::Mode;
use crate::project::accepted::Accepted;
use crate::project::plugins::EnabledPlugins;
use crate::project::roots::Project;
use crate::settings::load::{Layers, MISNAMED, SettingsFile, homes};
use crate::settings::merge::{Layer, Resolved};
use crate::settings::model::Settings;
use crate::systems::system;

/// The most contract files of a project that are read, the first by name: each call reads them.
pub const MAX_CONTRACTS: usize = 100;

impl Project {
    /// The settings files that count, weakest first; of those that are no contracts each may be
    /// missing.
    pub fn settings_files(&self, env: &Env) -> &[(Layer, String)] {
        self.settings_files.get_or_init(|| {
            let contracts = self.contract_files(self.enabled_plugins());
            contracts.chain(self.own_settings_files(env)).collect()
        })
    }

    fn own_settings_files(&self, env: &Env) -> impl Iterator<Item = (Layer, String)> {
        let outside = homes(env.etc_dir(), env.config_dir())
            .map(|(layer, dir)| (layer, dir + "/statewarden/config.yaml"));
        let inside = [
            (Layer::Project, "/.claude/statewarden.yaml"),
            (Layer::Local, "/.claude/statewarden.local.yaml"),
        ];
        outside.chain(inside.map(|(layer, file)| (layer, [&self.main.dir, file].concat())))
    }

    /// The contracts that the project and its plugins bring; the settings go before them.
    pub(super) fn contract_files(
        &self,
        plugins: &EnabledPlugins,
    ) -> impl Iterator<Item = (Layer, String)> {
        let own = self.own_contracts().into_iter().take(MAX_CONTRACTS);
        own.chain(plugins.contracts.clone())
            .map(|file| (Layer::Contract, file))
    }

    /// How many of the project's own contract files are more than are read.
    pub fn n_surplus_contracts(&self) -> usize {
        self.own_contracts().len().saturating_sub(MAX_CONTRACTS)
    }

    fn own_contracts(&self) -> Vec<String> {
        let dir = [&self.main.dir, "/.claude/statewarden.d"].concat();
        let mut names: Vec<String> = list::readable(Path::new(&dir))
            .map(list::Entry::into_name)
            .filter(|name| name.ends_with(".yaml") || name.ends_with(MISNAMED))
            .collect();
        names.sort_unstable();
        let files = names.iter().map(|name| format!("{dir}/{name}"));
        files.collect()
    }

    /// The settings files as they were when this was first asked: an event goes by one state.
    pub(super) fn read_settings(&self, env: &Env) -> &[SettingsFile] {
        self.read_settings.get_or_init(|| {
            let files = self.settings_files(env).iter().cloned();
            files
                .map(|(layer, path)| SettingsFile::read(layer, path))
                .collect()
        })
    }

    pub fn settings_layers(&self, env: &Env) -> Layers {
        self.in_force(self.read_settings(env).to_vec())
    }

    /// The files, each with the text that is in force.
    fn in_force(&self, mut files: Vec<SettingsFile>) -> Layers {
        let accepted = Accepted::of(self);
        // Of the settings' files all are listed, so that a contract is what a call removed.
        let gone = accepted
            .held()
            .filter(|held| files.iter().all(|file| file.path != *held))
            .map(|path| SettingsFile::read_or_lost_link(Layer::Contract, path.to_owned()));
        let gone: Vec<_> = gone.collect();
        files.splice(..0, gone);
        for file in &mut files {
            if let Some(former) = accepted.former(&file.path, &file.text) {
                file.text = Ok(former);
            }
        }
        Layers::of(files)
    }

    /// Each settings file that exists, weakest first, with what holds as far as it.
    pub fn settings_by_file(&self, env: &Env) -> Vec<(String, Settings)> {
        let layers = self.settings_layers(env);
        let (sources, known) = (layers.sources(), system::known());
        let files = sources.iter().enumerate();
        files
            .map(|(n, (_, path, _))| {
                let settings = Settings::resolve(&sources[..=n], &known).settings;
                ((*path).to_owned(), settings)
            })
            .collect()
    }

    /// The settings file that switches a system off; `None` where it is on.
    pub fn switched_off_by(&self, env: &Env, id: &str) -> Option<String> {
        let files = self.settings_by_file(env).into_iter().rev();
        let off = files.take_while(|(_, settings)| settings.mode_of(id) == Mode::Off);
        Some(off.last()?.0)
    }

    /// The settings of the files together, as commands read them.
    pub fn settings(&self, env: &Env) -> Resolved {
        self.resolve(&self.layers_of_commands(env))
    }

    /// The files as commands read them.
    pub fn layers_of_commands(&self, env: &Env) -> Layers {
        let paths = self.settings_files(env).iter().cloned();
        let files = paths.map(|(layer, path)| SettingsFile::read_or_lost_link(layer, path));
        self.in_force(files.collect())
    }

    /// The settings of the files together, and what is known of the project beside them.
    pub fn resolve(&self, layers: &Layers) -> Resolved {
        self.with_plugins(layers.resolve(&system::known()))
    }

    pub(super) fn with_plugins(&self, mut resolved: Resolved) -> Resolved {
        resolved.settings.devt = self.enabled_plugins().devt.clone();
        resolved
    }
}
