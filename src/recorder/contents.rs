//! What entries held, by git's blob ids: `pack-N`, in which contents stand one
//! after another, and `pack.idx`, which says where.
//!
//! Both only grow, and all that is new in one look is one write to each. The pack
//! comes first, so that a kill between the two leaves bytes that nobody looks for.
//! Every content is checked against its id when it is read: what a power loss
//! tore counts as not kept.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::recorder::entry::BlobId;
use crate::store::lock::Locked;
use crate::store::{append, replace};

/// What is larger is known by its stat alone.
pub const MAX_CONTENT: u64 = 1 << 20;

/// All contents together. Beyond it nothing is added until [`Contents::tidy`] has made room.
const MAX_PACK: u64 = 64 << 20;

const INDEX: &str = "pack.idx";

const MAGIC: &[u8; 24] = b"statewarden pack index 1";

/// The magic and the pack's number; then of each content its id, where it begins, its length.
const ROW: usize = 32;

/// The contents that are kept in a recorder's folder.
pub struct Contents {
    dir: PathBuf,
    /// Read when it is first asked for: most looks find nothing new.
    table: OnceCell<Table>,
    /// What the pack lacks.
    fresh: BTreeMap<BlobId, Vec<u8>>,
}

#[derive(Default)]
struct Table {
    /// The pack's number; none without a file.
    pack: Option<u64>,
    places: BTreeMap<BlobId, (u64, u32)>,
    is_torn: bool,
}

impl Contents {
    pub fn of(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            table: OnceCell::new(),
            fresh: BTreeMap::new(),
        }
    }

    /// Keeps a content; gives its id.
    pub fn add(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.fresh.insert(id, bytes);
        id
    }

    pub fn has(&self, id: BlobId) -> bool {
        self.fresh.contains_key(&id) || self.table().places.contains_key(&id)
    }

    /// A content; `None` where it is not kept.
    pub fn get(&self, id: BlobId) -> Option<Vec<u8>> {
        if let Some(bytes) = self.fresh.get(&id) {
            return Some(bytes.clone());
        }
        let table = self.table();
        let (start, len) = *table.places.get(&id)?;
        let mut pack = File::open(self.pack_path(table.pack?)).ok()?;
        pack.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        pack.read_exact(&mut bytes).ok()?;
        (BlobId::of(&bytes) == id).then_some(bytes)
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// A file cannot be written; the contents are not kept then.
    pub fn commit(&mut self, locked: &Locked<'_>) -> io::Result<()> {
        let mut fresh = std::mem::take(&mut self.fresh);
        if fresh.is_empty() {
            return Ok(());
        }
        fresh.retain(|id, _| !self.table().places.contains_key(id));
        let size: usize = fresh.values().map(Vec::len).sum();
        let number = self.table().pack.unwrap_or(0);
        let pack = locked.dir().join(pack_name(number));
        let begun = std::fs::metadata(&pack).map_or(0, |meta| meta.len());
        if fresh.is_empty() || begun + size as u64 > MAX_PACK {
            return Ok(());
        }
        let bytes: Vec<u8> = fresh.values().flatten().copied().collect();
        let mut at = append::append(&pack, &bytes)?;
        let mut rows = Vec::with_capacity(fresh.len() * ROW);
        for (id, bytes) in &fresh {
            rows.extend(row(*id, at, bytes.len()));
            at += bytes.len() as u64;
        }
        let (table, index) = (self.table(), locked.dir().join(INDEX));
        if table.pack.is_none() || table.is_torn {
            let whole = [table.to_bytes(number), rows].concat();
            replace::replace_private(&index, &whole)?;
        } else {
            append::append(&index, &rows)?;
        }
        self.table = OnceCell::new();
        Ok(())
    }

    /// Writes the pack anew where less than half of it is still referred to.
    ///
    /// The new pack is whole before the index names it, and the old one goes last:
    /// a kill leaves a pack too many, which the next run removes.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn tidy(&mut self, locked: &Locked<'_>, referred: &BTreeSet<BlobId>) -> io::Result<()> {
        self.commit(locked)?;
        let table = self.table();
        let Some(number) = table.pack else {
            return Ok(());
        };
        let len = std::fs::metadata(self.pack_path(number)).map_or(0, |meta| meta.len());
        let kept = table.places.iter().filter(|(id, _)| referred.contains(id));
        let live: u64 = kept.clone().map(|(_, (_, len))| u64::from(*len)).sum();
        if live * 2 < len {
            let (mut pack, mut index) = (Vec::new(), head(number + 1).to_vec());
            for bytes in kept.filter_map(|(id, _)| self.get(*id)) {
                index.extend(row(BlobId::of(&bytes), pack.len() as u64, bytes.len()));
                pack.extend(bytes);
            }
            replace::replace_private(&self.pack_path(number + 1), &pack)?;
            replace::replace_private(&locked.dir().join(INDEX), &index)?;
            self.table = OnceCell::new();
        }
        let current = pack_name(self.table().pack.unwrap_or(number));
        let is_old = |name: &String| name.starts_with("pack-") && *name != current;
        let names = list::readable(locked.dir()).map(list::Entry::into_name);
        names
            .filter(is_old)
            .try_for_each(|name| replace::remove(&locked.dir().join(name)))
    }

    fn table(&self) -> &Table {
        let read = || bounded_read::read(&self.dir.join(INDEX), u64::from(u32::MAX));
        self.table.get_or_init(|| {
            read()
                .ok()
                .and_then(|bytes| Table::parse(&bytes))
                .unwrap_or_default()
        })
    }

    fn pack_path(&self, number: u64) -> PathBuf {
        self.dir.join(pack_name(number))
    }
}

impl Table {
    /// Rows are whole, or the power failed while they were written.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (rows, torn) = bytes.as_chunks::<ROW>();
        let (first, rows) = rows.split_first()?;
        let number = first.strip_prefix(MAGIC)?.try_into().ok()?;
        let place = |row: &[u8; ROW]| {
            let (id, place) = row.split_first_chunk()?;
            let (start, len) = place.split_first_chunk()?;
            let len = u32::from_be_bytes(len.try_into().ok()?);
            Some((BlobId(*id), (u64::from_be_bytes(*start), len)))
        };
        Some(Self {
            pack: Some(u64::from_be_bytes(number)),
            places: rows.iter().filter_map(place).collect(),
            is_torn: !torn.is_empty(),
        })
    }

    fn to_bytes(&self, pack: u64) -> Vec<u8> {
        let mut bytes = head(pack).to_vec();
        for (id, (start, len)) in &self.places {
            bytes.extend(row(*id, *start, *len as usize));
        }
        bytes
    }
}

fn pack_name(number: u64) -> String {
    format!("pack-{number}")
}

fn head(number: u64) -> [u8; ROW] {
    let mut head = [0; ROW];
    head[..MAGIC.len()].copy_from_slice(MAGIC);
    head[MAGIC.len()..].copy_from_slice(&number.to_be_bytes());
    head
}

fn row(id: BlobId, start: u64, len: usize) -> [u8; ROW] {
    let mut row = [0; ROW];
    row[..20].copy_from_slice(&id.0);
    row[20..28].copy_from_slice(&start.to_be_bytes());
    // A content has at most `MAX_CONTENT` bytes.
    row[28..].copy_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
    row
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::store::lock::with_lock;

    fn with_dir(name: &str, test: impl FnOnce(&Path, &Locked<'_>)) {
        let pid = std::process::id();
        let dir = std::env::temp_dir().join(format!("statewarden-contents-{name}-{pid}"));
        fs::create_dir(&dir).unwrap();
        with_lock(&dir, Duration::from_secs(5), |locked| {
            test(&dir, locked);
            Ok(())
        })
        .unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    fn keep(dir: &Path, locked: &Locked<'_>, texts: &[&str]) {
        let mut contents = Contents::of(dir);
        for text in texts {
            let id = contents.add(text.as_bytes().to_vec());
            assert_eq!(contents.get(id).as_deref(), Some(text.as_bytes()));
        }
        contents.commit(locked).unwrap();
    }

    fn held(dir: &Path, text: &str) -> bool {
        let bytes = Contents::of(dir).get(BlobId::of(text.as_bytes()));
        bytes
            .inspect(|bytes| assert_eq!(bytes, text.as_bytes()))
            .is_some()
    }

    #[test]
    fn contents_are_kept_once_and_read_back() {
        with_dir("once", |dir, locked| {
            keep(dir, locked, &[]);
            assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
            keep(dir, locked, &["one", "", "two"]);
            keep(dir, locked, &["two", "three"]);
            assert!(
                ["one", "", "two", "three"]
                    .iter()
                    .all(|text| held(dir, text))
            );
            assert!(!held(dir, "four"));
            assert_eq!(
                fs::read(dir.join("pack-0")).unwrap().len(),
                "onetwothree".len()
            );
        });
    }

    #[test]
    fn what_was_torn_is_not_kept_and_harms_nothing_else() {
        with_dir("torn", |dir, locked| {
            keep(dir, locked, &["one"]);
            let index = dir.join(INDEX);
            let mut rows = fs::read(&index).unwrap();
            rows.extend([7; 5]);
            fs::write(&index, rows).unwrap();
            keep(dir, locked, &["two"]);
            assert!(held(dir, "one") && held(dir, "two"));
            assert_eq!(fs::read(&index).unwrap().len() % ROW, 0);
            fs::write(dir.join("pack-0"), "xxetwo").unwrap();
            assert!(!held(dir, "one") && held(dir, "two"));
            fs::write(&index, "no index").unwrap();
            assert!(!held(dir, "two"));
            keep(dir, locked, &["three"]);
            assert!(held(dir, "three"));
        });
    }

    #[test]
    fn a_pack_of_which_little_is_needed_is_written_anew() {
        with_dir("tidy", |dir, locked| {
            keep(dir, locked, &["one", "two", "three"]);
            let tidy = |texts: &[&str]| {
                let ids = texts.iter().map(|text| BlobId::of(text.as_bytes()));
                Contents::of(dir).tidy(locked, &ids.collect()).unwrap();
            };
            tidy(&["one", "three"]);
            assert!(held(dir, "two"), "more than half is needed");
            // What a kill before the index left behind.
            fs::write(dir.join("pack-1"), "half").unwrap();
            tidy(&["two"]);
            assert!(held(dir, "two") && !held(dir, "one"));
            assert!(!dir.join("pack-0").exists() && dir.join("pack-1").exists());
            keep(dir, locked, &["four"]);
            assert!(held(dir, "two") && held(dir, "four"));
        });
    }
}
