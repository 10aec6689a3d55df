//! One entry of a state directory as a look finds it, and how it changed.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::{Digest as _, Sha1};

pub use crate::base::disk::stat::Kind;
use crate::base::disk::stat::Stat;

/// A time in nanoseconds since 1970, as files have theirs.
pub type Nanos = i64;

/// A time that no count of nanoseconds reaches is the last one.
pub fn nanos(time: DateTime<Utc>) -> Nanos {
    time.timestamp_nanos_opt().unwrap_or(Nanos::MAX)
}

/// git's id of a blob: equal contents have equal ids, and nothing else does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobId(pub [u8; 20]);

impl BlobId {
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
        hash.update(bytes);
        Self(hash.finalize().into())
    }

    pub fn parse(hex: &str) -> Option<Self> {
        let mut id = [0; 20];
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = hex.as_bytes().as_chunks();
        if pairs.len() != id.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in id.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for BlobId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(from)?;
        Self::parse(text).ok_or_else(|| serde::de::Error::custom("it is no id of a content"))
    }
}

/// An entry at one moment. Of a directory only its kind and its identity count:
/// what it holds are entries of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct State {
    pub kind: Kind,
    pub mode: u32,
    pub dev: u64,
    pub ino: u64,
    pub size: u64,
    pub mtime: Nanos,
    pub ctime: Nanos,
    /// When it was made; 0 where the file system does not say.
    #[serde(default)]
    pub born: Nanos,
    /// The content's id, a link's being that of its target; none for what is too
    /// large to be kept, and for what has no content.
    pub blob: Option<BlobId>,
}

/// By place: the names of the fields would be most of an index. Both are read.
impl Serialize for State {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self {
            kind,
            mode,
            dev,
            ino,
            size,
            mtime,
            ctime,
            born,
            blob,
        } = self;
        (kind, mode, dev, ino, size, mtime, ctime, born, blob).serialize(to)
    }
}

impl State {
    /// Without the content's id, which takes reading.
    pub fn of(stat: &Stat) -> Self {
        let mut state = Self {
            kind: stat.kind,
            mode: stat.mode,
            dev: stat.dev,
            ino: stat.ino,
            size: stat.size,
            mtime: nanos(stat.modified),
            ctime: nanos(stat.changed),
            born: stat.born.map_or(0, nanos),
            blob: None,
        };
        if state.kind == Kind::Dir {
            (state.size, state.mtime, state.ctime) = (0, 0, 0);
        }
        state
    }

    /// Whether the disk says the same of both, the content unread.
    pub fn has_stat_of(&self, other: &Self) -> bool {
        // Earlier versions did not know the time of making everywhere.
        let is_born_known = self.born != 0 && other.born != 0;
        let born = if is_born_known { self.born } else { other.born };
        let blob = other.blob;
        Self {
            born,
            blob,
            ..*self
        } == *other
    }

    /// Whether both hold the same, whatever became of times and modes.
    pub fn holds_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && match self.kind {
                Kind::Dir => true,
                Kind::File | Kind::Link => self.blob.is_some() && self.blob == other.blob,
                Kind::Other => self.ino == other.ino,
            }
    }
}

impl State {
    /// Whether both are one entry under two names: inodes are used again, so that the content
    /// has to be the same, and has to be some, where the time of making is not known.
    pub fn is_same_entry(&self, before: &Self) -> bool {
        let is_inode = self.ino != 0 && (self.ino, self.dev) == (before.ino, before.dev);
        let is_born_alike = self.born != 0 && self.born == before.born;
        let holds_same = match self.kind {
            // A large file keeps its times when it is renamed.
            Kind::File if before.blob.is_none() => {
                (self.size, self.mtime) == (before.size, before.mtime) && self.kind == before.kind
            }
            _ => self.holds_same(before),
        };
        let is_telling = self.kind == Kind::Dir || self.size > 0;
        is_inode
            && holds_same
            && (is_born_alike || is_telling && (self.born == 0 || before.born == 0))
    }
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Create,
    Change,
    Remove,
}

/// An entry that is not as the look before found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The absolute path, as the disk has it.
    #[serde(with = "crate::recorder::entry::os_path")]
    pub path: OsString,
    pub before: Option<State>,
    pub after: Option<State>,
    /// When it happened at the earliest and at the latest.
    pub lo: Nanos,
    pub hi: Nanos,
    /// When it was found, by this machine's clock.
    #[serde(default)]
    pub seen: Nanos,
    /// Whether it was reported that it could not be taken back: it is tried again.
    #[serde(default)]
    pub was_refused: bool,
}

impl Change {
    pub fn act(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Create,
            (Some(_), Some(_)) => ChangeKind::Change,
            (Some(_), None) => ChangeKind::Remove,
        }
    }

    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }
}

/// A path as text: one that is no UTF-8 is written by its bytes, in hexadecimal digits
/// behind a NUL, which no path holds.
pub mod os_path {
    use std::ffi::{OsStr, OsString};

    use serde::{Deserialize as _, Deserializer, Serializer};

    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(path: &OsStr, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => to.serialize_str(text),
            None => {
                let hex = path.as_encoded_bytes().iter().map(|b| format!("{b:02x}"));
                to.serialize_str(&format!("\0{}", hex.collect::<String>()))
            }
        }
    }

    /// # Errors
    /// It is no text.
    pub fn deserialize<'de, D, P>(from: D) -> Result<P, D::Error>
    where
        D: Deserializer<'de>,
        P: From<OsString>,
    {
        let text = String::deserialize(from)?;
        let path = match text.strip_prefix('\0') {
            Some(hex) => from_hex(hex),
            None => text.into(),
        };
        Ok(path.into())
    }

    #[cfg(unix)]
    fn from_hex(hex: &str) -> OsString {
        use std::os::unix::ffi::OsStringExt;
        let bytes = (0..hex.len())
            .step_by(2)
            .filter_map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
        OsString::from_vec(bytes.collect())
    }

    /// Elsewhere names are text.
    #[cfg(not(unix))]
    fn from_hex(hex: &str) -> OsString {
        hex.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        for (text, id) in [
            ("", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            ("hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
        ] {
            assert_eq!(BlobId::of(text.as_bytes()).to_string(), id);
            assert_eq!(BlobId::parse(id), Some(BlobId::of(text.as_bytes())));
        }
        for broken in ["", "ce01", "zz013625030ba8dba906f756967f9e9ca394464a"] {
            assert_eq!(BlobId::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_state_reads_back() {
        let file = State {
            kind: Kind::File,
            mode: 0o100_644,
            dev: 7,
            ino: u64::MAX,
            size: 3,
            mtime: 1_700_000_000_123_456_789,
            ctime: 0,
            born: 0,
            blob: Some(BlobId::of(b"abc")),
        };
        let link = State {
            kind: Kind::Link,
            blob: None,
            ..file
        };
        for state in [file, link] {
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        }
        // As earlier versions wrote it.
        let named = r#"{"kind":"file","mode":33188,"dev":7,"ino":18446744073709551615,"size":3,
            "mtime":1700000000123456789,"ctime":0,"blob":"f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f"}"#;
        assert_eq!(serde_json::from_str::<State>(named).unwrap(), file);
        assert!(file.has_stat_of(&State { blob: None, ..file }));
        assert!(!file.has_stat_of(&State { ctime: 1, ..file }));
        let made = State { born: 8, ..file };
        assert!(made.has_stat_of(&file) && file.has_stat_of(&made));
        assert!(!made.has_stat_of(&State { born: 9, ..file }));
    }

    #[test]
    fn only_contents_make_entries_the_same() {
        let file = State {
            kind: Kind::File,
            mode: 0,
            dev: 1,
            ino: 2,
            size: 3,
            mtime: 4,
            ctime: 5,
            born: 6,
            blob: Some(BlobId::of(b"abc")),
        };
        let large = State { blob: None, ..file };
        let dir = State {
            kind: Kind::Dir,
            blob: None,
            ..file
        };
        for (one, other, expected) in [
            (
                file,
                State {
                    mtime: 9,
                    ino: 9,
                    ..file
                },
                true,
            ),
            (
                file,
                State {
                    blob: Some(BlobId::of(b"abd")),
                    ..file
                },
                false,
            ),
            (large, large, false),
            (dir, State { ino: 9, ..dir }, true),
            (file, dir, false),
        ] {
            assert_eq!(one.holds_same(&other), expected, "{one:?} {other:?}");
        }
    }
}
