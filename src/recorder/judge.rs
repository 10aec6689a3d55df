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
use crate::systems::files::Files;
use crate::systems::own;
use crate::systems::system::{Place, PriorText};

/// A change, and where it is in which system.
pub struct Judged<'a, 's> {
    pub change: &'a Change,
    /// The path as text.
    pub path: String,
    pub claim: Claim<'s>,
    contents: &'a Contents,
    cwd: &'a str,
}

impl<'a, 's> Judged<'a, 's> {
    /// `None` for what falls to no system; `cwd` is where names are shown from.
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
        let found = claims::of(&[target], project, registry).ok()?;
        let mut claim = found.into_iter().next()?;
        // Without Claude Code's settings our entries are gone: as if they were empty.
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

    /// Whether it is about the settings or contracts of this program.
    pub fn is_of_own_settings(&self) -> bool {
        let (system, entry) = (self.claim.governed.system, &self.claim.entry);
        system.id() == own::ID
            && !own::is_state(entry)
            && !system.judges(entry)
            && !was_linked(self.change)
    }

    /// What would have denied the actor.
    pub fn objection(&self, actor: &Actor) -> Option<Denial> {
        if self.claim.governed.id() == own::ID && was_linked(self.change) {
            let why = "the directory was renamed, and a link is in its place".to_owned();
            return Some(self.denial(DenyCode::ProtectedFile, why));
        }
        self.objection_with(actor, &|| self.content())
    }

    fn objection_with(
        &self,
        actor: &Actor,
        content: &dyn Fn() -> Option<Content>,
    ) -> Option<Denial> {
        let claims = std::slice::from_ref(&self.claim);
        let decision = decision::decide(claims, &self.call(actor), &|_| Ok(content())).ok()?;
        decision.denials().first().cloned()
    }

    /// A denial of another kind than the rules have for one entry.
    pub fn denial(&self, code: DenyCode, why: String) -> Denial {
        Objection::new(code, why).about(&self.claim, &self.call(&Actor::Main))
    }

    fn call<'c>(&'c self, actor: &'c Actor) -> Call<'c> {
        Call::new(
            actor,
            Channel::FileTool,
            self.cwd,
            std::slice::from_ref(&self.claim.target),
            exists,
        )
    }

    /// The text that a rule judges, with the one before it.
    fn content(&self) -> Option<Content> {
        let system = self.claim.governed.system;
        if !system.judges(&self.claim.entry) {
            return None;
        }
        let text = match self.change.after {
            // Claude Code's settings without our entries.
            None => Some("{}".to_owned()),
            Some(after) => self.text(&after),
        };
        let was_empty = self.change.before.is_none_or(|before| before.size == 0);
        // A file that begins empty is about to be written.
        let after = text.filter(|text| !(text.is_empty() && was_empty))?;
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

    /// Whether the name is wrong, whoever made the entry and whatever it holds.
    pub fn has_bad_name(&self) -> bool {
        let objection = self.objection_with(&Actor::Main, &|| None);
        objection.is_some_and(|denial| denial.code.subject().holds_for_everyone())
    }

    /// Whether the text as it is now may be written.
    pub fn keeps_content_rule(&self) -> bool {
        let (system, claim) = (self.claim.governed.system, &self.claim);
        let place = Place {
            site: &claim.site,
            entry: &claim.entry,
        };
        self.content().is_none_or(|content| {
            system
                .check_content(place, &content.after, content.present.as_deref())
                .is_ok()
        })
    }

    /// Whether the gates in the file are not as they were.
    pub fn moves_a_gate(&self) -> bool {
        let gates = |state: Option<State>| {
            let files = OneFile {
                name: &self.claim.entry,
                text: state.and_then(|state| self.text(&state)),
            };
            let runs = self.claim.governed.system.runs(&self.claim.site, &files);
            let gates = runs.into_iter().flatten().flat_map(|run| run.gates);
            gates
                .map(|gate| (gate.name, gate.status))
                .collect::<Vec<_>>()
        };
        let is_changed = self.change.before.is_some() && self.change.after.is_some();
        is_changed && gates(self.change.before) != gates(self.change.after)
    }

    /// Whether the entry is one that a run needs, and not a stray or a temporary file.
    pub fn is_state(&self) -> bool {
        let governed = self.claim.governed;
        match governed
            .contract
            .classify(&self.claim.entry, governed.edition)
        {
            Classification::Row(row) => {
                matches!(row.bucket, Bucket::Canonical | Bucket::PatternAllowed)
            }
            _ => false,
        }
    }
}

/// Whether a directory gave way to a link.
fn was_linked(change: &Change) -> bool {
    let kind = |state: Option<State>| state.map(|state| state.kind);
    (kind(change.before), kind(change.after)) == (Some(Kind::Dir), Some(Kind::Link))
}

/// What a file tool would have done.
fn act(change: &Change) -> target::Act {
    let kind = change.after.or(change.before).map(|state| state.kind);
    match (change.act(), kind) {
        _ if was_linked(change) => target::Act::MoveAway,
        (ChangeKind::Remove, Some(Kind::Dir)) => target::Act::RemoveTree,
        (ChangeKind::Remove, _) => target::Act::Remove,
        (_, Some(Kind::Dir)) => target::Act::MakeDir,
        (_, Some(Kind::Link)) => target::Act::Link,
        _ => target::Act::Write,
    }
}

/// One file of a site, as it was at some time.
struct OneFile<'a> {
    name: &'a str,
    text: Option<String>,
}

impl Files for OneFile<'_> {
    fn read(&self, name: &str) -> Result<Option<String>, String> {
        Ok(if name == self.name {
            self.text.clone()
        } else {
            None
        })
    }

    fn dirs(&self) -> Vec<String> {
        Vec::new()
    }
}
