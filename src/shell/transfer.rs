//! Commands that copy, move and link files to other places.

use ecow::EcoString;

use super::Kind;
use super::args::{Args, Syntax};
use super::clean::{Rule, clear_except, rules};
use super::download::local_name;
use super::eval::Shell;
use super::field::{Field, HERE, base_name, join};
use crate::base::path::{collapse, relative};
use crate::base::target::Act;
use crate::systems::system;

/// Options of `rsync` that choose files in ways that are not followed.
const FILTERS: [&str; 8] = [
    "C",
    "F",
    "f",
    "exclude-from",
    "files-from",
    "filter",
    "include",
    "include-from",
];

/// What an entry of a tree costs of the budget.
const ENTRY_COST: usize = 1 << 10;

pub(super) const RSYNC: Syntax = Syntax::of(
    "efBMT",
    &[
        "exclude",
        "include",
        "filter",
        "files-from",
        "rsh",
        "exclude-from",
        "include-from",
        "chmod",
        "max-size",
        "min-size",
        "temp-dir",
        "backup-dir",
        "port",
        "bwlimit",
    ],
);

/// One file that is copied, moved or linked, and where it comes to lie.
struct Transfer {
    from: Field,
    to: Field,
}

impl Shell<'_> {
    fn is_dir(&self, field: &Field) -> bool {
        let is_dir = |path: &str| path.ends_with('/') || is_content(path) || self.holds_dir(path);
        field.known().is_some_and(is_dir)
    }

    pub(super) fn holds_dir(&self, path: &str) -> bool {
        let path = self.absolute(path);
        path.is_some_and(|path| self.found.makes_dir(&path) || self.scene.disk.is_dir(&path))
    }

    /// Where a file comes to lie when it is copied to `to`.
    pub(super) fn destination(&self, from: &Field, to: &Field) -> Field {
        if self.is_dir(to) {
            inside(to, from)
        } else {
            to.clone()
        }
    }

    /// What comes to lie at a place: a file, or a directory with what is in it.
    pub(super) fn carry(&mut self, from: &Field, to: &Field) {
        let text = self.written(from);
        self.lay(from, to, text, &[]);
    }

    /// `text` is what a file holds, as far as that is known.
    fn lay(&mut self, from: &Field, to: &Field, text: Option<EcoString>, spared: &[Rule]) {
        if !self.is_dir(from) {
            self.report_text(to, Act::Write, text);
            return;
        }
        if !to.known().is_some_and(|to| self.holds_dir(to)) {
            self.report(to, Act::MakeDir);
        }
        if let Some(dir) = from.known() {
            self.lay_tree(dir, to, spared);
        }
    }

    /// The files of a tree that come to lie in governed places. Where such a place cannot
    /// be, only the directories count in which one begins.
    fn lay_tree(&mut self, dir: &str, to: &Field, spared: &[Rule]) {
        let Some(place) = to.known().and_then(|to| self.absolute(to)) else {
            return;
        };
        let place = self.found.follow(&place, Act::Write).unwrap_or(place);
        // What patterns count from.
        let root = dir.rfind('/').map_or(0, |at| at + 1);
        let mut todo = vec![(dir.to_owned(), collapse(&place).into_owned())];
        while let Some((from, to)) = todo.pop() {
            let Some(at) = self.absolute(&from) else {
                return;
            };
            if is_copy_below(&collapse(&at), &to) {
                continue;
            }
            let is_open = system::may_begin_in(&to) || is_place(&to);
            let names = match is_open {
                true => self.list(&at),
                false => system::outer_dirs()
                    .iter()
                    .map(|dir| (*dir).to_owned())
                    .collect(),
            };
            for name in names {
                let (from, to) = (join(&from, &name), join(&to, &name));
                let kind = match self.holds_dir(&from) {
                    true => Kind::Dir,
                    false => Kind::File,
                };
                let below = from.get(root..).unwrap_or("");
                let is_spared = spared.iter().any(|rule| rule.matches(below, kind));
                match kind {
                    _ if is_spared || !self.spend(ENTRY_COST) => {}
                    Kind::Dir if system::may_begin_in(&to) || is_place(&to) => {
                        todo.push((from, to));
                    }
                    Kind::File if is_open => {
                        let text = self.written(&Field::literal(from));
                        self.report_text(&Field::literal(to), Act::Write, text);
                    }
                    Kind::Dir | Kind::File => {}
                }
            }
        }
    }

    /// Sources and destinations, whether the destination is a directory or not.
    fn transfers(&mut self, args: &Args<'_>) -> Vec<Transfer> {
        let target_dir = args.value(&["t", "target-directory"]);
        let (sources, last) = match (target_dir, args.operands.split_last()) {
            (Some(dir), _) => (args.operands.as_slice(), dir),
            (None, Some((last, sources))) => (sources, last),
            (None, None) => return Vec::new(),
        };
        let into = target_dir.is_some()
            || sources.len() > 1
            || (!args.has(&["T", "no-target-directory"]) && self.is_dir(last));
        let place = |from: &Field| match into {
            _ if args.has(&["parents"]) => below(last, from),
            true if !is_content(&from.text) => inside(last, from),
            _ => last.clone(),
        };
        let transfer = |from: &Field| Transfer {
            to: place(from),
            from: from.clone(),
        };
        let transfers: Vec<Transfer> = sources.iter().map(transfer).collect();
        self.keep_copies(args, &transfers);
        transfers
    }

    /// `-b` and `-S`: what is replaced is kept beside.
    fn keep_copies(&mut self, args: &Args<'_>, transfers: &[Transfer]) {
        let kind = args.value(&["backup"]).and_then(Field::known);
        let suffix = match (kind, args.value(&["S", "suffix"])) {
            (Some("none" | "off"), _) => return,
            (Some("t" | "numbered"), _) => ".~1~",
            (_, Some(suffix)) => suffix.known().unwrap_or(""),
            (_, None) if args.has(&["b", "backup"]) => "~",
            (_, None) => return,
        };
        for Transfer { to, .. } in transfers {
            let at = to.known().and_then(|to| self.absolute(to));
            let exists = at.is_some_and(|at| self.scene.disk.exists(&at));
            if exists && !suffix.is_empty() {
                let copy = format!("{}{suffix}", to.text);
                self.report(&to.with_text(copy), Act::Write);
            }
        }
    }
}

/// `dir/.` stands for what is in the directory.
fn is_content(path: &str) -> bool {
    matches!(base_name(path), "." | "..")
}

/// Whether a governed place goes, under its own name, to somewhere below the directory
/// that it lies in: a copy of it that nobody takes for another.
pub(super) fn is_copy_below(from: &str, to: &str) -> bool {
    let ends = from.rsplit('/').zip(to.rsplit('/'));
    let same = ends.take_while(|(one, other)| one == other);
    let common: usize = same.map(|(name, _)| name.len() + 1).sum();
    let split = |path: &'_ str| path.len().checked_sub(common);
    let (Some(root), Some(around)) = (split(from), split(to)) else {
        return false;
    };
    let (root, tail) = from.split_at(root);
    let is_below = around > root.len() && relative(&to[..around], root).is_some();
    is_below && (system::may_begin_in(tail) || is_place(tail))
}

/// Whether what lies in a directory lies in a governed place.
pub(super) fn is_place(dir: &str) -> bool {
    system::are_named_in(&format!("{dir}/"))
}

/// A file's whole path in a directory.
fn below(dir: &Field, file: &Field) -> Field {
    let mut to = dir.with_text(format!("{}/", dir.text.trim_end_matches('/')));
    to.push(file);
    to
}

/// The file's own name in a directory. A name that is not known leaves the
/// destination unknown too, and so does a glob that found nothing.
pub(super) fn inside(dir: &Field, file: &Field) -> Field {
    let mut to = dir.clone();
    if !to.text.ends_with('/') {
        to.text.push('/');
    }
    let name = file.known().map(base_name);
    match name.filter(|name| !name.contains(['*', '?'])) {
        Some(name) => to.push(&file.with_text(name)),
        None => to.push(&Field::unknown()),
    }
    to
}

pub(super) fn copy(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["d", "directory"]) && !args.has(&["a", "r", "R", "p", "f"]) {
        // `install -d` makes directories.
        shell.report_all(&args.operands, Act::MakeDir);
        return;
    }
    let links = args.has(&["s", "symbolic-link"]);
    for Transfer { from, to } in shell.transfers(args) {
        if links && !shell.is_dir(&from) {
            shell.report_link(&to, &from);
        } else {
            shell.carry(&from, &to);
        }
    }
}

/// `scp`: what comes from another host keeps its name there.
pub(super) fn remote_copy(shell: &mut Shell<'_>, args: &Args<'_>) {
    let Some((last, sources)) = args.operands.split_last() else {
        return;
    };
    if last.known().is_some_and(is_remote) {
        return;
    }
    for from in sources {
        let to = shell.destination(&local_name(from), last);
        shell.report(&to, Act::Write);
    }
}

/// `host:path`.
fn is_remote(path: &str) -> bool {
    let host = path.split_once(':').map(|(host, _)| host);
    host.is_some_and(|host| host.len() > 1 && !host.contains('/'))
}

pub(super) fn rename(shell: &mut Shell<'_>, args: &Args<'_>) {
    for Transfer { from, to } in shell.transfers(args) {
        let text = shell.written(&from);
        shell.report(&from, Act::MoveAway);
        shell.lay(&from, &to, text, &[]);
    }
}

pub(super) fn link(shell: &mut Shell<'_>, args: &Args<'_>) {
    let symbolic = args.has(&["s", "symbolic"]);
    let transfers = match args.operands.as_slice() {
        [only] => vec![Transfer {
            from: only.clone(),
            to: inside(&HERE, only),
        }],
        _ => shell.transfers(args),
    };
    for Transfer { from, to } in transfers {
        if symbolic {
            shell.report_link(&to, &from);
        } else {
            shell.report_hard_link(&to, &from);
        }
    }
}

pub(super) fn hard_link(shell: &mut Shell<'_>, args: &Args<'_>) {
    if let [from, to] = args.operands.as_slice() {
        shell.report_hard_link(to, from);
    }
}

pub(super) fn rsync(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["n", "dry-run", "list-only"]) {
        return;
    }
    let Some((last, sources)) = args.operands.split_last() else {
        return;
    };
    if sources.is_empty() || last.known().is_some_and(is_remote) {
        return;
    }
    let deletes = [
        "del",
        "delete",
        "delete-before",
        "delete-after",
        "delete-during",
        "delete-delay",
        "delete-excluded",
    ];
    if args.has(&deletes) {
        let excluded = args.values(&["exclude"]);
        let kept = !args.has(&["delete-excluded"]);
        clear_except(shell, last, &mut excluded.filter(|_| kept));
    }
    let all = Field::literal("*");
    let unknown = Some(&all).filter(|_| args.has(&FILTERS));
    let spared = rules(&mut args.values(&["exclude"]).chain(unknown));
    for source in sources {
        // A source with a trailing slash gives its content.
        let into = sources.len() > 1 || shell.is_dir(source) || shell.is_dir(last);
        let to = match local_name(source) {
            _ if source.text.ends_with('/') || is_content(&source.text) || !into => last.clone(),
            file if args.has(&["R", "relative"]) => below(last, &file),
            file => inside(last, &file),
        };
        shell.lay(source, &to, None, &spared);
        if args.has(&["remove-source-files"]) {
            shell.report(source, Act::MoveAway);
        }
    }
    shell.report_all(args.value(&["log-file"]), Act::Edit);
}
