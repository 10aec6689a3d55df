//! From a shell command's text to the paths it would change.
//!
//! The command is parsed and evaluated, never searched: quoted, echoed, committed and commented
//! text is no write. It is read as far as agents really write commands, no further: what cannot
//! be known without running it gives no target, and [`Analysis::programs`] says so.

mod args;
mod brace;
mod builtins;
mod client_script;
mod command;
mod compound;
mod copy;
#[cfg(test)]
mod corpus_tests;
mod edit;
mod eval;
pub mod excerpt;
mod expand;
mod field;
mod find;
mod git;
mod glob;
#[cfg(test)]
mod hostile_tests;
mod inline;
mod lex;
mod nested;
mod obscure;
mod own;
mod parameter;
mod parse;
mod powershell;
mod print;
mod readers;
mod simple;
mod state;
mod syntax;
mod targets;
pub mod test_line;
mod test_tools;
mod wrappers;
mod writers;

pub use own::{OwnCommand, Stdin};

use std::borrow::Cow;
use std::fmt;

use crate::base::disk::cache::Disk;
use crate::base::env::Env;
use crate::base::target::{Target, Text};

/// The surroundings of a call while its targets are worked out.
pub struct Scene<'a> {
    pub cwd: &'a str,
    pub env: &'a Env,
    pub disk: &'a dyn Disk,
}

/// What a command would do, as far as it was read.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Absolute paths, `.` and `..` left in, in the order in which they are changed.
    pub targets: Vec<Target>,
    /// Why it was not read to its end: the rest may change more.
    pub limit: Option<Limit>,
    /// The programs that may change more than the targets.
    pub programs: Vec<String>,
    /// Whether one of the programs may be another than its name says, or is given words that are
    /// not known.
    pub is_obscure: bool,
    /// Whether version control may bring files of other revisions.
    pub checks_out: bool,
    /// The commands of this program's own that it runs.
    pub own_commands: Vec<OwnCommand>,
}

impl Analysis {
    /// Of a call that changes these and nothing else.
    pub fn of(targets: Vec<Target>) -> Self {
        Self {
            targets,
            ..Self::default()
        }
    }
}

/// Why a command was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Syntax,
    Depth,
    Steps,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, bound, what) = match self {
            Self::Syntax => return out.write_str("it has a syntax error"),
            Self::Depth => ("nests deeper than", lex::MAX_DEPTH, "levels"),
            Self::Steps => ("takes more than", eval::STEPS, "steps"),
        };
        write!(out, "it {verb} {bound} {what}")
    }
}

/// What a Bash command would change.
pub fn analyze(command: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene);
    if is_readable(command, &mut shell) {
        shell.run_all(&readable(command));
    }
    shell.into_analysis()
}

/// What the command in a script of the client's would change. Of another script all counts but
/// `sourced`, a file of the client's that it begins with.
pub fn analyze_script(script: &str, sourced: Option<&str>, scene: &Scene<'_>) -> Analysis {
    if let Some(command) = client_script::evaluated(script) {
        return analyze(&command, scene);
    }
    let mut shell = eval::Shell::new(scene);
    if let Some(file) = sourced {
        let known = Some(Text::Whole(String::new()));
        shell
            .made
            .insert(file.to_owned(), targets::Entry::File(known));
    }
    shell.run_all(&readable(script));
    shell.into_analysis()
}

/// The same for a PowerShell command; its paths come with `/`.
pub fn analyze_powershell(command: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene);
    if is_readable(command, &mut shell) {
        powershell::run(&mut shell, &readable(command));
    }
    shell.into_analysis()
}

/// What it would make to take a file or a tree to another path, or into a directory there.
pub fn carried(from: &str, to: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene);
    let [from, to] = [from, to].map(field::Field::literal);
    shell.carry(&from, &to, copy::NewDir::Searched);
    shell.into_analysis()
}

/// Whether a command can be read within the steps that one may take: to take a longer one into words
/// alone costs seconds.
fn is_readable(command: &str, shell: &mut eval::Shell<'_>) -> bool {
    let can_be = command.len() / 64 <= eval::STEPS;
    if !can_be {
        shell.give_up(Limit::Steps);
    }
    can_be
}

/// The text without the character that marks what is not known.
fn readable(command: &str) -> Cow<'_, str> {
    if command.contains(field::UNKNOWN) {
        Cow::Owned(command.replace(field::UNKNOWN, "\u{FFFD}"))
    } else {
        Cow::Borrowed(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::disk::cache::DirCache;

    #[test]
    fn programs_are_known_or_not() {
        let disk = DirCache::default();
        let scene = Scene {
            cwd: "/nowhere",
            env: &Env::default(),
            disk: &disk,
        };
        for (command, programs, checks_out) in [
            ("ls -la .devt/state && cat a | grep b", &[][..], false),
            ("git status; git log -3; git stash list", &[], false),
            ("echo x > a; rm -f b; X=c; rm -f $X", &[], false),
            ("curl -o x https://a; wget -O y b; command -v z", &[], false),
            ("rm -f $X", &["rm"], false),
            ("echo x > $X", &["echo"], false),
            ("cargo test 2>&1 | tail -5", &["cargo"], false),
            (
                "A=1 ./run.sh; sudo make; bash a.sh",
                &["a.sh", "make", "run.sh"],
                false,
            ),
            (
                "node /x/bin/devt-tools.cjs state",
                &["devt-tools.cjs"],
                false,
            ),
            (
                "python3 -c 'x'; echo $(ruby -e 'x')",
                &["python3", "ruby"],
                false,
            ),
            ("git add . && git checkout -- .", &["git"], true),
            ("git commit -m x", &["git"], false),
            ("if true; then jj new; fi", &["jj"], true),
            ("find . -exec foo {} +", &["foo"], false),
            ("find . -regex .*.md -delete", &["find"], false),
            (
                "unzip x -d y; prettier --write .",
                &["prettier", "unzip"],
                false,
            ),
        ] {
            let analysis = analyze(command, &scene);
            assert_eq!(analysis.programs, programs, "{command}");
            assert_eq!(analysis.checks_out, checks_out, "{command}");
        }
    }
}
