//! The text that a call would leave in a file, and what a system says to it.

use crate::guard::claims::Claim;
use crate::guard::decision::Objection;
use crate::systems::system::{Note, Place};

/// A text a call would leave, and the text that is there.
pub struct Content {
    pub after: String,
    pub present: Option<String>,
}

impl Content {
    /// A text that is there already.
    pub fn unchanged(text: String) -> Self {
        Self {
            present: Some(text.clone()),
            after: text,
        }
    }
}

pub(crate) fn rules(claim: &Claim<'_>, content: &Content) -> Result<Vec<Note>, Objection> {
    let at = Place {
        site: &claim.site,
        entry: &claim.entry,
    };
    let system = claim.governed.system;
    system
        .check_content(at, &content.after, content.present.as_deref())
        .map_err(|error| Objection::new(error.code, error.message))
}
