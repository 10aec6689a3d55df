//! Which settings files count for a project.

use std::path::Path;

use crate::base::disk::list;
use crate::base::env::Env;
use crate::contract::denial::Mode;
use crate::project::contracts::KnownContracts;
use crate::project::roots::Project;
use crate::settings::load::{Layers, homes, text_or_lost_link};
use crate::settings::merge::{Layer, Resolved};
use crate::settings::model::Settings;
use crate::systems::system;

impl Project {
    /// The settings files that count, weakest first; they need not exist.
    pub fn settings_files(&self, env: &Env) -> Vec<(Layer, String)> {
        let outside =
            homes(env.config_dir()).map(|(layer, dir)| (layer, dir + "/statewarden/config.yaml"));
        let inside = [
            (Layer::Project, "/.claude/statewarden.yaml"),
            (Layer::Local, "/.claude/statewarden.local.yaml"),
        ];
        let inside = inside.map(|(layer, file)| (layer, [&self.main.dir, file].concat()));
        self.contract_files().chain(outside).chain(inside).collect()
    }

    /// The contracts that the project and its plugins bring; the settings go before them.
    pub(super) fn contract_files(&self) -> impl Iterator<Item = (Layer, String)> {
        let dir = [&self.main.dir, "/.claude/statewarden.d"].concat();
        let is_one = |name: &str| name.ends_with(".yaml");
        let names = list::readable(Path::new(&dir)).map(list::Entry::into_name);
        let mut own: Vec<String> = names
            .filter(|name| is_one(name))
            .map(|name| format!("{dir}/{name}"))
            .collect();
        own.sort_unstable();
        let of_plugins = self.enabled_plugins().contracts;
        let all = own.into_iter().chain(of_plugins);
        all.map(|file| (Layer::Contract, file))
    }

    pub fn settings_layers(&self, env: &Env) -> Layers {
        let files = self.settings_files(env);
        let has_contract = files.iter().any(|(layer, _)| *layer == Layer::Contract);
        let known = match has_contract {
            true => KnownContracts::of(self),
            false => KnownContracts::default(),
        };
        Layers::read(files, |path| known.text(path))
    }

    /// Each settings file that exists, weakest first, with what holds as far as it.
    pub fn settings_by_file(&self, env: &Env) -> Vec<(String, Settings)> {
        let layers = self.settings_layers(env);
        let (sources, known) = (layers.sources(), system::known());
        let up_to = |n: usize| Settings::resolve(&sources[..=n], &known).settings;
        let files = sources.iter().enumerate();
        files
            .map(|(n, (_, path, _))| ((*path).to_owned(), up_to(n)))
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
        self.resolve(&Layers::read(self.settings_files(env), text_or_lost_link))
    }

    /// The settings of the files together, and what is known of the project beside them.
    pub fn resolve(&self, layers: &Layers) -> Resolved {
        let mut resolved = layers.resolve(&system::known());
        resolved.settings.devt = self.enabled_plugins().devt;
        resolved
    }
}
