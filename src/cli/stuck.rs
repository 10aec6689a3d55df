//! `stuck`: does a workflow keep being denied?

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::denies::rows::{self, End, RecordRow};
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::read_text;
use crate::base::{clock, text};
use crate::log::append::{LogFile, Logs};
use crate::log::read::{self, Entry, Reach, TopN};
use crate::store::modified;
use crate::systems::devt::{self, workflow_yaml};

/// So many unresolved denials make a workflow stuck (devt's own threshold).
const THRESHOLD: usize = 3;

/// The newest denials that are printed; all are counted.
const PRINTED: u32 = 50;

/// The JSON document: the answer, and the workflow with the most denials.
#[derive(Debug, Serialize)]
struct Stuck {
    stuck: bool,
    deny_count: usize,
    session_started_at: Option<String>,
    /// The newest unresolved ones, oldest of them first.
    denies: Vec<Deny>,
    workflows: Vec<Workflow>,
}

/// One devt site with a `workflow.yaml`; of any other system the last session that was denied.
#[derive(Clone, Debug, Serialize)]
struct Workflow {
    system: String,
    /// Of devt.
    #[serde(skip_serializing_if = "Option::is_none")]
    state_dir: Option<String>,
    /// Of devt.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_id: Option<String>,
    /// Where no workflow says when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
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
    #[serde(skip)]
    row: RecordRow,
}

impl Deny {
    fn new(entry: &Entry<'_>, context: &CliContext<'_>) -> Self {
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
            row: RecordRow::new(entry, End::Open, context),
        }
    }
}

pub(crate) fn run(context: &CliContext<'_>) -> Result<Answer> {
    let mut workflows = Vec::new();
    for site in context.sites_of(devt::ID) {
        if context.wants(devt::ID) {
            workflows.extend(Workflow::begun(site.dir())?);
        }
    }
    workflows.extend(last_sessions(context)?);
    if !workflows.is_empty() {
        let events = context.project.logs().events();
        let recovered = read::recoveries(&events)?.into_keys().collect();
        for workflow in &mut workflows {
            workflow.count(&recovered, context)?;
        }
    }
    context.show(&answer(workflows))
}

fn answer(workflows: Vec<Workflow>) -> Stuck {
    // `max_by_key` gives the last of equals, and the first one is to be shown.
    let most = workflows
        .iter()
        .rev()
        .max_by_key(|workflow| workflow.deny_count);
    Stuck {
        stuck: workflows.iter().any(|workflow| workflow.stuck),
        deny_count: most.map_or(0, |workflow| workflow.deny_count),
        session_started_at: most.map(|workflow| workflow.session_started_at.clone()),
        denies: most.map_or(Vec::new(), |workflow| workflow.denies.clone()),
        workflows,
    }
}

/// When the first and the last record of a session were made.
#[derive(Clone, Debug)]
struct Span {
    first: String,
    last: String,
}

/// For each system but devt the session that was denied last, unless it has done nothing since
/// a later one began: what an old session left is no longer under way.
fn last_sessions(context: &CliContext<'_>) -> Result<Vec<Workflow>> {
    let logs = context.project.logs();
    let mut sessions: HashMap<String, Span> = HashMap::new();
    let mut newest: BTreeMap<String, (String, String)> = BTreeMap::new();
    for log in [logs.events(), logs.denies()] {
        read::entries(&log, Reach::All, &mut |entry, _| {
            if entry.source != "statewarden" || entry.session_id.is_empty() {
                return;
            }
            let (ts, session) = (entry.ts.to_string(), entry.session_id.to_string());
            let span = sessions.entry(session.clone()).or_insert_with(|| Span {
                first: ts.clone(),
                last: ts.clone(),
            });
            span.first = ts.clone().min(std::mem::take(&mut span.first));
            span.last = ts.clone().max(std::mem::take(&mut span.last));
            if entry.is_denial() && entry.system != devt::ID && context.wants(&entry.system) {
                let known = newest.entry(entry.system.to_string()).or_default();
                *known = (ts, session).max(std::mem::take(known));
            }
        })?;
    }
    let latest = sessions.values().map(|span| span.first.clone()).max();
    let workflows = newest.into_iter().filter_map(|(system, (_, session))| {
        let span = sessions.get(&session)?;
        let is_under_way = Some(&span.last) >= latest.as_ref();
        is_under_way.then(|| Workflow::of_session(system, session, &span.first))?
    });
    Ok(workflows.collect())
}

impl Workflow {
    /// When a site's workflow began: its `created_at`, else the file's own time;
    /// nothing without a `workflow.yaml`.
    ///
    /// # Errors
    /// The file is there, and what it says is not known.
    fn begun(state_dir: &str) -> Result<Option<Self>> {
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
            system: devt::ID.to_owned(),
            state_dir: Some(state_dir.to_owned()),
            workflow_id: fields.text("workflow_id").map(str::to_owned),
            session_id: None,
            stuck: false,
            deny_count: 0,
            session_started_at,
            began,
            denies: Vec::new(),
        }))
    }

    fn of_session(system: String, session: String, began: &str) -> Option<Self> {
        Some(Self {
            system,
            state_dir: None,
            workflow_id: None,
            session_id: Some(session),
            stuck: false,
            deny_count: 0,
            session_started_at: began.to_owned(),
            began: DateTime::parse_from_rfc3339(began).ok()?.to_utc(),
            denies: Vec::new(),
        })
    }

    /// Whether a denial is this workflow's: by its id or session where both say one, and by
    /// its time.
    fn holds(&self, entry: &Entry<'_>) -> bool {
        let same = match (&self.workflow_id, entry.workflow_id.as_ref()) {
            (Some(id), other) if !other.is_empty() => id == other,
            _ => true,
        };
        let same_session = (self.session_id.as_deref())
            .is_none_or(|session| session == entry.session_id && self.system == entry.system);
        same && same_session
            && DateTime::parse_from_rfc3339(&entry.ts).is_ok_and(|ts| ts >= self.began)
    }

    fn log(&self, context: &CliContext<'_>) -> LogFile {
        match &self.state_dir {
            Some(dir) => Logs::devt(dir.as_ref()),
            None => context.project.logs().denies(),
        }
    }

    fn count(&mut self, recovered: &HashSet<String>, context: &CliContext<'_>) -> Result<()> {
        let mut unresolved: HashSet<String> = HashSet::new();
        let mut newest = TopN::new(Some(PRINTED));
        read::entries(&self.log(context), Reach::All, &mut |entry, _| {
            let counts =
                entry.is_denial() && self.holds(entry) && !recovered.contains(entry.id.as_ref());
            if counts && unresolved.insert(entry.id.to_string()) {
                newest.offer(entry, || Deny::new(entry, context));
            }
        })?;
        self.deny_count = unresolved.len();
        self.stuck = self.deny_count >= THRESHOLD;
        self.denies = newest.into_items().collect();
        Ok(())
    }

    /// Who was denied, most often first.
    fn agents(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for deny in &self.denies {
            *counts.entry(&deny.agent).or_default() += 1;
        }
        let mut agents: Vec<_> = counts.into_iter().collect();
        agents.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let names = agents.iter().map(|(agent, _)| format!("`{agent}`"));
        text::join_limited(names.collect(), 60)
    }

    fn say(&self, page: &mut Page<'_>) {
        let word = if self.stuck {
            page.paint.red("stuck")
        } else {
            page.paint.green("not stuck")
        };
        let count = text::count(self.deny_count, "unresolved denial", "unresolved denials");
        let by = match self.agents() {
            none if none.is_empty() => none,
            agents => format!(" of {agents}"),
        };
        let since = page.local_time.minute(&self.session_started_at);
        let place = match &self.state_dir {
            Some(dir) => page.context.below_root(dir),
            None => &self.system,
        };
        writeln!(page, "{word}: {count}{by} since {since} in `{place}`");
        let rows: Vec<_> = self.denies.iter().map(|deny| deny.row.clone()).collect();
        rows::say(&rows, page);
    }
}

impl Show for Stuck {
    fn text(&self, page: &mut Page<'_>) {
        if self.workflows.is_empty() {
            let off = page.context.system.unwrap_or(devt::ID);
            let none = match page.context.switched_off(off) {
                Some(off) => off.to_string(),
                None => page.context.empty("no workflow"),
            };
            return writeln!(page, "not stuck: {none}");
        }
        for workflow in &self.workflows {
            workflow.say(page);
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(!self.stuck)
    }
}
