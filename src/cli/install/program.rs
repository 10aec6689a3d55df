//! The path of the program: the one that entries name, and the others that lead to it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::base::env;

/// What a link on the `PATH` leads to is replaced by an upgrade; the link is not.
///
/// # Errors
/// The system does not say which program runs.
pub(in crate::cli) fn lasting() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let links = on_path(&program);
    Ok(links.into_iter().next().unwrap_or(program))
}

/// Every path that leads to a program, as entries of this and of earlier versions name it.
pub(super) fn paths(program: &Path) -> Vec<String> {
    let own = [Some(program.to_owned()), fs::canonicalize(program).ok()];
    let all = own.into_iter().flatten().chain(on_path(program));
    let mut paths: Vec<String> = all
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Whether a shell finds a program by the name of this one.
pub(super) fn is_found(program: &Path) -> bool {
    let found = program.file_name().map(env::on_path);
    found.is_some_and(|found| !found.is_empty())
}

/// The files on the `PATH` that lead to a program, links unresolved.
fn on_path(program: &Path) -> Vec<PathBuf> {
    let (Some(name), Ok(target)) = (program.file_name(), fs::canonicalize(program)) else {
        return Vec::new();
    };
    let mut found = env::on_path(name);
    found.retain(|path| fs::canonicalize(path).is_ok_and(|file| file == target));
    found
}
