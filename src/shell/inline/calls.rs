//! The calls that write, and what their values are made of, one row each.

use super::Language::{self, JavaScript, Perl, Python, Ruby};
use crate::base::target::Act;

/// What a call does with its arguments. What it is called on counts as the first of them where
/// that is a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes what its first argument names.
    Change(Act),
    /// Changes all that its arguments name.
    ChangeAll(Act),
    /// What is written or read is said by a mode behind the path.
    Open,
    Copy,
    Move,
    /// Makes a link at its second argument.
    Link,
    /// Changes who may do what with its arguments.
    Access,
    /// The same of all below them.
    AccessBelow,
    /// Runs a line, or a program with its arguments.
    Run,
    ChangeDir,
    /// Its value is a path of all arguments.
    Join,
    /// Its value is that of its argument.
    Same,
    /// Its value is where a program is.
    Place,
}

pub(super) fn effect(language: Language, receiver: &str, name: &str) -> Option<Effect> {
    let plain = name.strip_suffix("Sync").unwrap_or(name);
    change(language, receiver, plain).or_else(|| value(language, receiver, plain))
}

/// What changes files, or runs a command.
fn change(language: Language, receiver: &str, name: &str) -> Option<Effect> {
    use Effect::{Access, AccessBelow, Change, ChangeAll, Copy, Link, Move, Open, Run};
    Some(match (language, receiver, name) {
        (Python | Perl | JavaScript, _, "open") | (Ruby, "File" | "", "open" | "new") => Open,
        (Ruby, "File" | "IO", "write") | (JavaScript, "Bun", "write") => Change(Act::Write),
        (Python, _, "write_text" | "write_bytes" | "touch") => Change(Act::Write),
        (Python, object, "save" | "savefig") if !object.is_empty() => Change(Act::Write),
        (
            Python,
            _,
            "to_csv" | "to_excel" | "to_html" | "to_json" | "to_markdown" | "to_parquet",
        ) => Change(Act::Write),
        (Ruby, "FileUtils", "touch") => ChangeAll(Act::Write),
        (JavaScript, _, "writeFile" | "writeTextFile" | "createWriteStream" | "outputFile") => {
            Change(Act::Write)
        }
        (Perl | JavaScript, _, "truncate" | "appendFile") => Change(Act::Edit),
        (_, _, "unlink") | (Python, "os", "remove") => ChangeAll(Act::Remove),
        (Ruby, "File" | "FileUtils", "delete" | "rm" | "rm_f") => ChangeAll(Act::Remove),
        (_, _, "rmdir" | "removedirs") => Change(Act::Remove),
        (_, _, "rmtree" | "rm_rf" | "remove_tree") | (JavaScript, _, "rm" | "rimraf") => {
            Change(Act::RemoveTree)
        }
        (_, _, "mkdir" | "makedirs" | "mkdir_p" | "mkpath" | "make_path" | "ensureDir") => {
            Change(Act::MakeDir)
        }
        (Python, "shutil", "copy" | "copy2" | "copyfile" | "copytree") => Copy,
        (Python, _, "urlretrieve") => Copy,
        (Perl, _, "copy" | "cp") | (JavaScript, _, "copyFile" | "cp") => Copy,
        (Ruby, "FileUtils", "cp" | "cp_r" | "copy") => Copy,
        (_, _, "rename") | (Python, _, "replace") | (Python, "shutil", "move") => Move,
        (Perl, "", "move") | (Ruby, "FileUtils", "mv" | "move") => Move,
        (_, _, "symlink" | "ln_s" | "ln_sf") => Link,
        (_, _, "chmod_R" | "chown_R") => AccessBelow,
        (_, _, "chmod" | "chown" | "lchmod" | "lchown") => Access,
        (Python, "os", "system" | "popen") | (Perl | Ruby, "", "system" | "exec") => Run,
        (Python, "subprocess", "run" | "call" | "check_call" | "check_output" | "Popen") => Run,
        (JavaScript, "" | "child_process" | "cp" | "require", "exec" | "execFile" | "spawn") => Run,
        _ => return None,
    })
}

/// What gives a path or a text, or moves to another directory.
fn value(language: Language, receiver: &str, name: &str) -> Option<Effect> {
    use Effect::{ChangeDir, Join, Place, Same};
    Some(match (language, receiver, name) {
        (_, _, "chdir") => ChangeDir,
        (Python, _, "Path" | "PurePath" | "joinpath" | "join") => Join,
        (JavaScript, _, "join" | "resolve") | (Perl, _, "catfile" | "catdir") => Join,
        (Ruby, _, "join" | "Pathname") => Join,
        (Python, _, "str" | "resolve" | "absolute" | "expanduser" | "abspath" | "realpath") => Same,
        (JavaScript, _, "String" | "URL" | "normalize") => Same,
        (Ruby, _, "expand_path" | "to_s") => Same,
        (Python, "shutil", "which") => Place,
        _ => return None,
    })
}
