//! How a verb's answer is printed: one JSON document, or text made for people.

use std::array;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal};
use std::ptr;

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use serde::Serialize;
use terminal_size::Width;
use tz::TimeZone;

use super::{Answer, CliContext};
use crate::base::env;
use crate::formats::yaml;

use crate::base::text::excerpt;
pub(crate) use crate::base::text::printable;

/// Adds a line to a page, which goes on below itself where the page ends. What is formatted
/// gets printable, but for the page's own colors.
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
    /// The columns that a line may take; into a pipe, as many as it needs.
    width: Option<usize>,
    pub(crate) local_time: LocalTime,
    pub(super) text: String,
}

impl<'c> Page<'c> {
    pub(super) fn new(context: &'c CliContext<'c>) -> Self {
        Self {
            context,
            paint: context.paint,
            width: width(),
            local_time: LocalTime::of_system(),
            text: String::new(),
        }
    }

    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        let mut text = String::new();
        // A `String` takes everything.
        let _ = Printable(&mut text).write_fmt(line);
        let width = self.width.unwrap_or(usize::MAX);
        let column = (text.len() - text.trim_start_matches(' ').len() + 2).min(width / 2);
        for (n, piece) in broken(&text, width, width - column).iter().enumerate() {
            let indent = if n == 0 { 0 } else { column };
            // As above.
            let _ = std::writeln!(self.text, "{:indent$}{piece}", "");
        }
    }

    /// Adds a line that is to be pasted, or read by a program: it is never broken.
    pub(crate) fn verbatim(&mut self, line: &str) {
        self.text.push_str(&printable(line));
        self.text.push('\n');
    }

    /// The settings that make names canonical, to be pasted.
    pub(crate) fn extra_names(&mut self, by_system: &BTreeMap<String, BTreeSet<String>>) {
        self.verbatim("systems:");
        for (system, names) in by_system {
            let names: Vec<_> = names.iter().map(|name| yaml::quote(name)).collect();
            self.verbatim(&format!("  {system}:"));
            self.verbatim(&format!("    extra_names: [{}]", names.join(", ")));
        }
    }

    /// Rows in columns. Where a line would be wider than the page, the columns in `narrow`
    /// give way, in that order: a path loses its beginning, any other text its end.
    pub(crate) fn table<const N: usize>(&mut self, rows: &[[Painted; N]], narrow: &[usize]) {
        let widths = self.widths(rows, narrow);
        for row in rows {
            self.row(row, &widths);
        }
    }

    /// The widths of the columns of a table.
    pub(crate) fn widths<const N: usize>(
        &self,
        rows: &[[Painted; N]],
        narrow: &[usize],
    ) -> [usize; N] {
        /// What a column that gives way keeps.
        const LEAST: usize = 12;
        let mut widths: [usize; N] = array::from_fn(|column| {
            let cells = rows.iter().map(|row| row[column].width());
            cells.max().unwrap_or(0)
        });
        let gaps = 2 * widths
            .iter()
            .filter(|width| **width > 0)
            .count()
            .saturating_sub(1);
        let needed = widths.iter().sum::<usize>() + gaps;
        let mut over = self.width.map_or(0, |width| needed.saturating_sub(width));
        for column in narrow {
            let cut = over.min(widths[*column].saturating_sub(LEAST));
            widths[*column] -= cut;
            over -= cut;
        }
        widths
    }

    /// One row of a table; a column without a text in any row is left out.
    pub(crate) fn row<const N: usize>(&mut self, row: &[Painted; N], widths: &[usize; N]) {
        let cells = row.iter().zip(widths).filter(|(_, width)| **width > 0);
        let mut line = String::new();
        for (cell, width) in cells {
            // A `String` takes everything.
            let _ = write!(Printable(&mut line), "{:<width$}  ", cell.fitted(*width));
        }
        self.text.push_str(line.trim_end_matches(' '));
        self.text.push('\n');
    }

    /// The day of a time as a head, where it is not that of the row before.
    pub(crate) fn day_of(&mut self, ts: &str, before: &mut String) {
        let day = self.local_time.day(ts);
        if day != *before {
            writeln!(self, "{}", self.paint.bold(&day));
            *before = day;
        }
    }

    /// A text below a row, broken between words where the page ends.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        for line in self.broken(indent, text) {
            writeln!(self, "{:indent$}{}", "", self.paint.dim(&line));
        }
    }

    /// A row that ends in a text, which goes on below itself where the page ends. `head` is as
    /// wide as `column` says.
    pub(crate) fn hanging(&mut self, head: fmt::Arguments<'_>, column: usize, text: &str) {
        let mut lines = self.broken(column, text).into_iter();
        writeln!(self, "{head}{}", lines.next().unwrap_or_default());
        for line in lines {
            writeln!(self, "{:column$}{line}", "");
        }
    }

    /// The lines of a text that begins in a column, broken between words where the page ends.
    pub(crate) fn broken(&self, column: usize, text: &str) -> Vec<String> {
        let room = match self.width {
            Some(width) => width.saturating_sub(column).max(20),
            None => usize::MAX,
        };
        broken(text, room, room)
    }
}

/// A text in lines, the first and the others of so many columns, as far as its words fit.
fn broken(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut words = text.split(' ');
    let mut lines = vec![words.next().unwrap_or_default().to_owned()];
    let mut used = columns(&lines[0]);
    let mut room = first;
    for word in words {
        let width = columns(word);
        if used + 1 + width > room && !word.is_empty() {
            lines.push(word.to_owned());
            (used, room) = (width, others);
        } else if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
            used += 1 + width;
        }
    }
    let ends = lines
        .iter()
        .map(|line| line.trim_end_matches(' ').to_owned());
    ends.collect()
}

/// The columns that a printable text takes; a color takes none.
fn columns(text: &str) -> usize {
    let colors = COLORS.iter().map(|color| {
        let n = text.matches(color).count();
        n * color.len()
    });
    text.chars().count() - colors.sum::<usize>()
}

fn width() -> Option<usize> {
    env::columns().or_else(|| {
        let (Width(columns), _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(columns.into())
    })
}

/// The reader's time zone, UTC where the system does not say: by `TZ`, else by
/// `/etc/localtime`.
pub(crate) struct LocalTime(Option<TimeZone>);

impl LocalTime {
    pub(crate) fn of_system() -> Self {
        Self(TimeZone::local().ok())
    }

    /// A time of a log, as the reader's clock shows it; `None` where the text is no time.
    pub(crate) fn parse(&self, ts: &str) -> Option<DateTime<FixedOffset>> {
        let time = DateTime::parse_from_rfc3339(ts).ok()?;
        let local = self.0.as_ref().and_then(|zone| {
            let found = zone.find_local_time_type(time.timestamp()).ok()?;
            FixedOffset::east_opt(found.ut_offset())
        });
        Some(time.with_timezone(&local.unwrap_or(FixedOffset::east_opt(0)?)))
    }

    /// The day of a time; of what is no time its beginning.
    pub(crate) fn day(&self, ts: &str) -> String {
        match self.parse(ts) {
            Some(at) => at.format("%F").to_string(),
            None => excerpt(ts, 40).into_owned(),
        }
    }

    /// The day, hour and minute of a time; what is no time as it is.
    pub(crate) fn minute(&self, ts: &str) -> String {
        self.parse(ts)
            .map_or(ts.to_owned(), |at| at.format("%F %H:%M").to_string())
    }

    /// The hour and minute of a time.
    pub(crate) fn clock(&self, ts: &str) -> String {
        self.parse(ts)
            .map_or(String::new(), |at| at.format("%H:%M").to_string())
    }
}

/// A writer that escapes control characters. It lets the colors of [`Paint`] through, which it
/// recognizes by their address: text that was read from elsewhere never has it.
struct Printable<'t>(&'t mut String);

impl fmt::Write for Printable<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if COLORS.iter().any(|color| ptr::eq(*color, piece)) {
            self.0.push_str(piece);
        } else {
            self.0.push_str(&printable(piece));
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
    cut: Cut,
}

/// Which end a text loses where there is no room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Start,
    End,
}

impl Painted {
    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// The same of a path, whose end says most.
    pub(crate) fn path(self) -> Self {
        Self {
            cut: Cut::Start,
            ..self
        }
    }

    /// The same in so many columns.
    fn fitted(&self, room: usize) -> Cow<'_, Self> {
        let over = self.width().saturating_sub(room);
        if over == 0 {
            return Cow::Borrowed(self);
        }
        let kept = room.saturating_sub(1);
        let text = match self.cut {
            Cut::Start => format!("…{}", self.text.chars().skip(over + 1).collect::<String>()),
            Cut::End => format!("{}…", self.text.chars().take(kept).collect::<String>()),
        };
        Cow::Owned(Self { text, ..*self })
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
            cut: Cut::End,
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
    fn a_text_is_broken_between_its_words() {
        let of_ten = |text| broken(text, 10, 10);
        assert_eq!(of_ten("one two three four"), ["one two", "three four"]);
        assert_eq!(
            of_ten("`/a/long/path/of/a/file` is"),
            ["`/a/long/path/of/a/file`", "is"]
        );
        assert_eq!(
            of_ten("\u{1b}[1mbold\u{1b}[0m words"),
            ["\u{1b}[1mbold\u{1b}[0m words"]
        );
        assert_eq!(of_ten("row       a cell"), ["row", "a cell"]);
        assert_eq!(broken("one two three", 10, 5), ["one two", "three"]);
        assert_eq!(broken("one two", usize::MAX, 10), ["one two"]);
        assert_eq!(of_ten(""), [""]);
    }

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
    fn a_path_loses_its_beginning_and_a_text_its_end() {
        for (room, path, text) in [
            (20, "docs/adr/0001-x.md", "docs/adr/0001-x.md"),
            (12, "…r/0001-x.md", "docs/adr/00…"),
            (1, "…", "…"),
        ] {
            let cell = Paint::plain("docs/adr/0001-x.md");
            assert_eq!(cell.fitted(room).text, text, "{room}");
            assert_eq!(cell.path().fitted(room).text, path, "{room}");
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
