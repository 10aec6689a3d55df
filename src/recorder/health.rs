//! What the recorder cannot do here: asked by `doctor`.

use std::path::Path;

use anyhow::bail;

use crate::project::entries;
use crate::project::registry::Registry;
use crate::project::sites::Site;
use crate::recorder::contents::Contents;
use crate::recorder::index::Index;
use crate::recorder::look::MAX_ENTRIES;

/// What is missing from a project's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Why the memory cannot be read.
    pub unreadable: Option<String>,
    /// How many entries hold what the memory has no room for.
    pub n_unkept: usize,
    /// State directories with more entries than are looked at.
    pub too_large: Vec<String>,
}

impl Health {
    pub fn of(memory: &Path, sites: &[Site<'_>], registry: &Registry<'_>) -> Self {
        let (index, unreadable) = match Index::read(memory) {
            Ok(index) => (index.unwrap_or_default(), None),
            Err(error) => {
                let why = format!("`{}` cannot be read: {error}", memory.display());
                (Index::default(), Some(why))
            }
        };
        let contents = Contents::of(memory);
        let blobs = index.entries().filter_map(|(_, state)| state.blob);
        Self {
            unreadable,
            n_unkept: blobs.filter(|blob| contents.get(*blob).is_none()).count(),
            too_large: sites
                .iter()
                .filter(|site| is_too_large(site, registry))
                .map(|site| site.dir().to_owned())
                .collect(),
        }
    }
}

fn is_too_large(site: &Site<'_>, registry: &Registry<'_>) -> bool {
    let mut n_entries = 0;
    let counted = entries::walk(site, registry, &mut |_, _| false, &mut |_| {
        n_entries += 1;
        if n_entries > MAX_ENTRIES {
            bail!("enough");
        }
        Ok(())
    });
    counted.is_err() && n_entries > MAX_ENTRIES
}
