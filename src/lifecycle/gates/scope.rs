//! Where a system's state is around an event, and what its files say.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::authorship::{self, print};
use super::basis::{Basis, ReadText};
use super::files::{OwnTree, RootSites, below_root, nearest_from};
use super::{artifact_of, display_path, write_through};
use crate::base::actor::AgentName;
use crate::base::{clock, path};
use crate::lifecycle::counted_runs::Runs;
use crate::lifecycle::evidence::{Evidence, GateLog};
use crate::project::files::InDir;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{Project, Root};
use crate::project::sites;
use crate::settings::model::EvidenceMode;
use crate::store::make_own_folder;
use crate::store::replace::make_dir;
use crate::systems::declared;
use crate::systems::gate_record::GateRecord;
use crate::systems::groups::state::Doubt;
use crate::systems::system::{AgentEvent, ClosedGate, Effects, Files, Missing};
use crate::systems::tested::{TestNeed, Tested};
use crate::systems::workflow::{Gate, GateStanding, Proof, Workflow};

/// A system's state around an event, looked for when the system first asks for it.
pub struct GateScope<'c> {
    pub governed: &'c EnabledSystem<'c>,
    project: &'c Project,
    dir: OnceCell<Option<PathBuf>>,
    /// Where below the session's root the search for it begins.
    below: Rc<str>,
    /// The same place in the agent's own work tree, where agents leave artifacts.
    pub(super) own: Option<PathBuf>,
    reach: Reach,
    /// Absent where only files are asked.
    evidence: Option<&'c Evidence<'c>>,
    /// Of a declared system, whose state is at the root.
    sites: Option<RootSites<'c>>,
    /// The files that are there and could not be read, with the reason.
    pub(super) faults: RefCell<BTreeMap<String, String>>,
    basis: Basis,
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
            let tree = tree.as_ref()?;
            governed.system.is_artifact("").then_some(tree)
        };
        let systems = registry.governed.iter();
        let (at_root, in_dirs): (Vec<_>, Vec<_>) = systems
            .filter_map(|governed| Some((governed, governed.system.info().gate_dir?)))
            .partition(|(_, dir)| dir.is_empty());
        let root = tree.as_ref().map(|tree| &tree.root);
        let mut all = Vec::new();
        for (governed, _) in at_root {
            all.push(Self::at_root(governed, registry, project, root, evidence));
        }
        for &(governed, gate_dir) in &in_dirs {
            all.push(Self {
                dir: OnceCell::new(),
                below: below.clone(),
                own: tree_for(governed).map(|tree| tree.gate_dir(governed, gate_dir)),
                evidence,
                ..Self::at_dir(project, governed, PathBuf::new())
            });
        }
        for (governed, gate_dir) in in_dirs {
            for site in sites::named(project.session_root(), governed, registry) {
                if path::relative(&site.site, gate_dir).is_none() {
                    let own = tree_for(governed).map(|tree| tree.root.path(&site.site).into());
                    all.push(Self {
                        own,
                        reach: Reach::Itself,
                        evidence,
                        ..Self::at_dir(project, governed, site.dir().into())
                    });
                }
            }
        }
        all
    }

    /// The state in a `gate_dir` that is known.
    pub fn at_dir(project: &'c Project, governed: &'c EnabledSystem<'c>, dir: PathBuf) -> Self {
        Self {
            governed,
            project,
            dir: OnceCell::from(Some(dir)),
            below: "".into(),
            own: None,
            reach: Reach::Children,
            evidence: None,
            sites: None,
            faults: RefCell::default(),
            basis: Basis::default(),
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
            sites: Some(RootSites {
                roots,
                globs,
                found: OnceCell::new(),
            }),
            reach: Reach::Itself,
            ..Self::at_dir(project, governed, (&project.main.dir).into())
        }
    }

    /// The directory whose lock guards the state. The program's own is made.
    pub(super) fn ready_to_lock(&self) -> io::Result<PathBuf> {
        let dir = self.dir().unwrap_or(Path::new("")).to_owned();
        if self.sites.is_none() {
            return Ok(dir);
        }
        let own = dir.join(declared::gates::DIR);
        own.parent().map_or(Ok(()), make_own_folder)?;
        make_dir(&own)?;
        Ok(own)
    }

    /// Whether the system has one state file for all its directories.
    pub fn is_at_root(&self) -> bool {
        self.sites.is_some()
    }

    /// Those of some absolute paths that are in `gate_dir`, or in one of the roots, relative to it.
    pub fn entries_of(&self, paths: &[String]) -> Vec<String> {
        let dir = self.artifact_dir().map(path::from_os);
        let mut entries = Vec::new();
        for path in paths {
            entries.extend(match &self.sites {
                Some(sites) => sites.roots.iter().find_map(|root| root.relative(path)),
                None => dir.as_deref().and_then(|dir| path::relative(path, dir)),
            });
        }
        entries.into_iter().map(str::to_owned).collect()
    }

    /// Whether there is a state.
    pub fn is_here(&self) -> bool {
        self.dir().is_some()
    }

    /// Where the state is, if there is any.
    pub fn dir(&self) -> Option<&Path> {
        self.dir
            .get_or_init(|| {
                self.written_dir()
                    .or_else(|| nearest_from(self.project, &self.below, self.governed))
                    .or_else(|| self.own_dir().map(Path::to_owned))
            })
            .as_deref()
    }

    /// The state directory in which the agent left an artifact, where that is one: in a package,
    /// say, while the session is at the root.
    fn written_dir(&self) -> Option<PathBuf> {
        let (system, evidence) = (self.governed.system, self.evidence?);
        if evidence.run.started.is_none() || self.own.is_some() || self.sites.is_some() {
            return None;
        }
        let (root, gate_dir) = (self.project.session_root(), system.info().gate_dir?);
        let mut dirs = evidence.written().to_vec();
        dirs.retain_mut(|file| {
            let Some((dir, name)) = path::split_last(file) else {
                return false;
            };
            let is_site = root.relative(dir).is_some_and(|dir| {
                dir.ends_with(&format!("/{gate_dir}")) && !dir.starts_with(".claude/worktrees/")
            });
            let is_artifact = is_site && system.is_artifact(name);
            *file = dir.to_owned();
            is_artifact
        });
        dirs.sort_unstable();
        dirs.dedup();
        match dirs.as_slice() {
            [one] => Some(one.into()),
            _ => None,
        }
    }

    /// The directory in the agent's own work tree, if it is there.
    fn own_dir(&self) -> Option<&Path> {
        self.own.as_deref().filter(|own| own.is_dir())
    }

    /// Where agents leave artifacts.
    fn artifact_dir(&self) -> Option<&Path> {
        self.own_dir().or_else(|| self.dir())
    }

    /// The file that an agent leaves under a name: in its own work tree, where it has one.
    pub(super) fn artifact(&self, name: &str) -> Option<PathBuf> {
        let own = self
            .own_dir()
            .map(|own| own.join(name))
            .filter(|own| own.is_file());
        own.or_else(|| Some(self.dir()?.join(name)))
    }

    /// What the files hold that an agent is to write, by their absolute paths, and the
    /// workflow they are for. `None` where none is its to write.
    pub fn held(&self, agent: &AgentName) -> Option<(Option<String>, BTreeMap<String, String>)> {
        let role = self.role_of(agent);
        let system = self.governed.system;
        let names = system.artifacts_of(role.as_ref().unwrap_or(agent), self);
        let files = names.iter().filter_map(|name| self.artifact(name));
        let blobs = files.filter_map(|file| Some((path::from_os(&file), print(&file)?)));
        let blobs: BTreeMap<_, _> = blobs.collect();
        (!names.is_empty()).then(|| (system.workflow_id(self), blobs))
    }

    /// The gate before an agent's phase that has not passed.
    pub fn closed_gate(&self, agent: &AgentName, task: &str) -> Option<ClosedGate> {
        self.governed.system.closed_gate(agent, task, self)
    }

    /// Whether a start of an agent is worth a note: a state is here, or is to be.
    pub fn concerns(&self, agent: &AgentName) -> bool {
        let role = self.role_of(agent);
        match self.sites {
            Some(_) => self
                .governed
                .system
                .has_gate(role.as_ref().unwrap_or(agent)),
            None => self.dir().is_some(),
        }
    }

    /// Whether an agent's type names a plugin that is not the system's own. The settings may
    /// give a role to any agent.
    fn is_of_another_plugin(&self, agent_type: &str) -> bool {
        let Some((plugin, name)) = agent_type.rsplit_once(':') else {
            return false;
        };
        let is_own = AgentName::parse(plugin).as_str() == self.governed.id();
        let base = self.governed.system.contract();
        !is_own
            && !self
                .governed
                .contract
                .adds_role_of(&AgentName::parse(name), base)
    }

    /// What an event leads to here, and what that was found by; `None` where it is nothing.
    pub(super) fn effects(
        &self,
        event: AgentEvent<'_>,
        now: DateTime<Utc>,
    ) -> Option<(Effects, Basis)> {
        self.faults.take();
        self.basis.take();
        let role = event.agent().and_then(|agent| self.role_of(agent));
        let event = role.as_ref().map_or(event, |role| event.by(role));
        let mut effects = self.governed.system.at(event, self, now);
        effects.faults = self.faults.take();
        for Missing { file, why } in &mut effects.missing {
            if let Some(fault) = effects.faults.get(file) {
                *why = format!("it cannot be read: {fault}");
            }
        }
        self.leave_to_others(&mut effects);
        self.cast_doubt(&mut effects);
        (!effects.is_empty() && self.dir().is_some()).then(|| (effects, self.basis.take()))
    }

    /// Whether all is as it was when effects were found by it.
    pub(super) fn is_still(&self, basis: &Basis) -> bool {
        basis.still_holds(|name| self.text_of(name), || self.dirs_now())
    }

    /// What is owed here is not owed by an agent of another plugin.
    fn leave_to_others(&self, effects: &mut Effects) {
        let agent = self.evidence.map_or("", |evidence| &evidence.agent_type);
        if effects.missing.is_empty() || !self.is_of_another_plugin(agent) {
            return;
        }
        effects.missing.clear();
        for record in &mut effects.records {
            let why = format!("agent `{agent}` is another plugin's");
            *record = std::mem::take(record).skipped(why);
        }
    }

    /// What passes without what would show it stays open where that is required, and is on its
    /// word elsewhere.
    fn cast_doubt(&self, effects: &mut Effects) {
        let Some(doubt) = self.evidence.and_then(|evidence| evidence.doubt) else {
            return;
        };
        let records = effects.records.iter_mut();
        for record in records.filter(|record| record.passes_a_gate()) {
            if self.evidence() == EvidenceMode::Require {
                *record = std::mem::take(record).skipped(format!("unsupported: {doubt}"));
            } else {
                let known = record.unsupported.take();
                let all: Vec<String> = known.into_iter().chain([doubt.to_owned()]).collect();
                record.unsupported = Some(all.join("; "));
            }
        }
    }

    /// Writes the files that change, and says what became of each. Of one that cannot be read
    /// it is not known what to do with it.
    pub(super) fn write(&self, effects: Effects) -> Vec<(GateRecord, io::Result<()>)> {
        let dir = self.dir().unwrap_or(Path::new(""));
        let mut written = Vec::new();
        for record in &effects.records {
            written.push(match effects.fault_of(&record.file) {
                _ if record.is_change() => write_through(&dir.join(&record.file), &record.text),
                Some(fault) => Err(io::Error::other(fault)),
                None => Ok(()),
            });
        }
        let records = effects.records.into_iter().map(|mut record| {
            self.look_up(&mut record.proof);
            record
        });
        records.zip(written).collect()
    }

    /// Looks up the files that a system names as proof.
    fn look_up(&self, proof: &mut [Proof]) {
        for proof in proof {
            if let Proof::Artifact { path: name, .. } = proof
                && let Some(file) = self.artifact(name)
            {
                *proof = artifact_of(self.project, &display_path(self.project, &file));
            }
        }
    }

    /// A file of `gate_dir` as records name it.
    pub(super) fn display_path(&self, file: &str) -> String {
        let dir = self.dir().unwrap_or(Path::new(""));
        display_path(self.project, &dir.join(file))
    }

    /// Where an agent is to write a file that it owes: in its own work tree, where it has one.
    /// It takes any other path for one in there.
    pub fn place_of(&self, owed: &Missing) -> String {
        let dir = self.own.as_deref().or(self.dir()).unwrap_or(Path::new(""));
        path::from_os(&dir.join(&owed.file))
    }

    /// The settings may give an agent the role of another, in a built-in system.
    fn role_of(&self, agent: &AgentName) -> Option<AgentName> {
        if self.sites.is_some() {
            return None;
        }
        let role = self.governed.contract.role_of(agent);
        role.map(AgentName::parse)
    }

    /// The gate log, and the run as it names it.
    fn logged(&self, run: &Workflow) -> Option<(&GateLog<'c>, Workflow)> {
        let run = Workflow {
            file: self.display_path(&run.file),
            ..run.clone()
        };
        Some((self.evidence?.log(), run))
    }

    fn dirs_now(&self) -> Vec<String> {
        match (self.reach, self.artifact_dir()) {
            (Reach::Children, Some(dir)) => InDir { dir }.dirs(),
            _ => Vec::new(),
        }
    }

    fn text_of(&self, name: &str) -> ReadText {
        if self.governed.system.is_artifact(name)
            && let Some(dir) = self.own_dir()
            && let Some(text) = (InDir { dir }).read(name)?
        {
            return Ok(Some(text));
        }
        self.dir().map_or(Ok(None), |dir| InDir { dir }.read(name))
    }
}

impl Files for GateScope<'_> {
    fn read(&self, name: &str) -> Result<Option<String>, String> {
        let text = self.text_of(name);
        self.basis.note_text(name, &text);
        text.inspect_err(|why| {
            let mut faults = self.faults.borrow_mut();
            faults.insert(name.to_owned(), why.clone());
        })
    }

    fn tested(&self, run: &str, need: &TestNeed<'_>) -> Tested {
        let file = self.display_path(run);
        let evidence = self.evidence;
        evidence.map_or(Tested::Unseen(None), |evidence| {
            evidence.tested(&file, need)
        })
    }

    fn is_made_by_call(&self, name: &str) -> bool {
        let dir = self.dir();
        dir.is_some_and(|dir| authorship::is_made_by_call(self.project, &dir.join(name)))
    }

    fn sites(&self) -> Vec<String> {
        let sites = self.sites.as_ref();
        sites.map_or_else(Vec::new, |sites| sites.names(self.governed))
    }

    fn speaks_of_phase(&self, run: &Workflow) -> bool {
        let logged = self.logged(run);
        logged.is_none_or(|(log, run)| log.speaks_of_phase(&run))
    }

    fn left_over(&self, name: &str, begun: Option<&str>) -> Option<String> {
        let file = self.artifact(name)?;
        let evidence = self.evidence?;
        let agent = evidence.agent.as_ref();
        let why = authorship::left_over(self.project, &evidence.run, agent, &file, begun)?;
        Some(format!("`{name}` {why}"))
    }

    fn outdated(&self, tasks: &str) -> Vec<Doubt> {
        let dir = self.dir();
        dir.map_or_else(Vec::new, |dir| {
            authorship::outdated(self.project, &dir.join(tasks))
        })
    }

    fn agent_began(&self) -> Option<String> {
        self.evidence?.run.started.clone()
    }

    fn made_at(&self, dir: &str) -> Option<String> {
        let made = fs::metadata(self.dir()?.join(dir)).ok()?.created().ok()?;
        Some(clock::millis(made.into()))
    }

    fn agent_wrote(&self) -> Vec<String> {
        self.evidence
            .map_or_else(Vec::new, |evidence| self.entries_of(evidence.written()))
    }

    fn uncounted(&self, run: &Workflow) -> Vec<Gate> {
        let Some((log, mut run)) = self.logged(run) else {
            return Vec::new();
        };
        log.mark(&mut run);
        let is_required = self.evidence() == EvidenceMode::Require;
        let gates = run.gates.into_iter().filter(|gate| match gate.standing {
            Some(GateStanding::OnlyInFile) => true,
            Some(GateStanding::OnItsWord | GateStanding::Stale) => is_required,
            _ => false,
        });
        gates.collect()
    }

    fn is_new_since_start(&self, name: &str) -> bool {
        let began = self
            .evidence
            .and_then(|evidence| evidence.run.began.as_ref());
        let file = self.artifact(name);
        began.zip(file).is_some_and(|(began, file)| {
            let now = print(&file);
            now.is_some() && began.held.get(&path::from_os(&file)) != now.as_ref()
        })
    }

    fn running_agents(&self) -> Vec<AgentName> {
        let runs = Runs::read(self.project);
        runs.running().map(AgentName::parse).collect()
    }

    fn evidence(&self) -> EvidenceMode {
        self.evidence
            .map_or_else(EvidenceMode::default, |evidence| evidence.mode)
    }

    fn dirs(&self) -> Vec<String> {
        let dirs = self.dirs_now();
        self.basis.note_dirs(&dirs);
        dirs
    }
}
