//! What the contract files said when a session last started, as JSON: their YAML would cost
//! the hook more than all else that it does.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read::read_text;
use crate::project::roots::Project;
use crate::settings::contracts::as_json;
use crate::store::{keep_own, read_own};

/// The contracts by their paths.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnownContracts(BTreeMap<String, KnownContract>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KnownContract {
    /// Which state of the file this is.
    stamp: String,
    json: String,
}

/// The file in the program's own folder that holds them.
const CONTRACTS: &str = "contracts.json";

impl KnownContracts {
    pub(super) fn of(project: &Project) -> Self {
        read_own(project.logs().own_folder(), CONTRACTS).unwrap_or_default()
    }

    /// The text of a settings file, for a contract that is known in another format.
    pub(super) fn text(&self, path: &str) -> io::Result<Option<String>> {
        match self.0.get(path) {
            Some(known) if stamp(path).as_ref() == Some(&known.stamp) => {
                Ok(Some(known.json.clone()))
            }
            _ => read_text(path),
        }
    }
}

/// The size of a file and when it was last changed.
fn stamp(path: &str) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", meta.len(), modified.as_nanos()))
}

/// Reads the contracts of a project, and keeps what they say for the hook.
///
/// # Errors
/// The program's own folder cannot be written.
pub fn keep(project: &Project) -> io::Result<()> {
    let known = project.contract_files().filter_map(|(_, path)| {
        let stamp = stamp(&path)?;
        let json = as_json(&read_text(&path).ok()??)?;
        Some((path, KnownContract { stamp, json }))
    });
    let known = KnownContracts(known.collect());
    keep_own(project.logs().own_folder(), CONTRACTS, &known)
}
