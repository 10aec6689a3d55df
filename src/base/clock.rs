//! Times as files hold them: RFC 3339, in UTC, ending in `Z`.

use std::cell::OnceCell;

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};

/// A source of the time.
pub type Clock = fn() -> DateTime<Utc>;

/// The time of an event.
pub enum Now {
    Known(DateTime<Utc>),
    /// Read when it is first asked for: most decisions need no time, and to read a clock
    /// costs a hook two page faults.
    Unread(Clock, OnceCell<DateTime<Utc>>),
}

impl Now {
    pub fn of(clock: Clock) -> Self {
        Self::Unread(clock, OnceCell::new())
    }

    pub fn get(&self) -> DateTime<Utc> {
        match self {
            Self::Known(time) => *time,
            Self::Unread(clock, read) => *read.get_or_init(clock),
        }
    }
}

/// ISO 8601 as models write it: an offset may be missing and means UTC.
pub fn parse(text: &str) -> Option<DateTime<Utc>> {
    let naive = |form| NaiveDateTime::parse_from_str(text, form).ok();
    match DateTime::parse_from_rfc3339(text) {
        Ok(at) => Some(at.to_utc()),
        Err(_) => naive("%Y-%m-%dT%H:%M:%S%.f")
            .or_else(|| naive("%Y-%m-%dT%H:%M"))
            .map(|at| at.and_utc()),
    }
}

/// To the second, as every state file writes its times.
pub fn seconds(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// To the millisecond, as logs, archives and documents write theirs.
pub fn millis(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The same, in a document.
pub(crate) fn as_millis<S: serde::Serializer>(
    time: &DateTime<Utc>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_str(&millis(*time))
}

/// A time that is written already, as a part of a file's name on every platform.
pub fn in_name(written: &str) -> String {
    written.replace([':', '.'], "-")
}
