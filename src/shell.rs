//! From a shell command's text to the paths it would change.
//!
//! The command is parsed and walked, never searched: quoted, echoed, committed
//! and commented text is no write. What cannot be known without running the
//! command gives no target.

/// The names of a table's rows, to be known while compiling.
macro_rules! names {
    ($table:ident, $field:tt) => {{
        let mut names = [""; $table.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = $table[at].$field;
            at += 1;
        }
        names
    }};
}

mod apply;
mod archive;
mod args;
mod arith;
mod assign;
mod bind;
mod brace;
mod byte;
mod calls;
mod changes;
mod clean;
mod cmdlets;
mod code;
mod command;
mod compound;
mod condition;
#[cfg(test)]
mod corpus;
mod database;
mod decode;
mod dollar;
mod download;
mod edit;
mod effects;
mod eval;
mod expand;
mod expression;
mod field;
mod filter;
mod find;
mod flow;
mod git;
mod glance;
mod glob;
mod guard;
mod heard;
mod heredoc;
#[cfg(test)]
mod hostile;
mod import;
pub(crate) mod index;
mod inline;
mod lean;
mod lex;
mod literal;
mod loops;
mod made;
mod makefile;
mod member;
mod mention;
mod names;
mod nested;
mod own;
mod param;
mod parse;
mod powershell;
mod powershell_value;
mod print;
mod redirect;
mod regexp;
mod rename;
mod report;
mod routine;
mod search;
mod slots;
mod stash;
mod status;
mod stream;
mod substitute;
mod syntax;
mod table;
mod tcl;
mod template;
mod texts;
mod transfer;
mod utility;
mod value;
mod variable;
mod world;
mod wrapper;
mod writers;

pub use glance::may_change;

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

/// What the disk has at a path, links followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Dir,
}

/// What a command would change, as far as it was read.
#[derive(Debug)]
pub struct Analysis {
    /// Absolute paths, `.` and `..` left in, each path and act once.
    pub targets: Vec<Target>,
    pub extent: Extent,
}

/// How far an analysis came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// What stands behind the place where it gave up may change more.
    Cut(Limit),
}

/// The bounds of the work on one command. No honest command comes near them;
/// one that does must not cost the hook its time, nor a stack overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Depth,
    Steps,
    Listings,
    Links,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, bound, what) = match self {
            Self::Depth => ("nests deeper than", lex::MAX_DEPTH, "levels"),
            Self::Steps => ("takes more than", eval::STEPS, "steps"),
            Self::Listings => ("lists more than", glob::MAX_LISTINGS, "directories"),
            Self::Links => ("makes more than", report::MAX_LINKS, "links"),
        };
        write!(out, "it {verb} {bound} {what}")
    }
}

/// What a Bash command would change.
pub fn analyze(command: &str, scene: &Scene<'_>) -> Analysis {
    if !may_change(command) {
        return Analysis {
            targets: Vec::new(),
            extent: Extent::Whole,
        };
    }
    let command = readable(command);
    let mut shell = eval::Shell::new(scene, command.len());
    shell.run_text(&command);
    shell.into_analysis()
}

/// The same for a PowerShell command; its paths come with `/`.
pub fn analyze_powershell(command: &str, scene: &Scene<'_>) -> Analysis {
    let command = readable(command);
    let mut shell = eval::Shell::new(scene, command.len());
    powershell::run(&mut shell, &command);
    shell.into_analysis()
}

/// What it would make to take a file or a tree to another path, or into a directory there.
pub fn carried(from: &str, to: &str, scene: &Scene<'_>) -> Analysis {
    let mut shell = eval::Shell::new(scene, 0);
    let [from, to] = [from, to].map(field::Field::literal);
    let to = shell.destination(&from, &to);
    shell.carry(&from, &to);
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
