//! `contract`: the rules as they stand here, and what tests them.

mod gate_test;
mod lint;
mod origin;
mod show;
mod test;

use anyhow::{Result, bail};

use super::{Answer, CliContext};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print the contract in force, with where each row comes from
    Show(show::Args),
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
        Verb::Test(args) => test::run(args, context),
        Verb::Lint(args) => lint::run(args, context),
    }
}
