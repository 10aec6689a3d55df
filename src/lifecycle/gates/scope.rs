//! Where a system's state is around an event, and what its files say.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use super::files::{OwnTree, below_root, nearest_from};
use super::{Planned, blob, display_path};
use crate::base::actor::AgentName;
use crate::base::path;
use crate::lifecycle::evidence::{Evidence, GateLog, outdated};
use crate::project::files::InDir;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{Project, Root};
use crate::project::sites;
use crate::settings::model::EvidenceMode;
use crate::store::make_own_folder;
use crate::store::replace::make_dir;
use crate::systems::declared;
use crate::systems::system::{AgentEvent, ClosedGate, Effects, Files};
use crate::systems::workflow::{Proof, Workflow};

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
    /// Of a system whose state is at the root.
    sites: Option<RootSites<'c>>,
    /// The files that are there and could not be read, with the reason.
    pub(super) faults: RefCell<BTreeMap<String, String>>,
}

/// The sites of a system that has one state for all of them.
struct RootSites<'c> {
    /// The roots in which they may lie; the first one with any counts.
    roots: Vec<Root>,
    globs: &'c [String],
    found: OnceCell<Vec<String>>,
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
                dir: OnceCell::new(),
                below: below.clone(),
                own: tree_for(governed).map(|tree| tree.gate_dir(governed, gate_dir)),
                evidence,
                ..Self::at_dir(project, governed, PathBuf::new())
            });
        }
        for (governed, gate_dir) in gated {
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

    /// Where the state is, if there is any.
    pub fn dir(&self) -> Option<&Path> {
        let search = || {
            let own = || self.own_dir().map(Path::to_owned);
            nearest_from(self.project, &self.below, self.governed).or_else(own)
        };
        self.dir.get_or_init(search).as_deref()
    }

    /// The directory in the agent's own work tree, if it is there.
    fn own_dir(&self) -> Option<&Path> {
        self.own.as_deref().filter(|own| own.is_dir())
    }

    /// The file that an agent leaves under a name: in its own work tree, where it has one.
    pub(super) fn artifact(&self, name: &str) -> Option<PathBuf> {
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
    pub(super) fn plan(&self, moment: &AgentEvent<'_>, now: DateTime<Utc>) -> Option<Planned<'_>> {
        self.faults.take();
        let effects = self.at(moment, now);
        let concerns = !effects.outcomes.is_empty() || !effects.owed.is_empty();
        Some(Planned {
            dir: concerns.then(|| self.dir())??,
            around: self,
            faults: self.faults.take(),
            effects,
        })
    }

    fn at(&self, moment: &AgentEvent<'_>, now: DateTime<Utc>) -> Effects {
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
        self.governed.system.at(&moment, self, now)
    }

    /// The settings may give an agent the role of another.
    fn role_of(&self, agent: &AgentName) -> Option<AgentName> {
        let role = self.governed.contract.role_of(agent);
        role.map(AgentName::parse)
    }

    /// The gate log, and what it calls the file of a run.
    fn logged(&self, run: &str) -> Option<(GateLog<'c>, String)> {
        let log = self.evidence?.log();
        Some((log, display_path(self.project, &self.dir()?.join(run))))
    }

    fn text_of(&self, name: &str) -> Result<Option<String>, String> {
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
        let note = |why: &String| {
            let mut faults = self.faults.borrow_mut();
            faults.insert(name.to_owned(), why.clone());
        };
        self.text_of(name).inspect_err(note)
    }

    fn passed_test(&self, run: &str, phases: &[&str]) -> Option<Proof> {
        let (log, file) = self.logged(run)?;
        log.passed_test(&file, phases).cloned()
    }

    fn sites(&self) -> Vec<String> {
        let Some(sites) = &self.sites else {
            return Vec::new();
        };
        let find = || {
            let roots = sites.roots.iter();
            let mut found = roots.map(|root| sites::from_globs(root, sites.globs, self.governed));
            found.find(|found| !found.is_empty()).unwrap_or_default()
        };
        sites.found.get_or_init(find).clone()
    }

    fn last_command(&self, run: &str, gate: &str, since: Option<&str>) -> Option<Proof> {
        let (log, file) = self.logged(run)?;
        log.last_command(&file, gate, since).cloned()
    }

    fn speaks_of_phase(&self, run: &Workflow) -> bool {
        self.logged(&run.file).is_none_or(|(log, file)| {
            let run = Workflow {
                file,
                ..run.clone()
            };
            log.speaks_of_phase(&run)
        })
    }

    fn left_over(&self, name: &str, begun: Option<&str>) -> Option<String> {
        let file = self.artifact(name)?;
        let why = self.evidence?.left_over(&file, begun)?;
        Some(format!("`{name}` {why}"))
    }

    fn outdated(&self, tasks: &str) -> Vec<String> {
        let dir = self.dir();
        dir.map_or_else(Vec::new, |dir| outdated(self.project, &dir.join(tasks)))
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
