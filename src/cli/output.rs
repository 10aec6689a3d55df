//! How a verb's answer is printed: one JSON document, or text made for people.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::{Answer, CliContext};
use crate::base::env;
use crate::formats::yaml;

pub(crate) use crate::base::text::printable;

/// Adds a line to a page. The values stand behind the format, never in it: each is made
/// printable, or was when it was painted.
macro_rules! write_line {
    ($page:expr) => { $page.line(format_args!("")) };
    ($page:expr, $format:literal $(, $value:expr)* $(,)?) => {{
        const { $crate::cli::output::assert_no_captures($format) };
        $page.line(format_args!($format $(, $crate::cli::output::Cell::display(&$value))*))
    }};
}
pub(crate) use write_line as writeln;

/// What a verb found. As JSON it is what it serializes to.
pub(crate) trait Show: Serialize {
    fn text(&self, page: &mut Page<'_>);

    fn answer(&self) -> Answer {
        Answer::Yes
    }
}

/// Text, line by line; [`writeln!`] adds one.
pub(crate) struct Page<'c> {
    pub(crate) context: &'c CliContext<'c>,
    pub(crate) paint: Paint,
    pub(super) text: String,
}

impl<'c> Page<'c> {
    pub(super) fn new(context: &'c CliContext<'c>) -> Self {
        Self {
            context,
            paint: context.paint,
            text: String::new(),
        }
    }

    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        let start = self.text.len();
        // A `String` takes everything.
        let _ = self.text.write_fmt(line);
        let end = self.text[start..].trim_end_matches(' ').len();
        self.text.truncate(start + end);
        self.text.push('\n');
    }

    /// The settings that make names canonical, to be pasted.
    pub(crate) fn extra_names(&mut self, by_system: &BTreeMap<String, BTreeSet<String>>) {
        writeln!(self, "systems:");
        for (system, names) in by_system {
            let names: Vec<_> = names.iter().map(|name| yaml::quote(name)).collect();
            writeln!(self, "  {}:", system);
            writeln!(self, "    extra_names: [{}]", names.join(", "));
        }
    }

    /// Rows in columns; the last one is not padded.
    pub(crate) fn rows<const N: usize>(&mut self, rows: &[[Painted; N]]) {
        let width = |column: usize| rows.iter().map(|row| row[column].width()).max();
        let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
        for row in rows {
            let (last, cells) = row
                .split_last()
                .map_or((None, row.as_slice()), |(l, c)| (Some(l), c));
            let cells = cells.iter().zip(&widths);
            let cells: String = cells
                .map(|(cell, width)| format!("{cell:<width$}  "))
                .collect();
            let last = last.map_or(String::new(), Painted::to_string);
            self.line(format_args!("{cells}{last}"));
        }
    }
}

/// A captured value would get onto the page as it is.
pub(crate) const fn assert_no_captures(format: &str) {
    let (bytes, mut at) = (format.as_bytes(), 0);
    while at + 1 < bytes.len() {
        let is_name = bytes[at + 1].is_ascii_alphabetic() || bytes[at + 1] == b'_';
        assert!(
            bytes[at] != b'{' || !is_name,
            "put the value behind the format"
        );
        at += 1;
    }
}

/// What can stand in a line.
pub(crate) trait Cell {
    fn display(&self) -> impl Display;
}

impl Cell for str {
    fn display(&self) -> impl Display {
        printable(self)
    }
}

impl Cell for Path {
    fn display(&self) -> impl Display {
        printable(&self.to_string_lossy())
    }
}

impl Cell for Painted {
    fn display(&self) -> impl Display {
        self
    }
}

impl<T: Cell + ?Sized> Cell for &T {
    fn display(&self) -> impl Display {
        (**self).display()
    }
}

macro_rules! shown_as {
    ($($of:ty: $seen_as:ty),*) => { $(impl Cell for $of {
        fn display(&self) -> impl Display {
            let seen: &$seen_as = self;
            seen.display()
        }
    })* };
}
shown_as!(String: str, Cow<'_, str>: str, Box<str>: str, PathBuf: Path);

macro_rules! shown_whole {
    ($($number:ty),*) => { $(impl Cell for $number {
        fn display(&self) -> impl Display {
            *self
        }
    })* };
}
shown_whole!(u32, u64, usize);

/// A text that is printable, with a color or without; it is padded as it looks.
#[derive(Clone, Debug)]
pub(crate) struct Painted {
    code: Option<&'static str>,
    text: String,
}

impl Painted {
    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl Display for Painted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            None => out.pad(&self.text),
            Some(code) => {
                write!(out, "\x1b[{code}m")?;
                out.pad(&self.text)?;
                out.write_str("\x1b[0m")
            }
        }
    }
}

/// Colors, on a terminal only and where the environment allows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colors,
}

impl Paint {
    pub(crate) fn for_stdout() -> Self {
        if io::stdout().is_terminal() && env::allows_colors() {
            Self::Colors
        } else {
            Self::Plain
        }
    }

    pub(crate) fn plain(text: &str) -> Painted {
        Self::Plain.with("", text)
    }

    pub(crate) fn bold(self, text: &str) -> Painted {
        self.with("1", text)
    }

    pub(crate) fn red(self, text: &str) -> Painted {
        self.with("31", text)
    }

    pub(crate) fn green(self, text: &str) -> Painted {
        self.with("32", text)
    }

    pub(crate) fn dim(self, text: &str) -> Painted {
        self.with("2", text)
    }

    /// The name to use in place of a denied one, if there is any.
    pub(crate) fn instead(self, name: &str) -> Painted {
        match name {
            "" => Self::plain(""),
            name => self.green(&format!(" → {name}")),
        }
    }

    fn with(self, code: &'static str, text: &str) -> Painted {
        Painted {
            code: (self == Self::Colors).then_some(code),
            text: printable(text),
        }
    }
}

/// The mark behind the name of a directory.
pub(crate) fn slash(is_dir: bool) -> &'static str {
    if is_dir { "/" } else { "" }
}

/// A size in bytes as a person reads it: `512 B`, `1.5 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "one digit after the point is shown"
    )]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Parts of a whole in percent, rounded.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    u64::try_from((part * 100 + whole / 2) / whole).unwrap_or(u64::MAX)
}

/// How long ago something was, as a person says it: `3 d`, `2 h`.
pub(crate) fn age(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    match now.signed_duration_since(time) {
        age if age < TimeDelta::zero() => "in the future".to_owned(),
        age if age.num_days() > 0 => format!("{} d", age.num_days()),
        age if age.num_hours() > 0 => format!("{} h", age.num_hours()),
        age if age.num_minutes() > 0 => format!("{} min", age.num_minutes()),
        age => format!("{} s", age.num_seconds()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::text::count;

    #[test]
    fn numbers_agree_with_their_nouns() {
        let entries = |number: u8| count(number, "entry", "entries");
        let found = [0, 1, 2].map(entries);
        assert_eq!(found, ["0 entries", "1 entry", "2 entries"]);
    }

    /// What an agent names can neither color a line nor begin one; it is padded as it looks.
    #[test]
    fn values_are_printable_and_paint_has_no_width() {
        for (paint, name, expected) in [
            (Paint::Plain, "a\nb", "a\\nb|c   |"),
            (
                Paint::Colors,
                "\x1b[31m",
                "\\u{1b}[31m|\x1b[31mc   \x1b[0m|",
            ),
        ] {
            let (name, painted) = (name.to_owned(), paint.red("c"));
            let line = format!("{}|{:<4}|", name.display(), painted.display());
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn a_percentage_is_rounded() {
        for (part, whole, expected) in [
            (78, 99, 79),
            (1, 109, 1),
            (1, 201, 0),
            (1, 3, 33),
            (2, 3, 67),
            (3, 3, 100),
            (0, 0, 0),
            (u64::MAX, u64::MAX, 100),
        ] {
            assert_eq!(percent(part, whole), expected, "{part} of {whole}");
        }
    }
}
