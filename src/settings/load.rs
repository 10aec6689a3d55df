//! The settings files around a project: where they are, and what they hold.

use std::path::Path;

use crate::base::disk::bounded_read::read_text;
use crate::settings::gates::check_can_pass;
use crate::settings::merge::{Layer, LeftOut, LeftOutKind, Resolved, Source};
use crate::settings::model::{self, Declared, KnownSystem, Rules, Settings};

/// The ending of a contract that is not read. Its author is shown that, as he looks for it.
pub(crate) const MISNAMED: &str = ".yml";

/// A settings file as it was read.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    pub layer: Layer,
    pub path: String,
    /// `None` where there is no file, or why it cannot be read.
    pub text: Result<Option<String>, String>,
}

impl SettingsFile {
    pub(crate) fn read(layer: Layer, path: String) -> Self {
        let text = if path.ends_with(MISNAMED) {
            Err("contracts end in `.yaml`; rename it".to_owned())
        } else {
            read_text(&path).map_err(|error| error.to_string())
        };
        Self { layer, path, text }
    }

    /// The same. A link that leads nowhere is no missing file: its names would count as strays.
    /// The hook does not ask, it would cost a system call for each file.
    pub(crate) fn read_or_lost_link(layer: Layer, path: String) -> Self {
        let mut file = Self::read(layer, path);
        if file.text == Ok(None) && Path::new(&file.path).is_symlink() {
            file.text = Err("it is a link that leads nowhere".to_owned());
        }
        file
    }
}

/// The settings files that exist, weakest first.
#[derive(Debug, Default)]
pub struct Layers {
    /// With the path and the text of each, or why it cannot be read.
    files: Vec<(Layer, String, Result<String, String>)>,
}

/// Where the settings outside the project are, weakest first: the directory
/// above [`OWN_FOLDER`] with its layer. `etc` is that of the machine, `config` that of the user.
pub(crate) fn homes(etc: &str, config: Option<String>) -> impl Iterator<Item = (Layer, String)> {
    let user = config.map(|dir| (Layer::User, dir));
    std::iter::once((Layer::Managed, etc.to_owned())).chain(user)
}

/// The folder of settings outside the project.
pub(crate) const OWN_FOLDER: &str = "statewarden";

impl Layers {
    /// Those of the files that exist. One that cannot be read counts as broken, not as absent.
    pub(crate) fn of(files: impl IntoIterator<Item = SettingsFile>) -> Self {
        let existing = files
            .into_iter()
            .filter_map(|file| Some((file.layer, file.path, file.text.transpose()?)));
        Self {
            files: existing.collect(),
        }
    }

    /// The text of one of the files, where it can be read.
    pub fn text_of(&self, path: &str) -> Option<&str> {
        let mut files = self.files.iter();
        let (.., text) = files.find(|(_, file, _)| file == path)?;
        text.as_deref().ok()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether one of the files can make a site where none is usually.
    pub fn may_make_site(&self) -> bool {
        let mut texts = self.files.iter().flat_map(|(.., text)| text);
        texts.any(|text| model::may_make_site(text))
    }

    /// Parses and merges the texts, and reads the schemas that they name. A system with a gate
    /// that cannot pass is not in force.
    pub fn resolve(&self, known: &[KnownSystem]) -> Resolved {
        let mut resolved = Settings::resolve(&self.sources(), known);
        let left_out = &mut resolved.left_out;
        resolved.settings.systems.retain(|id, system| {
            let Some(declared) = &mut system.declared else {
                return true;
            };
            load_schemas(id, declared, left_out);
            let Some(declared) = &system.declared else {
                return true;
            };
            let Err(why) = check_can_pass(system, declared) else {
                return true;
            };
            let file = &declared.by.file;
            left_out.push(LeftOut::system(file, id, &why, LeftOutKind::Contract));
            false
        });
        resolved
    }

    pub(crate) fn sources(&self) -> Vec<Source<'_>> {
        let mut sources = Vec::new();
        for (layer, path, text) in &self.files {
            let source = text.as_deref().map_err(String::as_str);
            sources.push((*layer, path.as_str(), source));
        }
        sources
    }
}

/// Reads the schemas of a system; a rule whose schema cannot be kept is left out.
fn load_schemas(id: &str, declared: &mut Declared, left_out: &mut Vec<LeftOut>) {
    declared.edit(|Rules { by, content, .. }| {
        content.retain_mut(|(name, rule)| {
            let Err(why) = rule.load() else {
                return true;
            };
            left_out.push(LeftOut {
                path: by.file.clone(),
                system: Some(id.to_owned()),
                what: format!(
                    "the content of `{}` in `{id}` is not checked: {why}",
                    name.as_str()
                ),
                kind: LeftOutKind::Rule,
            });
            false
        });
    });
}
