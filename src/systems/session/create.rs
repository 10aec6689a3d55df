//! A new session: its id and its first `state.json`.

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::json;

use super::schema::SPEC_STATUSES;
use super::state::Phase;
use crate::base::clock;
use crate::formats::{front_matter, yaml};

/// What `session init` is asked for.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    pub task: &'a str,
    pub id: &'a str,
    /// The workflow `code:fast` instead of `code`.
    pub fast: bool,
    pub auto: bool,
    pub spec: Option<&'a Spec<'a>>,
}

/// The specification that a session works from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec<'a> {
    id: String,
    path: &'a str,
    status: String,
}

impl<'a> Spec<'a> {
    /// By the `feature_id` and the `status` of the file's front matter; without
    /// them it is an approved one that is called like the file.
    ///
    /// # Errors
    /// The status is none that a session can hold.
    pub fn read(path: &'a str, text: &str) -> Result<Self, String> {
        let front = front_matter::read(text).ok();
        let field = |key| yaml::text(front.as_ref()?, &[key]);
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let status = field("status").unwrap_or_else(|| SPEC_STATUSES[0].to_owned());
        if !SPEC_STATUSES.contains(&&*status) {
            let known = SPEC_STATUSES.join("` or `");
            return Err(format!(
                "`{path}` has the status `{status}`; a session takes a specification that is `{known}`"
            ));
        }
        Ok(Self {
            id: field("feature_id").unwrap_or_else(|| stem.to_owned()),
            path,
            status,
        })
    }
}

/// The text of a new `state.json`: phase `init` completed, the others pending.
pub fn new_session(new: &NewSession<'_>, now: DateTime<Utc>) -> String {
    let now = clock::seconds(now);
    let done = json!({ "status": "completed", "skipped": false, "report": null, "started_at": now, "completed_at": now });
    let pending = json!({ "status": "pending", "skipped": false, "report": null, "started_at": null, "completed_at": null });
    let phases = Phase::ALL.map(|phase| {
        let state = if phase == Phase::Init {
            &done
        } else {
            &pending
        };
        (phase.as_str(), state.clone())
    });
    let spec = new
        .spec
        .map(|spec| json!({ "id": spec.id, "path": spec.path, "status": spec.status }));
    let document = json!({
        "id": new.id,
        "task": new.task,
        "workflow": if new.fast { "code:fast" } else { "code" },
        "auto_mode": new.auto,
        "created_at": now,
        "updated_at": now,
        "spec": spec,
        "phases": serde_json::Map::from_iter(phases.map(|(name, state)| (name.to_owned(), state))),
        "dispatcher_decisions": {},
    });
    format!("{document:#}\n")
}

/// The longest feature name in a session id.
const FEATURE_CHARS_MAX: usize = 30;

/// `YYMMDD-words-of-the-task`, with `-2`, `-3` … while the id is taken.
pub fn session_id(task: &str, date: NaiveDate, taken: &[&str]) -> String {
    let mut feature = String::new();
    for word in task
        .to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if feature.is_empty() {
            feature.push_str(&word[..word.len().min(FEATURE_CHARS_MAX)]);
        } else if feature.len() + 1 + word.len() <= FEATURE_CHARS_MAX {
            feature.push('-');
            feature.push_str(word);
        } else {
            break;
        }
    }
    if feature.is_empty() {
        feature.push_str("task");
    }
    let id = format!("{}-{feature}", date.format("%y%m%d"));
    let numbered = (2u32..).map(|n| format!("{id}-{n}"));
    std::iter::once(id.clone())
        .chain(numbered)
        .find(|candidate| !taken.contains(&candidate.as_str()))
        .unwrap_or(id)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::state::{State, read_workflow};
    use super::*;
    use crate::formats::json::Document;

    /// A session that has just begun.
    pub(in super::super) fn fresh(now: DateTime<Utc>) -> String {
        let new = NewSession {
            task: "t",
            id: "260110-t",
            fast: false,
            auto: false,
            spec: None,
        };
        new_session(&new, now)
    }

    #[test]
    fn a_new_session_starts_with_research() {
        let now = DateTime::from_timestamp(1_768_055_422, 0).unwrap();
        let new = NewSession {
            task: "Fix \"it\"",
            id: "260110-fix-it",
            fast: true,
            auto: false,
            spec: Some(&Spec::read(".claude/.specs/it.md", "# It\n").unwrap()),
        };
        let text = new_session(&new, now);
        let keys =
            "id task workflow auto_mode created_at updated_at spec phases dispatcher_decisions";
        let document = Document::parse(&text).unwrap();
        assert!(
            document
                .root()
                .keys()
                .map(String::as_str)
                .eq(keys.split(' '))
        );
        assert_eq!(document.get(&["spec", "id"]), Some(&json!("it")));
        assert_eq!(document.render(), text);
        assert_eq!(State::parse(&text).unwrap().notes, [""; 0]);
        let workflow = read_workflow(&text, "x").unwrap();
        assert_eq!(
            (workflow.active, workflow.phase.as_deref()),
            (true, Some("research"))
        );
        assert_eq!(workflow.next.to_string(), "start phase `research`");
    }

    #[test]
    fn a_specification_says_what_it_is() {
        let read = |text: &str| {
            let spec = Spec::read(".claude/.specs/auth.md", text)?;
            Ok((spec.id, spec.status))
        };
        let check = |text: &str, id: &str, status: &str| {
            let expected = (id.to_owned(), status.to_owned());
            assert_eq!(read(text), Ok::<_, String>(expected), "{text}");
        };
        let whole = "---\nfeature_id: jwt-auth\nstatus: done\n---\n# Auth\n";
        check(whole, "jwt-auth", "done");
        check(&whole.replace('\n', "\r\n"), "jwt-auth", "done");
        check("---\nfeature_id: ''\n---\n", "auth", "approved");
        check("# Auth\n\nstatus: draft\n", "auth", "approved");
        let error = read("---\nstatus: draft\n---\n").unwrap_err();
        assert!(error.ends_with("`approved` or `done`"), "{error}");
    }

    #[track_caller]
    fn check_id(task: &str, taken: &[&str], expected: &str) {
        let date = NaiveDate::from_ymd_opt(2026, 1, 10).unwrap();
        assert_eq!(session_id(task, date, taken), expected);
    }

    #[test]
    fn ids_are_dated_short_and_free() {
        check_id("Add JWT auth", &[], "260110-add-jwt-auth");
        check_id(
            "Add JWT auth",
            &["260110-add-jwt-auth"],
            "260110-add-jwt-auth-2",
        );
        check_id("a b", &["260110-a-b", "260110-a-b-2"], "260110-a-b-3");
        check_id("Add JWT authentication with refresh tokens", &[], {
            "260110-add-jwt-authentication-with"
        });
        check_id(&"x".repeat(40), &[], &format!("260110-{}", "x".repeat(30)));
        check_id("  --été/../", &[], "260110-t");
        check_id("…", &[], "260110-task");
    }
}
