//! The settings files around a project: where they stand, and what they hold.

use std::io;
use std::path::Path;

use crate::base::disk::bounded_read::read_text;
use crate::settings::merge::{Layer, Resolved, Source};
use crate::settings::model::{self, KnownSystem, Settings};

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

/// The text of a settings file. A link that leads nowhere is no missing file: its names
/// would count as strays. The hook does not ask, it would cost a system call for each file.
pub(crate) fn text_or_lost_link(path: &str) -> io::Result<Option<String>> {
    match read_text(path)? {
        None if Path::new(path).is_symlink() => {
            Err(io::Error::other("it is a link that leads nowhere"))
        }
        text => Ok(text),
    }
}

impl Layers {
    /// Reads the files that exist. One that cannot be read counts as broken, not as absent.
    pub(crate) fn read(
        files: impl IntoIterator<Item = (Layer, String)>,
        text_of: impl Fn(&str) -> io::Result<Option<String>>,
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
        !self.files.is_empty() && !texts.any(|text| model::may_make_site(text))
    }

    /// Parses and merges the texts, and reads the schemas that they name.
    pub fn resolve(&self, known: &[KnownSystem]) -> Resolved {
        let mut resolved = Settings::resolve(&self.sources(), known);
        for (id, system) in &mut resolved.settings.systems {
            let Some(declared) = &mut system.declared else {
                continue;
            };
            declared
                .content
                .retain_mut(|(name, rule)| match rule.load() {
                    Ok(()) => true,
                    Err(problem) => {
                        let name = name.as_str();
                        let what =
                            format!("the content of `{name}` in `{id}` is not checked: {problem}");
                        resolved.left_out.push(what);
                        false
                    }
                });
        }
        resolved
    }

    pub(crate) fn sources(&self) -> Vec<Source<'_>> {
        let files = self.files.iter();
        files
            .map(|(layer, path, text)| {
                let text = text.as_deref().map_err(String::as_str);
                (*layer, path.as_str(), text)
            })
            .collect()
    }
}
