//! Text made for people.

use std::io::IsTerminal;

use crate::env::Env;
pub(crate) use crate::reply::printable;

/// Colors, on a terminal only and never against `NO_COLOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colors,
}

impl Paint {
    pub(crate) fn for_stdout(env: &Env) -> Self {
        if std::io::stdout().is_terminal() && !env.no_color {
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

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colors => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
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
