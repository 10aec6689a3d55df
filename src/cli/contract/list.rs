//! `contract list`: the contracts that ship with the program.

use anyhow::Result;
use serde::Serialize;

use super::shelf::{Framework, SHELF};
use crate::base::disk::bounded_read::read_text;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};

#[derive(Debug, Serialize)]
struct ContractList {
    contracts: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Listed {
    #[serde(flatten)]
    framework: &'static Framework,
    state: ContractState,
    /// Where it is, or would be.
    file: String,
}

/// What a project has of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ContractState {
    Missing,
    Added,
    /// The project's differs from the one that ships.
    Changed,
}

pub(super) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let contracts = SHELF.iter().map(|framework| Listed {
        framework,
        state: state(framework, context),
        file: file(framework.files[0].0, context),
    });
    context.show(&ContractList {
        contracts: contracts.collect(),
    })
}

/// The path that a file of a contract has in a project.
pub(super) fn file(name: &str, context: &CliContext<'_>) -> String {
    let project = &context.project.main;
    project.path(&format!(".claude/statewarden.d/{name}"))
}

/// What a file of a project holds of one that ships. One that cannot be read is another.
pub(super) fn state_of(path: &str, text: &str) -> ContractState {
    match read_text(path) {
        Ok(None) => ContractState::Missing,
        Ok(Some(present)) if present == text => ContractState::Added,
        _ => ContractState::Changed,
    }
}

fn state(framework: &Framework, context: &CliContext<'_>) -> ContractState {
    let files = framework.files.iter();
    let states = files.map(|(name, text)| state_of(&file(name, context), text));
    states.max().unwrap_or(ContractState::Missing)
}

impl Show for ContractList {
    fn text(&self, page: &mut Page<'_>) {
        for listed in &self.contracts {
            let state = match listed.state {
                ContractState::Missing => "",
                ContractState::Added => "  added",
                ContractState::Changed => "  added, changed here",
            };
            let name = page.paint.bold(&format!("{:<12}", listed.framework.name));
            writeln!(
                page,
                "{name} {} {}{state}",
                listed.framework.about, listed.framework.release
            );
        }
        writeln!(
            page,
            "Guard a project with `statewarden contract add NAME`."
        );
    }
}
