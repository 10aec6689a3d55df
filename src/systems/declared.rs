//! Systems that exist in the settings only: a glob for the site, globs for its
//! names, and what they have to hold. A declared site is closed.

mod content;
pub mod gates;
mod needs;

use chrono::{DateTime, Utc};

use self::gates::Gates;
use crate::base::actor::AgentName;
use crate::contract::glob::Pattern;
use crate::contract::table::{Contract, Dir, DirKind, List, Name, Others, Role, Row, Writer};
use crate::settings::model::{Declared, Owner, Settings};
use crate::systems::system::{
    AgentEvent, ClosedGate, ContentError, Effects, Files, Info, Judgement, Place, System, View,
    place_at,
};
use crate::systems::workflow::Workflow;

pub struct DeclaredSystem<'s> {
    declared: &'s Declared,
    info: Info<'s>,
    contract: Contract<'s>,
}

impl<'s> DeclaredSystem<'s> {
    /// Every system that the settings add.
    pub fn all(settings: &'s Settings) -> Vec<Self> {
        settings
            .declared()
            .map(|(id, declared)| Self {
                declared,
                info: Info {
                    gate_dir: (!declared.gates.is_empty()).then_some(""),
                    never_stale: declared.long_lived,
                    ..Info::new(id)
                },
                contract: contract(declared),
            })
            .collect()
    }

    fn gates(&self) -> Gates<'_> {
        Gates::of(self.info.id, self.declared)
    }

    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.declared.sites.iter().map(Pattern::as_str)
    }
}

const CLOSED: &[Dir<'_>] = &[Dir::new("", DirKind::Closed)];
const OPEN: &[Dir<'_>] = &[Dir::new("", DirKind::Open)];

fn row(pattern: &Pattern) -> Row<'_> {
    let mut row = Row::glob(pattern, "declared in the settings");
    // A plain name is one that a slip can be near to.
    if let Some(name) = pattern.as_name() {
        row.name = Name::Exact(name);
    }
    row
}

fn contract(declared: &Declared) -> Contract<'_> {
    let canonical = declared.canonical.iter().map(|glob| row(glob).canonical());
    let ephemeral = declared.ephemeral.iter().map(|glob| row(glob).ephemeral());
    let patterns = declared.patterns.iter().map(row);
    let owners = declared.owners.iter().flat_map(|(_, owners)| owners);
    let agents = owners.filter_map(Owner::agent);
    Contract {
        source: declared
            .source
            .as_deref()
            .unwrap_or("the project's settings"),
        rows: canonical.chain(ephemeral).chain(patterns).collect(),
        dirs: List::Borrowed(if declared.open { OPEN } else { CLOSED }),
        roles: agents.map(Role::same).collect(),
        fallback: None,
    }
}

impl System for DeclaredSystem<'_> {
    fn info(&self) -> &Info<'_> {
        &self.info
    }

    fn contract(&self) -> &Contract<'_> {
        &self.contract
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

    fn at(&self, moment: &AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        self.gates().at(moment, files, now)
    }

    fn closed_gate(&self, agent: &AgentName, files: &dyn Files) -> Option<ClosedGate> {
        self.gates().closed_gate(agent, files)
    }

    fn commands(&self, files: &dyn Files) -> Vec<(&str, &str)> {
        self.gates().commands(files)
    }

    fn runs(&self, _site: &str, files: &dyn Files) -> Vec<anyhow::Result<Workflow>> {
        match self.declared.gates.is_empty() {
            true => Vec::new(),
            false => vec![self.gates().run(files)],
        }
    }
}
