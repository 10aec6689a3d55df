//! The outcomes as JSON and as text.

use std::io::Write;

use anyhow::{Result, bail};
use serde::Serialize;

use super::{Effect, Moved, Outcome, Outcomes};
use crate::base::text;
use crate::cli::output::{self, Page, Paint, View, writeln};
use crate::cli::{Answer, CliContext};
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

/// What became of all sites: the flat document that devt's own command prints, of all of them
/// together, and where there are several each under `sites` as well.
#[derive(Serialize)]
struct Report<'o, D> {
    #[serde(flatten)]
    total: Option<D>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<Vec<InSite<'o, D>>>,
    #[serde(skip)]
    outcomes: &'o [Outcome],
    #[serde(skip)]
    effect: Effect,
}

pub(crate) fn print<'o, D: Serialize>(
    outcomes: &'o Outcomes,
    effect: Effect,
    document: impl Fn(&'o Outcome) -> D,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> Result<Answer> {
    let Outcomes { sites, total } = outcomes;
    let each = |outcome: &'o Outcome| InSite {
        system: &outcome.system,
        state_dir: &outcome.state_dir,
        document: document(outcome),
    };
    let report = Report {
        total: total.as_ref().or(sites.first()).map(&document),
        sites: (sites.len() != 1).then(|| sites.iter().map(each).collect()),
        outcomes: sites,
        effect,
    };
    let answer = context.show(&report, out)?;
    let errors = sites.iter().filter_map(|outcome| outcome.error.as_deref());
    let errors: Vec<&str> = errors.collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(answer)
}

impl<D: Serialize> View for Report<'_, D> {
    fn text(&self, page: &mut Page<'_>) {
        let missing = match self.outcomes {
            [] => Some("state directory"),
            [first, ..] => first.missing,
        };
        if let Some(what) = missing {
            let dir = super::root(page.context).dir;
            return writeln!(page, "no {} below `{}`", what, dir);
        }
        // Why nothing could be done somewhere is said on stderr.
        let done = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.error.is_none());
        done.for_each(|outcome| say_outcome(outcome, self.effect, page));
        if self.effect == Effect::DryRun {
            writeln!(page, "nothing was changed");
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.outcomes.iter().all(Outcome::ok))
    }
}

fn say_outcome(outcome: &Outcome, effect: Effect, page: &mut Page<'_>) {
    let paint = page.paint;
    let title = format!("{} ({})", outcome.state_dir, outcome.system);
    writeln!(page, "{}", paint.bold(&title));
    for item in &outcome.items {
        let age = output::age(item.modified, page.context.now);
        let about = format!("{}, {age}, {}", output::size(item.size), item.reason);
        let status = match &item.status {
            Status::Moved | Status::WouldArchive => Paint::plain(""),
            Status::Vanished => Paint::plain("vanished"),
            Status::InUse => Paint::plain("in use"),
            Status::Failed { error } => paint.red(error),
        };
        let (slash, about) = (output::slash(item.is_dir), paint.dim(&about));
        writeln!(page, "  {}{}  {}  {}", item.name, slash, about, status);
    }
    for name in &outcome.live {
        writeln!(page, "  {}/  left: its workflow is active", name);
    }
    let n_moved = outcome.moved().count();
    let moved = text::count(n_moved, "entry", "entries");
    let moved = format!("{moved}, {}", output::size(outcome.total_bytes()));
    match (effect, &outcome.archive_path) {
        (Effect::DryRun, _) if n_moved == 0 => writeln!(page, "  nothing to archive"),
        (Effect::DryRun, _) => writeln!(page, "  would archive {}", moved),
        (Effect::Apply, None) => writeln!(page, "  nothing archived"),
        (Effect::Apply, Some(path)) => writeln!(page, "  archived {}, into `{}`", moved, path),
    }
    for name in &outcome.pruned {
        writeln!(page, "  dropped the oldest snapshot, `{}`", name);
    }
    if let Some(trouble) = &outcome.trouble {
        writeln!(page, "  {}", paint.red(trouble));
    }
}
