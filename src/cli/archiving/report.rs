//! The outcomes as JSON and as text.

use anyhow::{Result, bail};
use serde::Serialize;

use super::{Effect, Job, Moved, Outcome};
use crate::base::text;
use crate::cli::output::{self, Page, Paint, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::store::archive::{Kind, Status};

/// The JSON document about a site, or about all of them together.
#[derive(Serialize)]
struct Document<'o> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'o str>,
    dry_run: bool,
    #[serde(flatten)]
    of_reset: Option<OfReset<'o>>,
    archived: &'o [Moved],
    total_bytes_archived: u64,
    archive_path: Option<&'o str>,
}

/// The keys that devt's own command prints.
#[derive(Serialize)]
struct OfReset<'o> {
    /// Names.
    cleaned: Vec<&'o str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<&'o Moved>,
    archived_to: Option<&'o str>,
}

impl<'o> Document<'o> {
    fn of(outcome: &'o Outcome, kind: Kind, effect: Effect) -> Self {
        Self {
            ok: outcome.ok(),
            reason: outcome.reason(),
            dry_run: effect == Effect::DryRun,
            of_reset: (kind == Kind::Reset).then(|| OfReset {
                cleaned: outcome.moved().map(|item| item.name.as_str()).collect(),
                failed: outcome.failed().collect(),
                archived_to: outcome.archive_path.as_deref(),
            }),
            archived: &outcome.items,
            total_bytes_archived: outcome.total_bytes(),
            archive_path: outcome.archive_path.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct InSite<'o> {
    system: &'o str,
    state_dir: &'o str,
    #[serde(flatten)]
    document: Document<'o>,
}

/// What became of all sites: the flat document that devt's own command prints, of all of them
/// together, and where there are several each under `sites` as well.
#[derive(Serialize)]
struct Report<'o> {
    #[serde(flatten)]
    total: Document<'o>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<Vec<InSite<'o>>>,
    #[serde(skip)]
    outcomes: &'o [Outcome],
    #[serde(skip)]
    effect: Effect,
}

/// Does the job, and prints what became of it.
pub(crate) fn run(job: &Job<'_>, context: &CliContext<'_>) -> Result<Answer> {
    let outcomes = super::outcomes(job, context)?;
    let total = Outcome::total(&outcomes);
    let document = |outcome| Document::of(outcome, job.kind, job.effect);
    let each = outcomes.iter().map(|outcome| InSite {
        system: &outcome.system,
        state_dir: &outcome.state_dir,
        document: document(outcome),
    });
    let report = match outcomes.as_slice() {
        [one] => (document(one), None),
        _ => (document(&total), Some(each.collect())),
    };
    let report = Report {
        total: report.0,
        sites: report.1,
        outcomes: &outcomes,
        effect: job.effect,
    };
    let answer = context.show(&report)?;
    let errors = outcomes
        .iter()
        .filter_map(|outcome| outcome.error.as_deref());
    let errors: Vec<&str> = errors.collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(answer)
}

impl Show for Report<'_> {
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
        let outcomes = self.outcomes.iter();
        let done = outcomes.filter(|outcome| outcome.error.is_none());
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
