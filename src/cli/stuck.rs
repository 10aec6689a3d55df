//! `stuck`: does a workflow keep being denied?

use std::collections::HashSet;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::read_text;
use crate::base::{clock, text};
use crate::log::append::Logs;
use crate::log::read::{self, Entry, Reach, TopN};
use crate::store::modified;
use crate::systems::devt::{self, workflow_yaml};

/// So many unresolved denials make a workflow stuck (devt's own threshold).
const THRESHOLD: usize = 3;

/// The newest denials that are printed; all are counted.
const PRINTED: u32 = 50;

/// The JSON document: the answer, and the workflow with the most denials.
#[derive(Debug, Serialize)]
struct Document {
    stuck: bool,
    deny_count: usize,
    session_started_at: Option<String>,
    /// The newest unresolved ones, oldest of them first.
    denies: Vec<Deny>,
    workflows: Vec<Workflow>,
}

/// One devt site with a `workflow.yaml`.
#[derive(Clone, Debug, Serialize)]
struct Workflow {
    state_dir: String,
    workflow_id: Option<String>,
    stuck: bool,
    deny_count: usize,
    /// As the file writes it.
    session_started_at: String,
    #[serde(skip)]
    began: DateTime<Utc>,
    #[serde(skip)]
    denies: Vec<Deny>,
}

#[derive(Clone, Debug, Serialize)]
struct Deny {
    id: String,
    ts: String,
    source: &'static str,
    code: String,
    /// The same, as logs call it.
    rule: String,
    name: String,
    suggestion: String,
    agent: String,
    session_id: String,
    reason: String,
}

impl Deny {
    fn of(entry: &Entry<'_>) -> Self {
        Self {
            id: entry.id.to_string(),
            ts: entry.ts.to_string(),
            source: "statewarden",
            code: entry.rule.to_string(),
            rule: entry.rule.to_string(),
            name: entry.what().to_owned(),
            suggestion: entry.suggestion.to_string(),
            agent: entry.agent(),
            session_id: entry.session_id.to_string(),
            reason: entry.reason.to_string(),
        }
    }
}

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let mut workflows = Vec::new();
    for site in context.sites_of(devt::ID) {
        workflows.extend(Workflow::begun(site.dir())?);
    }
    if !workflows.is_empty() {
        let recovered = recovered(context)?;
        let mut uncounted = workflows.iter_mut();
        uncounted.try_for_each(|workflow| workflow.count(&recovered))?;
    }
    context.show(&document(workflows))
}

fn document(workflows: Vec<Workflow>) -> Document {
    // Of equals the last is the greatest, and the first is meant.
    let most = workflows
        .iter()
        .rev()
        .max_by_key(|workflow| workflow.deny_count);
    Document {
        stuck: workflows.iter().any(|workflow| workflow.stuck),
        deny_count: most.map_or(0, |workflow| workflow.deny_count),
        session_started_at: most.map(|workflow| workflow.session_started_at.clone()),
        denies: most.map_or(Vec::new(), |workflow| workflow.denies.clone()),
        workflows,
    }
}

impl Workflow {
    /// When a site's workflow began: its `created_at`, else the file's own time;
    /// nothing without a `workflow.yaml`.
    ///
    /// # Errors
    /// The file is there, and what it says is not known.
    fn begun(state_dir: String) -> Result<Option<Self>> {
        let file = format!("{state_dir}/workflow.yaml");
        let unknown =
            || format!("whether the workflow is stuck is not known: could not read `{file}`");
        let Some(text) = read_text(&file).with_context(unknown)? else {
            return Ok(None);
        };
        workflow_yaml::check(&text)
            .map_err(anyhow::Error::msg)
            .with_context(unknown)?;
        let fields = workflow_yaml::read(&text);
        let created = fields.text("created_at").and_then(|text| {
            let at = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
            Some((at, text.to_owned()))
        });
        let (began, session_started_at) = match created {
            Some(created) => created,
            None => {
                let changed = modified(&std::fs::metadata(&file).with_context(unknown)?);
                (changed, clock::millis(changed))
            }
        };
        Ok(Some(Self {
            state_dir,
            workflow_id: fields.text("workflow_id").map(str::to_owned),
            stuck: false,
            deny_count: 0,
            session_started_at,
            began,
            denies: Vec::new(),
        }))
    }

    /// A record without a workflow id is told by its time alone.
    fn holds(&self, entry: &Entry<'_>) -> bool {
        let same = match (&self.workflow_id, entry.workflow_id.as_ref()) {
            (Some(id), other) if !other.is_empty() => id == other,
            _ => true,
        };
        same && DateTime::parse_from_rfc3339(&entry.ts).is_ok_and(|ts| ts >= self.began)
    }

    fn count(&mut self, recovered: &HashSet<String>) -> Result<()> {
        let mut unresolved: HashSet<String> = HashSet::new();
        let mut newest = TopN::new(Some(PRINTED));
        let log = Logs::devt(self.state_dir.as_ref());
        read::entries(&log, Reach::All, &mut |entry, _| {
            let counts =
                entry.is_denial() && self.holds(entry) && !recovered.contains(entry.id.as_ref());
            if counts && unresolved.insert(entry.id.to_string()) {
                newest.offer(entry, || Deny::of(entry));
            }
        })?;
        self.deny_count = unresolved.len();
        self.stuck = self.deny_count >= THRESHOLD;
        self.denies = newest.into_items().collect();
        Ok(())
    }
}

/// The ids of the denials that were recovered from.
fn recovered(context: &CliContext<'_>) -> Result<HashSet<String>> {
    let mut ids = HashSet::new();
    let events = context.project.logs().events();
    read::entries(&events, Reach::All, &mut |entry, _| {
        ids.extend(entry.closes().map(str::to_owned));
    })?;
    Ok(ids)
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        if self.workflows.is_empty() {
            return match page.context.switched_off(devt::ID) {
                Some(off) => writeln!(page, "not stuck: {off}"),
                None => {
                    let none = page.context.empty("no workflow");
                    writeln!(page, "not stuck: {none}");
                }
            };
        }
        for workflow in &self.workflows {
            let word = match workflow.stuck {
                true => paint.red("stuck"),
                false => paint.green("not stuck"),
            };
            let denials = workflow.deny_count;
            let denials = text::count(denials, "unresolved denial", "unresolved denials");
            let since = &workflow.session_started_at;
            writeln!(
                page,
                "{word}: {denials} since {since} in `{}`",
                workflow.state_dir
            );
            for deny in &workflow.denies {
                let Deny {
                    ts,
                    rule,
                    name,
                    agent,
                    ..
                } = deny;
                let instead = paint.instead(&deny.suggestion);
                writeln!(page, "  {ts}  {rule:<20}  {name} by {agent}{instead}");
            }
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(!self.stuck)
    }
}
