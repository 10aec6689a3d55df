//! What a tool call would change.

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
    /// Removes entries below the path that the call does not name (`git clean`, `rsync --delete`).
    Clear,
}

/// How the path stood in the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    Literal,
    /// A glob, with the number of entries it matched; `None` when it could not be expanded.
    Glob {
        matches: Option<usize>,
    },
}

/// One path a call would change. The path is absolute; `.`, `..` and links are
/// still in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub path: String,
    pub act: Act,
    pub spelling: Spelling,
    /// The whole text the path would hold afterwards, where the call says it literally.
    pub text: Option<String>,
    /// Where a link made at the path would point, as written.
    pub link_to: Option<String>,
}
