//! What `restore` brought back: it is there because a person wants it there,
//! whatever the contract says of its name.

use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::base::path;
use crate::store::lock::Locked;
use crate::store::{modified, read_own, write_own};

const FILE: &str = "restored.json";

/// The file `restored.json` in the program's own folder. It is written before
/// anything comes back, so it may name what never did.
#[derive(Default, Serialize, Deserialize)]
pub struct Restored {
    entries: Vec<Kept>,
}

/// One entry, as long as it is not written again.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// From the main checkout, or absolute.
    path: String,
    /// When its text was last changed; microseconds since 1970.
    modified: i64,
}

impl Restored {
    /// A file that cannot be read counts as none: at worst an entry is told, or moved
    /// away, again.
    pub fn read(own_folder: &Path) -> Self {
        read_own(own_folder, FILE).unwrap_or_default()
    }

    /// Whether an entry of a site is here as it was brought back.
    pub fn holds(&self, site: &str, name: &str, modified: DateTime<Utc>) -> bool {
        let modified = modified.timestamp_micros();
        let mut same = self.entries.iter().filter(|kept| kept.modified == modified);
        same.any(|kept| kept.path == path::below(site, name))
    }

    pub fn add(&mut self, site: &str, name: &str, modified: DateTime<Utc>) {
        self.entries.push(Kept {
            path: path::below(site, name),
            modified: modified.timestamp_micros(),
        });
    }

    /// Forgets what was written again or is gone. `main` is the main checkout.
    pub fn forget(&mut self, main: &Path) {
        self.entries.retain(|kept| {
            let there = std::fs::symlink_metadata(main.join(&kept.path));
            there.is_ok_and(|meta| modified(&meta).timestamp_micros() == kept.modified)
        });
    }

    /// # Errors
    /// The file cannot be replaced.
    pub fn write(&self, locked: &Locked<'_>) -> io::Result<()> {
        write_own(locked, FILE, self)
    }
}
