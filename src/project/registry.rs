//! The systems as the settings leave them: which are on, and each one's
//! contract with the project's own additions.

use std::ops::Deref;

use crate::contract::denial::Mode;
use crate::contract::edition::{Edition, InForce, Why};
use crate::contract::table::{Bucket, Contract, Dir, DirKind, List, Role, Row, Writer};
use crate::settings::model::{Settings, SystemSettings};
use crate::systems::own;
use crate::systems::system::{Place, SYSTEMS, System, View};

/// One system with the rules that hold for it here.
pub struct EnabledSystem<'s> {
    pub system: &'s dyn System,
    pub contract: Table<'s>,
    pub edition: Edition,
    /// Why that edition.
    pub why: Why<'s>,
    pub mode: Mode,
}

impl<'s> EnabledSystem<'s> {
    /// The id of the system.
    pub fn id(&self) -> &str {
        self.system.id()
    }

    /// The edition that holds, where the contract has more than one.
    pub fn edition_in_force(&self) -> Option<InForce<'s>> {
        let mut rows = self.contract.rows.iter();
        let has_editions = rows.any(|row| row.edition.is_some());
        has_editions.then_some(InForce {
            edition: self.edition,
            why: self.why,
        })
    }

    /// Whether names that the contract does not know are denied in the sites
    /// themselves: a system that leaves other names in its directory alone has open ones.
    pub fn site_kind(&self, view: &dyn View) -> DirKind {
        let locate = |path: &str| Some(self.system.locate(path, view)?.site.to_owned());
        let landmark = self.system.info().landmarks.first();
        let site = landmark.and_then(|landmark| locate(landmark));
        if site.is_some_and(|site| locate(&format!("{site}/any")).is_none()) {
            return DirKind::Open;
        }
        let mut dirs = self.contract.dirs.iter();
        let site = dirs.find(|dir| dir.path.is_empty());
        site.map_or(DirKind::Open, |dir| dir.kind)
    }
}

/// A system's own contract, or with the settings' additions.
pub enum Table<'s> {
    Own(&'s dyn System),
    Extended(Box<Contract<'s>>),
}

impl<'s> Deref for Table<'s> {
    type Target = Contract<'s>;

    fn deref(&self) -> &Contract<'s> {
        match self {
            Self::Own(system) => system.contract(),
            Self::Extended(contract) => contract,
        }
    }
}

/// The systems that are not switched off; [`Registry::complete`] holds those as well.
pub struct Registry<'s> {
    pub governed: Vec<EnabledSystem<'s>>,
    /// Directories that the settings name as sites, by system. A declared
    /// system's is a glob, which names one where it has nothing to expand.
    pub named_sites: Vec<(String, Vec<String>)>,
}

impl<'s> Registry<'s> {
    pub fn new(settings: &'s Settings, declared: &'s [Box<dyn System + 's>]) -> Self {
        Self::of(settings, declared, |mode| mode != Mode::Off)
    }

    /// With the systems that are switched off, for telling whose a path would be.
    pub fn complete(settings: &'s Settings, declared: &'s [Box<dyn System + 's>]) -> Self {
        Self::of(settings, declared, |_| true)
    }

    fn of(
        settings: &'s Settings,
        declared: &'s [Box<dyn System + 's>],
        takes: impl Fn(Mode) -> bool,
    ) -> Self {
        let built_in = SYSTEMS.iter().map(|system| *system as &'s dyn System);
        let added = declared.iter().map(|system| &**system);
        let governed = built_in.chain(added).filter_map(|system| {
            let mode = mode_of(system.id(), settings);
            takes(mode).then(|| govern(system, mode, settings))
        });
        let named = SYSTEMS.iter().filter_map(|system| {
            let roots = &settings.system(system.id()).roots;
            (!roots.is_empty()).then(|| (system.id().to_owned(), roots.clone()))
        });
        let sites_of_declared = settings.declared().map(|(id, declared)| {
            let sites = declared.sites.iter().map(|site| site.as_str().to_owned());
            (id.to_owned(), sites.collect())
        });
        Self {
            governed: governed.collect(),
            named_sites: named.chain(sites_of_declared).collect(),
        }
    }

    /// Whether the settings name a site, by its directory or by a glob.
    pub fn names_sites(&self) -> bool {
        !self.named_sites.is_empty()
    }

    /// The site that a root-relative path is in, or is. The built-in systems come first, and
    /// among those of the settings the deepest site.
    pub fn locate<'r, 'p>(
        &'r self,
        path: &'p str,
        view: &dyn View,
    ) -> Option<(&'r EnabledSystem<'s>, Place<'p>)> {
        let mut deepest: Option<(_, Place<'p>)> = None;
        for governed in &self.governed {
            let Some(place) = governed.system.locate(path, view) else {
                continue;
            };
            // A declared system's site is known by its glob alone.
            if !governed.system.info().landmarks.is_empty() {
                return Some((governed, place));
            }
            if deepest.is_none_or(|(_, known)| place.site.len() > known.site.len()) {
                deepest = Some((governed, place));
            }
        }
        deepest
    }

    /// The directories or globs that the settings name as sites of a system.
    pub fn sites_of(&self, id: &str) -> &[String] {
        let named = self.named_sites.iter().find(|(of, _)| of == id);
        named.map_or(&[], |(_, sites)| sites)
    }

    pub fn get(&self, id: &str) -> Option<&EnabledSystem<'s>> {
        self.governed.iter().find(|governed| governed.id() == id)
    }
}

/// What breaking a rule of a system leads to.
pub fn mode_of(id: &str, settings: &Settings) -> Mode {
    match settings.mode_of(id) {
        // A warning would not keep an agent from editing the settings that warn.
        Mode::Warn if id == own::ID && settings.system(id).mode.is_none() => Mode::Enforce,
        mode => mode,
    }
}

fn govern<'s>(system: &'s dyn System, mode: Mode, settings: &'s Settings) -> EnabledSystem<'s> {
    let own = settings.system(system.id());
    let in_force = settings.edition_of(system.id());
    EnabledSystem {
        contract: with_additions(system, own),
        edition: in_force.edition,
        why: in_force.why,
        mode,
        system,
    }
}

/// The contract with the names, globs, directories and roles of the settings.
/// Additions follow the built-in rows of their bucket, so that they can
/// widen a contract but not take a name from its writer.
fn with_additions<'s>(system: &'s dyn System, own: &'s SystemSettings) -> Table<'s> {
    let adds_names = !own.extra_names.is_empty() || !own.extra_globs.is_empty();
    if !adds_names && own.subdirectories.is_empty() && own.roles.is_empty() {
        return Table::Own(system);
    }
    let base = system.contract();
    let names = own
        .extra_names
        .iter()
        .map(|name| Row::file(name, Writer::Anyone, ADDED));
    let globs = own.extra_globs.iter().map(|glob| Row::glob(glob, ADDED));
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
    let roles = own.roles.iter().map(|(agent, role)| Role::of(agent, role));
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
