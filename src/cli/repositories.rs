//! Other git repositories below the project: verbs that read show a line of each.

use std::collections::BTreeMap;

use serde::Serialize;

use super::CliContext;
use super::output::{Page, writeln};
use crate::base::text;
use crate::project::sites::Site;

/// Another git repository with state directories.
#[derive(Debug, Serialize)]
pub(super) struct OtherRepository {
    path: String,
    /// How many.
    state_dirs: usize,
}

/// Takes the state directories of other repositories out of all that were found.
pub(super) fn set_apart<'c>(
    sites: Vec<Site<'c>>,
    context: &CliContext<'_>,
) -> (Vec<Site<'c>>, Vec<OtherRepository>) {
    let (mut own, mut counts) = (Vec::new(), BTreeMap::new());
    for site in sites {
        let owner = site.owner(&context.project);
        match context.project.other_repository(&owner) {
            None => own.push(site),
            Some(repository) => *counts.entry(repository).or_default() += 1,
        }
    }
    let others = counts
        .into_iter()
        .map(|(path, state_dirs)| OtherRepository { path, state_dirs });
    (own, others.collect())
}

/// A line of each, with the verb that shows more.
pub(super) fn say_repositories(others: &[OtherRepository], verb: &str, page: &mut Page<'_>) {
    for OtherRepository { path, state_dirs } in others {
        let there = text::count(*state_dirs, "state directory", "state directories");
        let title = page.paint.bold(path);
        writeln!(
            page,
            "{title}  another git repository, {there}: `statewarden {verb} --project {path}`"
        );
    }
}
