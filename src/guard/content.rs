//! The text that a call would leave in a file, and what a system says to it.

use crate::base::actor::Actor;
use crate::contract::denial::Denial;
use crate::guard::claims::Claim;
use crate::guard::decision::{Call, Channel, Objection};
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

/// The objection to the text that stands at a claimed path, whoever wrote it.
pub fn objection_to_text(claim: &Claim<'_>, text: &str, cwd: &str) -> Option<Denial> {
    let content = Content {
        after: text.to_owned(),
        present: None,
    };
    let objection = rules(claim, &content).err()?;
    let nobodys = Call {
        actor: &Actor::Main,
        channel: Channel::Shell,
        cwd,
        targets: &[],
        exists: |_| false,
    };
    Some(objection.about(claim, &nobodys))
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
