//! The files of a state: where they are, how they are read, what a plan saw of them, and the runs in them.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use crate::base::path;
use crate::lifecycle::evidence::{GateLog, outdated};
use crate::project::files::InDir;
use crate::project::registry::EnabledSystem;
use crate::project::roots::{Project, Root};
use crate::project::sites::{self, Site};
use crate::settings::model::EvidenceMode;
use crate::systems::system::Files;
use crate::systems::workflow::{Proof, Workflow};

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

type Answer = Result<Option<String>, String>;

/// How many of the latest answers are given again. What was asked for long before
/// is asked for anew, so that a plan over very many files need not be searched.
const LATEST: usize = 8;

/// The files of a state and the answers that were given. What a plan says follows
/// from these alone, so it holds for as long as they do.
pub(super) struct ReadSet<'f> {
    files: &'f dyn Files,
    texts: RefCell<Vec<(String, Answer)>>,
    dirs: OnceCell<Vec<String>>,
}

impl<'f> ReadSet<'f> {
    pub(super) fn new(files: &'f dyn Files) -> Self {
        Self {
            files,
            texts: RefCell::default(),
            dirs: OnceCell::new(),
        }
    }

    /// Whether every answer would be the same now, to the byte.
    pub(super) fn holds(&self) -> bool {
        let texts = self.texts.borrow();
        let mut texts = texts.iter();
        texts.all(|(name, text)| self.files.read(name) == *text)
            && self
                .dirs
                .get()
                .is_none_or(|dirs| self.files.dirs() == *dirs)
    }

    /// The files that are there and cannot be read, with the reason.
    pub(super) fn unreadable(&self) -> Vec<(String, String)> {
        let texts = self.texts.borrow();
        let faults = texts.iter().filter_map(|(name, text)| {
            let why = text.as_ref().err()?;
            Some((name.clone(), why.clone()))
        });
        faults.collect()
    }
}

impl Files for ReadSet<'_> {
    fn read(&self, name: &str) -> Answer {
        let texts = self.texts.borrow();
        let mut latest = texts.iter().rev().take(LATEST);
        if let Some((_, text)) = latest.find(|(known, _)| known == name) {
            return text.clone();
        }
        drop(texts);
        let text = self.files.read(name);
        let answer = (name.to_owned(), text.clone());
        self.texts.borrow_mut().push(answer);
        text
    }

    fn passed_test(&self, run: &str, phases: &[&str]) -> Option<Proof> {
        self.files.passed_test(run, phases)
    }

    fn speaks_of_phase(&self, run: &Workflow) -> bool {
        self.files.speaks_of_phase(run)
    }

    fn left_over(&self, name: &str, begun: Option<&str>) -> Option<String> {
        self.files.left_over(name, begun)
    }

    fn outdated(&self, tasks: &str) -> Vec<String> {
        self.files.outdated(tasks)
    }

    fn evidence(&self) -> EvidenceMode {
        self.files.evidence()
    }

    fn sites(&self) -> Vec<String> {
        self.files.sites()
    }

    fn last_command(&self, run: &str, gate: &str, since: Option<&str>) -> Option<Proof> {
        self.files.last_command(run, gate, since)
    }

    fn dirs(&self) -> Vec<String> {
        self.dirs.get_or_init(|| self.files.dirs()).clone()
    }
}

/// The files of one site, with what the change log knows of them.
pub struct SiteFiles<'a> {
    pub dir: &'a Path,
    pub project: &'a Project,
}

impl Files for SiteFiles<'_> {
    fn read(&self, name: &str) -> Answer {
        InDir { dir: self.dir }.read(name)
    }

    fn dirs(&self) -> Vec<String> {
        InDir { dir: self.dir }.dirs()
    }

    fn outdated(&self, tasks: &str) -> Vec<String> {
        outdated(self.project, &self.dir.join(tasks))
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
    pub fn of(sites: &[Site<'_>], project: &Project, log: &GateLog) -> Self {
        let mut all = Self::default();
        let mut at_root: Vec<&str> = Vec::new();
        for site in sites {
            let id = site.governed.id();
            let runs = match site.governed.system.info().gate_dir {
                // One run for all sites of the system.
                Some("") if at_root.contains(&id) => continue,
                Some("") => {
                    at_root.push(id);
                    Self::in_dir(site.governed, &project.main.dir, "", project, log)
                }
                _ => {
                    let (dir, shown) = (site.dir(), site.display_path(project));
                    Self::in_dir(site.governed, &dir, &shown, project, log)
                }
            };
            all.readable.extend(runs.readable);
            all.problems.extend(runs.problems);
        }
        all
    }

    fn in_dir(
        governed: &EnabledSystem<'_>,
        dir: &str,
        shown: &str,
        project: &Project,
        log: &GateLog,
    ) -> Self {
        let there = SiteFiles {
            dir: dir.as_ref(),
            project,
        };
        let files = ReadSet::new(&there);
        let (mut readable, mut problems) = (Vec::new(), Vec::new());
        for run in governed.system.runs(shown, &files) {
            match run {
                Ok(run) => readable.push(run),
                Err(error) => problems.push(format!("{error:#}")),
            }
        }
        // What a system says of a text that is none says less than why it is none.
        for (name, why) in files.unreadable() {
            let file = path::below(shown, &name);
            let could_not = format!("could not read `{file}`: ");
            readable.retain(|run| run.file != file);
            problems.retain(|problem| !problem.starts_with(&could_not));
            problems.push(format!(
                "{could_not}{why}; mend that, or move the file away"
            ));
        }
        for run in &mut readable {
            log.mark(project, run);
        }
        Self { readable, problems }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Memory {
        text: RefCell<Option<String>>,
        dirs: RefCell<Vec<String>>,
    }

    impl Files for Memory {
        fn read(&self, _: &str) -> Answer {
            Ok(self.text.borrow().clone())
        }

        fn dirs(&self) -> Vec<String> {
            self.dirs.borrow().clone()
        }
    }

    #[test]
    fn a_plan_holds_until_an_answer_would_be_another() {
        let files = Memory::default();
        let asked = ReadSet::new(&files);
        files.dirs.borrow_mut().push("a".to_owned());
        assert!(asked.holds(), "nothing was asked");
        assert_eq!(asked.dirs(), ["a"]);
        assert_eq!(asked.read("x").unwrap(), None);
        assert!(asked.holds());
        files.dirs.borrow_mut().push("b".to_owned());
        assert!(!asked.holds(), "a session was begun");
        files.dirs.borrow_mut().pop();
        *files.text.borrow_mut() = Some(String::new());
        assert!(!asked.holds(), "a file was made");
    }
}
