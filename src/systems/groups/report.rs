//! The two verdict files of a group: `test-reports/N.md` and `review/N.md`.
//!
//! Read fail-closed: whatever is not exactly a good verdict is not one.

use crate::formats::brief;
use crate::formats::markdown::{self, field, outside_fences};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    TestReport,
    Review,
}

/// What a verdict file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// PASS or APPROVED.
    Good,
    /// FAIL or REJECTED.
    Bad,
    /// Two status lines that differ.
    Conflict,
    /// No status line that can be read, and why.
    Malformed(String),
}

impl ReportKind {
    /// Relative to the directory that holds `tasks.md`.
    pub fn path(self, group: u32) -> String {
        match self {
            Self::TestReport => format!("test-reports/{group}.md"),
            Self::Review => format!("review/{group}.md"),
        }
    }

    /// The good value and the bad one.
    pub fn values(self) -> [&'static str; 2] {
        match self {
            Self::TestReport => ["PASS", "FAIL"],
            Self::Review => ["APPROVED", "REJECTED"],
        }
    }

    /// What to write so that the file can be read.
    pub fn wanted(self) -> String {
        let [good, bad] = self.values();
        format!("write one line `**Status:** {good}` or `**Status:** {bad}`, outside code fences")
    }
}

/// What a file's status lines say together. Equal lines agree.
pub fn read(kind: ReportKind, text: &str) -> Reading {
    if let Some(line) = markdown::merge_conflict(text) {
        return Reading::Malformed(format!(
            "a merge was left undone (`{}`); {}",
            brief(line),
            kind.wanted()
        ));
    }
    let mut statuses = statuses(kind, text);
    let Some(first) = statuses.next() else {
        return Reading::Malformed(format!("no status line; {}", kind.wanted()));
    };
    statuses.fold(first, |found, next| match (found, next) {
        (malformed @ Reading::Malformed(_), _) | (_, malformed @ Reading::Malformed(_)) => {
            malformed
        }
        (found, next) if found == next => found,
        _ => Reading::Conflict,
    })
}

/// Whether a text may be written as a verdict file.
///
/// # Errors
/// It has no status line, a malformed one or several; the error prints the line
/// to write.
pub fn check_report(kind: ReportKind, text: &str) -> Result<(), String> {
    match (read(kind, text), statuses(kind, text).count()) {
        (Reading::Malformed(why), _) => Err(why),
        (_, 1) => Ok(()),
        (_, count) => Err(format!("{count} status lines; {}", kind.wanted())),
    }
}

fn statuses(kind: ReportKind, text: &str) -> impl Iterator<Item = Reading> {
    outside_fences(text)
        .filter_map(|line| field(line, "Status"))
        .map(move |value| status(kind, value))
}

fn status(kind: ReportKind, after_colon: &str) -> Reading {
    let [good, _] = kind.values();
    match markdown::status(after_colon, &kind.values()) {
        Some(value) if value == good => Reading::Good,
        Some(_) => Reading::Bad,
        None => Reading::Malformed(format!(
            "`**Status:**{}` is no verdict; {}",
            brief(after_colon),
            kind.wanted()
        )),
    }
}

/// The highest `**Reviewer Round:**`; text after the number is tolerated.
pub fn round(text: &str) -> Option<u32> {
    outside_fences(text)
        .filter_map(|line| field(line, "Reviewer Round")?.strip_prefix(' '))
        .filter_map(|value| {
            let n_digits = value.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = value.split_at(n_digits);
            let is_number = !number.is_empty() && !rest.starts_with(char::is_alphanumeric);
            // One too large to be held is no smaller one.
            is_number.then(|| number.parse().unwrap_or(u32::MAX))
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: ReportKind, text: &str, reading: Option<Reading>, writable: bool) {
        let found = match read(kind, text) {
            Reading::Malformed(why) => {
                assert!(why.contains(&kind.wanted()), "{why}");
                None
            }
            other => Some(other),
        };
        assert_eq!(
            (found, check_report(kind, text).is_ok()),
            (reading, writable),
            "{text:?}"
        );
    }

    #[test]
    fn a_test_report_passes_or_fails() {
        let check =
            |text, reading, writable| check(ReportKind::TestReport, text, reading, writable);
        check("# T\n\n**Status:** PASS\n", Some(Reading::Good), true);
        check("**Status:** FAIL\r\nx\r\n", Some(Reading::Bad), true);
        check(
            "**Status:** PASS   <- read by machines",
            Some(Reading::Good),
            true,
        );
        check("**Status:** PASS, no FAILURES", None, false);
        check("**Status:** PASS no FAILURES", Some(Reading::Good), true);
        check("**Status:** PASS (was FAIL)", None, false);
        check("**Status:** PASS | FAIL", None, false);
        check("**Status:** PASS|FAIL", None, false);
        check("**Status:** PASSED", None, false);
        check("**Status:** pass", None, false);
        check("**Status:**PASS", None, false);
        check("**Status:**  PASS", None, false);
        check("**Status:**", None, false);
        check("> **Status:** PASS", None, false);
        check("the line **Status:** PASS", None, false);
        check("```\n**Status:** PASS\n```\n", None, false);
        check("```\n**Status:** PASS\n", None, false);
        check(
            "~~~\n**Status:** FAIL\n~~~\n**Status:** PASS",
            Some(Reading::Good),
            true,
        );
        check(
            "**Status:** PASS\n**Status:** FAIL",
            Some(Reading::Conflict),
            false,
        );
        check(
            "**Status:** PASS\n**Status:** PASS",
            Some(Reading::Good),
            false,
        );
        check("**Status:** PASS\n**Status:** ?", None, false);
        check("**Status:** APPROVED", None, false);
        check("", None, false);
    }

    #[test]
    fn a_review_approves_or_rejects() {
        let check = |text, reading, writable| check(ReportKind::Review, text, reading, writable);
        check(
            "**Status:** APPROVED          ← read",
            Some(Reading::Good),
            true,
        );
        check("**Status:** REJECTED", Some(Reading::Bad), true);
        check("**Status: APPROVED**", None, false);
        check("✅ Approved", None, false);
        check("**Status:** ✅ APPROVED", None, false);
        check("**Status:** PASS", None, false);
    }

    #[test]
    fn the_highest_round_counts() {
        for (text, expected) in [
            ("**Reviewer Round:** 2", Some(2)),
            (
                "**Reviewer Round:** 3  ← counts\n**Reviewer Round:** 1",
                Some(3),
            ),
            ("**Reviewer Round:** 2/3", Some(2)),
            ("**Reviewer Round:** 99999999999999999999", Some(u32::MAX)),
            ("**Reviewer Round:** 2nd", None),
            ("**Reviewer Round:** two", None),
            ("**Reviewer Round:** -", None),
            ("Reviewer Round: 2", None),
        ] {
            assert_eq!(round(text), expected, "{text}");
        }
    }
}
