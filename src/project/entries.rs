//! The entries of a site, each with its place in the contract. Reads only.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use crate::base::disk::stat::Stat;
use crate::base::disk::{bounded_read, list};
use crate::base::path;
use crate::contract::ignored::is_ignored;
use crate::contract::table::DirKind::Closed;
use crate::contract::table::{AtReset, Bucket, Classification, Dir, Row};
use crate::project::registry::Registry;
use crate::project::roots::OnDisk;
use crate::project::sites::Site;
use crate::store::archive::{Item, WhenChanged};

/// One entry of a site.
#[derive(Clone, Debug)]
pub struct Entry<'c> {
    /// Relative to the site, `/` between components. Bytes that are no UTF-8
    /// show as U+FFFD, which no contract holds.
    pub name: String,
    /// Where it is on the disk.
    pub path: PathBuf,
    /// Bytes; of a directory that does not belong, those of all files in it, of others 0.
    pub size: u64,
    pub modified: DateTime<Utc>,
    pub is_dir: bool,
    pub bucket: Bucket,
    pub at_reset: AtReset,
    /// The row that names it; `None` for a directory and for what is ad hoc.
    pub row: Option<&'c Row<'c>>,
}

impl Entry<'_> {
    /// The entry as one to be moved away.
    pub fn item<'e>(&'e self, reason: &'e str, when_changed: WhenChanged) -> Item<'e> {
        Item {
            name: &self.name,
            path: &self.path,
            size: self.size,
            modified: self.modified,
            is_dir: self.is_dir,
            reason,
            when_changed,
        }
    }
}

/// Every entry the contract has a say in, in no order. An entry that vanishes
/// meanwhile is none; links are entries of their own and are not followed.
///
/// # Errors
/// The site, a directory of it or an entry cannot be read.
pub fn entries<'c>(site: &Site<'c>, registry: &Registry<'_>) -> Result<Vec<Entry<'c>>> {
    let mut entries = Vec::new();
    walk(site, registry, &mut |_, _| false, &mut |found| {
        entries.extend(settle(found, site));
        Ok(())
    })?;
    Ok(entries)
}

/// An entry as the disk and the contract have it.
pub struct Found<'c> {
    /// Relative to the site.
    pub name: String,
    pub path: PathBuf,
    pub stat: Stat,
    pub standing: Classification<'c>,
}

/// Hands on every entry of a site that belongs to it, but for the directories whose
/// own entries it goes on with. What `is_known` is left alone: to ask the contract about
/// an entry costs more than to ask the disk.
///
/// # Errors
/// The site, a directory of it or an entry cannot be read, or `take` failed.
pub fn walk<'c>(
    site: &Site<'c>,
    registry: &Registry<'_>,
    is_known: &mut dyn FnMut(&Path, &Stat) -> bool,
    take: &mut dyn FnMut(Found<'c>) -> Result<()>,
) -> Result<()> {
    list(site, (site.dir().as_ref(), ""), registry, is_known, take)
}

/// Lists one directory of a site, by its path and its name there, and those below it
/// that the contract knows.
fn list<'c>(
    site: &Site<'c>,
    (dir, below): (&Path, &str),
    registry: &Registry<'_>,
    is_known: &mut dyn FnMut(&Path, &Stat) -> bool,
    take: &mut dyn FnMut(Found<'c>) -> Result<()>,
) -> Result<()> {
    let failed = || format!("could not list `{}`", dir.display());
    let mut listing = list::entries(dir).with_context(failed)?;
    let mut path = PathBuf::new();
    while let Some(listed) = listing.next() {
        let entry = listed.with_context(failed)?;
        path.clear();
        path.extend([dir.as_os_str(), &entry.name]);
        let looked_at = bounded_read::if_there(listing.stat(&entry.name));
        let Some(stat) =
            looked_at.with_context(|| format!("could not look at `{}`", path.display()))?
        else {
            continue;
        };
        if is_known(&path, &stat) {
            continue;
        }
        let name = path::below(below, &entry.into_name());
        let (contract, edition) = (&site.governed.contract, site.governed.edition);
        if !belongs(site, &name, registry) {
            // A root that its `tasks.md` alone makes a site has only what is deeper in it.
            if stat.is_dir() && contract.leads_on(&name, edition) {
                list(site, (&path, &name), registry, is_known, take)?;
            }
            continue;
        }
        match contract.classify(&name, edition) {
            Classification::Row(_) if stat.is_dir() && contract.leads_on(&name, edition) => {
                list(site, (&path, &name), registry, is_known, take)?;
            }
            Classification::Directory(Dir { kind: Closed, .. }) | Classification::Free
                if stat.is_dir() =>
            {
                list(site, (&path, &name), registry, is_known, take)?;
            }
            standing => take(Found {
                name,
                path: path.clone(),
                stat,
                standing,
            })?,
        }
    }
    Ok(())
}

/// A directory with a file's name is ad hoc, and so is a file with a directory's.
fn settle<'c>(found: Found<'c>, site: &Site<'c>) -> Option<Entry<'c>> {
    let Found {
        name,
        path,
        stat,
        standing,
    } = found;
    let is_dir = stat.is_dir();
    let (bucket, at_reset, row) = match standing {
        Classification::Row(row) if !is_dir || row.bucket == Bucket::Ephemeral => {
            (row.bucket, row.at_reset, Some(row))
        }
        Classification::Directory(dir) if is_dir => (Bucket::Canonical, dir.at_reset, None),
        Classification::ProgramDirectory => (Bucket::Canonical, AtReset::Exempt, None),
        Classification::Free => return None,
        _ if is_ignored(&name, &site.governed.contract, site.governed.edition) => {
            (Bucket::Ignored, AtReset::Exempt, None)
        }
        _ => (Bucket::AdHoc, AtReset::Archived, None),
    };
    let size = match bucket {
        Bucket::Canonical if is_dir => 0,
        _ if is_dir => list::bytes_below(&path),
        _ => stat.size,
    };
    Some(Entry {
        name,
        path,
        size,
        modified: stat.modified,
        is_dir,
        bucket,
        at_reset,
        row,
    })
}

/// Sites may lie in one another, and systems share a directory: an entry belongs to one of them.
fn belongs(site: &Site<'_>, name: &str, registry: &Registry<'_>) -> bool {
    let view = OnDisk::of(&site.root, registry);
    let inside = path::below(&site.site, name);
    let owner = registry.locate(&inside, &view);
    owner.is_some_and(|(governed, place)| {
        governed.id() == site.governed.id() && place.site == site.site
    })
}
