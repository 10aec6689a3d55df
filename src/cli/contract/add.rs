//! `contract add`: puts contracts that ship with the program into the project.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::list::{ContractState, file, state_of};
use super::shelf::{self, Framework, SHELF};
use crate::base::text::count;
use crate::base::text::nearest;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::project::sites;
use crate::store::replace;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Contracts that `contract list` names
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Replace files that differ from what ships
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Serialize)]
struct AddedContract {
    ok: bool,
    files: Vec<Written>,
    /// What is guarded by them now.
    systems: Vec<Guarded>,
    /// What of them is not in force, with the reason.
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Written {
    path: String,
    act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Written,
    Replaced,
    Unchanged,
}

#[derive(Debug, Serialize)]
struct Guarded {
    system: String,
    /// Its globs, relative to the project.
    site: Vec<String>,
    names: usize,
    gates: usize,
    /// The directories that are there.
    sites: Vec<String>,
}

pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let names: BTreeSet<&String> = args.names.iter().collect();
    let frameworks: Vec<Framework> = names
        .into_iter()
        .map(|name| wanted(name))
        .collect::<Result<_>>()?;
    let files: Vec<(String, &str, ContractState)> = frameworks
        .iter()
        .flat_map(|framework| framework.files)
        .map(|(name, text)| {
            let path = file(name, context);
            let state = state_of(&path, text);
            (path, *text, state)
        })
        .collect();
    let mut changed = files
        .iter()
        .filter(|(.., state)| *state == ContractState::Changed);
    if let (Some((path, ..)), false) = (changed.next(), args.force) {
        bail!("`{path}` is there and differs; nothing was written. `--force` replaces it");
    }
    let mut written = Vec::new();
    for (path, text, state) in files {
        let act = match state {
            ContractState::Missing => Act::Written,
            ContractState::Changed => Act::Replaced,
            ContractState::Added => Act::Unchanged,
        };
        if act != Act::Unchanged {
            write(&path, text).with_context(|| format!("could not write `{path}`"))?;
        }
        written.push(Written { path, act });
    }
    context.at(&context.here(), |context| {
        let document = guarded(written, context);
        context.show(&document)
    })
}

fn wanted(name: &str) -> Result<Framework> {
    let Some(framework) = shelf::get(name) else {
        let names = SHELF.map(|framework| framework.name);
        match nearest(name, names) {
            Some(near) => bail!("no contract `{name}` ships; did you mean `{near}`?"),
            None => bail!("no contract `{name}` ships; there are {}", names.join(", ")),
        }
    };
    Ok(framework)
}

fn write(path: &str, text: &str) -> std::io::Result<()> {
    let path = Path::new(path);
    if let Some(dir) = path.parent() {
        replace::make_dir(dir)?;
    }
    replace::replace(path, text.as_bytes())
}

/// What the files bring, as the settings have it now.
fn guarded(files: Vec<Written>, context: &CliContext<'_>) -> AddedContract {
    let is_of_files = |path: &str| files.iter().any(|file| file.path == path);
    let left_out = context.rules.left_out.iter();
    let problems: Vec<String> = left_out
        .filter(|what| is_of_files(&what.path))
        .map(ToString::to_string)
        .collect();
    let there = sites::all(&context.project, &context.registry);
    let governed = context.registry.governed.iter();
    let systems = governed.filter_map(|governed| {
        let id = governed.id();
        let declared = context.rules.settings.system(id).declared.as_ref()?;
        let own = there.iter().filter(|site| site.governed.id() == id);
        is_of_files(&declared.by.file).then(|| Guarded {
            system: id.to_owned(),
            site: declared
                .sites
                .iter()
                .map(|site| site.as_str().to_owned())
                .collect(),
            names: governed.system.contract().rows.len(),
            gates: declared.gates.len(),
            sites: own.map(|site| site.site.clone()).collect(),
        })
    });
    AddedContract {
        ok: problems.is_empty(),
        systems: systems.collect(),
        problems,
        files,
    }
}

impl Show for AddedContract {
    fn text(&self, page: &mut Page<'_>) {
        for file in &self.files {
            let act = match file.act {
                Act::Written => "wrote",
                Act::Replaced => "replaced",
                Act::Unchanged => "already there:",
            };
            writeln!(page, "{act} {}", file.path);
        }
        for system in &self.systems {
            let names = count(system.names as u64, "name", "names");
            let gates = match system.gates {
                0 => String::new(),
                n => format!(", {}", count(n as u64, "gate", "gates")),
            };
            let site = system.site.join("`, `");
            writeln!(page, "{}: guards `{site}` ({names}{gates})", system.system);
            match system.sites.as_slice() {
                [] => writeln!(page, "  not here yet"),
                sites => writeln!(page, "  here: {}", sites.join(", ")),
            }
        }
        for problem in &self.problems {
            writeln!(page, "{}", page.paint.red(problem));
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}
