//! Text made for people.

use std::io::{self, IsTerminal, Write};

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::env;

pub(crate) use crate::base::text::printable;

/// Colors, on a terminal only and where the environment allows them. What is painted is
/// [`printable`] in either case.
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

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// The name to use in place of a refused one, if there is any.
    pub(crate) fn instead(self, name: &str) -> String {
        match name {
            "" => String::new(),
            name => self.green(&format!(" → {name}")),
        }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => printable(text),
            Self::Colors => format!("\x1b[{code}m{}\x1b[0m", printable(text)),
        }
    }
}

/// Rows in columns; the last column is not padded, and is the only one that may be painted.
pub(crate) fn write_rows<const N: usize>(
    rows: &[[String; N]],
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    for row in rows {
        let cells = row
            .iter()
            .enumerate()
            .map(|(column, cell)| match column + 1 {
                last if last == N => cell.clone(),
                _ => format!("{cell:<width$}", width = width(column)),
            });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  "))?;
    }
    Ok(())
}

/// An entry of a directory, with what is told of it; it stands on a line.
pub(crate) fn entry(paint: Paint, name: &str, is_dir: bool, about: &str) -> String {
    let slash = if is_dir { "/" } else { "" };
    format!("{}{slash}  {}", printable(name), paint.dim(about))
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

/// One line on a terminal's stderr that counts through long work.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    is_shown: bool,
}

impl Progress {
    /// `from` so much work on: less is done before a line could be read.
    pub(crate) fn new(what: &'static str, total: usize, from: usize) -> Self {
        let is_shown = total >= from && io::stderr().is_terminal();
        Self {
            what,
            total,
            is_shown,
        }
    }

    pub(crate) fn show(&self, n: usize) {
        if self.is_shown && n.is_multiple_of(self.total / 100 + 1) {
            // A terminal that is gone is no reason to stop.
            let _ = write!(io::stderr(), "\r{n} of {} {}", self.total, self.what);
        }
    }

    pub(crate) fn clear(&self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
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
