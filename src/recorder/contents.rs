//! What entries held, by git's blob ids: `pack-N`, which holds contents one after
//! another, and `pack.idx`, whose lines say where. A file that grew is kept by its growth.
//!
//! Both only grow, and all that is new in one look is one write to each. The pack
//! comes first, so that a kill between the two leaves bytes that are in no index.
//! Every content is checked against its id when it is read: what a power loss
//! tore counts as not kept. New contents push out old ones, small ones go before large ones.

mod table;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::formats::json;
use crate::recorder::contents::table::{Stored, Table, TableFile, TableLine};
use crate::recorder::entry::BlobId;
use crate::store::lock::Locked;
use crate::store::{append, replace};

/// Of larger files only the stat data is compared.
pub const MAX_CONTENT: u64 = 1 << 20;

/// All contents together.
const MAX_PACK: u64 = 64 << 20;

/// A content that grew from another one is whole after so many growths.
const MAX_GROWTHS: usize = 500;

/// In a smaller pack what nothing refers to may stay.
const WORTH_TIDYING: u64 = 1 << 20;

/// How much of a pack is read at once where parts of it are wanted.
const READ_AHEAD: usize = 16 * 1024;

const INDEX: &str = "pack.idx";

/// What a file held before its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Former {
    /// The content begins with it.
    Grown(BlobId),
    /// Whether it does is not known.
    Other(BlobId),
}

impl Former {
    fn id(self) -> BlobId {
        match self {
            Self::Grown(id) | Self::Other(id) => id,
        }
    }
}

/// The contents that are kept in a recorder's folder.
pub struct Contents {
    dir: PathBuf,
    /// Read when it is first asked for: most looks find nothing new.
    table: OnceCell<Table>,
    /// The pack, open from the first content on that is read.
    pack: OnceCell<File>,
    /// What the pack lacks, with what it may have grown from.
    fresh: BTreeMap<BlobId, (Vec<u8>, Option<Former>)>,
    /// Whether something that was kept could not be read, and was made anew.
    pub was_unreadable: bool,
    /// How many new contents there was no room for.
    pub left_out: usize,
}

impl Contents {
    pub fn of(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            table: OnceCell::new(),
            pack: OnceCell::new(),
            fresh: BTreeMap::new(),
            was_unreadable: false,
            left_out: 0,
        }
    }

    /// Keeps a content, which may have grown from another one, under its id.
    pub fn add(&mut self, id: BlobId, bytes: Vec<u8>, former: Option<Former>) {
        let other = former.filter(|former| former.id() != id);
        self.fresh.insert(id, (bytes, other));
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
            table.file = TableFile::Unreadable;
            self.table = OnceCell::from(table);
            self.was_unreadable = true;
        }
        is_kept
    }

    /// A content; `None` where it is not kept.
    pub fn get(&self, id: BlobId) -> Option<Vec<u8>> {
        if let Some((bytes, _)) = self.fresh.get(&id) {
            return Some(bytes.clone());
        }
        let mut parts = Vec::new();
        let mut of = Some(id);
        while let Some(id) = of {
            let stored = self.table().places.get(&id)?;
            parts.push((stored.start, stored.len));
            of = stored.of;
            if parts.len() > MAX_GROWTHS + 1 {
                return None;
            }
        }
        let bytes = self.read(parts.iter().rev()).ok()?;
        (BlobId::of(&bytes) == id).then_some(bytes)
    }

    /// The parts of a pack, one after another. Those of a log that grew lie close together.
    fn read<'p>(&self, parts: impl Iterator<Item = &'p (u64, usize)>) -> io::Result<Vec<u8>> {
        let mut filled = parts.filter(|(_, len)| *len > 0).peekable();
        let mut bytes = Vec::new();
        let Some((first, _)) = filled.peek() else {
            return Ok(bytes);
        };
        let mut at = first.cast_signed();
        let mut pack = BufReader::with_capacity(READ_AHEAD, self.open_pack()?);
        pack.seek(SeekFrom::Start(*first))?;
        for (start, len) in filled {
            pack.seek_relative(start.cast_signed() - at)?;
            pack.by_ref().take(*len as u64).read_to_end(&mut bytes)?;
            at = start.cast_signed() + i64::try_from(*len).unwrap_or(i64::MAX);
        }
        Ok(bytes)
    }

    fn open_pack(&self) -> io::Result<&File> {
        if let Some(pack) = self.pack.get() {
            return Ok(pack);
        }
        let pack = File::open(self.pack_path(self.table().pack))?;
        Ok(self.pack.get_or_init(|| pack))
    }

    /// What has to be written of a new content: all of it, or what it has more than the
    /// one that it grew from.
    fn part<'b>(&self, bytes: &'b [u8], former: Option<Former>) -> (&'b [u8], Option<BlobId>) {
        let whole = (bytes, None);
        let found = former.and_then(|former| {
            let stored = self.table().places.get(&former.id())?;
            Some((former, stored))
        });
        let Some((former, stored)) = found else {
            return whole;
        };
        let mut growths = 0;
        let (mut len, mut of) = (stored.len, stored.of);
        while let Some(before) = of.and_then(|of| self.table().places.get(&of)) {
            (len, of, growths) = (len + before.len, before.of, growths + 1);
        }
        let has_grown = match former {
            Former::Grown(_) => bytes.len() >= len,
            Former::Other(id) => bytes.get(..len).map(BlobId::of) == Some(id),
        };
        if growths < MAX_GROWTHS && has_grown {
            (&bytes[len..], Some(former.id()))
        } else {
            whole
        }
    }

    /// Writes what is new. Where there is no room what is `wanted` least goes; what cannot be
    /// kept all the same is counted in [`Self::left_out`].
    ///
    /// # Errors
    /// A file cannot be written; the contents are not kept then.
    pub fn commit(
        &mut self,
        locked: &Locked<'_>,
        wanted: &dyn Fn() -> Vec<BlobId>,
    ) -> io::Result<()> {
        let mut fresh = std::mem::take(&mut self.fresh);
        if fresh.is_empty() {
            return Ok(());
        }
        fresh.retain(|id, _| !self.check(*id));
        let new: u64 = fresh.values().map(|(bytes, _)| bytes.len() as u64).sum();
        if fresh.is_empty() {
            return Ok(());
        }
        let mut len = len_of(&self.pack_path(self.table().pack));
        if len + new > MAX_PACK && len > 0 {
            self.rewrite(locked, &wanted(), MAX_PACK / 2)?;
            len = len_of(&self.pack_path(self.table().pack));
        }
        let pack = self.pack_path(self.table().pack);
        let mut room = MAX_PACK.saturating_sub(len);
        let mut smallest_first: Vec<_> = fresh.iter().collect();
        smallest_first.sort_by_key(|(_, (bytes, _))| bytes.len());
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        for (id, (whole, former)) in smallest_first {
            let (part, of) = self.part(whole, *former);
            if part.len() as u64 > room {
                self.left_out += 1;
                continue;
            }
            room -= part.len() as u64;
            lines.push((*id, bytes.len() as u64, part.len(), of));
            bytes.extend_from_slice(part);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let start = append::append(&pack, &bytes)?;
        let placed = lines.into_iter();
        let added = placed.map(|(id, at, len, of)| TableLine::of(id, start + at, len, of));
        self.add_to_table(locked, added)
    }

    fn add_to_table(
        &mut self,
        locked: &Locked<'_>,
        lines: impl Iterator<Item = TableLine>,
    ) -> io::Result<()> {
        let table = self.table();
        let mut text = match table.file {
            TableFile::Whole => String::new(),
            TableFile::Missing | TableFile::Unreadable => table.to_text(),
        };
        lines.for_each(|line| text += &json::line(&line));
        let index = locked.dir().join(INDEX);
        match table.file {
            // Behind a line that a power loss tore.
            TableFile::Whole => append::append(&index, format!("\n{text}").as_bytes()).map(drop)?,
            TableFile::Missing | TableFile::Unreadable => {
                replace::replace_private(&index, text.as_bytes())?;
            }
        }
        self.was_unreadable |= table.file == TableFile::Unreadable;
        self.table = OnceCell::new();
        Ok(())
    }

    /// Whether the pack is large enough that what nothing refers to goes.
    pub fn may_be_tidied(&self) -> bool {
        len_of(&self.pack_path(self.table().pack)) > WORTH_TIDYING
    }

    /// Writes the pack anew, with what is `wanted`, most wanted first, where that is less
    /// than half of it, or where there is little room left.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn tidy(&mut self, locked: &Locked<'_>, wanted: &[BlobId]) -> io::Result<()> {
        self.commit(locked, &|| wanted.to_vec())?;
        let len = len_of(&self.pack_path(self.table().pack));
        if len <= WORTH_TIDYING {
            return self.drop_other_packs(locked);
        }
        let live: u64 = self
            .chosen(wanted, MAX_PACK / 2)
            .iter()
            .map(|id| self.table().places.get(id).map_or(0, |at| at.len as u64))
            .sum();
        if live * 2 < len || len > MAX_PACK / 4 * 3 {
            self.rewrite(locked, wanted, MAX_PACK / 2)?;
        }
        self.drop_other_packs(locked)
    }

    /// The wanted contents that fit into so many bytes, each with what it grew from.
    fn chosen(&self, wanted: &[BlobId], room: u64) -> BTreeSet<BlobId> {
        let (mut chosen, mut used) = (BTreeSet::new(), 0);
        for id in wanted {
            let (mut chain, mut cost, mut of) = (Vec::new(), 0, Some(*id));
            while let Some(id) = of.filter(|id| !chosen.contains(id)) {
                let Some(stored) = self.table().places.get(&id) else {
                    break;
                };
                chain.push(id);
                cost += stored.len as u64;
                of = stored.of;
            }
            if used + cost <= room {
                used += cost;
                chosen.extend(chain);
            }
        }
        chosen
    }

    /// Writes a new pack with what is wanted.
    ///
    /// It is whole before the index names it, and the old one goes last: a kill leaves a pack
    /// too many, which the next run removes.
    fn rewrite(&mut self, locked: &Locked<'_>, wanted: &[BlobId], room: u64) -> io::Result<()> {
        let chosen = self.chosen(wanted, room);
        let table = self.table();
        let current = table.pack + 1;
        let mut kept: Vec<(BlobId, Stored)> = table
            .places
            .iter()
            .filter(|(id, _)| chosen.contains(id))
            .map(|(id, stored)| (*id, *stored))
            .collect();
        // What another one grew from comes before it.
        kept.sort_by_key(|(_, stored)| stored.start);
        let (mut pack, mut index) = (Vec::new(), json::line(&TableLine::Pack(current)));
        for (id, Stored { start, len, of }) in kept {
            let Ok(part) = self.read(std::iter::once(&(start, len))) else {
                continue;
            };
            index += &json::line(&TableLine::of(id, pack.len() as u64, len, of));
            pack.extend(part);
        }
        replace::replace_private(&self.pack_path(current), &pack)?;
        replace::replace_private(&locked.dir().join(INDEX), index.as_bytes())?;
        (self.table, self.pack) = (OnceCell::new(), OnceCell::new());
        self.drop_other_packs(locked)
    }

    fn drop_other_packs(&self, locked: &Locked<'_>) -> io::Result<()> {
        let current = self.pack_path(self.table().pack);
        let files = list::readable(locked.dir()).map(list::Entry::into_name);
        files
            .filter(|name| name.starts_with("pack-"))
            .map(|name| locked.dir().join(name))
            .filter(|pack| *pack != current)
            .try_for_each(|pack| replace::remove(&pack))
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

    fn add(contents: &mut Contents, bytes: Vec<u8>, former: Option<Former>) -> BlobId {
        let id = BlobId::of(&bytes);
        contents.add(id, bytes, former);
        id
    }

    fn keep(dir: &Path, locked: &Locked<'_>, texts: &[&str]) {
        let mut contents = Contents::of(dir);
        for text in texts {
            let id = add(&mut contents, text.as_bytes().to_vec(), None);
            assert_eq!(contents.get(id).as_deref(), Some(text.as_bytes()));
        }
        contents.commit(locked, &Vec::new).unwrap();
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
            let [one, two, three] = ["one", "two", "three"].map(|text| text.repeat(150_000));
            let tidy = |texts: &[&str]| {
                let ids = texts.iter().map(|text| BlobId::of(text.as_bytes()));
                let ids: Vec<BlobId> = ids.collect();
                Contents::of(dir).tidy(locked, &ids).unwrap();
            };
            keep(dir, locked, &[&one, &two]);
            tidy(&[]);
            assert!(held(dir, &one), "the pack is small");
            keep(dir, locked, &[&three]);
            tidy(&[&one, &three]);
            assert!(held(dir, &two), "more than half is needed");
            // What a kill before the index left behind.
            fs::write(dir.join("pack-1"), "half").unwrap();
            tidy(&[&two]);
            assert!(held(dir, &two) && !held(dir, &one));
            assert!(!dir.join("pack-0").exists() && dir.join("pack-1").exists());
            keep(dir, locked, &["four"]);
            assert!(held(dir, &two) && held(dir, "four"));
        });
    }

    #[test]
    fn what_grows_is_kept_by_its_growth() {
        with_dir("growth", |dir, locked| {
            let mut log = vec![b'x'; 100_000];
            let mut former = None;
            let mut ids = Vec::new();
            for at in 0..60_u8 {
                log.push(at);
                let mut contents = Contents::of(dir);
                let id = add(&mut contents, log.clone(), former.map(Former::Other));
                contents.commit(locked, &Vec::new).unwrap();
                (former, ids) = (Some(id), [ids, vec![id]].concat());
            }
            let len = fs::metadata(dir.join("pack-0")).unwrap().len();
            assert_eq!(len, 100_060);
            let contents = Contents::of(dir);
            assert_eq!(contents.get(ids[59]), Some(log.clone()));
            assert_eq!(contents.get(ids[3]).map(|it| it.len()), Some(100_004));
            // A new pack holds what it grew from.
            Contents::of(dir)
                .rewrite(locked, &[ids[30]], 1 << 20)
                .unwrap();
            let contents = Contents::of(dir);
            assert_eq!(contents.get(ids[30]).map(|it| it.len()), Some(100_031));
            assert_eq!(contents.get(ids[31]), None);
        });
    }

    #[test]
    fn new_contents_push_out_old_ones_and_small_ones_go_first() {
        with_dir("full", |dir, locked| {
            let large = |byte: u8| vec![byte; 1 << 20];
            for byte in 0..80 {
                let mut contents = Contents::of(dir);
                add(&mut contents, large(byte), None);
                let wanted = [BlobId::of(&large(1))];
                contents.commit(locked, &|| wanted.to_vec()).unwrap();
                assert_eq!(contents.left_out, 0, "{byte}");
            }
            let contents = Contents::of(dir);
            assert!(contents.get(BlobId::of(&large(79))).is_some());
            assert!(
                contents.get(BlobId::of(&large(1))).is_some(),
                "it is wanted"
            );
            assert!(contents.get(BlobId::of(&large(2))).is_none());
            let mut contents = Contents::of(dir);
            for byte in 100..180 {
                add(&mut contents, large(byte), None);
            }
            let small = add(&mut contents, b"small".to_vec(), None);
            contents.commit(locked, &Vec::new).unwrap();
            assert!(contents.left_out > 0 && contents.get(small).is_some());
        });
    }
}
