//! Gates: what the start and the end of agents do to the systems' states.
//!
//! A system says purely what a moment leads to; here is what stands around
//! that: the nearest directory, the lock, the replacement, the record.

mod files;
mod record;
mod settle;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use self::files::{OwnTree, ReadSet, below_root, nearest_from};
use crate::base::warn;
use crate::project::files::InDir;

pub use self::files::{SiteFiles, SiteRuns, nearest};
pub use self::record::{About, GateRecord};
use self::settle::settle;
pub use self::settle::write_through;
use crate::base::actor::AgentName;
use crate::base::disk::bounded_read;
use crate::base::path;
use crate::contract::denial::Mode;
use crate::lifecycle::evidence::{Evidence, outdated};
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{Project, Root};
use crate::project::sites;
use crate::recorder::entry::BlobId;
use crate::settings::model::EvidenceMode;
use crate::store::make_own_folder;
use crate::store::replace::make_dir;
use crate::systems::declared;
use crate::systems::system::{
    AgentEvent, ClosedGate, Effects, FileOutcome, Files, MissingArtifact,
};
use crate::systems::workflow::{Outcome, Proof};

/// A system's state around an event, looked for when the system first asks for it.
pub struct GateScope<'c> {
    pub governed: &'c EnabledSystem<'c>,
    dir: OnceCell<Option<PathBuf>>,
    /// The project, and where below the session's root the search begins.
    nearest: Option<(&'c Project, Rc<str>)>,
    /// The same place in the agent's own work tree, where agents leave artifacts.
    own: Option<PathBuf>,
    reach: Reach,
    /// Absent where only files are asked.
    evidence: Option<&'c Evidence<'c>>,
    /// The roots in which the sites of a system lie whose state is at the root, and their globs.
    sites: Option<(Vec<Root>, &'c [String])>,
}

/// Where below a directory the state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// In it and in its directories.
    Children,
    /// In it alone; its directories are the project's.
    Itself,
}

impl<'c> GateScope<'c> {
    /// The state of every system: in the nearest `gate_dir` that holds some,
    /// from `cwd` up to the root, and in the sites that the settings or their
    /// own files make one. A work tree's agents work on the main checkout's, but
    /// those of a session that is of the work tree on its own.
    pub fn all(
        registry: &'c Registry<'c>,
        project: &'c Project,
        cwd: &str,
        evidence: Option<&'c Evidence<'c>>,
    ) -> Vec<Self> {
        let cwd = path::absolute("/", cwd, None);
        let below: Rc<str> = below_root(project, &cwd).into();
        let tree = OwnTree::of(project, &cwd);
        let tree_for = |governed: &EnabledSystem<'_>| {
            let leaves_artifacts = governed.system.is_artifact("");
            tree.as_ref().filter(|_| leaves_artifacts)
        };
        let systems = registry.governed.iter();
        let gated =
            systems.filter_map(|governed| Some((governed, governed.system.info().gate_dir?)));
        let (at_root, gated): (Vec<_>, Vec<_>) = gated.partition(|(_, dir)| dir.is_empty());
        let gated = gated.into_iter();
        let at_root = at_root.into_iter().map(|(governed, _)| {
            let tree = tree.as_ref().map(|tree| &tree.root);
            Self::at_root(governed, registry, project, tree, evidence)
        });
        let mut all: Vec<Self> = at_root.collect();
        for (governed, gate_dir) in gated.clone() {
            all.push(Self {
                governed,
                dir: OnceCell::new(),
                nearest: Some((project, below.clone())),
                own: tree_for(governed).map(|tree| tree.gate_dir(governed, gate_dir)),
                reach: Reach::Children,
                evidence,
                sites: None,
            });
        }
        for (governed, gate_dir) in gated {
            for site in sites::named(project.session_root(), governed, registry) {
                if path::relative(&site.site, gate_dir).is_none() {
                    let own = tree_for(governed).map(|tree| tree.root.path(&site.site).into());
                    all.push(Self {
                        own,
                        evidence,
                        ..Self::known(governed, site.dir().into(), Reach::Itself)
                    });
                }
            }
        }
        all
    }

    /// The state in a `gate_dir` that is known.
    pub fn at_dir(governed: &'c EnabledSystem<'c>, dir: PathBuf) -> Self {
        Self::known(governed, dir, Reach::Children)
    }

    fn known(governed: &'c EnabledSystem<'c>, dir: PathBuf, reach: Reach) -> Self {
        Self {
            governed,
            dir: OnceCell::from(Some(dir)),
            nearest: None,
            own: None,
            reach,
            evidence: None,
            sites: None,
        }
    }

    /// The states in the main checkout's root.
    pub fn at_roots(registry: &'c Registry<'c>, project: &'c Project) -> Vec<Self> {
        let systems = registry.governed.iter();
        let at_root = systems.filter(|governed| governed.system.info().gate_dir == Some(""));
        at_root
            .map(|governed| Self::at_root(governed, registry, project, None, None))
            .collect()
    }

    /// The state of a system that has one for all its sites, in the main checkout.
    fn at_root(
        governed: &'c EnabledSystem<'c>,
        registry: &'c Registry<'c>,
        project: &'c Project,
        tree: Option<&Root>,
        evidence: Option<&'c Evidence<'c>>,
    ) -> Self {
        let session = Some(project.session_root()).filter(|root| root.dir != project.main.dir);
        let own = tree.or(session);
        let roots = own.into_iter().chain([&project.main]).cloned().collect();
        let globs = registry.sites_of(governed.id());
        Self {
            own: own.map(|root| PathBuf::from(&root.dir)),
            evidence,
            sites: Some((roots, globs)),
            ..Self::known(governed, PathBuf::from(&project.main.dir), Reach::Itself)
        }
    }

    /// The directory whose lock guards the state. The program's own is made.
    fn ready_to_lock(&self) -> io::Result<PathBuf> {
        let dir = self.dir().unwrap_or(Path::new("")).to_owned();
        if self.sites.is_none() {
            return Ok(dir);
        }
        let own = dir.join(declared::gates::DIR);
        own.parent().map_or(Ok(()), make_own_folder)?;
        make_dir(&own)?;
        Ok(own)
    }

    /// Where the state is, if there is any.
    pub fn dir(&self) -> Option<&Path> {
        let search = || {
            let (project, below) = self.nearest.as_ref()?;
            let own = || self.own_dir().map(Path::to_owned);
            nearest_from(project, below, self.governed).or_else(own)
        };
        self.dir.get_or_init(search).as_deref()
    }

    /// The directory in the agent's own work tree, if it is there.
    fn own_dir(&self) -> Option<&Path> {
        self.own.as_deref().filter(|own| own.is_dir())
    }

    /// The file that an agent leaves under a name: in its own work tree, where it has one.
    fn artifact(&self, name: &str) -> Option<PathBuf> {
        let own = self.own_dir().map(|own| own.join(name));
        let own = own.filter(|own| own.is_file());
        own.or_else(|| Some(self.dir()?.join(name)))
    }

    /// What the files hold that an agent is to write, by their absolute paths, and the
    /// workflow they are for.
    pub fn held(&self, agent: &AgentName) -> Option<(Option<String>, BTreeMap<String, String>)> {
        let role = self.role_of(agent);
        let system = self.governed.system;
        let names = system.artifacts_of(role.as_ref().unwrap_or(agent), self);
        let files = names.iter().filter_map(|name| self.artifact(name));
        let blobs = files.filter_map(|file| Some((path::from_os(&file), blob(&file)?)));
        let blobs: BTreeMap<_, _> = blobs.collect();
        (!names.is_empty()).then(|| (system.workflow_id(self), blobs))
    }

    /// The gate before an agent's phase that has not passed.
    pub fn closed_gate(&self, agent: &AgentName) -> Option<ClosedGate> {
        self.governed.system.closed_gate(agent, self)
    }

    /// What a moment means here; `None` where it means nothing.
    fn plan(&self, moment: &AgentEvent<'_>, now: DateTime<Utc>) -> Option<Planned<'_>> {
        let asked = ReadSet::new(self);
        let consequences = self.at(moment, &asked, now);
        let concerns = !consequences.outcomes.is_empty() || !consequences.owed.is_empty();
        Some(Planned {
            dir: concerns.then(|| self.dir())??,
            around: self,
            asked,
            consequences,
        })
    }

    fn at(&self, moment: &AgentEvent<'_>, files: &dyn Files, now: DateTime<Utc>) -> Effects {
        let role = match moment {
            AgentEvent::AgentStart { agent } | AgentEvent::AgentEnd { agent, .. } => {
                self.role_of(agent)
            }
            AgentEvent::TurnEnd { .. } | AgentEvent::Wrote { .. } => None,
        };
        let moment = match (*moment, &role) {
            (AgentEvent::AgentStart { .. }, Some(agent)) => AgentEvent::AgentStart { agent },
            (AgentEvent::AgentEnd { reply, .. }, Some(agent)) => {
                AgentEvent::AgentEnd { agent, reply }
            }
            (moment, _) => moment,
        };
        self.governed.system.at(&moment, files, now)
    }

    /// The settings may give an agent the role of another.
    fn role_of(&self, agent: &AgentName) -> Option<AgentName> {
        let role = self.governed.contract.role_of(agent);
        role.map(AgentName::parse)
    }
}

impl Files for GateScope<'_> {
    fn read(&self, name: &str) -> Result<Option<String>, String> {
        if self.governed.system.is_artifact(name)
            && let Some(dir) = self.own_dir()
            && let Some(text) = (InDir { dir }).read(name)?
        {
            return Ok(Some(text));
        }
        self.dir().map_or(Ok(None), |dir| InDir { dir }.read(name))
    }

    fn passed_test(&self, run: &str, phases: &[&str]) -> Option<Proof> {
        let evidence = self.evidence?;
        let file = shown(evidence.project, &self.dir()?.join(run));
        let log = evidence.log();
        log.passed_test(evidence.project, &file, phases).cloned()
    }

    fn sites(&self) -> Vec<String> {
        let Some((roots, globs)) = &self.sites else {
            return Vec::new();
        };
        let roots = roots.iter();
        let mut found = roots.map(|root| sites::of_globs(root, globs, self.governed));
        found.find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn last_command(&self, run: &str, gate: &str, since: Option<&str>) -> Option<Proof> {
        let evidence = self.evidence?;
        let file = shown(evidence.project, &self.dir()?.join(run));
        let log = evidence.log();
        log.last_command(evidence.project, &file, gate, since)
            .cloned()
    }

    fn left_over(&self, name: &str, begun: Option<&str>) -> Option<String> {
        let file = self.artifact(name)?;
        let why = self.evidence?.left_over(&file, begun)?;
        Some(format!("`{name}` {why}"))
    }

    fn outdated(&self, tasks: &str) -> Vec<String> {
        match (self.evidence, self.dir()) {
            (Some(evidence), Some(dir)) => outdated(evidence.project, &dir.join(tasks)),
            _ => Vec::new(),
        }
    }

    fn evidence(&self) -> EvidenceMode {
        self.evidence
            .map_or_else(EvidenceMode::default, |evidence| evidence.mode)
    }

    fn dirs(&self) -> Vec<String> {
        match (self.reach, self.own_dir().or_else(|| self.dir())) {
            (Reach::Children, Some(dir)) => InDir { dir }.dirs(),
            _ => Vec::new(),
        }
    }
}

/// What one moment did in all systems.
#[derive(Default)]
pub struct GateEffects {
    pub records: Vec<GateRecord>,
    /// A state that should have changed could not be written.
    pub has_failed: bool,
    /// There was a choice of states, and none of them was the one.
    pub is_undecided: bool,
}

/// An artifact that an agent owes.
pub struct OwedArtifact {
    pub system: String,
    /// How its system is governed.
    pub mode: Mode,
    /// Relative to the site.
    pub name: String,
    /// Absolute: an agent in a work tree of its own takes any other for one in there.
    pub path: String,
    pub why: String,
}

impl OwedArtifact {
    /// The record of a report that was refused for want of the artifact.
    pub fn sent_back(
        &self,
        about: &About<'_>,
        project: &Project,
        now: DateTime<Utc>,
    ) -> GateRecord {
        let file = shown(project, Path::new(&self.path));
        let record = GateRecord::new(about, &self.system, &file, now);
        record.skipped(format!("the agent was sent back: {}", self.why))
    }
}

/// What a moment means in all systems, as found before anything is locked.
pub struct Plan<'a> {
    moment: AgentEvent<'a>,
    now: DateTime<Utc>,
    states: Vec<Planned<'a>>,
}

/// What the moment means in one of the states that it concerns.
struct Planned<'a> {
    around: &'a GateScope<'a>,
    dir: &'a Path,
    asked: ReadSet<'a>,
    consequences: Effects,
}

/// What became of a file.
struct Applied {
    file: String,
    outcome: io::Result<Outcome>,
}

impl Planned<'_> {
    /// Looks up the files that a system names as proof.
    fn fill_in(&self, project: &Project, proof: &mut [Proof]) {
        for proof in proof {
            if let Proof::Artifact { path: name, .. } = proof {
                let file = self.around.artifact(name);
                let file = file.unwrap_or_else(|| self.dir.join(&*name));
                *proof = artifact_of(project, &shown(project, &file));
            }
        }
    }

    /// The outcomes by file. Where one changes nothing because a file cannot be
    /// read, that is the reason; with no file chosen it can be any.
    fn outcomes(&self) -> Vec<Applied> {
        let unreadable = self.asked.unreadable();
        let judged = |FileOutcome { file, outcome }: FileOutcome| {
            let is_it = |(name, _): &&(String, String)| file.is_empty() || *name == file;
            let outcome = match (&outcome, unreadable.iter().find(is_it)) {
                (Err(_), Some((name, why))) => {
                    Err(io::Error::other(format!("`{name}` cannot be read: {why}")))
                }
                _ => Ok(outcome),
            };
            Applied { file, outcome }
        };
        let outcomes = self.consequences.outcomes.iter().cloned();
        outcomes.map(judged).collect()
    }
}

impl<'a> Plan<'a> {
    pub fn new(around: &'a [GateScope<'a>], moment: AgentEvent<'a>, now: DateTime<Utc>) -> Self {
        let states = around.iter();
        Self {
            moment,
            now,
            states: states.filter_map(|at| at.plan(&moment, now)).collect(),
        }
    }

    /// Whether the moment concerns no system at all.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Whether an agent ended without a word.
    pub fn is_wordless(&self) -> bool {
        matches!(self.moment, AgentEvent::AgentEnd { reply, .. } if reply.trim().is_empty())
    }

    /// What the agent owes.
    pub fn owed(&self) -> Vec<OwedArtifact> {
        let mut dues = Vec::new();
        for state in &self.states {
            let unreadable = state.asked.unreadable();
            for MissingArtifact { file, why } in &state.consequences.owed {
                let is_it = |(name, _): &&(String, String)| name == file;
                let unread = unreadable.iter().find(is_it);
                let dir = state.around.own.as_deref().unwrap_or(state.dir);
                dues.push(OwedArtifact {
                    system: state.around.governed.id().to_owned(),
                    mode: state.around.governed.mode,
                    name: file.clone(),
                    path: path::from_os(&dir.join(file)),
                    why: unread.map_or(why.clone(), |(_, why)| format!("it cannot be read: {why}")),
                });
            }
        }
        dues
    }

    /// Carries the moment into every system's state, each change as one locked
    /// read-modify-write that a kill leaves whole.
    pub fn carry_out(&self, project: &Project, about: &About<'_>) -> GateEffects {
        let mut effects = GateEffects::default();
        for state in &self.states {
            let replan = || state.around.plan(&self.moment, self.now);
            for Applied { file, outcome } in settle(state, &replan) {
                let record = self.record(state, &file, project, about);
                effects.has_failed |= outcome.is_err();
                effects.is_undecided |= file.is_empty();
                effects.records.push(match outcome {
                    Ok(Ok(mut change)) => {
                        state.fill_in(project, &mut change.proof);
                        record.changed(&change)
                    }
                    Ok(Err(why)) => record.skipped(why),
                    Err(error) => {
                        warn::warn_error(&format!("could not change `{}`", record.file), &error);
                        record.skipped(format!("could not be changed: {error}"))
                    }
                });
            }
        }
        effects
    }

    /// Notes that nothing was changed, in the states that the moment concerns.
    pub fn skip_all(&self, project: &Project, about: &About<'_>, why: &str) -> GateEffects {
        let mut effects = GateEffects::default();
        for state in &self.states {
            for planned in &state.consequences.outcomes {
                let record = self.record(state, &planned.file, project, about);
                effects.records.push(record.skipped(why.to_owned()));
            }
        }
        effects
    }

    fn record(
        &self,
        state: &Planned<'_>,
        file: &str,
        project: &Project,
        about: &About<'_>,
    ) -> GateRecord {
        let shown = shown(project, &state.dir.join(file));
        GateRecord::new(about, state.around.governed.id(), &shown, self.now)
    }
}

/// git's id of what a file holds.
pub fn blob(file: &Path) -> Option<String> {
    let bytes = bounded_read::read_bytes(file).ok()??;
    Some(BlobId::of(&bytes).to_string())
}

/// A file that proves a gate, as it is now. Its path is as [`shown`] gives it.
pub fn artifact_of(project: &Project, path: &str) -> Proof {
    let bytes = bounded_read::read_bytes(Path::new(&path::absolute(&project.main.dir, path, None)));
    let bytes = bytes.ok().flatten();
    Proof::Artifact {
        path: path.to_owned(),
        size: bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
        blob: bytes.map_or_else(String::new, |bytes| BlobId::of(&bytes).to_string()),
    }
}

/// A file as records and people see it.
pub fn shown(project: &Project, file: &Path) -> String {
    let file = path::from_os(file);
    project
        .main
        .relative(&file)
        .unwrap_or(&file)
        .trim_end_matches('/')
        .to_owned()
}
