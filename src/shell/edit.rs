//! Programs that change files in place, or write what no row of the table can say.

use super::args::{Args, Options};
use super::eval::{Ran, Shell};
use super::field::{Field, base_name, dir_name, join};
use super::targets::is_device;
use crate::base::target::Act;

/// `tee [-a] FILE…`
pub(super) fn tee(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let args = Args::parse(args, Options::default());
    let act = if args.has("a append") {
        Act::Edit
    } else {
        Act::Write
    };
    let output = shell.stdin.clone();
    args.operands
        .iter()
        .for_each(|file| shell.write(file, act, output.as_ref()));
    Ran {
        output,
        ..Ran::silent()
    }
}

const CURL: &str = "output output-dir dump-header header data request url user form cookie cookie-jar user-agent \
    write-out max-time connect-timeout retry proxy";

/// `curl -o FILE`, or `-O` under the name at the end of the URL.
pub(super) fn curl(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let own = Args::parse(args, Options::of("odDHXuAebcmFTwxrKQt", CURL));
    let mut files: Vec<Field> = own.values("o output").cloned().collect();
    if own.has("O remote-name remote-name-all") {
        files.extend(own.operands.iter().map(|url| url.base_name()));
    }
    if let Some(dir) = own.value("output-dir") {
        files.iter_mut().for_each(|file| *file = dir.join(file));
    }
    shell.report_all(&files, Act::Write);
    shell.report_all(own.values("D dump-header c cookie-jar"), Act::Write);
    Ran::unknown()
}

/// `wget -O FILE`, or under the name at the end of the URL, in the directory of `-P`.
pub(super) fn wget(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    const VALUES: &str =
        "output-document directory-prefix output-file append-output timeout tries header";
    let own = Args::parse(args, Options::of("OoPaiUTtQe", VALUES));
    shell.report_all(own.values("O output-document o output-file"), Act::Write);
    if !own.has("O output-document spider") {
        let dir = own.value("P directory-prefix");
        for url in &own.operands {
            let name = url.base_name();
            shell.report(&dir.map_or(name.clone(), |dir| dir.join(&name)), Act::Write);
        }
    }
    Ran::unknown()
}

/// `dd of=FILE`
pub(super) fn dd(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    for arg in args {
        let file = arg.text.strip_prefix("of=").map(|file| arg.with_text(file));
        shell.report_all(&file, Act::Write);
    }
    Ran::unknown()
}

pub(super) fn sed(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let (others, suffix) = without_in_place(args);
    let args = Args::parse(&others, Options::of("efl", "expression file"));
    let mut operands = args.operands.iter();
    let mut scripts: Vec<&Field> = args.values("e expression").collect();
    if args.has("f file") {
        shell.unknown_write();
    } else if scripts.is_empty() {
        scripts.extend(operands.next());
    }
    for script in scripts {
        let files = script.text.lines().filter_map(sed_output);
        for file in files.filter(|file| !is_device(file)) {
            shell.report(&script.with_text(file), Act::Write);
        }
    }
    if let Some(suffix) = suffix {
        let files: Vec<Field> = operands.map(|file| (*file).clone()).collect();
        in_place(shell, &files, &suffix);
    }
    Ran::unknown()
}

/// The file that `w` or `s///w` at the end of a sed script's line names.
fn sed_output(line: &str) -> Option<&str> {
    let (before, file) = line.rsplit_once("w ")?;
    let is_flag = before.ends_with(|c: char| c.is_ascii_digit() || "/|#,;{gpiI$! ".contains(c));
    if !before.is_empty() && !is_flag {
        return None;
    }
    let name = file.trim_matches(['}', ' ']);
    (!name.ends_with('/')).then_some(name)
}

/// Takes `-i` out of the arguments; gives the suffix behind it.
pub(super) fn without_in_place(args: &[Field]) -> (Vec<Field>, Option<String>) {
    let (mut others, mut suffix) = (Vec::new(), None);
    // BSD has the suffix in an argument of its own: `-i ''`.
    for arg in args.iter().filter(|arg| !arg.text.is_empty()) {
        match in_place_option(&arg.text) {
            Some((letters, kept)) if suffix.is_none() => {
                // `-ie` of Perl goes on with code; of sed it is rather `-i -e` than a suffix.
                let (kept, more) = match kept.strip_suffix('e') {
                    Some(kept) => (kept, "e"),
                    None => (kept, ""),
                };
                suffix = Some(kept.to_owned());
                let letters = format!("{letters}{more}");
                others.extend((letters.len() > 1).then(|| arg.with_text(letters)));
            }
            _ => others.push(arg.clone()),
        }
    }
    (others, suffix)
}

/// The letters before `-i` in its cluster, and the suffix behind it.
fn in_place_option(arg: &str) -> Option<(&str, &str)> {
    if let Some(long) = arg.strip_prefix("--in-place") {
        return Some(("-", long.trim_start_matches('=')));
    }
    let at = arg.strip_prefix('-')?.find('i')? + 1;
    let (letters, behind) = arg.split_at(at);
    let mut bytes = letters[1..].bytes();
    bytes
        .all(|byte| byte.is_ascii_digit() || b"nErszuwpal".contains(&byte))
        .then(|| (letters, &behind[1..]))
}

/// Files that are edited in place. With a suffix each is kept beside.
pub(super) fn in_place(shell: &mut Shell<'_>, files: &[Field], suffix: &str) {
    for file in shell.all_found(files) {
        shell.report(&file, Act::Edit);
        keep_beside(shell, &file, suffix);
    }
}

/// The copy of a file that is kept: its suffix may hold a `*` for the file's name.
fn keep_beside(shell: &mut Shell<'_>, file: &Field, suffix: &str) {
    let name = base_name(&file.text);
    let kept = match suffix {
        "" => return,
        suffix if suffix.contains('*') => suffix.replace('*', name),
        suffix => format!("{name}{suffix}"),
    };
    let kept = file.with_text(join(dir_name(&file.text), &kept));
    shell.report(&kept, Act::Write);
}

/// `split FILE PREFIX`: the first of the files that it makes.
pub(super) fn split(shell: &mut Shell<'_>, args: &Args<'_>) {
    let x = Field::literal("x");
    let prefix = args.operands.get(1).map_or(&x, |prefix| *prefix);
    let mut first = prefix.clone();
    first.push(&Field::literal("aa"));
    shell.report(&first, Act::Write);
}

/// `patch [-o FILE] [FILE]`, else what the headers of its input name.
pub(super) fn patch(shell: &mut Shell<'_>, args: &Args<'_>) {
    let file = args.value("o output").or(args.operands.first().copied());
    if args.has("dry-run C check") {
        return;
    }
    let patch = match args.value("i input") {
        _ if file.is_some() => None,
        Some(file) => shell.content(file),
        None => shell.stdin.clone(),
    };
    let strip = args.value("p strip").and_then(|n| n.text.parse().ok());
    let files = match file {
        Some(file) => vec![file.clone()],
        None => patched(shell, patch, strip),
    };
    shell.report_all(&files, Act::Edit);
}

/// The files that a patch changes; one that is not known may change any.
pub(super) fn patched(
    shell: &mut Shell<'_>,
    patch: Option<Field>,
    strip: Option<usize>,
) -> Vec<Field> {
    let Some(patch) = patch else {
        shell.unknown_write();
        return Vec::new();
    };
    let lines = patch.text.lines();
    let headers = lines.filter_map(|line| line.strip_prefix("+++ "));
    let files = headers.filter_map(|header| {
        let path = header.split('\t').next()?;
        let file = match strip {
            Some(n) => path.splitn(n + 1, '/').nth(n)?,
            None => base_name(path),
        };
        (path != "/dev/null").then(|| patch.with_text(file))
    });
    files.collect()
}

/// `tar -cf FILE`; the members of an archive that is unpacked are not known.
pub(super) fn tar(shell: &mut Shell<'_>, args: &[Field]) -> Ran {
    let mut dashed = args.to_vec();
    // `tar czf FILE`: a cluster without its dash.
    if let Some(first) = dashed
        .first_mut()
        .filter(|first| !first.text.starts_with('-'))
    {
        first.text.insert(0, '-');
    }
    let args = Args::parse(
        &dashed,
        Options::of("fCXTbIH", "file directory exclude transform"),
    );
    if args.has("x extract get") {
        shell.unknown_write();
    } else if args.has("c r u A create append update") {
        let files = args.values("f file").filter(|file| !file.is("-"));
        shell.report_all(files, Act::Write);
        if args.has("remove-files") {
            let dir = args.value("C directory");
            for member in &args.operands {
                let member = dir.map_or_else(|| (*member).clone(), |dir| dir.join(member));
                shell.report(&member, Act::RemoveTree);
            }
        }
    }
    Ran::unknown()
}

/// A database is written where a statement changes it.
pub(super) fn sqlite(shell: &mut Shell<'_>, args: &Args<'_>) {
    const CHANGES: [&str; 6] = ["alter", "create", "delete", "drop", "insert", "update"];
    let Some((database, statements)) = args.operands.split_first() else {
        return;
    };
    let mut texts = statements.iter().copied().chain(shell.stdin.as_ref());
    let is_changed = texts.any(|text| {
        let lowered = text.text.to_lowercase();
        CHANGES.iter().any(|word| lowered.contains(word))
    });
    if is_changed {
        shell.report(database, Act::Edit);
    }
    shell.unknown_write();
}
