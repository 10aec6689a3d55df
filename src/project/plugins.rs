//! The plugins that Claude Code has enabled for a project.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::contract::edition::EnabledDevt;
use crate::host::settings_json::flag;
use crate::project::roots::{Project, read_client_text};
use crate::store::lock::{IN_HOOK, with_lock};
use crate::store::{make_own_folder, read_own, write_own};

/// A plugin that is installed and enabled.
pub struct Plugin {
    /// `NAME@MARKETPLACE`
    pub id: String,
    pub root: String,
    pub version: String,
}

/// The plugins with one of the names that are enabled for a project. Of the client's settings
/// files the one that is nearest to the person at work comes first, and decides.
pub fn enabled(
    user_dir: &Path,
    project: &str,
    settings: &[impl AsRef<Path>],
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Plugin> {
    let texts = settings
        .iter()
        .filter_map(|path| read_client_text(path).ok()?);
    let texts: Vec<String> = texts.collect();
    let list = read_json(&user_dir.join("plugins/installed_plugins.json")).unwrap_or_default();
    let installed = list["plugins"].as_object().into_iter().flatten();
    let is_on = |id: &str| {
        texts
            .iter()
            .find_map(|text| flag(text, &["enabledPlugins", id]))
            == Some(true)
    };
    installed
        .filter(|(id, _)| is_wanted(id) && is_on(id))
        .filter_map(|(id, installs)| {
            let install = of_project(installs.as_array()?, project)?;
            let root = install["installPath"].as_str()?.to_owned();
            Some(Plugin {
                id: id.clone(),
                version: version(install, &root).unwrap_or_default(),
                root,
            })
        })
        .collect()
}

/// A plugin can be installed for single projects, each in a version of its own.
fn of_project<'v>(installs: &'v [Value], project: &str) -> Option<&'v Value> {
    let is_for = |path: Option<&str>| {
        installs
            .iter()
            .find(|install| install["projectPath"].as_str() == path)
    };
    is_for(Some(project)).or_else(|| is_for(None))
}

/// The version of an install; where the client knows none, the plugin says it.
fn version(install: &Value, root: &str) -> Option<String> {
    let is_one = |version: &&str| version.starts_with(|c: char| c.is_ascii_digit());
    if let Some(version) = install["version"].as_str().filter(is_one) {
        return Some(version.to_owned());
    }
    let manifest = read_json(&Path::new(root).join(".claude-plugin/plugin.json"))?;
    manifest["version"].as_str().map(str::to_owned)
}

/// A JSON file of the client; `None` for one that cannot be read.
fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_str(&read_client_text(path).ok()??).ok()
}

/// The file in the program's own folder that says which devt was enabled.
const DEVT: &str = "devt.json";

impl Project {
    /// The devt that was enabled when a session last began.
    pub fn known_devt(&self) -> Option<EnabledDevt> {
        read_own(self.logs().own_folder(), DEVT)
    }
}

/// Finds the devt that is enabled, and keeps it for the hook, which has no time to search.
///
/// # Errors
/// The program's own folder cannot be written.
pub fn keep_devt(
    own_folder: &Path,
    user_dir: Option<&Path>,
    project: &str,
    settings: &[impl AsRef<Path>],
) -> io::Result<Option<EnabledDevt>> {
    let is_devt = |id: &str| id.starts_with("devt@");
    let found = user_dir.map(|dir| enabled(dir, project, settings, is_devt));
    let found = found
        .into_iter()
        .flatten()
        .next()
        .map(|plugin| EnabledDevt {
            plugin: plugin.id,
            version: plugin.version,
        });
    if read_own(own_folder, DEVT) != found {
        make_own_folder(own_folder)?;
        with_lock(own_folder, IN_HOOK, |locked| {
            write_own(locked, DEVT, &found)
        })?;
    }
    Ok(found)
}
