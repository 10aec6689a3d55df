//! `contract`: the rules in force, contracts that ship with the program, and what authors need.

mod add;
mod draft;
mod lint;
mod list;
mod mention;
mod own;
mod shelf;
mod show;
mod stage;
mod test;

use anyhow::{Result, bail};

use super::{Answer, CliContext};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

impl Args {
    /// Whether a contract is put into the project.
    pub(super) fn adds(&self) -> bool {
        matches!(self.verb, Verb::Add(_))
    }

    /// Whether a contract is made that is not there yet.
    pub(super) fn drafts(&self) -> bool {
        matches!(self.verb, Verb::New(_))
    }
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print the contract in force, and the files it comes from
    Show(show::Args),
    /// List the contracts of public frameworks that ship with the program
    List,
    /// Put contracts that ship with the program into the project
    Add(add::Args),
    /// Draft a contract from what is in a directory
    New(draft::Args),
    /// Judge a table of expectations; exit 1 when one is not met
    Test(test::Args),
    /// Compare a plugin's texts with the contract; exit 1 when they disagree
    Lint(lint::Args),
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Show(args) => show::run(args, context),
        Verb::Test(_) if context.system.is_some() => {
            bail!("`contract test` judges by all systems; leave `--system` out")
        }
        Verb::List | Verb::Add(_) if context.system.is_some() => {
            bail!("contracts that ship with the program have names; leave `--system` out")
        }
        Verb::Test(args) => test::run(args, context),
        Verb::Lint(args) => lint::run(args, context),
        Verb::New(args) => draft::run(args, context),
        Verb::List => list::run(context),
        Verb::Add(args) => add::run(args, context),
    }
}
