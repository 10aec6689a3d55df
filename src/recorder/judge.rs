//! What the rules say to a change, as if its actor had made it with a file tool.

use crate::base::actor::Actor;
use crate::base::disk::resolve::exists;
use crate::base::path;
use crate::base::target::{self, Target};
use crate::contract::denial::{Denial, DenyCode};
use crate::contract::table::{Bucket, Classification};
use crate::guard::claims::{self, Claim};
use crate::guard::content::Content;
use crate::guard::decision::{self, Call, Channel, Objection};
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::recorder::contents::Contents;
use crate::recorder::entry::{Change, ChangeKind, Kind, State};
use crate::systems::own;
use crate::systems::system::PriorText;

/// A change, and where it lies in which system.
pub struct Judged<'a, 's> {
    pub change: &'a Change,
    /// The path as text.
    pub path: String,
    pub claim: Claim<'s>,
    contents: &'a Contents,
    cwd: &'a str,
}

impl<'a, 's> Judged<'a, 's> {
    /// `None` for what falls to no system; `cwd` is where names are told from.
    pub fn of(
        change: &'a Change,
        contents: &'a Contents,
        project: &Project,
        registry: &'s Registry<'s>,
        cwd: &'a str,
    ) -> Option<Self> {
        let path = path::from_os(change.path());
        let mut target = Target::literal(path.clone(), act(change));
        if let Some(State {
            kind: Kind::Link,
            blob: Some(to),
            ..
        }) = change.after
        {
            let to = contents.get(to).and_then(|to| String::from_utf8(to).ok());
            target.link_to = to;
        }
        let claims = claims::of(&[target], project, registry);
        let mut claim = claims.ok()?.into_iter().next()?;
        // Without Claude Code's settings our entries are gone: as if nothing stood in them.
        if claim.governed.id() == own::ID && claim.governed.system.judges(&claim.entry) {
            claim.target.act = target::Act::Write;
        }
        Some(Self {
            change,
            path,
            claim,
            contents,
            cwd,
        })
    }

    /// What would have denied the actor.
    pub fn objection(&self, actor: &Actor) -> Option<Denial> {
        let claims = std::slice::from_ref(&self.claim);
        let content = |_: &Claim<'_>| Ok(self.content());
        let decision = decision::decide(claims, &self.call(actor), &content).ok()?;
        decision.denials().first().cloned()
    }

    /// A denial of another kind than the rules have for one entry.
    pub fn denial(&self, code: DenyCode, why: String) -> Denial {
        Objection::new(code, why).about(&self.claim, &self.call(&Actor::Main))
    }

    fn call<'c>(&'c self, actor: &'c Actor) -> Call<'c> {
        Call {
            actor,
            channel: Channel::FileTool,
            cwd: self.cwd,
            targets: std::slice::from_ref(&self.claim.target),
            exists,
        }
    }

    /// The text that a rule judges, with the one before it.
    fn content(&self) -> Option<Content> {
        let system = self.claim.governed.system;
        if !system.judges(&self.claim.entry) {
            return None;
        }
        let after = match self.change.after {
            // Claude Code's settings without our entries.
            None => Some("{}".to_owned()),
            Some(after) => self.text(&after),
        };
        let is_empty = |text: &String| text.is_empty();
        let was_empty = self.change.before.is_none_or(|before| before.size == 0);
        // A file that begins empty is about to be written.
        let after = after.filter(|text| !(is_empty(text) && was_empty))?;
        let present = match system.info().prior {
            PriorText::Ignored => None,
            // Empty, so that nothing takes what is not kept for missing.
            PriorText::Needed | PriorText::Repairable => {
                let before = self.change.before;
                before.map(|before| self.text(&before).unwrap_or_default())
            }
        };
        Some(Content { after, present })
    }

    fn text(&self, state: &State) -> Option<String> {
        String::from_utf8(self.contents.get(state.blob?)?).ok()
    }

    /// Whether the entry is one that a run needs, and not a stray or a temporary file.
    pub fn is_state(&self) -> bool {
        let governed = self.claim.governed;
        match governed
            .contract
            .standing(&self.claim.entry, governed.edition)
        {
            Classification::Row(row) => {
                matches!(row.bucket, Bucket::Canonical | Bucket::PatternAllowed)
            }
            _ => false,
        }
    }
}

/// What a file tool would have done.
fn act(change: &Change) -> target::Act {
    let kind = change.after.or(change.before).map(|state| state.kind);
    match (change.act(), kind) {
        (ChangeKind::Remove, Some(Kind::Dir)) => target::Act::RemoveTree,
        (ChangeKind::Remove, _) => target::Act::Remove,
        (_, Some(Kind::Dir)) => target::Act::MakeDir,
        (_, Some(Kind::Link)) => target::Act::Link,
        _ => target::Act::Write,
    }
}
