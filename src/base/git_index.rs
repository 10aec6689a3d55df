//! The paths in git's index, and what they hold.
//!
//! The format is that of `gitformat-index(5)`, versions 2 to 4. One that is
//! split or of another kind gives too few paths, never one that is not tracked.

/// The tracked paths from the repository's root, in the order of their bytes.
#[derive(Default)]
pub(crate) struct Index {
    paths: Vec<Vec<u8>>,
    /// What each holds, by git's id.
    blobs: Vec<[u8; 20]>,
}

/// Where the object's name stands.
const BLOB_AT: usize = 40;

/// What stands before the flags of an entry: times, modes, sizes, the object's name.
const STAT_LEN: usize = 60;

impl Index {
    /// Reads as much as there is.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut index = Self::default();
        if let Some(rest) = bytes.strip_prefix(b"DIRC\0\0\0")
            && let Some((version @ 2..=4, rest)) = rest.split_first()
            && let Some((count, mut rest)) = rest.split_first_chunk()
        {
            for _ in 0..u32::from_be_bytes(*count) {
                if index.entry(&mut rest, *version).is_none() {
                    break;
                }
            }
        }
        index
    }

    fn entry(&mut self, rest: &mut &[u8], version: u8) -> Option<()> {
        let whole = *rest;
        let is_extended = version > 2 && whole.get(STAT_LEN)? & 0x40 != 0;
        let head = STAT_LEN + if is_extended { 4 } else { 2 };
        let mut name = whole.get(head..)?;
        let mut path = Vec::new();
        if version == 4 {
            // How much of the path before goes, and what comes in its place.
            let before = self.paths.last().map_or(&[][..], Vec::as_slice);
            let kept = before.len().checked_sub(varint(&mut name)?)?;
            path.extend_from_slice(before.get(..kept)?);
        }
        let len = name.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(name.get(..len)?);
        *rest = match version {
            4 => name.get(len + 1..)?,
            // Filled up to a multiple of eight, with one byte at least.
            _ => whole.get((head + len + 8) & !7..)?,
        };
        self.blobs.push(*whole.get(BLOB_AT..)?.first_chunk()?);
        self.paths.push(path);
        Some(())
    }

    /// The id of what a tracked path holds.
    pub(crate) fn blob(&self, path: &str) -> Option<[u8; 20]> {
        let found = self
            .paths
            .binary_search_by(|p| p.as_slice().cmp(path.as_bytes()));
        self.blobs.get(found.ok()?).copied()
    }
}

/// A number in groups of seven bits, one added for each further group.
fn varint(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value = value.checked_shl(7)? | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 || value > 1 << 16 {
            return Some(value);
        }
        value += 1;
    }
}
