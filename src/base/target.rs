//! What a call would change: paths, and how.

/// How a call would change a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Creates the file or replaces its text.
    Write,
    /// Changes a part of the file, or adds to it.
    Edit,
    MakeDir,
    /// Makes a link at the path.
    Link,
    /// Removes one entry.
    Remove,
    /// Removes an entry with all below it.
    RemoveTree,
    /// Takes the entry away to another name.
    MoveAway,
    /// Removes entries below the path that the call does not name (`rsync --delete`).
    Clear,
    /// The same by git, which leaves what is in its index.
    Clean(Cleaning),
}

/// What git takes away below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleaning {
    /// What it neither tracks nor ignores: `git clean`.
    Untracked,
    /// What it does not track: `git clean -x`.
    Ignored,
    /// What it neither tracks nor ignores, and what was changed: `git stash -u`.
    Changed,
    /// All but what it tracks and was not changed: `git stash -a`.
    ChangedOrIgnored,
}

impl Cleaning {
    pub fn takes_ignored(self) -> bool {
        matches!(self, Self::Ignored | Self::ChangedOrIgnored)
    }

    pub fn takes_changed(self) -> bool {
        matches!(self, Self::Changed | Self::ChangedOrIgnored)
    }
}

/// How the path stood in the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    Literal,
    /// A glob, with the number of entries it matched; `None` when it could not be expanded.
    Glob {
        matches: Option<u32>,
    },
}

impl Spelling {
    /// A glob that matched so many entries.
    pub fn from_matches(n: usize) -> Self {
        let matches = u32::try_from(n).ok();
        Self::Glob { matches }
    }
}

/// What a call says literally about the text of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// All that the path would hold afterwards.
    Whole(String),
    /// What would be appended to the text that is there.
    Added(String),
}

/// One path a call would change. The path is absolute; `.`, `..` and links are
/// still in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub path: String,
    pub act: Act,
    pub spelling: Spelling,
    pub text: Option<Text>,
    /// Where a link made at the path would point, as written.
    pub link_to: Option<String>,
}

impl Target {
    /// A path that stood in the call as it is.
    pub fn literal(path: String, act: Act) -> Self {
        Self {
            path,
            act,
            spelling: Spelling::Literal,
            text: None,
            link_to: None,
        }
    }
}
