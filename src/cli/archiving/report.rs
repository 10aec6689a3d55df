//! The outcomes as JSON and as text.

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value, json};

use super::reach::{Elsewhere, say_elsewhere};
use super::{Job, Moved, SiteOutcome};
use crate::base::text;
use crate::cli::output::{self, Page, Paint, Show, writeln};
use crate::cli::{Answer, CliContext, RunMode};
use crate::store::archive::{SnapshotKind, Status};

/// What became of all sites: the flat document that devt's own command prints, of all of them
/// together, and where there are several each under `sites` as well.
#[derive(Serialize)]
#[serde(transparent)]
struct Report<'o> {
    document: Value,
    #[serde(skip)]
    outcomes: &'o [SiteOutcome],
    #[serde(skip)]
    elsewhere: &'o [Elsewhere],
    #[serde(skip)]
    effect: RunMode,
}

impl SiteOutcome {
    /// Adds to what is said of a site already.
    fn document(&self, job: &Job<'_>, mut document: Value) -> Value {
        document["ok"] = self.ok().into();
        if let Some(reason) = self.reason() {
            document["reason"] = reason.into();
        }
        document["dry_run"] = (job.effect == RunMode::DryRun).into();
        if job.kind == SnapshotKind::Reset {
            // The keys that devt's own command prints.
            let failed: Vec<&Moved> = self.failed().collect();
            document["cleaned"] = self.moved().map(|item| item.name.as_str()).collect();
            document["archived_to"] = json!(self.archive_path);
            if !failed.is_empty() {
                document["failed"] = json!(failed);
            }
        }
        document["archived"] = json!(self.items);
        if job.kind == SnapshotKind::Cleanup {
            document["left"] = json!(self.left);
        }
        document["total_bytes_archived"] = self.total_bytes().into();
        document["archive_path"] = json!(self.archive_path);
        document
    }
}

/// What a job came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    InSites(Answer),
    /// No state directory is in reach.
    Nowhere(Answer),
}

impl Ran {
    pub(crate) fn answer(self) -> Answer {
        match self {
            Self::InSites(answer) | Self::Nowhere(answer) => answer,
        }
    }
}

/// Does the job, and prints what became of it.
pub(crate) fn run(job: &Job<'_>, context: &CliContext<'_>) -> Result<Ran> {
    let (outcomes, elsewhere) = super::outcomes(job, context)?;
    let mut document = match outcomes.as_slice() {
        [one] => one.document(job, json!({})),
        several => {
            let mut total = SiteOutcome::total(several).document(job, json!({}));
            let each = several.iter().map(|outcome| {
                let (system, state_dir) = (&outcome.system, &outcome.state_dir);
                outcome.document(job, json!({ "system": system, "state_dir": state_dir }))
            });
            total["sites"] = each.collect();
            total
        }
    };
    document["elsewhere"] = json!(elsewhere);
    let mut report = Report {
        document,
        outcomes: &outcomes,
        elsewhere: &elsewhere,
        effect: job.effect,
    };
    if report.is_out_of_reach() {
        report.document["ok"] = false.into();
    }
    let answer = context.show(&report)?;
    let errors = outcomes
        .iter()
        .filter_map(|outcome| outcome.error.as_deref());
    let errors: Vec<&str> = errors.collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(if report.is_nowhere() {
        Ran::Nowhere(answer)
    } else {
        Ran::InSites(answer)
    })
}

impl Report<'_> {
    fn is_nowhere(&self) -> bool {
        self.outcomes
            .iter()
            .all(|outcome| outcome.missing.is_some())
    }

    /// Whether all that there is was left alone.
    fn is_out_of_reach(&self) -> bool {
        self.is_nowhere() && !self.elsewhere.is_empty()
    }
}

impl Show for Report<'_> {
    fn text(&self, page: &mut Page<'_>) {
        let missing = match self.outcomes {
            [] => Some("state directory"),
            [first, ..] => first.missing,
        };
        if let Some(what) = missing {
            let dir = super::root(page.context).dir;
            if self.elsewhere.is_empty() {
                return writeln!(page, "no {what} below `{dir}`");
            }
            let here = page.context.here();
            writeln!(
                page,
                "no {what} at or above `{here}` in `{dir}`; nothing was changed"
            );
            return say_elsewhere(self.elsewhere, page);
        }
        // Why nothing could be done somewhere is said on stderr.
        let outcomes = self.outcomes.iter();
        let done = outcomes.filter(|outcome| outcome.error.is_none());
        done.for_each(|outcome| say_outcome(outcome, self.effect, page));
        say_elsewhere(self.elsewhere, page);
        if self.effect == RunMode::DryRun {
            writeln!(page, "nothing was changed");
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.outcomes.iter().all(SiteOutcome::ok) && !self.is_out_of_reach())
    }
}

fn say_outcome(outcome: &SiteOutcome, effect: RunMode, page: &mut Page<'_>) {
    let paint = page.paint;
    let dir = page.context.below_root(&outcome.state_dir);
    let title = format!("{dir} ({})", outcome.system);
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
        writeln!(page, "  {}{slash}  {about}  {status}", item.name);
    }
    for left in &outcome.left {
        let slash = output::slash(left.is_dir);
        writeln!(page, "  {}{slash}  left: {}", left.name, left.reason);
    }
    for name in &outcome.live {
        writeln!(page, "  {name}/  left: its workflow is active");
    }
    let n_moved = outcome.moved().count();
    let moved = text::count(n_moved, "entry", "entries");
    let moved = format!("{moved}, {}", output::size(outcome.total_bytes()));
    match (effect, &outcome.archive_path) {
        (RunMode::DryRun, _) if n_moved == 0 => writeln!(page, "  nothing to archive"),
        (RunMode::DryRun, _) => writeln!(page, "  would archive {moved}"),
        (RunMode::Apply, None) => writeln!(page, "  nothing archived"),
        (RunMode::Apply, Some(path)) => writeln!(page, "  archived {moved}, into `{path}`"),
    }
    for name in &outcome.pruned {
        writeln!(page, "  dropped the oldest snapshot, `{name}`");
    }
    if let Some(trouble) = &outcome.trouble {
        writeln!(page, "  {}", paint.red(trouble));
    }
}
