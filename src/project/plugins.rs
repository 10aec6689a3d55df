//! The plugins that Claude Code has enabled for a project.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::edition::EnabledDevt;
use crate::formats::json::line;
use crate::host::settings_json::flag;
use crate::project::roots::{Project, read_client_text};
use crate::store::replace::replace_private;

/// A plugin that is installed and enabled.
pub struct Plugin {
    /// `NAME@MARKETPLACE`
    pub id: String,
    pub root: String,
    pub version: String,
}

/// The plugins that are enabled for a project. Of the texts of the client's settings
/// files the one that is nearest to the person at work comes first, and decides.
pub fn enabled(user_dir: &Path, project: &str, settings: &[String]) -> Vec<Plugin> {
    let list = read_json(&user_dir.join("plugins/installed_plugins.json")).unwrap_or_default();
    let installed = list["plugins"].as_object().into_iter().flatten();
    installed
        .filter_map(|(id, installs)| {
            let mut flags = settings
                .iter()
                .filter_map(|text| flag(text, &["enabledPlugins", id]));
            if flags.next() != Some(true) {
                return None;
            }
            let install = for_project(installs.as_array()?, project)?;
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
fn for_project<'v>(installs: &'v [Value], project: &str) -> Option<&'v Value> {
    let is_for = |path: Option<&str>| {
        installs
            .iter()
            .find(|install| install["projectPath"].as_str() == path)
    };
    is_for(Some(project)).or_else(|| is_for(None))
}

/// The version of an install; where the client knows none, the plugin says it.
fn version(install: &Value, root: &str) -> Option<String> {
    if let Some(version) = install["version"].as_str()
        && version.starts_with(|c: char| c.is_ascii_digit())
    {
        return Some(version.to_owned());
    }
    let manifest = read_json(&Path::new(root).join(".claude-plugin/plugin.json"))?;
    manifest["version"].as_str().map(str::to_owned)
}

/// A JSON file of the client; `None` for one that cannot be read.
fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_str(&read_client_text(path).ok()??).ok()
}

/// What the enabled plugins have to say here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnabledPlugins {
    /// The devt that is enabled.
    pub devt: Option<EnabledDevt>,
    /// The contract files at the roots of plugins.
    pub contracts: Vec<String>,
}

/// The file in the memory that holds it.
pub const FILE: &str = "plugins.json";

/// The contract at the root of a plugin.
pub(super) const CONTRACT: &str = "statewarden.yaml";

impl Project {
    /// What was found when a session last began, as it was when this is first asked.
    pub fn enabled_plugins(&self) -> &EnabledPlugins {
        self.plugins.get_or_init(|| EnabledPlugins::kept(self))
    }
}

/// Looks at the plugins that are enabled, by the texts of the client's settings files.
pub fn find(user_dir: Option<&Path>, project: &str, settings: &[String]) -> EnabledPlugins {
    let all = user_dir.map(|dir| enabled(dir, project, settings));
    let mut known = EnabledPlugins::default();
    for plugin in all.into_iter().flatten() {
        let contract = format!("{}/{CONTRACT}", plugin.root);
        if Path::new(&contract).is_file() {
            known.contracts.push(contract);
        }
        if plugin.id.starts_with("devt@") {
            known.devt.get_or_insert(EnabledDevt {
                plugin: plugin.id,
                version: plugin.version,
            });
        }
    }
    known
}

impl EnabledPlugins {
    fn kept(project: &Project) -> Self {
        project.recall(FILE).unwrap_or_default()
    }

    /// Keeps it for the hook, which has no time to search.
    ///
    /// # Errors
    /// The memory cannot be written.
    pub fn keep(&self, project: &Project) -> io::Result<()> {
        if project.enabled_plugins() == self {
            return Ok(());
        }
        replace_private(&project.make_memory()?.join(FILE), line(self).as_bytes())
    }
}
