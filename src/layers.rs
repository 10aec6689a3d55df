//! The settings files around a project: where they stand, and what they hold.

use crate::env::Env;
use crate::project::{Project, read_text};
use crate::settings::{self, Layer, Mode, Resolved, Settings};

/// The settings files that exist, weakest first.
#[derive(Debug, Default)]
pub struct Layers {
    /// With the path and the text of each.
    texts: Vec<(Layer, String, String)>,
    /// Those that cannot be read, with the reason.
    unreadable: Vec<(Layer, String)>,
}

/// Where the settings outside the project stand, weakest first: the directory
/// above [`OWN_FOLDER`] with its layer. `config` is that of the user.
pub(crate) fn homes(config: Option<String>) -> impl Iterator<Item = (Layer, String)> {
    let user = config.map(|dir| (Layer::User, dir));
    std::iter::once((Layer::Managed, "/etc".to_owned())).chain(user)
}

/// The folder of settings outside the project.
pub(crate) const OWN_FOLDER: &str = "statewarden";

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
        outside.chain(inside).collect()
    }

    /// Reads the settings files. One that cannot be read counts as broken, not as absent.
    pub fn settings_layers(&self, env: &Env) -> Layers {
        let mut layers = Layers::default();
        for (layer, path) in self.settings_files(env) {
            match read_text(&path) {
                Ok(Some(text)) => layers.texts.push((layer, path, text)),
                Ok(None) => {}
                Err(error) => {
                    let problem = format!("`{path}` is ignored: {error}");
                    layers.unreadable.push((layer, problem));
                }
            }
        }
        layers
    }

    /// The settings file that switches a system off; `None` where it is on.
    pub fn switched_off_by(&self, env: &Env, id: &str) -> Option<String> {
        let files = self.settings_layers(env).texts;
        let mut known = Vec::new();
        let mut by = None;
        for (layer, path, text) in &files {
            known.push((*layer, path.as_str(), text.as_str()));
            let is_off = Settings::resolve(&known).settings.mode_of(id) == Mode::Off;
            by = is_off.then(|| by.unwrap_or(path));
        }
        by.cloned()
    }

    /// The settings of the files together.
    pub fn settings(&self, env: &Env) -> Resolved {
        self.settings_layers(env).resolve()
    }
}

impl Layers {
    /// Whether there is a file, and none of them can make a site where none is usually.
    pub fn leave_sites_alone(&self) -> bool {
        let mut texts = self.texts.iter();
        !self.texts.is_empty() && !texts.any(|(.., text)| settings::may_make_site(text))
    }

    /// Parses and merges the texts.
    pub fn resolve(&self) -> Resolved {
        let texts: Vec<_> = (self.texts.iter())
            .map(|(layer, path, text)| (*layer, path.as_str(), text.as_str()))
            .collect();
        let mut resolved = Settings::resolve(&texts);
        let mut unreadable = self.unreadable.iter();
        if unreadable.any(|(layer, _)| *layer == Layer::Managed) {
            // What the administrator holds fast is unknown, so nobody may weaken anything.
            resolved.settings = Settings::default();
        }
        let problems = self.unreadable.iter().map(|(_, problem)| problem.clone());
        resolved.problems.extend(problems);
        resolved
    }
}
