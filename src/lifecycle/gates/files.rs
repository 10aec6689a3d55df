//! Where the files of a state are, and the runs in them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::scope::GateScope;
use crate::base::path;
use crate::lifecycle::evidence::GateLog;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{Project, Root};
use crate::project::sites::{self, Site};
use crate::systems::session;
use crate::systems::system::Files as _;
use crate::systems::workflow::{UnreadableState, Workflow};

/// The nearest `gate_dir` of a system that holds some of its state. Other
/// directories of that name are common: a package of a monorepo has a `.claude`
/// for its own settings.
pub fn nearest(project: &Project, cwd: &str, governed: &EnabledSystem<'_>) -> Option<PathBuf> {
    let cwd = path::absolute("/", cwd, None);
    nearest_from(project, below_root(project, &cwd), governed)
}

/// Where below the session's root a collapsed path is; for one in another work
/// tree and elsewhere that is the root itself.
pub(super) fn below_root<'p>(project: &Project, cwd: &'p str) -> &'p str {
    let root = project.session_root();
    let below = root.relative(cwd).unwrap_or_default();
    let is_elsewhere = below.is_empty()
        || below.starts_with(".claude/worktrees/")
        || project
            .inner_work_tree(root, &format!("{below}/x"))
            .is_some();
    if is_elsewhere { "" } else { below }
}

/// A work tree without a state of its own works on the main checkout's.
pub(super) fn nearest_from(
    project: &Project,
    below: &str,
    governed: &EnabledSystem<'_>,
) -> Option<PathBuf> {
    let root = project.session_root();
    nearest_in(root, below, governed).or_else(|| {
        let is_tree = root.dir != project.main.dir;
        is_tree.then(|| nearest_in(&project.main, "", governed))?
    })
}

fn nearest_in(root: &Root, below: &str, governed: &EnabledSystem<'_>) -> Option<PathBuf> {
    let system = governed.system;
    let gate_dir = system.info().gate_dir?;
    let mut dirs = std::iter::successors(Some(below), |below| {
        (!below.is_empty()).then(|| below.rsplit_once('/').map_or("", |(above, _)| above))
    });
    let found = dirs.find(|below| sites::has_landmark(root, below, system))?;
    Some(Path::new(&root.dir).join(found).join(gate_dir))
}

/// A work tree that an agent has for itself, and where in it the agent is.
pub(super) struct OwnTree {
    pub(super) root: Root,
    below: String,
}

impl OwnTree {
    /// The work tree around a directory, where it is another than the session's.
    pub(super) fn of(project: &Project, cwd: &str) -> Option<Self> {
        let root = project.root_of(cwd)?;
        let is_own = ![project.session_root(), &project.main]
            .iter()
            .any(|shared| shared.is_at(&root.dir));
        let below = root.relative(cwd).unwrap_or_default().to_owned();
        is_own.then_some(Self { root, below })
    }

    /// Where an agent in it leaves a system's artifacts.
    pub(super) fn gate_dir(&self, governed: &EnabledSystem<'_>, gate_dir: &str) -> PathBuf {
        nearest_in(&self.root, &self.below, governed)
            .unwrap_or_else(|| self.root.path(gate_dir).into())
    }
}

/// The sites of a system that has one state for all of them.
pub(super) struct RootSites<'c> {
    /// The roots in which they may lie; the first one with any counts.
    pub(super) roots: Vec<Root>,
    pub(super) globs: &'c [String],
    pub(super) found: OnceCell<Vec<String>>,
}

impl RootSites<'_> {
    pub(super) fn names(&self, governed: &EnabledSystem<'_>) -> Vec<String> {
        let found = self.found.get_or_init(|| {
            let roots = self.roots.iter();
            let mut found = roots.map(|root| sites::from_globs(root, self.globs, governed));
            found.find(|found| !found.is_empty()).unwrap_or_default()
        });
        found.clone()
    }
}

/// The runs of sites.
#[derive(Default)]
pub struct SiteRuns {
    pub readable: Vec<Workflow>,
    pub problems: Vec<UnreadableState>,
}

impl SiteRuns {
    /// The runs of some sites, and of the systems that keep theirs at the root.
    pub fn of(sites: &[Site<'_>], registry: &Registry<'_>, log: &GateLog<'_>) -> Self {
        let mut all = Self::default();
        for site in sites {
            if site.governed.system.info().gate_dir != Some("") {
                let (dir, shown) = (site.dir(), site.display_path(log.project));
                let files = GateScope::at_dir(log.project, site.governed, dir.into());
                all.add(Self::in_dir(&files, &shown, log));
            }
        }
        for files in GateScope::at_roots(registry, log.project) {
            if !files.sites().is_empty() {
                all.add(Self::in_dir(&files, "", log));
            }
        }
        all
    }

    /// The runs that go on. Sessions are held by a newer one that cannot be read.
    pub fn current(&self) -> impl Iterator<Item = &Workflow> {
        let active = self.readable.iter().filter(|run| run.active);
        active.filter(|run| run.system != session::ID || !self.is_held(&run.file))
    }

    fn is_held(&self, file: &str) -> bool {
        let beside = self.readable.iter().filter(|run| {
            let docs = session::docs_of(&run.file);
            run.system == session::ID && run.active && docs == session::docs_of(file)
        });
        let newest = beside.max_by_key(|run| &run.updated_at);
        newest.is_some_and(|newest| {
            let mut torn = self.problems.iter();
            torn.any(|problem| session::is_newer(&problem.file, &newest.file))
        })
    }

    fn add(&mut self, other: Self) {
        self.readable.extend(other.readable);
        self.problems.extend(other.problems);
    }

    fn in_dir(files: &GateScope<'_>, shown: &str, log: &GateLog<'_>) -> Self {
        let (mut readable, mut problems) = (Vec::new(), Vec::new());
        for run in files.governed.system.runs(shown, files) {
            match run {
                Ok(run) => readable.push(run),
                Err(problem) => problems.push(problem),
            }
        }
        // What a system says of a text that is none says less than why it is none.
        for (name, why) in files.faults.take() {
            let file = path::below(shown, &name);
            readable.retain(|run| run.file != file);
            problems.retain(|problem: &UnreadableState| problem.file != file);
            let why = format!("{why}; mend that, or move the file away");
            problems.push(UnreadableState { file, why });
        }
        readable.iter_mut().for_each(|run| log.mark(run));
        Self { readable, problems }
    }
}
