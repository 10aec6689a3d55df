//! The contract of a plugin where it is: it need not be installed.

use std::path::Path;

use anyhow::{Result, bail};

use crate::base::path;
use crate::cli::CliContext;
use crate::settings::load::{Layers, SettingsFile};
use crate::settings::merge::{Layer, Resolved};

/// The contract at the root of a plugin.
pub(super) const CONTRACT: &str = "statewarden.yaml";

/// The contract in a directory or the nearest one above it, not above the repository or the
/// project that the directory is in: a linked work tree has its own.
pub(super) fn around(dir: &str, context: &CliContext<'_>) -> Option<String> {
    let project = Path::new(&context.project.main.dir);
    for dir in Path::new(dir).ancestors() {
        let file = dir.join(CONTRACT);
        if file.is_file() {
            return Some(path::from_os(&file));
        }
        if dir == project || dir.join(".git").exists() {
            break;
        }
    }
    None
}

/// The settings with contracts that need not be installed, by their absolute paths.
pub(super) fn settings_with(own: &[String], context: &CliContext<'_>) -> Resolved {
    let settings = context.project.settings_files(context.env).iter();
    let others = settings.filter(|(_, file)| !own.contains(file));
    let all = own.iter().map(|file| (Layer::Contract, file.clone()));
    let files = all
        .chain(others.cloned())
        .map(|(layer, path)| SettingsFile::read_or_lost_link(layer, path));
    context.project.resolve(&Layers::of(files))
}

/// Refuses contracts that are not in force as a whole.
pub(super) fn check(own: &[String], rules: &Resolved) -> Result<()> {
    let mut left_out = rules.left_out.iter();
    match left_out.find(|what| own.contains(&what.path)) {
        Some(what) => bail!("{what}"),
        None => Ok(()),
    }
}
