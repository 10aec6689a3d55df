//! The outcomes as JSON and as text.

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Effect, Job, Moved, Outcome};
use crate::base::text;
use crate::cli::output::{self, Page, Paint, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::store::archive::{Kind, Status};

/// What became of all sites: the flat document that devt's own command prints, of all of them
/// together, and where there are several each under `sites` as well.
#[derive(Serialize)]
#[serde(transparent)]
struct Report<'o> {
    document: Value,
    #[serde(skip)]
    outcomes: &'o [Outcome],
    #[serde(skip)]
    effect: Effect,
}

impl Outcome {
    /// Adds to what is said of a site already.
    fn document(&self, job: &Job<'_>, mut document: Value) -> Value {
        document["ok"] = self.ok().into();
        if let Some(reason) = self.reason() {
            document["reason"] = reason.into();
        }
        document["dry_run"] = (job.effect == Effect::DryRun).into();
        if job.kind == Kind::Reset {
            // The keys that devt's own command prints.
            let failed: Vec<&Moved> = self.failed().collect();
            document["cleaned"] = self.moved().map(|item| item.name.as_str()).collect();
            document["archived_to"] = json!(self.archive_path);
            if !failed.is_empty() {
                document["failed"] = json!(failed);
            }
        }
        document["archived"] = json!(self.items);
        document["total_bytes_archived"] = self.total_bytes().into();
        document["archive_path"] = json!(self.archive_path);
        document
    }
}

/// Does the job, and prints what became of it.
pub(crate) fn run(job: &Job<'_>, context: &CliContext<'_>) -> Result<Answer> {
    let outcomes = super::outcomes(job, context)?;
    let document = match outcomes.as_slice() {
        [one] => one.document(job, json!({})),
        several => {
            let mut total = Outcome::total(several).document(job, json!({}));
            let each = several.iter().map(|outcome| {
                let (system, state_dir) = (&outcome.system, &outcome.state_dir);
                outcome.document(job, json!({ "system": system, "state_dir": state_dir }))
            });
            total["sites"] = each.collect();
            total
        }
    };
    let report = Report {
        document,
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
            return writeln!(page, "no {what} below `{dir}`");
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
        writeln!(page, "  {}{slash}  {about}  {status}", item.name);
    }
    for name in &outcome.live {
        writeln!(page, "  {name}/  left: its workflow is active");
    }
    let n_moved = outcome.moved().count();
    let moved = text::count(n_moved, "entry", "entries");
    let moved = format!("{moved}, {}", output::size(outcome.total_bytes()));
    match (effect, &outcome.archive_path) {
        (Effect::DryRun, _) if n_moved == 0 => writeln!(page, "  nothing to archive"),
        (Effect::DryRun, _) => writeln!(page, "  would archive {moved}"),
        (Effect::Apply, None) => writeln!(page, "  nothing archived"),
        (Effect::Apply, Some(path)) => writeln!(page, "  archived {moved}, into `{path}`"),
    }
    for name in &outcome.pruned {
        writeln!(page, "  dropped the oldest snapshot, `{name}`");
    }
    if let Some(trouble) = &outcome.trouble {
        writeln!(page, "  {}", paint.red(trouble));
    }
}
