//! What entries held, by git's blob ids: `pack-N`, in which contents stand one
//! after another, and `pack.idx`, whose lines say where.
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

use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::formats::json;
use crate::recorder::entry::BlobId;
use crate::store::lock::Locked;
use crate::store::{append, replace};

/// What is larger is known by its stat alone.
pub const MAX_CONTENT: u64 = 1 << 20;

/// All contents together. Beyond it nothing is added until [`Contents::tidy`] has made room.
const MAX_PACK: u64 = 64 << 20;

const INDEX: &str = "pack.idx";

/// A line of the index; the first names the pack.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Pack(u64),
    /// Where a content begins, and its length.
    Content(BlobId, u64, usize),
}

/// The contents that are kept in a recorder's folder.
pub struct Contents {
    dir: PathBuf,
    /// Read when it is first asked for: most looks find nothing new.
    table: OnceCell<Table>,
    /// What the pack lacks.
    fresh: BTreeMap<BlobId, Vec<u8>>,
    /// Whether something that was kept could not be read, and was made anew.
    pub was_unreadable: bool,
}

#[derive(Default)]
struct Table {
    pack: u64,
    places: BTreeMap<BlobId, (u64, usize)>,
    file: Stored,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stored {
    #[default]
    Missing,
    Unreadable,
    Whole,
}

impl Contents {
    pub fn of(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            table: OnceCell::new(),
            fresh: BTreeMap::new(),
            was_unreadable: false,
        }
    }

    /// Keeps a content; gives its id.
    pub fn add(&mut self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.fresh.insert(id, bytes);
        id
    }

    /// Whether a content can be read. Where one cannot although it was kept, all such ones
    /// are forgotten, so that they are kept anew.
    fn check(&mut self, id: BlobId) -> bool {
        let is_kept = self.get(id).is_some();
        if !is_kept && self.table().places.contains_key(&id) {
            let ids = self.table().places.keys().copied();
            let lost: Vec<BlobId> = ids.filter(|id| self.get(*id).is_none()).collect();
            let mut table = self.table.take().unwrap_or_default();
            table.places.retain(|id, _| !lost.contains(id));
            table.file = Stored::Unreadable;
            self.table = OnceCell::from(table);
            self.was_unreadable = true;
        }
        is_kept
    }

    /// A content; `None` where it is not kept.
    pub fn get(&self, id: BlobId) -> Option<Vec<u8>> {
        if let Some(bytes) = self.fresh.get(&id) {
            return Some(bytes.clone());
        }
        let (start, len) = *self.table().places.get(&id)?;
        let read = self.read(start, len).ok();
        read.filter(|bytes| BlobId::of(bytes) == id)
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Vec<u8>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let mut pack = File::open(self.pack_path(self.table().pack))?;
        pack.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        pack.take(len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
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
        fresh.retain(|id, _| !self.check(*id));
        let table = self.table();
        let bytes: Vec<u8> = fresh.values().flatten().copied().collect();
        let pack = self.pack_path(table.pack);
        if fresh.is_empty() || len_of(&pack) + bytes.len() as u64 > MAX_PACK {
            return Ok(());
        }
        let mut at = append::append(&pack, &bytes)?;
        let mut lines = match table.file {
            Stored::Whole => String::new(),
            Stored::Missing | Stored::Unreadable => table.to_text(),
        };
        for (id, bytes) in &fresh {
            lines += &json::line(&Line::Content(*id, at, bytes.len()));
            at += bytes.len() as u64;
        }
        let index = locked.dir().join(INDEX);
        match table.file {
            // Behind a line that a power loss tore.
            Stored::Whole => append::append(&index, format!("\n{lines}").as_bytes()).map(drop)?,
            Stored::Missing | Stored::Unreadable => {
                replace::replace_private(&index, lines.as_bytes())?;
            }
        }
        self.was_unreadable |= table.file == Stored::Unreadable;
        self.table = OnceCell::new();
        Ok(())
    }

    /// Writes the pack anew, with what is `wanted`, most wanted first, where that is less
    /// than half of it, or where there is little room left.
    ///
    /// The new pack is whole before the index names it, and the old one goes last:
    /// a kill leaves a pack too many, which the next run removes.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn tidy(&mut self, locked: &Locked<'_>, wanted: &[BlobId]) -> io::Result<()> {
        self.commit(locked)?;
        let table = self.table();
        let (mut kept, mut live) = (BTreeSet::new(), 0);
        for id in wanted {
            let len = table.places.get(id).map_or(0, |(_, len)| *len as u64);
            if live + len <= MAX_PACK / 2 && kept.insert(*id) {
                live += len;
            }
        }
        let len = len_of(&self.pack_path(table.pack));
        let mut current = table.pack;
        if live * 2 < len || len > MAX_PACK / 4 * 3 {
            current += 1;
            let (mut pack, mut index) = (Vec::new(), json::line(&Line::Pack(current)));
            for (id, bytes) in kept.iter().filter_map(|id| Some((*id, self.get(*id)?))) {
                index += &json::line(&Line::Content(id, pack.len() as u64, bytes.len()));
                pack.extend(bytes);
            }
            replace::replace_private(&self.pack_path(current), &pack)?;
            replace::replace_private(&locked.dir().join(INDEX), index.as_bytes())?;
            self.table = OnceCell::new();
        }
        let current = self.pack_path(current);
        let files = list::readable(locked.dir()).map(list::Entry::into_name);
        let packs = files.filter(|name| name.starts_with("pack-"));
        let mut packs = packs.map(|name| locked.dir().join(name));
        packs.try_for_each(|pack| match pack == current {
            true => Ok(()),
            false => replace::remove(&pack),
        })
    }

    fn table(&self) -> &Table {
        let index = self.dir.join(INDEX);
        self.table.get_or_init(|| {
            match bounded_read::if_there(bounded_read::read(&index, u64::from(u32::MAX))) {
                Ok(None) => Table::default(),
                Ok(Some(bytes)) => Table::parse(&bytes).unwrap_or_else(Table::unreadable),
                Err(_) => Table::unreadable(),
            }
        })
    }

    fn pack_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("pack-{number}"))
    }
}

impl Table {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let lines = std::str::from_utf8(bytes).ok()?.lines();
        let mut lines = lines.map(serde_json::from_str);
        let Some(Ok(Line::Pack(pack))) = lines.next() else {
            return None;
        };
        let place = |line| match line {
            Ok(Line::Content(id, start, len)) => Some((id, (start, len))),
            _ => None,
        };
        Some(Self {
            pack,
            places: lines.filter_map(place).collect(),
            file: Stored::Whole,
        })
    }

    fn to_text(&self) -> String {
        let places = self.places.iter();
        let places = places.map(|(id, (start, len))| Line::Content(*id, *start, *len));
        let lines = [Line::Pack(self.pack)].into_iter().chain(places);
        lines.map(|line| json::line(&line)).collect()
    }

    fn unreadable() -> Self {
        Self {
            file: Stored::Unreadable,
            ..Self::default()
        }
    }
}

fn len_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
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
            rows.extend(b"{\"content\":[\"ce01");
            fs::write(&index, rows).unwrap();
            keep(dir, locked, &["two"]);
            assert!(held(dir, "one") && held(dir, "two"));
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
                let ids: Vec<BlobId> = ids.collect();
                Contents::of(dir).tidy(locked, &ids).unwrap();
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
