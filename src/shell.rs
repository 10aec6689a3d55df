//! From a shell command's text to the paths it would change.
//!
//! The command is parsed and evaluated, never searched: quoted, echoed, committed and commented
//! text is no write. It is read as far as agents really write commands, no further: what cannot
//! be known without running it gives no target, and [`Writes::Unknown`] says so.

mod args;
mod brace;
mod builtins;
mod command;
mod compound;
mod copy;
#[cfg(test)]
mod corpus;
mod edit;
mod eval;
mod expand;
mod field;
mod find;
mod git;
mod glob;
#[cfg(test)]
mod hostile;
mod inline;
mod lex;
mod nested;
mod own;
mod parameter;
mod parse;
mod powershell;
mod print;
mod readers;
mod simple;
mod state;
mod status;
mod syntax;
mod targets;
mod wrappers;
mod writers;

pub use status::decisive;

use std::borrow::Cow;
use std::fmt;

use crate::base::disk::cache::Disk;
use crate::base::target::Target;

/// What stands around a call while its targets are worked out.
pub struct Scene<'a> {
    pub cwd: &'a str,
    pub home: Option<&'a str>,
    /// `$CLAUDE_PROJECT_DIR`.
    pub project_dir: Option<&'a str>,
    /// `$CLAUDE_CONFIG_DIR`.
    pub config_dir: Option<&'a str>,
    /// `$FEATURE_DIR`.
    pub feature_dir: Option<&'a str>,
    pub disk: &'a dyn Disk,
}

/// What a command would do, as far as it was read.
#[derive(Debug)]
pub struct Analysis {
    /// Absolute paths, `.` and `..` left in, in the order in which they are changed.
    pub targets: Vec<Target>,
    pub extent: Extent,
    pub writes: Writes,
}

/// How far an analysis came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// What stands behind the place where it gave up may change more.
    Cut(Limit),
}

/// Whether a command can change what is not among its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// All programs that it runs are known, and where they write.
    Known,
    /// It runs a program that may write anything, or names what is not known, or was not read
    /// to its end.
    Unknown,
}

/// Why a command was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Syntax,
    Depth,
    Steps,
    Listings,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, bound, what) = match self {
            Self::Syntax => return out.write_str("it has a syntax error"),
            Self::Depth => ("nests deeper than", lex::MAX_DEPTH, "levels"),
            Self::Steps => ("takes more than", eval::STEPS, "steps"),
            Self::Listings => ("lists more than", eval::LISTINGS, "directories"),
        };
        write!(out, "it {verb} {bound} {what}")
    }
}

/// What a Bash command would change.
pub fn analyze(command: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene);
    shell.run_all(&readable(command));
    shell.into_analysis()
}

/// The same for a PowerShell command; its paths come with `/`.
pub fn analyze_powershell(command: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene);
    powershell::run(&mut shell, &readable(command));
    shell.into_analysis()
}

/// What it would make to take a file or a tree to another path, or into a directory there.
pub fn carried(from: &str, to: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene);
    let [from, to] = [from, to].map(field::Field::literal);
    shell.carry(&from, &to, copy::NewDir::Searched);
    shell.into_analysis()
}

/// The text without the character that stands for what is not known.
fn readable(command: &str) -> Cow<'_, str> {
    if command.contains(field::UNKNOWN) {
        Cow::Owned(command.replace(field::UNKNOWN, "\u{FFFD}"))
    } else {
        Cow::Borrowed(command)
    }
}
