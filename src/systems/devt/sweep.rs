//! The four sweeps at the start of a workflow: which leftovers of earlier ones
//! go. devt deletes them; this program archives.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::workflow_yaml::{Fields, check, read};
use crate::contract::table::{Bucket, Sweep};

/// devt's own: clocks of files and programs differ.
pub const TOLERANCE: TimeDelta = TimeDelta::seconds(30);

/// Since when the files of the present workflow date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// No workflow, or one without a readable date.
    Unknown,
    Active(DateTime<Utc>),
    /// Nothing of a workflow that has ended survives. devt goes on to use its
    /// first date and so hands its verdicts to the next one.
    Closed,
}

impl Anchor {
    /// Whether a file is older; `None` where that is not known.
    fn is_after(self, modified: DateTime<Utc>) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Active(since) => Some(modified < since),
            Self::Closed => Some(true),
        }
    }
}

/// The dates that the sweeps go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    anchor: Anchor,
    /// When the prior workflow was dated last.
    created_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
}

impl Gates {
    /// Why it is not known what is older than a workflow: its file cannot be read, or has no
    /// time to go by.
    pub fn unusable(workflow: &str, now: DateTime<Utc>) -> Option<String> {
        if let Err(why) = check(workflow) {
            return Some(why);
        }
        let fields = read(workflow);
        for key in ["first_created_at", "created_at"] {
            let text = fields.text(key).unwrap_or_default();
            match date(&fields, key) {
                None if !text.is_empty() && text != "null" => {
                    return Some(format!("`{key}` is no time: `{text}`"));
                }
                Some(date) if date > now + TOLERANCE => {
                    return Some(format!(
                        "`{key}` is in the future, and every file older than it: `{text}`"
                    ));
                }
                _ => {}
            }
        }
        let is_dated = date(&fields, "first_created_at")
            .or(date(&fields, "created_at"))
            .is_some();
        match fields.get("active") {
            Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) if is_dated => None,
            Some(Value::Bool(true)) => Some("it has no `created_at`".to_owned()),
            _ => Some("it does not say whether a workflow is active".to_owned()),
        }
    }

    /// `workflow` is the text of `workflow.yaml`, if there is one.
    pub fn new(workflow: Option<&str>, now: DateTime<Utc>) -> Self {
        let fields = workflow.map(read);
        let date = |key| fields.as_ref().and_then(|fields| date(fields, key));
        let created_at = date("created_at");
        let first = date("first_created_at").or(created_at);
        let anchor = match (
            fields.as_ref().and_then(|fields| fields.get("active")),
            first,
        ) {
            (Some(Value::Bool(false)), _) | (None | Some(Value::Null), Some(_)) => Anchor::Closed,
            (_, Some(since)) => Anchor::Active(since),
            (_, None) => Anchor::Unknown,
        };
        Self {
            anchor,
            created_at,
            now,
        }
    }

    /// Why a file goes, by the first sweep that takes it. `ephemeral` says
    /// whether a file of that bucket is a leftover, not in use.
    pub fn takes(
        &self,
        sweep: Sweep,
        bucket: Bucket,
        modified: DateTime<Utc>,
        ephemeral: impl FnOnce() -> bool,
    ) -> Option<&'static str> {
        let is_old = self.anchor.is_after(modified);
        match sweep {
            Sweep::Marker | Sweep::MarkerAndOutcome if is_old != Some(false) => {
                return Some("workflow_marker");
            }
            Sweep::Graph if is_old != Some(false) => return Some("graph_artifact"),
            Sweep::Outcome if is_old == Some(true) => return Some("stale_canonical"),
            Sweep::Variant if is_old != Some(false) => return Some("stale_variant"),
            _ => {}
        }
        let before = self.created_at.unwrap_or(self.now - TimeDelta::days(1));
        match bucket {
            Bucket::Canonical | Bucket::Ignored => None,
            Bucket::Ephemeral => ephemeral().then_some("ephemeral"),
            Bucket::AdHoc => (modified < before).then_some("ad_hoc"),
            Bucket::PatternAllowed => (modified < before).then_some(match self.created_at {
                Some(_) => "stale_pattern_allowed (older than prior workflow's start)",
                None => "stale_pattern_allowed (>1d)",
            }),
        }
    }
}

fn date(fields: &Fields, key: &str) -> Option<DateTime<Utc>> {
    let date = DateTime::parse_from_rfc3339(fields.text(key)?).ok()?;
    Some(date.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(n: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_768_000_000, 0).unwrap() + TimeDelta::hours(n)
    }

    fn workflow(active: &str) -> String {
        format!(
            "active: {active}\nfirst_created_at: \"{}\"\ncreated_at: \"{}\"\n",
            hours(-10).to_rfc3339(),
            hours(-4).to_rfc3339()
        )
    }

    /// Per workflow: `1` to `4` for the sweep that takes a file of this age in hours, `-` for none.
    #[track_caller]
    fn check(sweep: Sweep, bucket: Bucket, expected: [(Option<&str>, &str); 4]) {
        for (text, row) in expected {
            let gates = Gates::new(text, hours(0));
            let found: String = [1, 5, 12, 30]
                .into_iter()
                .map(
                    |age| match gates.takes(sweep, bucket, hours(-age), || true) {
                        None => '-',
                        Some("workflow_marker" | "graph_artifact") => '1',
                        Some("stale_canonical") => '2',
                        Some("stale_variant") => '3',
                        Some(_) => '4',
                    },
                )
                .collect();
            assert_eq!(found, row, "{sweep:?} {bucket:?} with {text:?}");
        }
    }

    #[test]
    fn each_class_has_its_gate() {
        let (active, closed) = (workflow("true"), workflow("false"));
        let undated = "active: true\nfirst_created_at: soon\n";
        let by = |none, undated_row, active_row, closed_row| {
            [
                (None, none),
                (Some(undated), undated_row),
                (Some(active.as_str()), active_row),
                (Some(closed.as_str()), closed_row),
            ]
        };
        use Bucket::{AdHoc, Canonical, Ephemeral, PatternAllowed};
        check(Sweep::None, Canonical, by("----", "----", "----", "----"));
        check(Sweep::Marker, Canonical, by("1111", "1111", "--11", "1111"));
        check(Sweep::Graph, Canonical, by("1111", "1111", "--11", "1111"));
        check(
            Sweep::MarkerAndOutcome,
            Canonical,
            by("1111", "1111", "--11", "1111"),
        );
        check(
            Sweep::Outcome,
            Canonical,
            by("----", "----", "--22", "2222"),
        );
        check(
            Sweep::Variant,
            PatternAllowed,
            by("3333", "3333", "-433", "3333"),
        );
        check(Sweep::Variant, AdHoc, by("3333", "3333", "-433", "3333"));
        check(
            Sweep::None,
            PatternAllowed,
            by("---4", "---4", "-444", "-444"),
        );
        check(Sweep::None, AdHoc, by("---4", "---4", "-444", "-444"));
        check(Sweep::None, Ephemeral, by("4444", "4444", "4444", "4444"));
    }

    #[test]
    fn a_file_as_old_as_the_anchor_is_of_the_workflow() {
        let gates = Gates::new(Some(&workflow("true")), hours(0));
        let takes = |modified| gates.takes(Sweep::Outcome, Bucket::Canonical, modified, || true);
        assert_eq!(takes(hours(-10)), None);
        assert_eq!(
            takes(hours(-10) - TimeDelta::nanoseconds(1)),
            Some("stale_canonical")
        );
        assert_eq!(takes(hours(5)), None, "a clock that was set back");
    }

    #[test]
    fn what_is_no_boolean_is_not_closed() {
        for (active, is_closed) in [
            ("false", true),
            ("null", true),
            ("yes", false),
            ("true", false),
        ] {
            let gates = Gates::new(Some(&workflow(active)), hours(0));
            assert_eq!(gates.anchor == Anchor::Closed, is_closed, "{active}");
        }
        for (text, anchor) in [
            (None, Anchor::Unknown),
            (Some(""), Anchor::Unknown),
            (Some("active: false"), Anchor::Closed),
        ] {
            assert_eq!(Gates::new(text, hours(0)).anchor, anchor, "{text:?}");
        }
    }
}
