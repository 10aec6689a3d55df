//! What is told of what was found, and to whom.

use chrono::{DateTime, Utc};

use super::{Found, SLACK};
use crate::base::{clock, text};
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::host::event::{Event, Kind};
use crate::host::reply::{self, Reply};
use crate::lifecycle::post_tool_use::each_record;
use crate::project::context::Context;

/// Leaves out what the session was told already and what changed before the
/// call began: it lies in the call's window, from `since` on, by the slack alone.
pub(super) fn leave_out_told(
    context: &Context<'_>,
    found: &mut Vec<Found>,
    event: &Event<'_>,
    since: DateTime<Utc>,
) {
    let before = since..since + SLACK;
    let in_slack = |found: &Found| found.changed.filter(|changed| before.contains(changed));
    if !found.iter().any(|found| in_slack(found).is_some()) {
        return;
    }
    each_record(&context.logs().events(), &mut |record| {
        if record["decision"] != "detected" || record["session_id"] != event.session() {
            return;
        }
        let told = record["ts"].as_str().unwrap_or_default();
        found.retain(|found| {
            let is_told = |changed| clock::millis(changed).as_str() <= told;
            record["file_path"] != found.denial.path || !in_slack(found).is_some_and(is_told)
        });
    });
}

/// Who may have done it. A command in the background leaves time for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Culprit {
    Call,
    CallOrBackground,
    Background,
    /// A call that was not refused before it ran.
    Rewritten,
}

impl Culprit {
    /// The start of a sentence.
    fn as_str(self) -> &'static str {
        match self {
            Self::Call => "The call",
            Self::Rewritten => "The call, which another hook has changed,",
            Self::CallOrBackground => "The call, or a command in the background,",
            Self::Background => "A command in the background, or something else meanwhile,",
        }
    }
}

/// Whether a turn's end comes because a hook had made it go on (`stop_hook_active`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Again,
}

/// What the model is told.
pub(super) struct Told<'a> {
    pub(super) culprit: Culprit,
    pub(super) found: &'a [Denial],
    pub(super) moved_to: &'a [String],
}

impl Told<'_> {
    /// A turn that ends is made to go on once at most: a block at its end brings
    /// another end, which says that a hook is at work.
    pub(super) fn to_reply(&self, kind: Kind, end: End) -> Reply {
        let Some(text) = self.text() else {
            return Reply::Silent;
        };
        let enforced = self.found.iter().any(|denial| denial.mode == Mode::Enforce);
        match kind {
            Kind::Stop if !enforced || end == End::Again => Reply::Notice { text },
            _ if enforced => Reply::Block { reason: text },
            event => Reply::Context { event, text },
        }
    }

    fn text(&self) -> Option<String> {
        let first = self.found.first()?;
        let strays = self.found.iter().any(|denial| denial.code.is_about_names());
        let todo = match (self.moved_to, first.code) {
            ([], _) if strays && matches!(self.culprit, Culprit::Call | Culprit::Rewritten) => {
                "Move what matters to the right name and remove the rest.".to_owned()
            }
            ([], _) if strays => {
                "If it is yours, move what matters to the right name and remove the rest."
                    .to_owned()
            }
            ([], DenyCode::MalformedContent | DenyCode::IllegalTransition) => {
                "Write it again as its readers need it.".to_owned()
            }
            ([], DenyCode::ProtectedFile) => {
                "Tell the user, who may have done it; if the call did, put it back.".to_owned()
            }
            ([], _) => "Put things back as they were, and tell the user.".to_owned(),
            (moved, _) => format!(
                "Strays were moved to `{}`; `statewarden restore` brings them back.",
                moved.join("`, `")
            ),
        };
        let shown = text::excerpt(&first.shown, 160);
        let end = format!(
            "{todo} More: `statewarden explain {}`.",
            text::shell_quote(&shown)
        );
        let culprit = self.culprit.as_str();
        let items = self.found.iter().map(item).collect();
        let list = text::join_limited(items, ROOM.saturating_sub(end.len()));
        let text = format!("{culprit} left what the rules refuse: {list}. {end}");
        Some(text::truncate(&text, reply::MAX_REASON))
    }
}

/// What the list and the end of a text have, beside its beginning.
const ROOM: usize = reply::MAX_REASON - 120;

/// A name says by its code what is wrong with it; the rest needs words.
fn item(denial: &Denial) -> String {
    let (code, shown) = (denial.code.as_str(), text::excerpt(&denial.shown, 160));
    match &denial.instead {
        Some(instead) => format!("`{shown}` ({code}, should be `{}`)", instead.path),
        None if denial.code.is_about_names() => format!("`{shown}` ({code})"),
        None => format!("`{shown}` ({code}: {})", text::excerpt(&denial.why, 160)),
    }
}
