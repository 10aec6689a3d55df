//! The outcomes as JSON and as text.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde::Serialize;

use super::{Effect, Moved, Outcome, Outcomes};
use crate::base::text;
use crate::cli::{Answer, CliContext, output};
use crate::store::archive::Status;

/// The JSON document of `cleanup` and `sweep`.
#[derive(Serialize)]
pub(crate) struct Document<'o> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'o str>,
    dry_run: bool,
    archived: &'o [Moved],
    total_bytes_archived: u64,
    archive_path: Option<&'o str>,
}

impl<'o> Document<'o> {
    pub(crate) fn of(outcome: &'o Outcome, effect: Effect) -> Self {
        Self {
            ok: outcome.ok(),
            reason: outcome.reason(),
            dry_run: effect == Effect::DryRun,
            archived: &outcome.items,
            total_bytes_archived: outcome.total_bytes(),
            archive_path: outcome.archive_path.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct InSite<'o, D> {
    system: &'o str,
    state_dir: &'o str,
    #[serde(flatten)]
    document: D,
}

#[derive(Serialize)]
struct Several<'o, D> {
    #[serde(flatten)]
    total: Option<D>,
    sites: Vec<InSite<'o, D>>,
}

/// Prints the outcomes: as the flat document that devt's own command prints, of
/// all sites together, and where there are several each under `sites` as well.
pub(crate) fn print<'o, D: Serialize>(
    outcomes: &'o Outcomes,
    effect: Effect,
    document: impl Fn(&'o Outcome) -> D,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> Result<Answer> {
    let Outcomes { sites, total } = outcomes;
    let text = |out: &mut dyn Write| write_text(sites, effect, context, out);
    match sites.as_slice() {
        [one] => context.print(out, &document(one), text)?,
        several => {
            let sites = several.iter().map(|outcome| InSite {
                system: &outcome.system,
                state_dir: &outcome.state_dir,
                document: document(outcome),
            });
            let sites = sites.collect();
            let total = total.as_ref().map(&document);
            context.print(out, &Several { total, sites }, text)?;
        }
    }
    let errors = sites.iter().filter_map(|outcome| outcome.error.as_deref());
    let errors: Vec<&str> = errors.collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(Answer::yes_if(sites.iter().all(Outcome::ok)))
}

fn write_text(
    outcomes: &[Outcome],
    effect: Effect,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let missing = match outcomes {
        [] => Some("state directory"),
        [first, ..] => first.missing,
    };
    if let Some(what) = missing {
        let dir = output::printable(&super::root(context).dir);
        return writeln!(out, "no {what} below `{dir}`");
    }
    // Why nothing could be done somewhere is said on stderr.
    let done = outcomes.iter().filter(|outcome| outcome.error.is_none());
    for outcome in done {
        let title = format!("{} ({})", outcome.state_dir, outcome.system);
        writeln!(out, "{}", context.paint.bold(&title))?;
        write_outcome(outcome, effect, context, out)?;
    }
    if effect == Effect::DryRun {
        writeln!(out, "nothing was changed")?;
    }
    Ok(())
}

fn write_outcome(
    outcome: &Outcome,
    effect: Effect,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for item in &outcome.items {
        let about = format!(
            "{}, {}, {}",
            output::size(item.size),
            output::age(item.modified, context.now),
            item.reason
        );
        let line = output::entry(context.paint, &item.name, item.is_dir, &about);
        write!(out, "  {line}")?;
        match &item.status {
            Status::Moved | Status::WouldArchive => writeln!(out)?,
            Status::Vanished => writeln!(out, "  vanished")?,
            Status::InUse => writeln!(out, "  in use")?,
            Status::Failed { error } => {
                writeln!(out, "  {}", context.paint.red(error))?;
            }
        }
    }
    for name in &outcome.live {
        let name = output::printable(name);
        writeln!(out, "  {name}/  left: its workflow is active")?;
    }
    let n_moved = outcome.moved().count();
    let bytes = output::size(outcome.total_bytes());
    let moved = text::count(n_moved, "entry", "entries");
    match (effect, &outcome.archive_path) {
        (Effect::DryRun, _) if n_moved == 0 => writeln!(out, "  nothing to archive")?,
        (Effect::DryRun, _) => writeln!(out, "  would archive {moved}, {bytes}")?,
        (Effect::Apply, None) => writeln!(out, "  nothing archived")?,
        (Effect::Apply, Some(path)) => {
            let path = output::printable(path);
            writeln!(out, "  archived {moved}, {bytes}, into `{path}`")?;
        }
    }
    for name in &outcome.pruned {
        writeln!(out, "  dropped the oldest snapshot, `{name}`")?;
    }
    if let Some(trouble) = &outcome.trouble {
        writeln!(out, "  {}", context.paint.red(trouble))?;
    }
    Ok(())
}
