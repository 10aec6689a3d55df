//! Times as files hold them: RFC 3339, in UTC, ending in `Z`.

use chrono::{DateTime, SecondsFormat, Utc};

/// To the second, as every state file writes its times.
pub fn seconds(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// To the millisecond, as logs, archives and documents write theirs.
pub fn millis(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A time that is written already, as a part of a file's name on every platform.
pub fn in_name(written: &str) -> String {
    written.replace([':', '.'], "-")
}
