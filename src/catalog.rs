//! The systems as the settings leave them: which are on, and each one's
//! contract with the project's own additions.

use std::ops::Deref;

use crate::contract::{Bucket, Contract, Dir, DirKind, Edition, List, Name, Role, Row, Writer};
use crate::settings::{Mode, Settings, SystemSettings};
use crate::systems::{SYSTEMS, System, declared::DeclaredSystem};

/// One system with the rules that hold for it here.
pub struct Governed<'s> {
    pub system: &'s dyn System,
    pub contract: Table<'s>,
    pub edition: Edition,
    pub mode: Mode,
}

/// A contract as it is in the program, or with the settings' additions.
pub enum Table<'s> {
    BuiltIn(&'s Contract<'s>),
    Extended(Box<Contract<'s>>),
}

impl<'s> Deref for Table<'s> {
    type Target = Contract<'s>;

    fn deref(&self) -> &Contract<'s> {
        match self {
            Self::BuiltIn(contract) => contract,
            Self::Extended(contract) => contract,
        }
    }
}

/// Every system that is not switched off.
pub struct Catalog<'s> {
    pub governed: Vec<Governed<'s>>,
    /// Directories that the settings name as sites, by system.
    pub named_sites: Vec<(String, Vec<String>)>,
}

impl<'s> Catalog<'s> {
    pub fn new(settings: &'s Settings, declared: &'s [DeclaredSystem<'s>]) -> Self {
        let built_in = SYSTEMS.iter().map(|system| *system as &'s dyn System);
        let added = declared.iter().map(|system| system as &'s dyn System);
        let governed = built_in
            .chain(added)
            .filter_map(|system| govern(system, settings));
        let named = SYSTEMS.iter().filter_map(|system| {
            let roots = &settings.system(system.id()).roots;
            (!roots.is_empty()).then(|| (system.id().to_owned(), roots.clone()))
        });
        Self {
            governed: governed.collect(),
            named_sites: named.collect(),
        }
    }

    /// Whether the settings name a site, by its directory or by a glob.
    pub fn names_sites(&self) -> bool {
        let declares = |governed: &Governed<'_>| governed.system.landmarks().is_empty();
        !self.named_sites.is_empty() || self.governed.iter().any(declares)
    }

    pub fn get(&self, id: &str) -> Option<&Governed<'s>> {
        self.governed
            .iter()
            .find(|governed| governed.system.id() == id)
    }
}

fn govern<'s>(system: &'s dyn System, settings: &'s Settings) -> Option<Governed<'s>> {
    let own = settings.system(system.id());
    let mode = match settings.mode_of(system.id()) {
        // A warning would not keep an agent from editing the settings that warn.
        Mode::Warn if system.id() == "self" && own.mode.is_none() => Mode::Enforce,
        mode => mode,
    };
    (mode != Mode::Off).then(|| Governed {
        contract: with_additions(system.contract(), own),
        edition: own.contract,
        mode,
        system,
    })
}

/// The contract with the names, globs, directories and roles of the settings.
/// Additions stand behind the built-in rows of their bucket, so that they can
/// widen a contract but not take a name from its writer.
fn with_additions<'s>(base: &'s Contract<'s>, own: &'s SystemSettings) -> Table<'s> {
    let adds_names = !own.extra_names.is_empty() || !own.extra_globs.is_empty();
    if !adds_names && own.subdirectories.is_empty() && own.roles.is_empty() {
        return Table::BuiltIn(base);
    }
    let names = own
        .extra_names
        .iter()
        .map(|name| Row::file(name, Writer::Anyone, ADDED));
    let globs = own.extra_globs.iter().map(|glob| {
        let mut row = Row::file("", Writer::Anyone, ADDED).pattern_allowed();
        row.name = Name::Glob(glob);
        row
    });
    let built_in = base.rows.iter();
    let is_canonical = |row: &&Row<'_>| row.bucket == Bucket::Canonical;
    let n_added = own.extra_names.len() + own.extra_globs.len();
    let mut rows = Vec::with_capacity(base.rows.len() + n_added);
    rows.extend(built_in.clone().filter(is_canonical).cloned());
    rows.extend(names);
    rows.extend(built_in.filter(|row| !is_canonical(row)).cloned());
    rows.extend(globs);
    let dirs = own
        .subdirectories
        .iter()
        .map(|path| Dir::new(path.trim_matches('/'), DirKind::Open));
    let roles = own.roles.iter().map(|(agent, role)| Role { agent, role });
    Table::Extended(Box::new(Contract {
        source: base.source,
        rows: List::Owned(rows),
        dirs: base.dirs.iter().copied().chain(dirs).collect(),
        // An agent's role in the settings wins over its built-in one.
        roles: roles.chain(base.roles.iter().copied()).collect(),
        fallback: base.fallback,
    }))
}

const ADDED: &str = "added in the project's settings";
