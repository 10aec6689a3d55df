//! How commands end, and what that says of those behind `&&` and `||`.

use super::syntax::Sense;
use super::table::{Key, Table};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Success,
    Failure,
    /// Its writer counts on success: only `||` looks at the other end.
    Likely,
    Open,
}

impl Status {
    pub(super) fn seen(self, sense: Sense) -> Self {
        match (sense, self) {
            (Sense::Plain, status) => status,
            (Sense::Negated, Self::Success) => Self::Failure,
            (Sense::Negated, Self::Failure) => Self::Success,
            (Sense::Negated, Self::Likely | Self::Open) => Self::Open,
        }
    }

    /// What commands usually end with.
    pub(super) fn usual(name: Key<'_>) -> Self {
        BY_NAME.get(name).map_or(Self::Open, |row| row.1)
    }
}

/// Commands that end in one way, or hardly ever fail.
const ENDS: &[(&str, Status)] = &{
    const SAFE: [&str; 40] = [
        "alias", "awk", "cat", "cd", "chdir", "chmod", "chown", "cp", "date", "declare", "echo",
        "export", "find", "head", "install", "ln", "local", "ls", "mkdir", "mv", "popd", "printf",
        "pushd", "pwd", "readonly", "rm", "sed", "set", "shift", "shopt", "sleep", "sort", "tail",
        "tee", "touch", "typeset", "umask", "unset", "wait", "wc",
    ];
    let mut ends = [("", Status::Likely); SAFE.len() + 3];
    let mut at = 0;
    while at < SAFE.len() {
        ends[at].0 = SAFE[at];
        at += 1;
    }
    ends[at] = (":", Status::Success);
    ends[at + 1] = ("true", Status::Success);
    ends[at + 2] = ("false", Status::Failure);
    ends
};

const NAMES: [&str; ENDS.len()] = names!(ENDS, 0);

static BY_NAME: Table<(&str, Status)> = Table::new(ENDS, &NAMES);
