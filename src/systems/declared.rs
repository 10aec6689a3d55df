//! Systems that exist in the settings only: a glob for the site, globs for its
//! names, and what they have to hold.

mod content;
mod directories;
pub mod gates;
mod needs;
mod step;

use std::sync::OnceLock;

use chrono::{DateTime, Utc};

use self::gates::Gates;
use crate::base::actor::AgentName;
use crate::contract::glob::Pattern;
use crate::contract::table::{Contract, Dir, DirKind, List, Name, Others, Role, Row, Writer};
use crate::settings::model::{Declared, Openness, Owner, Settings};
use crate::systems::system::{
    AgentEvent, ClosedGate, ContentError, Effects, Files, Info, Judgement, Place, System, View,
    place_at,
};
use crate::systems::workflow::{UnreadableState, Workflow};

pub struct DeclaredSystem<'s> {
    declared: &'s Declared,
    info: Info<'s>,
    /// Made when it is first asked for.
    contract: OnceLock<Contract<'s>>,
}

impl<'s> DeclaredSystem<'s> {
    /// Every system that the settings add.
    pub fn all(settings: &'s Settings) -> Vec<Box<dyn System + 's>> {
        settings
            .declared()
            .map(|(id, declared)| Box::new(Self::new(id, declared)) as Box<dyn System>)
            .collect()
    }

    fn new(id: &'s str, declared: &'s Declared) -> Self {
        let info = Info {
            gate_dir: (!declared.gate_agents.is_empty()).then_some(""),
            never_stale: declared.long_lived,
            ..Info::new(id)
        };
        Self {
            declared,
            info,
            contract: OnceLock::new(),
        }
    }

    fn gates(&self) -> Gates<'_> {
        Gates::of(self.info.id, self.declared)
    }
}

const CLOSED: &[Dir<'_>] = &[Dir::new("", DirKind::Closed)];
const NEAR: &[Dir<'_>] = &[Dir::new("", DirKind::Near)];
const OPEN: &[Dir<'_>] = &[Dir::new("", DirKind::Open)];

fn row<'s>(pattern: &'s Pattern, declared: &'s Declared) -> Row<'s> {
    let mut row = Row::glob(pattern, &declared.by.sentence);
    // A plain name is one that a slip can be near to.
    if let Some(name) = pattern.as_name() {
        row.name = Name::Exact(name);
    }
    row
}

fn contract(declared: &Declared) -> Contract<'_> {
    let row = |glob| row(glob, declared);
    let canonical = declared.canonical.iter().map(|glob| row(glob).canonical());
    let ephemeral = declared.ephemeral.iter().map(|glob| row(glob).ephemeral());
    let patterns = declared.patterns.iter().map(row);
    let owners = declared.owners.iter().flat_map(|(_, owners)| owners);
    let agents = owners.filter_map(Owner::agent);
    Contract {
        source: &declared.by.sentence,
        rows: canonical.chain(ephemeral).chain(patterns).collect(),
        dirs: List::Borrowed(match declared.open {
            Openness::Closed => CLOSED,
            Openness::Near => NEAR,
            Openness::Open => OPEN,
        }),
        roles: agents.map(Role::same).collect(),
        fallback: None,
    }
}

impl System for DeclaredSystem<'_> {
    fn info(&self) -> &Info<'_> {
        &self.info
    }

    fn declared_by(&self) -> Option<&str> {
        Some(&self.declared.by.sentence)
    }

    fn contract(&self) -> &Contract<'_> {
        self.contract.get_or_init(|| contract(self.declared))
    }

    /// The deepest directory on the way that the glob matches is the site; only where there is
    /// none, the path may be one itself.
    fn locate<'p>(&self, path: &'p str, _view: &dyn View) -> Option<Place<'p>> {
        let ends = path.rmatch_indices('/').map(|(at, _)| at);
        ends.chain([path.len()])
            .map(|end| place_at(path, end))
            .find(|place| {
                self.declared
                    .sites
                    .iter()
                    .any(|site| site.matches(place.site))
            })
    }

    fn judges(&self, entry: &str) -> bool {
        self.declared.content_of(entry).is_some()
    }

    fn check_content(&self, at: Place<'_>, text: &str, _present: Option<&str>) -> Judgement {
        match self.declared.content_of(at.entry) {
            Some(rule) => content::check(rule, at.entry, text).map_err(ContentError::malformed),
            None => Ok(Vec::new()),
        }
    }

    fn writer<'a>(&'a self, _row: &'a Row<'a>, entry: &str) -> Writer<'a> {
        self.free_writer(entry)
    }

    fn free_writer<'a>(&'a self, entry: &str) -> Writer<'a> {
        let Some(owners) = self.declared.owners_of(entry) else {
            return Writer::Anyone;
        };
        let agents: Vec<&str> = owners.iter().filter_map(Owner::agent).collect();
        match owners {
            _ if !agents.is_empty() => Writer::Roles(List::Owned(agents), Others::Main),
            owners if owners.contains(&Owner::Main) => Writer::Main,
            owners if owners.contains(&Owner::Program) => Writer::Program,
            owners if owners.contains(&Owner::User) => Writer::User,
            _ => Writer::Main,
        }
    }

    fn workflow_id(&self, files: &dyn Files) -> Option<String> {
        self.gates().workflow_id(files)
    }

    /// All but the state file.
    fn is_artifact(&self, name: &str) -> bool {
        !name.starts_with(gates::DIR)
    }

    fn artifacts_of(&self, agent: &AgentName, files: &dyn Files) -> Vec<String> {
        self.gates().artifacts_of(agent, files)
    }

    fn moves_gates(&self, entry: &str) -> bool {
        self.gates().are_moved_by(entry)
    }

    fn at(&self, event: AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        self.gates().at(event, files, now)
    }

    fn has_gate(&self, agent: &AgentName) -> bool {
        self.gates().is_of_gate(agent)
    }

    fn closed_gate(&self, agent: &AgentName, task: &str, files: &dyn Files) -> Option<ClosedGate> {
        self.gates().closed_gate(agent, task, files)
    }

    fn commands(&self, files: &dyn Files) -> Vec<(&str, &str)> {
        self.gates().commands(files)
    }

    fn runs(&self, _site: &str, files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        if self.declared.gate_agents.is_empty() {
            return Vec::new();
        }
        match self.gates().runs(files) {
            Ok(runs) => runs.into_iter().map(Ok).collect(),
            Err(why) => vec![Err(why)],
        }
    }
}
