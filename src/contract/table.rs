//! What a state directory may hold: one table per system, and the question
//! "which row does this entry fall under". No I/O; entries are text.

use std::ops::Deref;

use serde::Serialize;

use crate::base::actor::{Actor, AgentName};
use crate::base::string_enum::string_enum;
use crate::contract::edition::Edition;
use crate::contract::glob::Pattern;
use crate::contract::near_miss;
use crate::contract::slug::Slug;

string_enum! {
    /// The classes of an entry: four in the words of the devt contract, and what is not an agent's.
    pub enum Bucket {
        Canonical = "canonical",
        PatternAllowed = "pattern_allowed",
        Ephemeral = "ephemeral",
        AdHoc = "ad_hoc",
        /// No row has it; see [`crate::contract::ignored`].
        Ignored = "ignored",
    }
}

/// Who may write what a row describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer<'a> {
    Anyone,
    /// The main thread only, whatever the agent.
    Main,
    /// A program outside Claude Code; no tool call.
    Program,
    /// The person at the keyboard; no tool call.
    User,
    /// The named agent. The main thread and agents the contract does not know
    /// may write it as well; another agent of the contract may not.
    Owner(&'a str),
    /// The named roles, and those `others` lets in.
    Roles(List<'a, &'a str>, Others),
}

/// Who besides the named roles may write a role's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    Nobody,
    Main,
    MainAndUnknown,
}

/// How a row recognizes an entry.
#[derive(Clone, Debug)]
pub enum Name<'a> {
    Exact(&'a str),
    Slug(&'a Slug),
    /// `*` within one component; a leading `**/` takes any directories.
    Wild(&'a str),
    /// A glob from the settings.
    Glob(&'a Pattern),
}

/// What `reset` does to a row's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AtReset {
    Archived,
    Exempt,
}

/// Which start-of-workflow sweep takes a row's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    None,
    /// A marker that satisfies a gate of one workflow.
    Marker,
    /// The one outcome of one workflow.
    Outcome,
    /// Both a marker and an outcome: the verification sidecars.
    MarkerAndOutcome,
    /// A slug variant of an outcome.
    Variant,
    /// Derived from the code graph.
    Graph,
}

/// One line of a contract.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The entry, relative to the site, `/` between components.
    pub name: Name<'a>,
    pub bucket: Bucket,
    pub writer: Writer<'a>,
    pub purpose: &'a str,
    /// Who reads the file, for `explain`.
    pub readers: &'a str,
    pub at_reset: AtReset,
    pub sweep: Sweep,
    /// The one edition that holds it; `None` for all.
    pub edition: Option<Edition>,
}

impl<'a> Row<'a> {
    pub const fn file(name: &'a str, writer: Writer<'a>, purpose: &'a str) -> Self {
        Self {
            name: Name::Exact(name),
            bucket: Bucket::Canonical,
            writer,
            purpose,
            readers: "",
            at_reset: AtReset::Archived,
            sweep: Sweep::None,
            edition: None,
        }
    }

    pub const fn slug(slug: &'a Slug, writer: Writer<'a>, purpose: &'a str) -> Self {
        Self::pattern(Name::Slug(slug), writer, purpose)
    }

    pub const fn wild(pattern: &'a str, writer: Writer<'a>, purpose: &'a str) -> Self {
        Self::pattern(Name::Wild(pattern), writer, purpose)
    }

    pub const fn glob(glob: &'a Pattern, purpose: &'a str) -> Self {
        Self::pattern(Name::Glob(glob), Writer::Anyone, purpose)
    }

    const fn pattern(name: Name<'a>, writer: Writer<'a>, purpose: &'a str) -> Self {
        let mut row = Self::file("", writer, purpose);
        row.name = name;
        row.bucket = Bucket::PatternAllowed;
        row
    }

    pub const fn read_by(mut self, readers: &'a str) -> Self {
        self.readers = readers;
        self
    }

    pub const fn canonical(mut self) -> Self {
        self.bucket = Bucket::Canonical;
        self
    }

    pub const fn ephemeral(mut self) -> Self {
        self.bucket = Bucket::Ephemeral;
        self
    }

    /// A name that no writer may use; its purpose says which one is right.
    pub const fn ad_hoc(mut self) -> Self {
        self.bucket = Bucket::AdHoc;
        self
    }

    pub const fn exempt(mut self) -> Self {
        self.at_reset = AtReset::Exempt;
        self
    }

    pub const fn swept(mut self, sweep: Sweep) -> Self {
        self.sweep = sweep;
        self
    }

    pub const fn only(mut self, edition: Edition) -> Self {
        self.edition = Some(edition);
        self
    }

    pub fn matches(&self, entry: &str) -> bool {
        match &self.name {
            Name::Exact(name) => *name == entry,
            Name::Slug(slug) => slug.matches(entry),
            Name::Wild(pattern) => wild_path(pattern, entry),
            Name::Glob(glob) => glob.matches(entry),
        }
    }

    /// Whether names of the row are possible below a directory.
    pub fn leads_below(&self, dir: &str) -> bool {
        match &self.name {
            Name::Exact(name) | Name::Wild(name) => is_below(name, dir),
            Name::Slug(slug) => is_below(slug.prefix, dir),
            Name::Glob(glob) => glob.leads_below(dir),
        }
    }

    /// Whether a tool call may be sent to the row's names at all.
    pub fn is_offered(&self, edition: Edition) -> bool {
        edition.holds(self.edition)
            && !matches!(self.writer, Writer::Program | Writer::User)
            && !matches!(self.bucket, Bucket::Ephemeral | Bucket::AdHoc)
    }

    /// The row's name as a person reads it: the name, or the pattern's text.
    pub fn title(&self) -> &str {
        match &self.name {
            Name::Exact(name) | Name::Wild(name) => name,
            Name::Slug(slug) => slug.regex,
            Name::Glob(glob) => glob.as_str(),
        }
    }
}

string_enum! {
    /// Whether entries of a directory that no row names are denied.
    pub enum DirKind {
        /// Only the rows' names.
        Closed = "closed",
        /// Anything but misspelled forms of the rows' names.
        Near = "near",
        /// Anything; rows only add who may write.
        Open = "open",
        /// A program's; no tool call.
        Program = "program",
    }
}

/// A directory of a site, relative to it; `""` is the site itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Dir<'a> {
    pub path: &'a str,
    pub kind: DirKind,
    /// The one edition that holds it; `None` for all.
    #[serde(skip)]
    pub edition: Option<Edition>,
    #[serde(skip)]
    pub at_reset: AtReset,
}

impl<'a> Dir<'a> {
    pub const fn new(path: &'a str, kind: DirKind) -> Self {
        Self {
            path,
            kind,
            edition: None,
            at_reset: AtReset::Archived,
        }
    }
}

/// A directory that is declared by the names in it alone.
const ON_THE_WAY: &Dir<'_> = &Dir::new("", DirKind::Closed);

/// An agent name, or a pattern with `*`, and the role that it plays.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Role<'a> {
    pub agent: &'a str,
    pub role: &'a str,
}

impl<'a> Role<'a> {
    pub const fn of(agent: &'a str, role: &'a str) -> Self {
        Self { agent, role }
    }

    /// Of an agent that is called like its role.
    pub const fn same(agent: &'a str) -> Self {
        Self::of(agent, agent)
    }
}

/// A part of a table, in the program or made from the settings. (`Cow` would
/// tie a static table's lifetime to the borrower's.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List<'a, T> {
    Borrowed(&'a [T]),
    Owned(Vec<T>),
}

impl<T> Deref for List<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Borrowed(items) => items,
            Self::Owned(items) => items,
        }
    }
}

impl<T> FromIterator<T> for List<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Owned(items.into_iter().collect())
    }
}

/// All that one system says about names.
#[derive(Clone, Debug)]
pub struct Contract<'a> {
    /// The document and version the table was taken from.
    pub source: &'a str,
    /// In order of precedence: canonical, ephemeral, pattern.
    pub rows: List<'a, Row<'a>>,
    pub dirs: List<'a, Dir<'a>>,
    pub roles: List<'a, Role<'a>>,
    /// The allowed name to point at when nothing resembles the refused one.
    pub fallback: Option<&'a str>,
}

/// What a contract says of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Classification<'c> {
    /// A row names it.
    Row(&'c Row<'c>),
    /// No row names it, and its directory is closed.
    AdHoc,
    /// It is in a directory that the contract does not know.
    UndeclaredDirectory,
    /// It is in, or is, a program's directory.
    ProgramDirectory,
    /// It is a declared directory itself.
    Directory(&'c Dir<'c>),
    /// Its directory is open and no row names it.
    Free,
}

impl Classification<'_> {
    /// The bucket an audit lists the entry under; `None` where the contract has no say.
    pub fn bucket(&self) -> Option<Bucket> {
        match self {
            Self::Row(row) => Some(row.bucket),
            Self::AdHoc | Self::UndeclaredDirectory => Some(Bucket::AdHoc),
            Self::ProgramDirectory | Self::Directory(_) => Some(Bucket::Canonical),
            Self::Free => None,
        }
    }
}

impl<'a> Contract<'a> {
    /// Finds the row of an entry. `edition` drops the rows of other editions.
    pub fn classify(&'a self, entry: &str, edition: Edition) -> Classification<'a> {
        if let Some(dir) = self.dir(entry, edition) {
            return match dir.kind {
                DirKind::Program => Classification::ProgramDirectory,
                DirKind::Closed | DirKind::Near | DirKind::Open => Classification::Directory(dir),
            };
        }
        let mut rows = self.rows.iter().filter(|row| edition.holds(row.edition));
        if let Some(row) = rows.find(|row| row.matches(entry)) {
            return Classification::Row(row);
        }
        let (parent, direct) = self.nearest_dir(entry, edition);
        match parent.kind {
            DirKind::Program => Classification::ProgramDirectory,
            DirKind::Near if near_miss::intended(self, entry, edition).is_some() => {
                Classification::AdHoc
            }
            DirKind::Open | DirKind::Near => Classification::Free,
            DirKind::Closed if self.leads_on(entry, edition) => {
                Classification::Directory(ON_THE_WAY)
            }
            DirKind::Closed if direct || self.has_named_siblings(entry, edition) => {
                Classification::AdHoc
            }
            DirKind::Closed => Classification::UndeclaredDirectory,
        }
    }

    /// Whether names of the contract are possible in the directory of the entry.
    fn has_named_siblings(&self, entry: &str, edition: Edition) -> bool {
        let above = entry.rsplit_once('/');
        above.is_some_and(|(above, _)| self.leads_on(above, edition))
    }

    /// Whether names of the contract are possible below the entry.
    pub fn leads_on(&self, entry: &str, edition: Edition) -> bool {
        let mut rows = self.rows.iter().filter(|row| edition.holds(row.edition));
        let mut dirs = self.dirs.iter().filter(|dir| edition.holds(dir.edition));
        rows.any(|row| row.leads_below(entry)) || dirs.any(|dir| is_below(dir.path, entry))
    }

    fn dir(&'a self, path: &str, edition: Edition) -> Option<&'a Dir<'a>> {
        self.dirs
            .iter()
            .find(|dir| edition.holds(dir.edition) && dir.path == path)
    }

    /// The deepest declared directory above the entry, and whether the entry is directly in it.
    pub fn nearest_dir(&'a self, entry: &str, edition: Edition) -> (Dir<'a>, bool) {
        let mut parent = entry;
        while let Some((above, _)) = parent.rsplit_once('/') {
            parent = above;
            if let Some(dir) = self.dir(parent, edition) {
                return (*dir, !entry[parent.len() + 1..].contains('/'));
            }
        }
        let site = self.dir("", edition).copied();
        (
            site.unwrap_or(Dir::new("", DirKind::Open)),
            !entry.contains('/'),
        )
    }

    /// Whether the settings give an agent a role, whatever plugin it is of. `base` is the
    /// contract without them.
    pub fn adds_role_of(&self, agent: &AgentName, base: &Contract<'_>) -> bool {
        let n_added = self.roles.len() - base.roles.len();
        let mut added = self.roles.iter().take(n_added);
        added.any(|role| wild(role.agent, agent.as_str()))
    }

    /// The role an agent plays here; `None` for an agent the contract does not know.
    pub fn role_of(&self, agent: &AgentName) -> Option<&str> {
        self.roles
            .iter()
            .find(|role| wild(role.agent, agent.as_str()))
            .map(|role| role.role)
    }

    /// Whether the actor may write what the row describes.
    ///
    /// # Errors
    /// It may not; the error is its role here, if it has one.
    pub fn may_write(&self, writer: &Writer<'_>, actor: &Actor) -> Result<(), Option<&str>> {
        let role = match actor {
            // A pattern means agents; the main thread has a role by its name only.
            Actor::Main => (self.roles.iter().find(|role| role.agent == "main")).map(|r| r.role),
            Actor::Agent(name) => self.role_of(name),
        };
        let refused = match (writer, actor) {
            (Writer::Anyone, _) | (Writer::Main | Writer::Owner(_), Actor::Main) => false,
            (Writer::Program | Writer::User, _) | (Writer::Main, Actor::Agent(_)) => true,
            (Writer::Owner(owner), Actor::Agent(_)) => role.is_some_and(|role| role != *owner),
            (Writer::Roles(roles, others), Actor::Main) => {
                *others == Others::Nobody && !role.is_some_and(|role| roles.contains(&role))
            }
            (Writer::Roles(roles, others), Actor::Agent(_)) => match role {
                Some(role) => !roles.contains(&role),
                None => *others != Others::MainAndUnknown,
            },
        };
        if refused { Err(role) } else { Ok(()) }
    }
}

fn is_below(path: &str, dir: &str) -> bool {
    path.as_bytes().get(dir.len()) == Some(&b'/') && path.starts_with(dir)
}

/// Matches a path pattern component by component.
fn wild_path(pattern: &str, path: &str) -> bool {
    if let Some(last) = pattern.strip_prefix("**/") {
        return wild(last, path.rsplit('/').next().unwrap_or(path));
    }
    if let Some(dir) = pattern.strip_suffix("/**") {
        let below = path
            .strip_prefix(dir)
            .and_then(|rest| rest.strip_prefix('/'));
        return below.is_some_and(|below| !below.is_empty());
    }
    let mut parts = pattern.split('/').zip(path.split('/'));
    let depth = |path: &str| path.split('/').count();
    depth(pattern) == depth(path) && parts.all(|(pattern, part)| wild(pattern, part))
}

/// Matches one component against a pattern with `*`: the parts between the stars follow one
/// another, each as early as it can.
pub(crate) fn wild(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(start) else {
        return false;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some((_, behind)) = text.split_once(part) else {
            return false;
        };
        text = behind;
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, taken: &[&str], others: &[&str]) {
        for path in taken {
            assert!(wild_path(pattern, path), "`{pattern}` takes `{path}`");
        }
        for path in others {
            assert!(!wild_path(pattern, path), "`{pattern}` and `{path}`");
        }
    }

    #[test]
    fn a_star_stands_for_anything_in_one_component() {
        check("a.md", &["a.md"], &["a.mdx", "b/a.md", ""]);
        check("*", &["", "a", "*"], &["a/b"]);
        check("*.tmp", &[".tmp", "a.tmp.tmp"], &["a.tmpx"]);
        check("ab*ba", &["abba", "ab-ba"], &["aba", "abb"]);
        check("r_*_*.md", &["r_a_b.md", "r__.md"], &["r_.md", "r_a.md"]);
        check("a/*/b", &["a/x/b"], &["a/b", "a/x/y/b", "a/x/c"]);
        check("**/*_p*.md", &["x_p.md", "a/b/x_p2.md"], &["a_p/x.md"]);
    }
}
