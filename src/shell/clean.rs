//! `git clean` and `rsync --delete`: what they take away, and what exclusions spare.

use super::Kind;
use super::args::Args;
use super::eval::Shell;
use super::field::{Field, HERE, base_name, join};
use super::glob::PathGlob;
use super::index::Index;
use crate::base::path::collapse;
use crate::base::target::Act;
use crate::project::sites::SKIPPED;
use crate::systems::system;

/// How deep, and how many directories, the tree is searched for what is spared,
/// and how many files are told apart.
const MAX_DEPTH: usize = 8;
const MAX_DIRS: usize = 1024;
const MAX_FILES: usize = 512;

/// One line of a `.gitignore`, or of `-e`.
pub(super) struct Rule {
    /// The directory the line counts in, from the repository's root; empty, or ends with `/`.
    base: String,
    names: Names,
    kinds: Kinds,
    effect: Effect,
    /// How long the pattern is.
    len: usize,
}

/// What a pattern is compared with.
enum Names {
    /// The name, at every depth.
    Last(PathGlob),
    /// The path from the base, where a slash stands in front or within.
    All(PathGlob),
}

/// With `/` behind it a pattern takes directories only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    All,
    Dirs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Spares,
    /// `!pattern`.
    Exposes,
}

/// Whether a path, or a directory above it, is ignored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lies {
    Open,
    Ignored,
}

/// Which of the entries that are not tracked go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// All but those that the rules name.
    Others,
    /// Those that the rules name, `-X`.
    Ignored,
}

/// Whether directories are gone into in which nothing is tracked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Enters {
    All,
    Tracked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gitignore {
    Read,
    /// What it names goes as well.
    Unread,
}

/// What of a tree goes.
pub(super) struct Sort {
    /// The patterns of `-e`, which win over all files.
    pub(super) excluded: Vec<Rule>,
    pub(super) gitignore: Gitignore,
    pub(super) takes: Takes,
    pub(super) enters: Enters,
}

impl Default for Sort {
    fn default() -> Self {
        Self {
            excluded: Vec::new(),
            gitignore: Gitignore::Read,
            takes: Takes::Others,
            enters: Enters::All,
        }
    }
}

struct Cleaning<'h, 's> {
    shell: &'h mut Shell<'s>,
    /// The repository's root.
    root: String,
    index: Index,
    rules: Vec<Rule>,
    sort: Sort,
    dirs_left: usize,
    files_left: usize,
}

/// Reports what would be cleared: directories, and files of directories that
/// are cleared in part.
pub(super) fn clean(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !args.has(&["f", "force"]) || args.has(&["n", "dry-run"]) {
        return;
    }
    let here = std::slice::from_ref(&HERE);
    let (paths, enters) = match args.operands.as_slice() {
        [] if args.has(&["d"]) => (here, Enters::All),
        [] => (here, Enters::Tracked),
        paths => (paths, Enters::All),
    };
    let sort = Sort {
        excluded: rules(&mut args.values(&["e", "exclude"])),
        gitignore: match args.has(&["x"]) {
            true => Gitignore::Unread,
            false => Gitignore::Read,
        },
        takes: match args.has(&["X"]) {
            true => Takes::Ignored,
            false => Takes::Others,
        },
        enters,
    };
    sweep(shell, paths, sort);
}

/// Reports what goes of paths.
pub(super) fn sweep(shell: &mut Shell<'_>, paths: &[Field], sort: Sort) {
    if paths.is_empty() {
        return;
    }
    let Some(root) = shell.cwd.clone().map(|cwd| repository(shell, &cwd)) else {
        shell.report_all(paths, Act::Clear);
        return;
    };
    let mut cleaning = Cleaning {
        index: read_index(shell, &root),
        root,
        sort,
        ..Cleaning::new(shell)
    };
    cleaning.read_rules(".git/info/exclude", "/");
    for path in paths {
        cleaning.path(path);
    }
}

/// The index of a repository, or of a work tree beside it.
fn read_index(shell: &Shell<'_>, root: &str) -> Index {
    let disk = shell.scene.disk;
    let git = disk.text(&format!("{root}/.git"));
    let dir = git
        .as_deref()
        .and_then(|text| text.strip_prefix("gitdir: "));
    let dir = join(root, dir.map_or(".git", str::trim_end));
    let bytes = disk.bytes(&format!("{dir}/index"));
    Index::parse(&bytes.unwrap_or_default())
}

/// The tracked files below a directory, as many as are asked for.
pub(super) fn tracked_below(shell: &mut Shell<'_>, dir: &str, most: usize) -> Vec<String> {
    let root = repository(shell, dir);
    let below = dir.strip_prefix(root.as_str()).unwrap_or("");
    let index = read_index(shell, &root);
    let paths = index.below(below.trim_matches('/')).take(most);
    paths.map(|path| format!("{root}/{path}")).collect()
}

/// `rsync --delete --exclude PATTERN`: what is in the directory, less what the
/// patterns spare.
pub(super) fn clear_except(
    shell: &mut Shell<'_>,
    dir: &Field,
    excluded: &mut dyn Iterator<Item = &Field>,
) {
    let root = dir.known().and_then(|dir| shell.absolute(dir));
    let excluded = rules(excluded);
    let Some(root) = root.filter(|_| !excluded.is_empty()) else {
        shell.report(dir, Act::Clear);
        return;
    };
    let mut cleaning = Cleaning {
        root: collapse(&root).trim_end_matches('/').to_owned(),
        sort: Sort {
            excluded,
            gitignore: Gitignore::Unread,
            ..Sort::default()
        },
        ..Cleaning::new(shell)
    };
    cleaning.path(dir);
}

/// The patterns of `-e` and of `--exclude`.
pub(super) fn rules(patterns: &mut dyn Iterator<Item = &Field>) -> Vec<Rule> {
    let rule = |field: &Field| Rule::parse(field.known()?, "/");
    patterns.filter_map(rule).collect()
}

/// The repository that a directory lies in, or the directory itself.
pub(super) fn repository(shell: &mut Shell<'_>, cwd: &str) -> String {
    top_level(shell, cwd).unwrap_or(cwd).to_owned()
}

/// The nearest directory upwards with an entry `.git`.
pub(super) fn top_level<'d>(shell: &mut Shell<'_>, cwd: &'d str) -> Option<&'d str> {
    let mut dir = cwd.trim_end_matches('/');
    while shell.list(dir).iter().all(|name| name != ".git") {
        (dir, _) = dir.rsplit_once('/')?;
    }
    Some(dir)
}

impl<'h, 's> Cleaning<'h, 's> {
    fn new(shell: &'h mut Shell<'s>) -> Self {
        Self {
            shell,
            root: String::new(),
            index: Index::default(),
            rules: Vec::new(),
            sort: Sort::default(),
            dirs_left: MAX_DIRS,
            files_left: MAX_FILES,
        }
    }

    fn read_rules(&mut self, file: &str, base: &str) {
        let path = format!("{}/{file}", self.root);
        if let Some(text) = self
            .shell
            .scene
            .disk
            .text(&path)
            .filter(|_| self.sort.gitignore == Gitignore::Read)
        {
            let lines = text.lines().map(str::trim_end);
            self.rules
                .extend(lines.filter_map(|line| Rule::parse(line, base)));
        }
    }

    /// One path of the command line.
    fn path(&mut self, path: &Field) {
        let at = path.known().and_then(|path| self.shell.absolute(path));
        let below = at.as_deref().map(collapse);
        let below = below
            .as_deref()
            .and_then(|at| at.strip_prefix(self.root.as_str()));
        let Some(below) = below.map(|below| below.trim_matches('/').to_owned()) else {
            self.shell.report(path, Act::Clear);
            return;
        };
        // The rules of the directories on the way count as well.
        self.read_rules(".gitignore", "/");
        let mut lies = Lies::Open;
        for (end, _) in below.match_indices('/').chain([(below.len(), "")]) {
            let dir = below.get(..end).unwrap_or("");
            if !dir.is_empty() {
                lies = self.lies(lies, dir, Kind::Dir);
                self.read_rules(&format!("{dir}/.gitignore"), &format!("/{dir}/"));
            }
        }
        if lies == Lies::Ignored && self.sort.takes == Takes::Others {
            return;
        }
        match self.cleared(&below, 0, lies) {
            None if self.index.holds(&below) => {}
            None => drop(self.shell.report(path, Act::Clear)),
            Some(gone) => {
                for path in gone {
                    let path = Field::literal(format!("{}/{path}", self.root));
                    self.shell.report(&path, Act::Clear);
                }
            }
        }
    }

    /// The directories and files below that go; `None` where all of it does.
    fn cleared(&mut self, dir: &str, depth: usize, lies: Lies) -> Option<Vec<String>> {
        // What is not looked at, or empty, goes if it is of the kind that goes and nothing in
        // it is tracked.
        let goes = self.goes(lies) && !self.index.reaches(dir);
        let whole = || (!goes).then(Vec::new);
        if depth == MAX_DEPTH || self.dirs_left == 0 {
            return whole();
        }
        let at = format!("{}/{dir}", self.root);
        // Sites come first: not every directory is looked at.
        let names = system::outer_first(self.shell.list(at.trim_end_matches('/')));
        if names.is_empty() {
            return whole();
        }
        self.dirs_left -= 1;
        if depth > 0 && names.iter().any(|name| name == ".gitignore") {
            self.read_rules(&format!("{dir}/.gitignore"), &format!("/{dir}/"));
        }
        let mut gone = Vec::new();
        let mut is_whole = true;
        for name in names.iter().filter(|name| *name != ".git") {
            let path = format!("{dir}/{name}").trim_start_matches('/').to_owned();
            match self.entry(&path, depth, lies) {
                Some(below) => {
                    is_whole = false;
                    gone.extend(below);
                }
                None => gone.push(path),
            }
            if gone.len() > self.files_left {
                return None;
            }
        }
        if is_whole {
            return None;
        }
        self.files_left -= gone.len();
        Some(gone)
    }

    /// What of an entry goes, as `cleared` tells it.
    fn entry(&mut self, path: &str, depth: usize, lies: Lies) -> Option<Vec<String>> {
        let is_dir = self
            .shell
            .scene
            .disk
            .is_dir(&format!("{}/{path}", self.root));
        let kind = if is_dir { Kind::Dir } else { Kind::File };
        if kind == Kind::Dir && SKIPPED.contains(&base_name(path)) {
            return Some(Vec::new());
        }
        let lies = self.lies(lies, path, kind);
        let goes = self.goes(lies);
        let is_tracked = match kind {
            Kind::Dir => self.index.reaches(path),
            Kind::File => self.index.holds(path),
        };
        let enters = is_tracked || self.sort.enters == Enters::All;
        match kind {
            Kind::File if goes && !is_tracked => None,
            // Of what is not ignored itself, parts may be.
            Kind::Dir if enters && (goes || self.sort.takes == Takes::Ignored) => {
                self.cleared(path, depth + 1, lies)
            }
            Kind::File | Kind::Dir => Some(Vec::new()),
        }
    }

    /// How an entry of a directory lies.
    fn lies(&mut self, dir: Lies, path: &str, kind: Kind) -> Lies {
        match dir {
            Lies::Open if self.names(path, kind) => Lies::Ignored,
            dir => dir,
        }
    }

    /// Whether what lies so is of the kind that goes.
    fn goes(&self, lies: Lies) -> bool {
        (lies == Lies::Ignored) == (self.sort.takes == Takes::Ignored)
    }

    /// Whether the rules name a path: the last one that matches decides.
    fn names(&mut self, path: &str, kind: Kind) -> bool {
        let rules = || self.rules.iter().chain(&self.sort.excluded);
        let cost = rules().map(|rule| 4 + rule.len / 16).sum();
        if !self.shell.spend(cost) {
            return false;
        }
        let found = rules().rev().find(|rule| rule.matches(path, kind));
        found.is_some_and(|rule| rule.effect == Effect::Spares)
    }
}

impl Rule {
    fn parse(line: &str, base: &str) -> Option<Self> {
        let (pattern, effect) = match line.strip_prefix('!') {
            Some(pattern) => (pattern, Effect::Exposes),
            None => (line, Effect::Spares),
        };
        if pattern.is_empty() || pattern.starts_with('#') {
            return None;
        }
        let trimmed = pattern.trim_end_matches('/');
        let kinds = match trimmed.len() == pattern.len() {
            true => Kinds::All,
            false => Kinds::Dirs,
        };
        let path = trimmed.strip_suffix("/**").unwrap_or(trimmed);
        let glob = PathGlob::all(path.trim_start_matches('/'));
        Some(Self {
            base: base.trim_start_matches('/').to_owned(),
            names: match path.contains('/') {
                true => Names::All(glob),
                false => Names::Last(glob),
            },
            kinds,
            effect,
            len: pattern.len(),
        })
    }

    pub(super) fn matches(&self, path: &str, kind: Kind) -> bool {
        if kind == Kind::File && self.kinds == Kinds::Dirs {
            return false;
        }
        let Some(path) = path.strip_prefix(&self.base) else {
            return false;
        };
        match &self.names {
            Names::All(pattern) => pattern.matches(path),
            Names::Last(pattern) => pattern.matches(path.rsplit('/').next().unwrap_or(path)),
        }
    }
}
