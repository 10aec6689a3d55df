//! What the writing calls of scripting languages do with their arguments.

mod tables;

use super::code::Language;
use super::table::{Hash, Sieve};
use crate::target::Act;
use tables::Row;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The first argument, or the items of a list there.
    First(Act),
    /// Every argument.
    Each(Act),
    /// The second argument.
    Second(Act),
    Third(Act),
    /// The argument with this name.
    Named(&'static str, Act),
    /// A new name, whose suffix, prefix and directory are the arguments from this one on.
    MadeUp(usize, Act),
    /// A path without the suffix that the second argument stands for.
    Archive,
    /// A path and a mode that decides whether it is written.
    Open,
    /// The same from the argument at this place on.
    OpenAt(usize),
    /// From the first argument to the second, which may be a directory.
    Copy,
    Move,
    /// From the first argument to exactly the second.
    CopyTo,
    Rename,
    /// The first argument is what the link at the second points to.
    Symlink,
    HardLink,
    /// The value the method is called on.
    Own(Act),
    OwnRename,
    OwnOpen,
    OwnSymlink,
    /// A command line, or a list of words.
    Run,
    ChangeDir,
    /// Code of the same language.
    Code,
    /// The first argument, where it is to be changed in place.
    InPlace,
}

/// On what a call may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// Anything, or nothing.
    Any,
    /// One of these names, or a module that is required on the spot.
    Names(&'static [&'static str]),
    /// One of these names, or nothing: imported by name.
    Imported(&'static [&'static str]),
    /// Nothing.
    Bare,
    /// A value that is known to be a path.
    Path,
}

const fn table(language: Language) -> &'static [Row] {
    match language {
        Language::Python => tables::PYTHON,
        Language::Script => tables::SCRIPT,
        Language::Ruby => tables::RUBY,
        Language::Perl => tables::PERL,
        Language::Php => tables::PHP,
        Language::Awk => tables::AWK,
        Language::Lua => tables::LUA,
        Language::R => tables::R,
        Language::Julia => tables::JULIA,
        Language::Lisp => tables::LISP,
        Language::AppleScript => tables::APPLE_SCRIPT,
        Language::Java => tables::JAVA,
    }
}

/// The names of every language.
static NAMES: Sieve = {
    let mut names = Sieve::new();
    let mut language = 0;
    while language < Language::ALL.len() {
        let rows = table(Language::ALL[language]);
        let mut row = 0;
        while row < rows.len() {
            names = names.with(rows[row].1);
            row += 1;
        }
        language += 1;
    }
    names
};

/// The rows of a language that speak of a name.
pub(super) fn rows(language: Language, name: &str) -> impl Iterator<Item = (On, Effect)> {
    let rows = match NAMES.may_hold(Hash::of(name)) {
        true => table(language),
        false => &[],
    };
    // Most names of most rows begin otherwise.
    let first = name.bytes().next();
    let is_it = move |known: &&str| known.bytes().next() == first && *known == name;
    let named = rows
        .iter()
        .filter(move |(_, names, _)| names.iter().any(is_it));
    named.map(|(on, _, effect)| (*on, *effect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sieve_lets_every_name_through() {
        for language in Language::ALL {
            for name in table(language).iter().flat_map(|(_, names, _)| *names) {
                assert!(rows(language, name).next().is_some(), "{name}");
            }
        }
        assert!(rows(Language::Python, "value").next().is_none());
    }
}
