//! The index of a pack: where each content is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::formats::json;
use crate::recorder::entry::BlobId;

/// A line of the index; the first names the pack.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TableLine {
    Pack(u64),
    /// Where a content begins, and its length.
    Content(BlobId, u64, usize),
    /// The same of what was added to another content.
    Growth(BlobId, u64, usize, BlobId),
}

/// Where a content is.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub(super) start: u64,
    pub(super) len: usize,
    /// What it is the growth of.
    pub(super) of: Option<BlobId>,
}

#[derive(Default)]
pub(super) struct Table {
    pub(super) pack: u64,
    pub(super) places: BTreeMap<BlobId, Stored>,
    pub(super) file: TableFile,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TableFile {
    #[default]
    Missing,
    Unreadable,
    Whole,
}

impl TableLine {
    pub(super) fn of(id: BlobId, start: u64, len: usize, of: Option<BlobId>) -> Self {
        match of {
            None => Self::Content(id, start, len),
            Some(of) => Self::Growth(id, start, len, of),
        }
    }
}

impl Table {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes)
            .ok()?
            .lines()
            .map(serde_json::from_str);
        let Some(Ok(TableLine::Pack(pack))) = lines.next() else {
            return None;
        };
        let mut places = BTreeMap::new();
        for line in lines {
            let (id, start, len, of) = match line {
                Ok(TableLine::Content(id, start, len)) => (id, start, len, None),
                Ok(TableLine::Growth(id, start, len, of)) => (id, start, len, Some(of)),
                _ => continue,
            };
            places.insert(id, Stored { start, len, of });
        }
        Some(Self {
            pack,
            places,
            file: TableFile::Whole,
        })
    }

    pub(super) fn to_text(&self) -> String {
        let places = self.places.iter();
        let lines =
            places.map(|(id, stored)| TableLine::of(*id, stored.start, stored.len, stored.of));
        [TableLine::Pack(self.pack)]
            .into_iter()
            .chain(lines)
            .map(|line| json::line(&line))
            .collect()
    }

    pub(super) fn unreadable() -> Self {
        Self {
            file: TableFile::Unreadable,
            ..Self::default()
        }
    }
}
