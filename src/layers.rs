//! The settings files around a project: where they stand, and what they hold.

use std::io;
use std::path::Path;

use crate::env::Env;
use crate::project::{Project, read_text};
use crate::settings::{self, Layer, Mode, Resolved, Settings, Source};

/// The settings files that exist, weakest first.
#[derive(Debug, Default)]
pub struct Layers {
    /// With the path and the text of each, or why it cannot be read.
    files: Vec<(Layer, String, Result<String, String>)>,
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

    pub fn settings_layers(&self, env: &Env) -> Layers {
        Layers::read(self.settings_files(env))
    }

    /// The settings file that switches a system off; `None` where it is on.
    pub fn switched_off_by(&self, env: &Env, id: &str) -> Option<String> {
        let layers = self.settings_layers(env);
        let sources = layers.sources();
        let mut by = None;
        for (n, (_, path, _)) in sources.iter().enumerate() {
            let resolved = Settings::resolve(&sources[..=n]);
            let is_off = resolved.settings.mode_of(id) == Mode::Off;
            by = is_off.then(|| by.unwrap_or(*path));
        }
        by.map(str::to_owned)
    }

    /// The settings of the files together, as commands read them.
    pub fn settings(&self, env: &Env) -> Resolved {
        Layers::read_by(self.settings_files(env), text_or_lost_link).resolve()
    }
}

/// The text of a settings file. A link that leads nowhere is no missing file: its names
/// would count as strays. The hook does not ask, it would cost a system call for each file.
fn text_or_lost_link(path: &str) -> io::Result<Option<String>> {
    match read_text(path)? {
        None if Path::new(path).is_symlink() => {
            Err(io::Error::other("it is a link that leads nowhere"))
        }
        text => Ok(text),
    }
}

impl Layers {
    /// Reads the files that exist. One that cannot be read counts as broken, not as absent.
    pub fn read(files: impl IntoIterator<Item = (Layer, String)>) -> Self {
        Self::read_by(files, read_text)
    }

    fn read_by(
        files: impl IntoIterator<Item = (Layer, String)>,
        text_of: fn(&str) -> io::Result<Option<String>>,
    ) -> Self {
        let read = |(layer, path): (Layer, String)| {
            let text = text_of(&path).transpose()?;
            Some((layer, path, text.map_err(|error| error.to_string())))
        };
        Self {
            files: files.into_iter().filter_map(read).collect(),
        }
    }

    /// Whether there is a file, and none of them can make a site where none is usually.
    pub fn leave_sites_alone(&self) -> bool {
        let mut texts = self.files.iter().flat_map(|(.., text)| text);
        !self.files.is_empty() && !texts.any(|text| settings::may_make_site(text))
    }

    /// Parses and merges the texts.
    pub fn resolve(&self) -> Resolved {
        Settings::resolve(&self.sources())
    }

    fn sources(&self) -> Vec<Source<'_>> {
        let files = self.files.iter();
        files
            .map(|(layer, path, text)| {
                let text = text.as_deref().map_err(String::as_str);
                (*layer, path.as_str(), text)
            })
            .collect()
    }
}
