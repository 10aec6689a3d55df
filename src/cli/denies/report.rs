//! `denies report`: one self-contained HTML page, written whole or not at all.

mod collect;
mod html;
mod page;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use collect::Findings;
use serde::Serialize;

use super::filter::Query;
use crate::cli::CliContext;
use crate::lifecycle::gates::write_through;

/// Records on the page where `--limit` does not say; the numbers count all.
const SHOWN: u32 = 2_000;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write; an old one is replaced
    #[arg(long, value_name = "FILE")]
    html: String,
}

/// What the verb did, as JSON.
#[derive(Debug, Serialize)]
struct Written {
    html: String,
    denies: u64,
    shown: usize,
    recovered: u64,
    recovered_inferred: u64,
    refused_again: u64,
    open: u64,
}

pub(super) fn run(
    args: &Args,
    passes: &Query,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let findings = Findings::collect(passes, passes.limit.unwrap_or(SHOWN), context)?;
    let rows = context.with_all_systems(|registry| page::contract_rows(&findings, registry));
    let page = page::render(&findings, &rows, &passes.in_words(), context);
    let file = context.absolute(&args.html);
    let path = PathBuf::from(&file);
    match path.parent().filter(|dir| !dir.is_dir()) {
        Some(dir) => bail!(
            "could not write `{file}`: there is no directory `{}`; make it first",
            dir.display()
        ),
        None if path.is_dir() => bail!("`{file}` is a directory; name a file to write"),
        // A device would be replaced by the page.
        None if path.exists() && !path.is_file() => {
            bail!("`{file}` is no regular file; name one to write")
        }
        None => {}
    }
    write_through(&path, &page).with_context(|| format!("could not write `{file}`"))?;
    let written = Written {
        denies: findings.total(),
        shown: findings.records.len(),
        recovered: findings.funnel.recovered,
        recovered_inferred: findings.funnel.inferred,
        refused_again: findings.funnel.again,
        open: findings.funnel.open,
        html: file,
    };
    context.print(out, &written, |out| {
        writeln!(
            out,
            "{} denied; the report is in `{}`",
            written.denies, written.html
        )
    })
}
