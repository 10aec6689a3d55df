//! Which paths git tracks: its index in every form that git writes (`gitformat-index(5)`, versions
//! 2 to 4, split or sparse, SHA-1 or SHA-256). Of an index that cannot be read, everything may be
//! tracked.

use std::fs::Metadata;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io, str};

use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::base::disk::bounded_read;

/// A larger index is not read.
const MAX_INDEX: u64 = 256 << 20;

/// The files of a git directory that are there while a commit of two sides is made.
const MERGING: [&str; 3] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// What an index knows.
pub enum Index {
    Known(Box<KnownIndex>),
    /// It is damaged, too large, or of a form that this program does not know.
    Unreadable,
}

/// The entries of an index that was read to its end.
#[derive(Default)]
pub struct KnownIndex {
    /// In the order of their paths; of a conflict each side.
    entries: Vec<IndexEntry>,
    /// The cached trees, as the extension `TREE` has them.
    trees: Vec<u8>,
    id_len: usize,
    /// When the index was written.
    written: Option<SystemTime>,
    /// A merge or the like waits for its commit.
    is_merging: bool,
}

#[derive(Clone)]
struct IndexEntry {
    /// From the root of the work tree; that of a sparse directory ends with `/`.
    path: Vec<u8>,
    id: Vec<u8>,
    /// Seconds and nanoseconds.
    modified: (u32, u32),
    /// The size modulo 2^32.
    size: u32,
    is_conflict: bool,
}

/// How git knows what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    No,
    /// It, or what is below it; the content may be another.
    Yes,
    /// It is in an index that cannot be read, or in a directory that the index does not list.
    Maybe,
}

impl Index {
    /// Reads the index of a git directory; a repository without one tracks nothing.
    pub fn read(git_dir: &Path) -> Self {
        let path = git_dir.join("index");
        match bounded_read::if_there(bounded_read::read(&path, MAX_INDEX)) {
            Ok(None) => Self::Known(Box::default()),
            Ok(Some(bytes)) => {
                let entries = KnownIndex::parse(&bytes, &|base| {
                    bounded_read::read(&git_dir.join(base), MAX_INDEX)
                });
                entries.map_or(Self::Unreadable, |mut entries| {
                    entries.written = fs::metadata(&path).and_then(|meta| meta.modified()).ok();
                    entries.is_merging = MERGING.iter().any(|file| git_dir.join(file).exists());
                    Self::Known(Box::new(entries))
                })
            }
            Err(_) => Self::Unreadable,
        }
    }

    /// Whether git tracks a path, or something below it. Relative to the root of the work tree.
    pub fn tracks(&self, path: &str) -> Tracked {
        match self {
            Self::Known(entries) => entries.tracks(path.as_bytes()),
            Self::Unreadable => Tracked::Maybe,
        }
    }

    /// The SHA-1 of the content that git has of a path, if it is neither in conflict nor unknown.
    pub fn blob(&self, path: &str) -> Option<[u8; 20]> {
        let Self::Known(entries) = self else {
            return None;
        };
        entries.entry(path)?.id.as_slice().try_into().ok()
    }

    /// The paths that git tracks, from the root of the work tree; `None` where these are not known.
    pub fn paths(&self) -> Option<impl Iterator<Item = &[u8]>> {
        match self {
            Self::Known(entries) => Some(entries.entries.iter().map(|entry| &*entry.path)),
            Self::Unreadable => None,
        }
    }

    /// Whether what git tracks at a path is, by all that can be seen, what it committed: nothing
    /// is staged in its directory, and the file is as the index has it.
    pub fn is_unchanged(&self, path: &str, file: &Path, meta: &Metadata) -> bool {
        let Self::Known(entries) = self else {
            return false;
        };
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        entries.entry(path).is_some_and(|entry| {
            !entries.is_merging
                && entries.is_settled(dir) == Some(true)
                && u64::from(entry.size) == meta.len() & u64::from(u32::MAX)
                && (entries.is_by_time(entry, meta) || entries.is_by_content(entry, file))
        })
    }
}

impl KnownIndex {
    /// `read` gives a file beside the index.
    fn parse(bytes: &[u8], read: &dyn Fn(&str) -> io::Result<Vec<u8>>) -> Option<Self> {
        let lengths = [20, 32].into_iter();
        let (mut entries, link) = lengths.filter_map(|len| parse_one(bytes, len)).next()?;
        if let Some(link) = link {
            entries.join(&link, read)?;
        }
        entries.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Some(entries)
    }

    /// Puts the entries of a split index into those of the shared one that it builds on.
    fn join(&mut self, link: &[u8], read: &dyn Fn(&str) -> io::Result<Vec<u8>>) -> Option<()> {
        let (id, bitmaps) = link.split_at_checked(self.id_len)?;
        if id.iter().all(|byte| *byte == 0) {
            return Some(());
        }
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let shared = read(&format!("sharedindex.{hex}")).ok()?;
        let (shared, None) = parse_one(&shared, self.id_len)? else {
            return None;
        };
        let mut rest = bitmaps;
        let (deleted, replaced) = match bitmaps {
            [] => (Vec::new(), Vec::new()),
            _ => (
                bitmap(&mut rest, shared.entries.len())?,
                bitmap(&mut rest, shared.entries.len())?,
            ),
        };
        let mut own = std::mem::take(&mut self.entries).into_iter();
        let mut base: Vec<Option<IndexEntry>> = shared.entries.into_iter().map(Some).collect();
        // What replaces an entry comes first, in the order of these, and has no path of its own.
        for at in replaced {
            let (entry, before) = (own.next()?, base.get(at)?.as_ref()?);
            let path = before.path.clone();
            base[at] = Some(IndexEntry { path, ..entry });
        }
        for at in deleted {
            *base.get_mut(at)? = None;
        }
        self.entries = base.into_iter().flatten().chain(own).collect();
        Some(())
    }

    fn tracks(&self, path: &[u8]) -> Tracked {
        let from = self
            .entries
            .partition_point(|entry| entry.path.as_slice() < path);
        // Names such as `a.md` are between `a` and `a/b`.
        let mut like = self.entries[from..]
            .iter()
            .map_while(|entry| entry.path.strip_prefix(path));
        if like.any(|rest| path.is_empty() || matches!(rest.first(), None | Some(b'/'))) {
            return Tracked::Yes;
        }
        let mut ends = (0..path.len()).filter(|at| path[*at] == b'/');
        if ends.any(|end| self.find(&path[..=end]).is_some()) {
            return Tracked::Maybe;
        }
        Tracked::No
    }

    fn find(&self, path: &[u8]) -> Option<&IndexEntry> {
        let found = self
            .entries
            .binary_search_by(|entry| entry.path.as_slice().cmp(path));
        self.entries.get(found.ok()?)
    }

    fn entry(&self, path: &str) -> Option<&IndexEntry> {
        self.find(path.as_bytes())
            .filter(|entry| !entry.is_conflict)
    }

    /// Whether the cached tree of a directory is valid, as behind each commit and checkout: `git
    /// add` below it makes it void.
    fn is_settled(&self, dir: &str) -> Option<bool> {
        let parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
        let mut rest = self.trees.as_slice();
        // Of each tree that is open: how many of its own are to come, and whether it leads to `dir`.
        let mut open: Vec<(usize, bool)> = Vec::new();
        loop {
            let (name, n_entries, n_trees) = tree(&mut rest, self.id_len)?;
            let depth = open.len();
            let leads_there = match open.last_mut() {
                None => true,
                Some((left, leads_there)) => {
                    *left -= 1;
                    *leads_there && parts[depth - 1].as_bytes() == name
                }
            };
            if leads_there && depth == parts.len() {
                return Some(n_entries >= 0);
            }
            open.push((n_trees, leads_there));
            while open.last().is_some_and(|(left, _)| *left == 0) {
                open.pop();
            }
            if open.is_empty() {
                return None;
            }
        }
    }

    /// A file that was written as the index was, or later, may differ all the same.
    fn is_by_time(&self, entry: &IndexEntry, meta: &Metadata) -> bool {
        let modified = meta.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (seconds, nanos) = entry.modified;
        let is_same = since.is_some_and(|since| {
            since.as_secs() & u64::from(u32::MAX) == u64::from(seconds)
                && since.subsec_nanos() == nanos
        });
        is_same && modified < self.written
    }

    fn is_by_content(&self, entry: &IndexEntry, file: &Path) -> bool {
        let bytes = bounded_read::read(file, bounded_read::MAX_TEXT);
        bytes.is_ok_and(|bytes| {
            let head = format!("blob {}\0", bytes.len());
            hash(self.id_len, &[head.as_bytes(), &bytes]) == entry.id
        })
    }
}

/// By the hash of the repository, whose ids have the length.
fn hash(id_len: usize, parts: &[&[u8]]) -> Vec<u8> {
    fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
        let mut hash = D::new();
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize().to_vec()
    }
    match id_len {
        20 => digest::<Sha1>(parts),
        _ => digest::<Sha256>(parts),
    }
}

/// One index, whose objects' ids have a length, and its extension `link`.
fn parse_one(bytes: &[u8], id_len: usize) -> Option<(KnownIndex, Option<Vec<u8>>)> {
    let (bytes, checksum) = bytes.split_at_checked(bytes.len().checked_sub(id_len)?)?;
    // With `index.skipHash` there is none.
    if checksum.iter().any(|byte| *byte != 0) && hash(id_len, &[bytes]) != checksum {
        return None;
    }
    let (version, rest) = bytes.strip_prefix(b"DIRC\0\0\0")?.split_first()?;
    let (count, mut rest) = rest.split_first_chunk()?;
    let mut found = KnownIndex {
        id_len,
        ..KnownIndex::default()
    };
    if !(2..=4).contains(version) {
        return None;
    }
    for _ in 0..u32::from_be_bytes(*count) {
        let before = found.entries.last().map_or(&[][..], |entry| &entry.path);
        let entry = parse_entry(&mut rest, *version, id_len, before)?;
        found.entries.push(entry);
    }
    let mut link = None;
    while !rest.is_empty() {
        let (name, behind) = rest.split_first_chunk::<4>()?;
        let (len, behind) = behind.split_first_chunk()?;
        let (body, behind) = behind.split_at_checked(u32::from_be_bytes(*len).try_into().ok()?)?;
        rest = behind;
        match name {
            b"link" => link = Some(body.to_owned()),
            b"TREE" => body.clone_into(&mut found.trees),
            // Sparse directories are entries, by a name that ends with `/`.
            b"sdir" => {}
            // What has to be understood begins with a small letter.
            [first, ..] if first.is_ascii_uppercase() => {}
            _ => return None,
        }
    }
    Some((found, link))
}

/// Times, modes and sizes come before an object's id.
const STAT_LEN: usize = 40;

fn parse_entry(rest: &mut &[u8], version: u8, id_len: usize, before: &[u8]) -> Option<IndexEntry> {
    let whole = *rest;
    let (stat, behind) = whole.split_first_chunk::<STAT_LEN>()?;
    let (id, behind) = behind.split_at_checked(id_len)?;
    let (flags, behind) = behind.split_first_chunk::<2>()?;
    let is_extended = version > 2 && flags[0] & 0x40 != 0;
    let mut name = behind.get(if is_extended { 2 } else { 0 }..)?;
    let head = whole.len() - name.len();
    let mut path = Vec::new();
    if version == 4 {
        // How much of the path before goes, and what comes in its place.
        let kept = before.len().checked_sub(varint(&mut name)?)?;
        path.extend_from_slice(&before[..kept]);
    }
    let len = name.iter().position(|byte| *byte == 0)?;
    path.extend_from_slice(&name[..len]);
    *rest = match version {
        4 => &name[len + 1..],
        // Filled up to a multiple of eight, with one byte at least.
        _ => whole.get((head + len + 8) & !7..)?,
    };
    let number = |at: usize| Some(u32::from_be_bytes(*stat.get(at..)?.first_chunk()?));
    Some(IndexEntry {
        path,
        id: id.to_owned(),
        modified: (number(8)?, number(12)?),
        size: number(36)?,
        is_conflict: flags[0] & 0x30 != 0,
    })
}

/// A number in groups of seven bits, one added for each further group.
fn varint(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value = value
            .checked_mul(128)?
            .checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

/// The positions, below `max`, of the bits that are set in a compressed bitmap (`EWAH`): a word
/// says how many words of equal bits follow, and how many that are written out.
fn bitmap(rest: &mut &[u8], max: usize) -> Option<Vec<usize>> {
    let (n_bits, behind) = rest.split_first_chunk()?;
    let (n_words, behind) = behind.split_first_chunk()?;
    let n_bits = usize::try_from(u32::from_be_bytes(*n_bits)).ok()?.min(max);
    let len = usize::try_from(u32::from_be_bytes(*n_words))
        .ok()?
        .checked_mul(8)?;
    let (compressed, behind) = behind.split_at_checked(len)?;
    // The position of the last word that counts.
    *rest = behind.get(4..)?;
    let mut words = compressed
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_be_bytes(*word));
    let (mut set, mut at) = (Vec::new(), 0_usize);
    while let Some(marker) = words.next() {
        let n_equal = usize::try_from(marker >> 1 & u64::from(u32::MAX)).ok()?;
        let end = at.checked_add(n_equal.checked_mul(64)?)?;
        if marker & 1 == 1 {
            set.extend(at..end.min(n_bits));
        }
        at = end;
        for _ in 0..marker >> 33 {
            let word = words.next()?;
            set.extend(
                (0..64)
                    .filter(|bit| word >> bit & 1 == 1)
                    .map(|bit| at + bit),
            );
            at = at.checked_add(64)?;
        }
    }
    Some(set)
}

/// The name of a cached tree, how many entries it has (negative where it is void), and how many
/// trees below it come next.
fn tree<'b>(rest: &mut &'b [u8], id_len: usize) -> Option<(&'b [u8], i64, usize)> {
    let mut until = |end: u8| {
        let len = rest.iter().position(|byte| *byte == end)?;
        let (text, behind) = rest.split_at(len);
        *rest = &behind[1..];
        Some(text)
    };
    let number = |text| str::from_utf8(text).ok()?.parse::<i64>().ok();
    let (name, n_entries, n_trees) = (until(0)?, number(until(b' ')?)?, number(until(b'\n')?)?);
    if n_entries >= 0 {
        *rest = rest.get(id_len..)?;
    }
    Some((name, n_entries, usize::try_from(n_trees).ok()?))
}
