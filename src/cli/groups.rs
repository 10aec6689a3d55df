//! `groups`: the state of every task group, derived from its files.

use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueHint;
use serde::Serialize;

use super::output::{Page, Paint, Show, writeln};
use super::{Answer, CliContext, change, number};
use crate::lifecycle::gates::authorship::outdated;
use crate::project::files::InDir;
use crate::systems::groups;
use crate::systems::groups::state::{self, ChangeState, Group, GroupState};
use crate::systems::system::Files;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this group
    #[arg(value_name = "N", value_parser = number::<u32>(1..=u64::MAX))]
    group: Option<u32>,
    /// The directory that holds `tasks.md` [default: every one in the project]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    root: Option<String>,
}

#[derive(Debug, Serialize)]
struct GroupRow {
    #[serde(flatten)]
    group: Group,
    /// The directory of its `tasks.md`.
    root: String,
}

/// A change that is not done, however its groups are.
#[derive(Debug, Serialize)]
struct Ungrouped {
    /// The directory of its `tasks.md`.
    change: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct GroupList {
    groups: Vec<GroupRow>,
    ungrouped: Vec<Ungrouped>,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let found = match &args.root {
        Some(root) => vec![named(root, context)?],
        None => everywhere(context)?,
    };
    if found.is_empty() {
        bail!(
            "{}; name the directory of a `tasks.md` with `--root DIR`",
            context.without_sites()
        );
    }
    let mut document = GroupList {
        groups: Vec::new(),
        ungrouped: Vec::new(),
    };
    for (change, ChangeState { groups, ungrouped }) in found {
        document
            .groups
            .extend(groups.into_iter().map(|group| GroupRow {
                group,
                root: change.clone(),
            }));
        if let Some(reason) = ungrouped {
            document.ungrouped.push(Ungrouped { change, reason });
        }
    }
    if let Some(number) = args.group {
        let numbers = document
            .groups
            .iter()
            .map(|row| row.group.group.to_string());
        let known = numbers.collect::<Vec<_>>().join(", ");
        document.groups.retain(|row| row.group.group == number);
        if document.groups.is_empty() {
            bail!("there is no group {number}; the groups are {known}");
        }
    }
    context.show(&document)
}

fn named(root: &str, context: &CliContext<'_>) -> Result<(String, ChangeState)> {
    let dir = context.in_project(root);
    match derive(&dir, context)? {
        Some(change) => Ok((root.to_owned(), change)),
        None => {
            bail!("there is no `tasks.md` in `{dir}`; `--root` names the directory that holds it")
        }
    }
}

/// The change in a directory; `None` where it has no `tasks.md`.
fn derive(dir: &str, context: &CliContext<'_>) -> Result<Option<ChangeState>> {
    let dir = Path::new(dir);
    // A file that is there and cannot be read must not look like one without groups,
    // nor like one in which none of them is stuck.
    if change::present(&dir.join("tasks.md"))?.is_none() {
        return Ok(None);
    }
    change::present(&dir.join("STUCK.md"))?;
    Ok(state::derive(&|name| InDir { dir }.read(name), &|| {
        outdated(&context.project, &dir.join("tasks.md"))
    }))
}

/// The change of every site that has a `tasks.md`.
fn everywhere(context: &CliContext<'_>) -> Result<Vec<(String, ChangeState)>> {
    context.require(groups::ID)?;
    let sites = context.sites_of(groups::ID).into_iter();
    let found = sites.filter_map(|site| {
        let change = derive(site.dir(), context).transpose()?;
        let shown = match site.display_path(&context.project) {
            root if root.is_empty() => ".".to_owned(),
            dir => dir,
        };
        Some(change.map(|change| (shown, change)))
    });
    found.collect()
}

impl Show for GroupList {
    fn text(&self, page: &mut Page<'_>) {
        for of_change in self.groups.chunk_by(|a, b| a.root == b.root) {
            writeln!(page, "{}", page.paint.bold(&of_change[0].root));
            of_change.iter().for_each(|row| say_group(&row.group, page));
        }
        for Ungrouped { change, reason } in &self.ungrouped {
            writeln!(page, "{}: not done: {reason}", page.paint.bold(change));
        }
    }
}

fn say_group(group: &Group, page: &mut Page<'_>) {
    let rework = if group.rework { " (rework)" } else { "" };
    let word = format!("{}{rework}", group.state.as_str());
    let word = match group.state {
        GroupState::GroupDone => page.paint.green(&word),
        GroupState::Stuck | GroupState::Error | GroupState::Escalation => page.paint.red(&word),
        GroupState::Pending
        | GroupState::Developing
        | GroupState::Testing
        | GroupState::Reviewing => Paint::plain(&word),
    };
    writeln!(page, "{:>3}  {word:<21}  {}", group.group, group.name);
    for reason in &group.reasons {
        writeln!(page, "     {}", page.paint.dim(reason));
    }
    writeln!(page, "     next: {}", group.next);
}
