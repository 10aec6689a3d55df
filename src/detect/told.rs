//! What is told of what was found, and to whom.

use crate::decision::{Denial, DenyCode};
use crate::event::Kind;
use crate::reply::{self, Reply};
use crate::settings::Mode;

/// Who may have done it. A command in the background leaves time for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Culprit {
    Call,
    CallOrBackground,
    Background,
}

impl Culprit {
    /// The start of a sentence.
    fn as_str(self) -> &'static str {
        match self {
            Self::Call => "The call",
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

/// So many of what was found are named; all of it is recorded.
const LISTED: usize = 5;

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
        let (named, more) = self.found.split_at(self.found.len().min(LISTED));
        let mut list: Vec<String> = named.iter().map(item).collect();
        if !more.is_empty() {
            list.push(format!("and {} more", more.len()));
        }
        let strays = self.found.iter().any(|denial| denial.code.is_about_names());
        let todo = match (self.moved_to, first.code) {
            ([], _) if strays && self.culprit == Culprit::Call => {
                "Move what matters to the right name and remove the rest.".to_owned()
            }
            ([], _) if strays => {
                "If it is yours, move what matters to the right name and remove the rest."
                    .to_owned()
            }
            ([], DenyCode::MalformedContent | DenyCode::IllegalTransition) => {
                "Write it again as its readers need it.".to_owned()
            }
            ([], _) => "Put things back as they were, and tell the user.".to_owned(),
            (moved, _) => format!(
                "Strays were moved to `{}`; `statewarden restore` brings them back.",
                moved.join("`, `")
            ),
        };
        let text = format!(
            "{} left what the rules refuse: {}. {todo} More: `statewarden explain {}`.",
            self.culprit.as_str(),
            list.join(", "),
            reply::quoted(&reply::shown(&first.shown, 160))
        );
        Some(reply::cut(&text, reply::MAX_REASON))
    }
}

/// A name says by its code what is wrong with it; the rest needs words.
fn item(denial: &Denial) -> String {
    let (code, shown) = (denial.code.as_str(), reply::shown(&denial.shown, 160));
    match &denial.instead {
        Some(name) => format!("`{shown}` ({code}, should be `{name}`)"),
        None if denial.code.is_about_names() => format!("`{shown}` ({code})"),
        None => format!("`{shown}` ({code}: {})", reply::shown(&denial.why, 160)),
    }
}
