//! Where the files of a state are, and the runs in them.

use std::path::{Path, PathBuf};

use super::scope::GateScope;
use crate::base::path;
use crate::lifecycle::evidence::GateLog;
use crate::project::registry::EnabledSystem;
use crate::project::roots::{Project, Root};
use crate::project::sites::{self, Site};
use crate::systems::workflow::Workflow;

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
    let is_of_it = |below: &&str| {
        !below.is_empty()
            && !below.starts_with(".claude/worktrees/")
            && project
                .inner_work_tree(root, &format!("{below}/x"))
                .is_none()
    };
    root.relative(cwd).filter(is_of_it).unwrap_or_default()
}

/// A work tree without a state of its own works on the main checkout's.
pub(super) fn nearest_from(
    project: &Project,
    below: &str,
    governed: &EnabledSystem<'_>,
) -> Option<PathBuf> {
    let root = project.session_root();
    let in_main = || {
        let is_tree = root.dir != project.main.dir;
        is_tree.then(|| nearest_in(&project.main, "", governed))?
    };
    nearest_in(root, below, governed).or_else(in_main)
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

/// The runs of sites.
#[derive(Default)]
pub struct SiteRuns {
    pub readable: Vec<Workflow>,
    /// The state files that cannot be read, and why.
    pub problems: Vec<String>,
}

impl SiteRuns {
    pub fn of(sites: &[Site<'_>], log: &GateLog<'_>) -> Self {
        let mut all = Self::default();
        let mut at_root: Vec<&str> = Vec::new();
        for site in sites {
            let id = site.governed.id();
            let runs = match site.governed.system.info().gate_dir {
                // One run for all sites of the system.
                Some("") if at_root.contains(&id) => continue,
                Some("") => {
                    at_root.push(id);
                    Self::in_dir(site.governed, &log.project.main.dir, "", log)
                }
                _ => {
                    let (dir, shown) = (site.dir(), site.display_path(log.project));
                    Self::in_dir(site.governed, &dir, &shown, log)
                }
            };
            all.readable.extend(runs.readable);
            all.problems.extend(runs.problems);
        }
        all
    }

    fn in_dir(governed: &EnabledSystem<'_>, dir: &str, shown: &str, log: &GateLog<'_>) -> Self {
        let files = GateScope::at_dir(log.project, governed, dir.into());
        let (mut readable, mut problems) = (Vec::new(), Vec::new());
        for run in governed.system.runs(shown, &files) {
            match run {
                Ok(run) => readable.push(run),
                Err(error) => problems.push(format!("{error:#}")),
            }
        }
        // What a system says of a text that is none says less than why it is none.
        for (name, why) in files.faults.take() {
            let file = path::below(shown, &name);
            let could_not = format!("could not read `{file}`: ");
            readable.retain(|run| run.file != file);
            problems.retain(|problem| !problem.starts_with(&could_not));
            problems.push(format!(
                "{could_not}{why}; mend that, or move the file away"
            ));
        }
        readable.iter_mut().for_each(|run| log.mark(run));
        Self { readable, problems }
    }
}
