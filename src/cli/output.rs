//! How a verb's answer is printed: one JSON document, or text made for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal};
use std::ptr;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::{Answer, CliContext};
use crate::base::env;
use crate::formats::yaml;

pub(crate) use crate::base::text::printable;

/// Adds a line to a page. What is formatted gets printable, but for the page's own colors.
macro_rules! write_line {
    ($page:expr) => { $page.line(format_args!("")) };
    ($page:expr, $($format:tt)+) => { $page.line(format_args!($($format)+)) };
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
        self.add(|to| to.write_fmt(line));
    }

    fn add(&mut self, line: impl FnOnce(&mut Printable<'_>) -> fmt::Result) {
        let start = self.text.len();
        // A `String` takes everything.
        let _ = line(&mut Printable(&mut self.text));
        let end = self.text[start..].trim_end_matches(' ').len();
        self.text.truncate(start + end);
        self.text.push('\n');
    }

    /// The settings that make names canonical, to be pasted.
    pub(crate) fn extra_names(&mut self, by_system: &BTreeMap<String, BTreeSet<String>>) {
        writeln!(self, "systems:");
        for (system, names) in by_system {
            let names: Vec<_> = names.iter().map(|name| yaml::quote(name)).collect();
            writeln!(self, "  {system}:");
            writeln!(self, "    extra_names: [{}]", names.join(", "));
        }
    }

    /// Rows in columns; the last one is not padded.
    pub(crate) fn rows<const N: usize>(&mut self, rows: &[[Painted; N]]) {
        let width = |column: usize| rows.iter().map(|row| row[column].width()).max();
        let padded = (0..N - 1).map(|column| width(column).unwrap_or(0));
        let widths: Vec<usize> = padded.chain([0]).collect();
        for row in rows {
            let mut cells = row.iter().zip(&widths);
            self.add(|to| cells.try_for_each(|(cell, width)| write!(to, "{cell:<width$}  ")));
        }
    }
}

/// A writer that escapes control characters. It lets the colors of [`Paint`] through, which it
/// recognizes by their address: text that was read from elsewhere never has it.
struct Printable<'t>(&'t mut String);

impl fmt::Write for Printable<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        match COLORS.iter().any(|color| ptr::eq(*color, piece)) {
            true => self.0.push_str(piece),
            false => self.0.push_str(&printable(piece)),
        }
        Ok(())
    }
}

/// The end of every color, then bold, dim, red and green (ECMA-48, SGR).
static COLORS: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m"];

/// A text that is printable, with a color or without; it is padded as it looks.
#[derive(Clone, Debug)]
pub(crate) struct Painted {
    color: Option<usize>,
    text: String,
}

impl Painted {
    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl Display for Painted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.color {
            None => out.pad(&self.text),
            Some(color) => {
                out.write_str(COLORS[color])?;
                out.pad(&self.text)?;
                out.write_str(COLORS[0])
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
        Self::Plain.with(0, text)
    }

    pub(crate) fn bold(self, text: &str) -> Painted {
        self.with(1, text)
    }

    pub(crate) fn red(self, text: &str) -> Painted {
        self.with(3, text)
    }

    pub(crate) fn green(self, text: &str) -> Painted {
        self.with(4, text)
    }

    pub(crate) fn dim(self, text: &str) -> Painted {
        self.with(2, text)
    }

    /// The name to use in place of a denied one, if there is any.
    pub(crate) fn instead(self, name: &str) -> Painted {
        match name {
            "" => Self::plain(""),
            name => self.green(&format!(" → {name}")),
        }
    }

    fn with(self, color: usize, text: &str) -> Painted {
        Painted {
            color: (self == Self::Colors).then_some(color),
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
        let line = |paint: Paint, name: &str| {
            let (painted, mut line) = (paint.red("c"), String::new());
            write!(Printable(&mut line), "{name}|{painted:<4}|").unwrap();
            line
        };
        assert_eq!(line(Paint::Plain, "a\nb"), "a\\nb|c   |");
        let colored = line(Paint::Colors, "\x1b[31m");
        assert_eq!(colored, "\\u{1b}[31m|\x1b[31mc   \x1b[0m|");
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
