//! The session `state.json`: `.claude/.docs/<session-id>/`, closed. The names
//! are those of its state schema reference.

pub mod check;
pub mod create;
mod schema;
pub mod state;
pub mod transition;

use super::{ContentError, Place, System, View, split_site};
use crate::contract::{Contract, Dir, DirKind, List, Row, Writer};
use crate::decision::DenyCode;

pub struct Session;

impl System for Session {
    fn id(&self) -> &str {
        "session"
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    /// Other tools may keep documents in `.claude/.docs/`; a directory is a
    /// session when its name says so, or when it holds or gets a `state.json`.
    fn locate<'p>(&self, path: &'p str, view: &dyn View) -> Option<Place<'p>> {
        let place = split_site(path, ".claude/.docs", 1)?;
        let id = place.site.rsplit('/').next().unwrap_or_default();
        let is_session = is_session_id(id)
            || place.entry == "state.json"
            || view.exists(&format!("{}/state.json", place.site));
        is_session.then_some(place)
    }

    fn check_content(
        &self,
        entry: &str,
        text: &str,
        present: Option<&str>,
    ) -> Result<Vec<String>, ContentError> {
        if entry != "state.json" {
            return Ok(Vec::new());
        }
        check::check_content(text, present).map_err(|error| match error {
            check::ContentError::Malformed(why) => ContentError::malformed(entry, &why),
            check::ContentError::IllegalTransition(why) => ContentError {
                code: DenyCode::IllegalTransition,
                message: format!("`{entry}` cannot become this: {why}"),
            },
        })
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &[".claude/.docs/*"]
    }
}

static CONTRACT: Contract<'static> = Contract {
    source: "state schema reference of the coding skill",
    rows: List::Borrowed(&[
        Row::file("state.json", Writer::Main, "phases of the session").read_by("the main thread"),
        Row::file(
            "research-report.md",
            Writer::Main,
            "report of the research phase",
        ),
        Row::file("plan-report.md", Writer::Main, "report of the plan phase"),
        Row::file(
            "review-report.md",
            Writer::Main,
            "report of the review phase",
        ),
    ]),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Closed)]),
    roles: List::Borrowed(&[]),
    fallback: None,
};

/// `YYMMDD-words-of-the-task`: six digits, then words of `a-z0-9`, each after a `-`.
pub fn is_session_id(id: &str) -> bool {
    let mut words = id.split('-');
    let day = words.next().unwrap_or_default();
    let mut words = words.peekable();
    day.len() == 6
        && day.bytes().all(|b| b.is_ascii_digit())
        && words.peek().is_some()
        && words.all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}
