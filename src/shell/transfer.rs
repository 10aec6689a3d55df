//! Commands that copy, move and link files to other places.

use super::args::{Args, Syntax};
use super::clean::clear_except;
use super::download::local_name;
use super::eval::Shell;
use super::field::{Field, base_name};
use crate::target::Act;

pub(super) const RSYNC: Syntax = Syntax {
    short: "efBMT",
    attached: "",
    long: &[
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
};

/// One file that is copied, moved or linked, and where it comes to lie.
struct Transfer {
    from: Field,
    to: Field,
}

impl Shell<'_> {
    fn is_dir(&self, field: &Field) -> bool {
        let known = field.known();
        known.is_some_and(|path| {
            path.ends_with('/') || path == "." || path == ".." || path.ends_with("/..")
        }) || known.is_some_and(|path| self.holds_dir(path))
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

    /// Sources and destinations, whether the destination is a directory or not.
    fn transfers(&mut self, args: &Args<'_>) -> Vec<Transfer> {
        let target_dir = args.value(&["t", "target-directory"]);
        let (sources, last) = match (target_dir, args.operands.split_last()) {
            (Some(dir), _) => (args.operands.as_slice(), dir),
            (None, Some((last, sources))) => (sources, last),
            (None, None) => return Vec::new(),
        };
        let no_target_directory = args.has(&["T", "no-target-directory"]);
        let into = target_dir.is_some()
            || sources.len() > 1
            || (!no_target_directory && self.is_dir(last));
        // One directory copied onto another: what is in it comes to lie there.
        let whole;
        let (into, sources) = match (into, sources) {
            (false, [dir]) if no_target_directory && self.is_dir(dir) && self.is_dir(last) => {
                let dir = dir.text.trim_end_matches('/');
                whole = [sources[0].with_text(format!("{dir}/."))];
                (true, &whole[..])
            }
            _ => (into, sources),
        };
        let place = |from: Field| Transfer {
            to: if into {
                inside(last, &from)
            } else {
                last.clone()
            },
            from,
        };
        let sources = sources.iter().flat_map(|source| self.content_of(source));
        let transfers: Vec<Transfer> = sources.map(place).collect();
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
            let exists = at.is_some_and(|at| self.scene.disk.text(&at).is_some());
            if exists && !suffix.is_empty() {
                let copy = format!("{}{suffix}", to.text);
                self.report(&to.with_text(copy), Act::Write);
            }
        }
    }

    /// `dir/.` stands for what is in the directory.
    fn content_of(&mut self, source: &Field) -> Vec<Field> {
        match source.text.strip_suffix('.') {
            Some(dir) if dir.ends_with('/') || dir.is_empty() => {
                let all = source.with_text(format!("{dir}*"));
                self.wildcards(&[all])
            }
            _ => vec![source.clone()],
        }
    }
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
        if links {
            shell.report_link(&to, &from);
        } else {
            let text = shell.written(&from);
            shell.report_text(&to, Act::Write, text);
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
        shell.report_text(&to, Act::Write, text);
    }
}

pub(super) fn link(shell: &mut Shell<'_>, args: &Args<'_>) {
    let symbolic = args.has(&["s", "symbolic"]);
    let transfers = match args.operands.as_slice() {
        [only] => vec![Transfer {
            from: only.clone(),
            to: inside(&Field::literal("."), only),
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
        clear_except(shell, last, excluded.filter(|_| kept));
    }
    for source in sources {
        // A source with a trailing slash gives its content.
        let content = source.text.ends_with('/');
        let files = match content {
            true => shell.content_of(&source.with_text(format!("{}.", source.text))),
            false => vec![source.clone()],
        };
        for file in files {
            let into = content || sources.len() > 1 || shell.is_dir(last);
            let to = if into {
                inside(last, &local_name(&file))
            } else {
                last.clone()
            };
            shell.report(&to, Act::Write);
        }
        if args.has(&["remove-source-files"]) {
            shell.report(source, Act::MoveAway);
        }
    }
    if let Some(log) = args.value(&["log-file"]) {
        shell.report(&log.clone(), Act::Edit);
    }
}
