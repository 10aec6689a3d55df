//! What a verb that moves files may take: of each system the state directories of the nearest
//! owner at or above the current directory, or those of the whole repository.

use std::collections::HashMap;

use serde::Serialize;

use super::{Job, root};
use crate::base::path;
use crate::cli::CliContext;
use crate::cli::output::{Page, writeln};
use crate::project::sites::{self, Site};

/// How far a verb goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    #[default]
    Nearest,
    /// Everything in this repository, work trees too.
    Repository,
}

impl Extent {
    /// By the flag `--all`.
    pub(crate) fn from_all(all: bool) -> Self {
        if all { Self::Repository } else { Self::Nearest }
    }
}

/// The state directories of a project, by what the verb does with them.
pub(super) struct Reach<'c> {
    pub(super) taken: Vec<Site<'c>>,
    pub(super) elsewhere: Vec<Elsewhere>,
}

/// A state directory that was left alone because of where it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Elsewhere {
    system: String,
    state_dir: String,
    /// The other git repository that it is in.
    repository: Option<String>,
}

impl<'c> Reach<'c> {
    pub(super) fn find(job: &Job<'_>, context: &'c CliContext<'_>) -> Self {
        let project = &context.project;
        let found: Vec<_> = sites::find(project, &context.registry)
            .into_iter()
            .filter(|site| {
                let id = site.governed.id();
                context.wants(id) && (job.applies_to)(id)
            })
            .map(|site| (site.owner(project), site))
            .collect();
        let here = here(context);
        let mut nearest: HashMap<&str, String> = HashMap::new();
        for (owner, site) in &found {
            let known = nearest.entry(site.governed.id()).or_default();
            if path::relative(&here, owner).is_some() && owner.len() > known.len() {
                known.clone_from(owner);
            }
        }
        let (mut taken, mut elsewhere) = (Vec::new(), Vec::new());
        for (owner, site) in found {
            let id = site.governed.id();
            let repository = project.other_repository(&owner);
            let is_near = nearest.get(id) == Some(&owner);
            if repository.is_none() && (is_near || job.extent == Extent::Repository) {
                taken.push(site);
            } else {
                elsewhere.push(Elsewhere {
                    system: id.to_owned(),
                    state_dir: site.dir().to_owned(),
                    repository,
                });
            }
        }
        Self { taken, elsewhere }
    }
}

/// The directory that `--project` names, or one is in, by the name of its root.
fn here(context: &CliContext<'_>) -> String {
    let (root, here) = (root(context), context.absolute(&context.here()));
    root.path(root.relative(&here).unwrap_or_default())
}

/// So many are named.
const MAX_NAMED: usize = 10;

/// Names what was left alone, and how to get there.
pub(super) fn say_elsewhere(elsewhere: &[Elsewhere], page: &mut Page<'_>) {
    if elsewhere.is_empty() {
        return;
    }
    writeln!(page, "elsewhere, left alone: {}", elsewhere.len());
    for site in elsewhere.iter().take(MAX_NAMED) {
        let dir = page.context.below_root(&site.state_dir);
        let other = match &site.repository {
            Some(_) => ", in another git repository",
            None => "",
        };
        writeln!(page, "  {dir} ({}){other}", site.system);
    }
    let n_more = elsewhere.len().saturating_sub(MAX_NAMED);
    if n_more > 0 {
        writeln!(page, "  and {n_more} more");
    }
    if elsewhere.iter().any(|site| site.repository.is_none()) {
        writeln!(page, "`--all` takes those of this repository");
    }
    if let Some(other) = elsewhere.iter().find_map(|site| site.repository.as_deref()) {
        writeln!(page, "`--project {other}` goes to another repository");
    }
}
