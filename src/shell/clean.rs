//! `git clean` and `rsync --delete`: what they take away, and what exclusions spare.

use super::args::Args;
use super::eval::Shell;
use super::field::Field;
use super::glob::{Pattern, all_active};
use crate::target::Act;

/// How deep, and how many directories, the tree is searched for what is spared.
const MAX_DEPTH: usize = 5;
const MAX_DIRS: usize = 128;

/// One line of a `.gitignore`, or of `-e`.
struct Rule {
    /// The directory the line counts in, from the repository's root; ends with `/`.
    base: String,
    pattern: String,
    effect: Effect,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Spares,
    /// `!pattern`.
    Exposes,
}

struct Cleaning<'h, 's> {
    shell: &'h mut Shell<'s>,
    /// The repository's root.
    root: String,
    rules: Vec<Rule>,
    /// The patterns of `-e`, which win over all files.
    excluded: Vec<Rule>,
    /// Whether `.gitignore` counts.
    ignores: bool,
    dirs_left: usize,
}

/// Reports the directories that would be cleared, less what is spared.
pub(super) fn clean(shell: &mut Shell<'_>, args: &Args) {
    if !args.has(&["f", "force"]) || args.has(&["n", "dry-run"]) {
        return;
    }
    let here = [Field::literal(".")];
    let paths = match args.operands.as_slice() {
        [] => &here,
        paths => paths,
    };
    let Some(root) = shell.cwd.clone().map(|cwd| repository(shell, &cwd)) else {
        shell.report_all(paths, Act::Clear);
        return;
    };
    // `-X` takes the ignored entries, and them only.
    let only_ignored = args.has(&["X"]);
    let excluded = args.values(&["e", "exclude"]).filter(|_| !only_ignored);
    let mut cleaning = Cleaning {
        shell,
        root,
        rules: Vec::new(),
        excluded: excluded
            .filter_map(|field| Rule::parse(field.known()?, "/"))
            .collect(),
        ignores: !only_ignored && !args.has(&["x"]),
        dirs_left: MAX_DIRS,
    };
    cleaning.read_rules(".git/info/exclude", "/");
    for path in paths {
        cleaning.path(path);
    }
}

/// `rsync --delete --exclude PATTERN`: what is in the directory, less what the
/// patterns spare.
pub(super) fn clear_except<'f>(
    shell: &mut Shell<'_>,
    dir: &Field,
    excluded: impl Iterator<Item = &'f Field>,
) {
    let root = dir.known().and_then(|dir| shell.absolute(dir));
    let excluded: Vec<Rule> = excluded
        .filter_map(|field| Rule::parse(field.known()?, "/"))
        .collect();
    let Some(root) = root.filter(|_| !excluded.is_empty()) else {
        shell.report(dir, Act::Clear);
        return;
    };
    let mut cleaning = Cleaning {
        root: super::report::clean(&root).trim_end_matches('/').to_owned(),
        shell,
        rules: Vec::new(),
        excluded,
        ignores: false,
        dirs_left: MAX_DIRS,
    };
    cleaning.path(dir);
}

/// The nearest directory upwards with an entry `.git`, or the directory itself.
fn repository(shell: &mut Shell<'_>, cwd: &str) -> String {
    let mut dir = cwd.trim_end_matches('/');
    loop {
        if shell.list(dir).iter().any(|name| name == ".git") {
            return dir.to_owned();
        }
        match dir.rsplit_once('/') {
            Some((parent, _)) => dir = parent,
            None => return cwd.to_owned(),
        }
    }
}

impl Cleaning<'_, '_> {
    fn read_rules(&mut self, file: &str, base: &str) {
        let path = format!("{}/{file}", self.root);
        if let Some(text) = self.shell.scene.disk.text(&path).filter(|_| self.ignores) {
            let lines = text.lines().map(str::trim_end);
            self.rules
                .extend(lines.filter_map(|line| Rule::parse(line, base)));
        }
    }

    /// One path of the command line.
    fn path(&mut self, path: &Field) {
        let at = path.known().and_then(|path| self.shell.absolute(path));
        let below = at.as_deref().map(super::report::clean);
        let below = below
            .as_deref()
            .and_then(|at| at.strip_prefix(self.root.as_str()));
        let Some(below) = below.map(|below| below.trim_matches('/').to_owned()) else {
            self.shell.report(path, Act::Clear);
            return;
        };
        // The rules of the directories on the way count as well.
        self.read_rules(".gitignore", "/");
        let mut spared = false;
        for (end, _) in below.match_indices('/').chain([(below.len(), "")]) {
            let dir = below.get(..end).unwrap_or("");
            if !dir.is_empty() {
                spared |= self.spares(dir);
                self.read_rules(&format!("{dir}/.gitignore"), &format!("/{dir}/"));
            }
        }
        if spared {
            return;
        }
        match self.cleared(&below, 0) {
            None => drop(self.shell.report(path, Act::Clear)),
            Some(dirs) => {
                for dir in dirs {
                    let dir = Field::literal(format!("{}/{dir}", self.root));
                    self.shell.report(&dir, Act::Clear);
                }
            }
        }
    }

    /// The directories below that are cleared; `None` where all of it is.
    fn cleared(&mut self, dir: &str, depth: usize) -> Option<Vec<String>> {
        if depth == MAX_DEPTH || self.dirs_left == 0 {
            return None;
        }
        self.dirs_left -= 1;
        let at = format!("{}/{dir}", self.root);
        let names = self.shell.list(at.trim_end_matches('/'));
        if depth > 0 && names.iter().any(|name| name == ".gitignore") {
            self.read_rules(&format!("{dir}/.gitignore"), &format!("/{dir}/"));
        }
        let mut cleared = Vec::new();
        let mut is_whole = true;
        for name in names.iter().filter(|name| *name != ".git") {
            let path = format!("{dir}/{name}").trim_start_matches('/').to_owned();
            if !self
                .shell
                .scene
                .disk
                .is_dir(&format!("{}/{path}", self.root))
            {
                continue;
            }
            if self.spares(&path) {
                is_whole = false;
                continue;
            }
            match self.cleared(&path, depth + 1) {
                None => cleared.push(path),
                Some(dirs) => {
                    is_whole = false;
                    cleared.extend(dirs);
                }
            }
        }
        (!is_whole).then_some(cleared)
    }

    /// The last rule that matches decides.
    fn spares(&mut self, path: &str) -> bool {
        if !self
            .shell
            .spend(4 * (self.rules.len() + self.excluded.len()))
        {
            return false;
        }
        let rules = self.rules.iter().chain(&self.excluded);
        let found = rules.rev().find(|rule| rule.matches(path));
        found.is_some_and(|rule| rule.effect == Effect::Spares)
    }
}

impl Rule {
    fn parse(line: &str, base: &str) -> Option<Self> {
        let (pattern, effect) = match line.strip_prefix('!') {
            Some(pattern) => (pattern, Effect::Exposes),
            None => (line, Effect::Spares),
        };
        let counts = !pattern.is_empty() && !pattern.starts_with('#');
        counts.then(|| Self {
            base: base.to_owned(),
            pattern: pattern.to_owned(),
            effect,
        })
    }

    /// A pattern with a slash in front or within counts from its base, any
    /// other at every depth.
    fn matches(&self, path: &str) -> bool {
        let Some(path) = format!("/{path}")
            .strip_prefix(&self.base)
            .map(str::to_owned)
        else {
            return false;
        };
        let pattern = self.pattern.trim_end_matches('/');
        let pattern = pattern.strip_suffix("/**").unwrap_or(pattern);
        let anchored = pattern.contains('/');
        let pattern: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
        let names: Vec<&str> = path.split('/').collect();
        match anchored {
            true => components(&pattern, &names),
            false => names
                .last()
                .is_some_and(|name| components(&pattern, &[name])),
        }
    }
}

fn components(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern, names) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=names.len()).any(|n| components(rest, &names[n..])),
        ([first, rest @ ..], [name, names @ ..]) => {
            let active = all_active(first);
            let glob = Pattern {
                text: first,
                active: &active,
                offset: 0,
            };
            glob.matches(name) && components(rest, names)
        }
        _ => false,
    }
}
