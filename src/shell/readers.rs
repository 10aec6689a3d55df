//! Programs that change no file: what they are told to read is no target, and nobody needs to
//! look at the disk behind them.

use super::args::{Args, Options, is_in};
use super::eval::{Output, Ran, Shell, Status};
use super::field::{Field, some_of, to_fields};
use super::print;

/// How these end says something about what they read.
const TESTS: &str = "cmp diff egrep fgrep grep hash pgrep rg type which zgrep";

const READERS: &str = "ack ag alias arch base32 base64 bat bc cal chgrp chmod chown cksum clear column comm cut date df \
    dig du exa expr factor fd file fmt fold free getconf getopts groups head hexdump history host hostname id \
    ifconfig jobs join jq kill last less locale ls lsattr lsblk lsof man md5sum more mount netstat nl nm nproc \
    objdump od paste pbcopy pbpaste ping pkill pr printenv ps readelf rev seq sha1sum sha256sum shasum shellcheck \
    shopt size sleep ss stat strings stty sum sync sysctl tac tail tokei top tput tr tree tty ulimit umask unalias \
    uname uptime w wait wc whatis whereis who whoami xdg-open yes zcat";

/// What leaves some of the lines that it reads out, nobody knows which.
const FILTERS: &str = "awk egrep fgrep grep";

/// What a filter lets through of a listing.
pub(super) fn filtered(shell: &Shell<'_>, name: &str, args: &[Field]) -> Option<Field> {
    let input = shell.stdin.as_ref()?;
    match name {
        "sort" => args.iter().all(Field::is_option).then(|| input.clone()),
        "head" | "tail" => match n_left(args, input.text.lines().count())? {
            0 => Some(Field::literal("")),
            1 => None,
            _ => Some(some_of(input)),
        },
        _ if is_in(FILTERS, name) && leaves_out(name, args) => Some(some_of(input)),
        _ => None,
    }
}

pub(super) fn run(shell: &mut Shell<'_>, name: &str, args: &[Field]) -> Option<Ran> {
    let status = match name {
        // The only one that runs others.
        "fd" if args.iter().any(|arg| is_in("-x -X --exec", &arg.text)) => return None,
        // It may write as well.
        "awk" => {
            shell.unknown_write();
            Status::Success
        }
        name if is_in(TESTS, name) => Status::Open,
        name if is_in(READERS, name) => Status::Success,
        _ => return None,
    };
    let output = match name {
        _ if shell.output == Output::Unread => None,
        "ls" => names_below(shell, args),
        _ => filtered(shell, name, args),
    };
    Some(Ran { status, output })
}

/// What `ls` prints of files and of one directory. Before the names its long form has more,
/// which nothing but a filter takes away again.
fn names_below(shell: &mut Shell<'_>, args: &[Field]) -> Option<Field> {
    let own = Args::parse(args, Options::of("IwT", "hide ignore"));
    if own.has("R recursive") {
        return None;
    }
    let dir = match own.operands.as_slice() {
        _ if own.has("d directory") => None,
        [] => Some(shell.place.cwd.clone()?),
        [only] => only
            .known()
            .filter(|path| shell.is_dir(path))
            .and_then(|path| shell.absolute(path)),
        _ => None,
    };
    let files: Vec<Field> = match dir {
        Some(dir) => {
            let mut names = shell.entries(&dir);
            names.retain(|name| own.has("a A all almost-all") || !name.starts_with('.'));
            to_fields(names)
        }
        None => own.operands.into_iter().cloned().collect(),
    };
    Some(print::joined(&files, '\n').line())
}

/// Whether a filter reads its input and leaves lines out of it, but for `grep PATTERN`, which
/// takes out a few: `grep -v PATTERN`, `awk 'NR>1'`.
fn leaves_out(name: &str, args: &[Field]) -> bool {
    let own = Args::parse(args, Options::of("efmABC", "regexp file"));
    let n_patterns = usize::from(own.value("e regexp f file").is_none());
    match name {
        "awk" => matches!(own.operands.as_slice(), [program] if !program.text.contains('{')),
        _ => own.has("v invert-match") && own.operands.len() <= n_patterns,
    }
}

/// How many of so many lines `head` or `tail` lets through; `None` where it reads files.
fn n_left(args: &[Field], n_lines: usize) -> Option<usize> {
    let own = Args::parse(args, Options::of("nc", "lines bytes"));
    if !own.operands.is_empty() || own.has("c bytes") {
        return None;
    }
    // `-5`
    let mut plain = args.iter().filter_map(|arg| arg.text.strip_prefix('-'));
    let plain = plain.find_map(|n| n.parse().ok());
    let n = match own.value("n lines").map(|n| n.text.as_str()) {
        None => plain.unwrap_or(10),
        Some(n) => match n.strip_prefix('+') {
            // From this line on.
            Some(first) => n_lines.saturating_sub(first.parse::<usize>().ok()?.saturating_sub(1)),
            None => n.trim_start_matches('-').parse().ok()?,
        },
    };
    Some(n.min(n_lines))
}
