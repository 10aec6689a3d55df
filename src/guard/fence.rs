//! Strict mode: which commands may write in state directories. What cannot be judged before it
//! runs cannot; what its text says whole was judged, and what a system declares is its own.

use crate::project::registry::Registry;
use crate::settings::model::Settings;
use crate::shell::Analysis;

/// What a command may do to state directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    Full,
}

/// The access of a whole line: full where every command in it is understood, a program that a
/// system declares with words that are known, or a verb of git that rewrites the work tree.
pub fn access(line: &Analysis, settings: &Settings, registry: &Registry<'_>) -> Access {
    let is_read = line.limit.is_none() && !line.is_obscure;
    let mut programs = line.programs.iter();
    if is_read && programs.all(|name| name == "git" || is_declared(name, settings, registry)) {
        Access::Full
    } else {
        Access::ReadOnly
    }
}

/// Whether a program is a system's own, by its base name.
fn is_declared(name: &str, settings: &Settings, registry: &Registry<'_>) -> bool {
    let mut systems = registry.governed.iter();
    systems.any(|governed| {
        governed.system.info().programs.contains(&name)
            || settings.system(governed.id()).is_own_program(name)
    })
}
