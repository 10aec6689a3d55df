//! What the writing calls of scripting languages do with their arguments.

mod tables;

use tables::Row;

use super::code::Language;
use super::table::{Hash, Sieve};
use crate::base::target::Act;

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

/// The rows of a language, and for each the first letters of its names.
type Table = (&'static [Row], &'static [u32]);

macro_rules! indexed {
    ($rows:path) => {{
        const FIRSTS: [u32; $rows.len()] = firsts($rows);
        ($rows, &FIRSTS)
    }};
}

const fn table(language: Language) -> Table {
    match language {
        Language::Python => indexed!(tables::PYTHON),
        Language::Script => indexed!(tables::SCRIPT),
        Language::Ruby => indexed!(tables::RUBY),
        Language::Perl => indexed!(tables::PERL),
        Language::Php => indexed!(tables::PHP),
        Language::Awk => indexed!(tables::AWK),
        Language::Lua => indexed!(tables::LUA),
        Language::R => indexed!(tables::R),
        Language::Julia => indexed!(tables::JULIA),
        Language::Lisp => indexed!(tables::LISP),
        Language::AppleScript => indexed!(tables::APPLE_SCRIPT),
        Language::Java => indexed!(tables::JAVA),
    }
}

const fn firsts<const N: usize>(rows: &[Row]) -> [u32; N] {
    let mut firsts = [0; N];
    let mut row = 0;
    while row < N {
        let names = rows[row].1;
        let mut at = 0;
        while at < names.len() {
            firsts[row] |= letter(names[at].as_bytes()[0]);
            at += 1;
        }
        row += 1;
    }
    firsts
}

/// A bit for a letter, whatever its case.
const fn letter(byte: u8) -> u32 {
    1 << (byte % 32)
}

/// The names of every language.
static NAMES: Sieve = {
    let mut names = Sieve::new();
    let mut language = 0;
    while language < Language::ALL.len() {
        let (rows, _) = table(Language::ALL[language]);
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
    let (rows, firsts): Table = match NAMES.may_hold(Hash::of(name)) {
        true => table(language),
        false => (&[], &[]),
    };
    let first = name.bytes().next().map_or(0, letter);
    let speaks =
        move |((_, names, _), firsts): &(&Row, &u32)| *firsts & first != 0 && names.contains(&name);
    let named = rows.iter().zip(firsts).filter(speaks);
    named.map(|((on, _, effect), _)| (*on, *effect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sieve_lets_every_name_through() {
        for language in Language::ALL {
            for name in table(language).0.iter().flat_map(|(_, names, _)| *names) {
                assert!(rows(language, name).next().is_some(), "{name}");
            }
        }
        assert!(rows(Language::Python, "value").next().is_none());
    }
}
