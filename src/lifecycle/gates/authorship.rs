//! Whose work the files around a gate are: by the change log, by what was there when an agent
//! started, and by the times of files where nothing better is known.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use chrono::{DateTime, Utc};

use crate::base::actor::AgentName;
use crate::base::disk::bounded_read::{read_bytes, read_text};
use crate::base::disk::list;
use crate::base::{clock, path};
use crate::contract::denial::DenyCode;
use crate::formats::json;
use crate::lifecycle::counted_runs::{Run, Runs};
use crate::log::kept::RECENT;
use crate::project::roots::Project;
use crate::recorder::changes::{self, ChangeRecord, Outcome};
use crate::recorder::contents::Contents;
use crate::recorder::entry::BlobId;
use crate::recorder::mediate;
use crate::store::modified;
use crate::systems::devt::workflow_yaml::{self, Fields};
use crate::systems::groups::report::ReportKind;
use crate::systems::groups::state::Doubt;
use crate::systems::groups::tasks;
use crate::systems::workflow::{GateStatus, Workflow};
use crate::systems::{agent_flow, devt, session};

/// What a file says, white space aside.
pub fn print(file: &Path) -> Option<String> {
    let mut bytes = read_bytes(file).ok()??;
    bytes.retain(|byte| !byte.is_ascii_whitespace());
    Some(BlobId::of(&bytes).to_string())
}

/// Why a file is not the work of the agent whose run this is, in the workflow that began then.
pub fn left_over(
    project: &Project,
    run: &Run,
    agent: Option<&AgentName>,
    file: &Path,
    begun: Option<&str>,
) -> Option<String> {
    let meta = fs::metadata(file).ok()?;
    let begun = begun.and_then(clock::parse);
    if begun.is_some_and(|begun| modified(&meta) < begun - devt::sweep::TOLERANCE) {
        return Some("is from before this workflow".to_owned());
    }
    let path = path::from_os(file);
    let since = match (&run.began, begun) {
        (Some(began), _) => began.at.clone(),
        (None, Some(begun)) => clock::millis(begun),
        (None, None) => return None,
    };
    if let Some(began) = &run.began
        && !run.typed_at.contains_key(&path)
    {
        let now = print(file);
        if now.is_some() && began.held.get(&path) == now.as_ref() {
            return Some("is what it was when the agent began".to_owned());
        }
        if is_archived(file, now.as_deref()) || is_of_before(project, file, &since) {
            return Some("is a copy of what was there before".to_owned());
        }
    }
    let writer = other_writer(project, file, &since, agent?)?;
    (writer != "statewarden").then(|| format!("was last written by `{writer}`"))
}

/// Whether the archive beside a file holds the same under its name.
fn is_archived(file: &Path, print_of_file: Option<&str>) -> bool {
    let (Some(dir), Some(name)) = (file.parent(), file.file_name()) else {
        return false;
    };
    let archive = dir.join(".archive");
    let mut runs = list::readable(&archive);
    runs.any(|run| {
        let archived = archive.join(&run.name).join(name);
        archived.is_file() && print(&archived).as_deref() == print_of_file
    })
}

/// Whether the change log knows what a file holds from before an agent's start.
fn is_of_before(project: &Project, file: &Path, since: &str) -> bool {
    let now = blob(file);
    let mut is_known = false;
    each_change_of(project, &path::from_os(file), &mut |change| {
        is_known =
            *change.ts < *since && now.is_some() && [change.before, change.after].contains(&now);
        until(is_known)
    });
    is_known
}

/// Who else than an agent is certain to have changed a file last, since then. Where the file holds
/// again what the agent wrote last, as when a branch was left and taken again, it is the agent's.
fn other_writer(project: &Project, file: &Path, since: &str, agent: &AgentName) -> Option<String> {
    let now = blob(file);
    let mut last = None;
    let mut is_newest = true;
    each_change_of(project, &path::from_os(file), &mut |change| {
        if *change.ts < *since {
            return ControlFlow::Continue(());
        }
        let is_its = change.certain && change.actor.as_deref() == Some(agent.as_str());
        if is_its && (is_newest || now.is_some() && change.after == now) {
            last = None;
        } else if is_newest && change.certain {
            last = change.actor;
        }
        is_newest = false;
        until(is_its)
    });
    last
}

/// The id of what a file holds.
fn blob(file: &Path) -> Option<BlobId> {
    let bytes = read_bytes(file).ok()??;
    Some(BlobId::of(&bytes))
}

/// The last changes with this in their records, as JSON has it, the newest first.
fn each_change(
    project: &Project,
    text: &str,
    take: &mut dyn FnMut(ChangeRecord) -> ControlFlow<()>,
) {
    changes::log(&mediate::dir(project)).newest(RECENT, text, take);
}

/// The last changes of a file, the newest first.
fn each_change_of(
    project: &Project,
    path: &str,
    take: &mut dyn FnMut(ChangeRecord) -> ControlFlow<()>,
) {
    each_change(project, &json::quoted(path), &mut |change| {
        if change.path == path {
            take(change)
        } else {
            ControlFlow::Continue(())
        }
    });
}

fn until(is_enough: bool) -> ControlFlow<()> {
    if is_enough {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// The files that a run of an agent wrote: by its calls as far as their texts say, and by the
/// change log.
pub fn written_by(project: &Project, run: &Run) -> Vec<String> {
    let since = run.started.as_deref().unwrap_or_default();
    let mut changed = Vec::new();
    each_change(project, &json::quoted(&run.agent), &mut |change| {
        let is_its = run.is_agent(change.agent_id.as_deref().unwrap_or_default());
        if is_its && change.after.is_some() && *change.ts >= *since {
            changed.push(change.path);
        }
        ControlFlow::Continue(())
    });
    let mut paths = run.wrote.clone();
    for path in changed.into_iter().rev() {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Whether the last change of a file that is recorded was certainly a call's.
pub fn is_made_by_call(project: &Project, file: &Path) -> bool {
    let path = path::from_os(file);
    let mut is_by_call = false;
    each_change_of(project, &path, &mut |change| {
        is_by_call = change.certain && change.actor.is_some_and(|actor| actor != "statewarden");
        ControlFlow::Break(())
    });
    is_by_call
}

/// Whether the latest change of a `workflow.yaml` that is recorded set its status, by
/// whatever program, while it was in this phase.
pub fn was_set_in(project: &Project, file: &str, phase: &str) -> bool {
    let contents = Contents::of(&mediate::dir(project));
    let read = |blob: Option<BlobId>| {
        let text = blob.and_then(|blob| contents.get(blob)).unwrap_or_default();
        workflow_yaml::read(&String::from_utf8_lossy(&text))
    };
    let mut is_set = false;
    each_change_of(project, file, &mut |change| {
        if change.tool.as_deref() == Some("gate") {
            return ControlFlow::Continue(());
        }
        let (before, after) = (read(change.before), read(change.after));
        let said = |fields: &Fields| ["status", "verdict"].map(|key| fields.get(key).cloned());
        let is_in_phase = |fields: &Fields| fields.text("phase") == Some(phase);
        is_set = is_in_phase(&after) && said(&before) != said(&after);
        until(is_set || !is_in_phase(&after) || !is_in_phase(&before))
    });
    is_set
}

/// Who moved a gate to where it is in its file, by the change log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mover {
    /// One who may write the file.
    Known(String),
    /// One who may not.
    Wrong(String),
    /// No call can have done it.
    Nobody,
}

/// Who moved the gates of a run last that have passed, by their names; those that were not seen
/// to move are left out.
pub fn movers(project: &Project, run: &Workflow) -> HashMap<String, Mover> {
    let path = project.main.path(&run.file);
    let recorder = mediate::dir(project);
    let contents = Contents::of(&recorder);
    // What a change left is what the one after it found.
    let mut read: BTreeMap<Option<BlobId>, Rc<Statuses>> = BTreeMap::new();
    let mut statuses_of = |blob: Option<BlobId>| {
        let statuses = read.entry(blob).or_insert_with(|| {
            let text = blob.and_then(|blob| contents.get(blob)).unwrap_or_default();
            let statuses = statuses(&run.system, &String::from_utf8_lossy(&text));
            statuses.unwrap_or_default().into()
        });
        statuses.clone()
    };
    let mut movers = HashMap::new();
    each_change_of(project, &path, &mut |change| {
        let before = statuses_of(change.before);
        for (gate, status) in &*statuses_of(change.after) {
            if before.get(gate) != Some(status) && !movers.contains_key(gate) {
                movers.insert(gate.clone(), mover(&change));
            }
        }
        let mut passed = run.gates.iter().filter(|gate| gate.status.has_passed());
        until(passed.all(|gate| movers.contains_key(&gate.name)))
    });
    movers
}

fn mover(change: &ChangeRecord) -> Mover {
    let is_wrong = change.decision != Outcome::Allowed
        && change.code.as_deref() == Some(DenyCode::WrongWriter.as_str());
    match &change.actor {
        None => Mover::Nobody,
        Some(actor) if is_wrong => Mover::Wrong(actor.clone()),
        Some(actor) => Mover::Known(actor.clone()),
    }
}

/// The gates of a file, by their names.
type Statuses = HashMap<String, GateStatus>;

/// Whether the change log can tell who moved a system's gates.
pub fn keeps_gates_in_one_file(system: &str) -> bool {
    [agent_flow::ID, session::ID, devt::ID].contains(&system)
}

/// The gates of a state file of a system that keeps them in one.
fn statuses(system: &str, text: &str) -> Option<Statuses> {
    let run = match system {
        agent_flow::ID => agent_flow::state::read_workflow(text, "").ok()?,
        session::ID => session::state::read_workflow(text, "").ok()?,
        devt::ID => devt::gate::read_workflow(text, ""),
        _ => return None,
    };
    let gates = run.gates.into_iter();
    Some(gates.map(|gate| (gate.name, gate.status)).collect())
}

/// The verdict files beside a `tasks.md` that do not count.
pub fn outdated(project: &Project, tasks: &Path) -> Vec<Doubt> {
    let Some(dir) = tasks.parent() else {
        return Vec::new();
    };
    let text = read_text(tasks).ok().flatten().unwrap_or_default();
    let groups = tasks::parse(&text).groups;
    let mut changed: HashMap<String, Vec<ChangeRecord>> = HashMap::new();
    let prefix = path::from_os(dir);
    let any_below = json::quoted(&prefix);
    each_change(project, any_below.trim_end_matches('"'), &mut |change| {
        let is_here = path::relative(&change.path, &prefix).is_some();
        if is_here && change.before != change.after && change.decision != Outcome::Undone {
            changed.entry(change.path.clone()).or_default().push(change);
        }
        ControlFlow::Continue(())
    });
    changed.values_mut().for_each(|changes| changes.reverse());
    let contents = Contents::of(&mediate::dir(project));
    let boxes_in = |blob: Option<BlobId>, number: u32| {
        let text = contents.get(blob?)?;
        let groups = tasks::parse(&String::from_utf8_lossy(&text)).groups;
        let found = groups.into_iter().find(|group| group.number == number);
        Some(found.map(|group| group.boxes).unwrap_or_default())
    };
    let runs = Runs::read(project);
    let changes_of = |file: &Path| {
        let changes = changed.get(&path::from_os(file));
        changes.map_or(&[][..], Vec::as_slice)
    };
    let of_tasks = changes_of(tasks);
    let mut doubts = Vec::new();
    for group in &groups {
        for kind in [ReportKind::TestReport, ReportKind::Review] {
            let file = kind.path(group.number);
            let at = dir.join(&file);
            let given = Given::of(&at, changes_of(&at), &runs);
            let why = given.doubt.or_else(|| {
                let since = boxes_since(of_tasks, given.at?, &|blob| boxes_in(blob, group.number));
                let is_other = since.iter().any(|boxes| *boxes != group.boxes);
                is_other.then(|| "before a box of the group changed".to_owned())
            });
            doubts.extend(why.map(|why| Doubt { file, why }));
        }
    }
    doubts
}

/// How a verdict came into its file.
struct Given {
    at: Option<DateTime<Utc>>,
    /// Why its writer does not count.
    doubt: Option<String>,
}

impl Given {
    /// By the change log; a file tool's call gives a verdict also where it leaves the same bytes,
    /// and who gave it last has given it still where the file holds it again.
    fn of(file: &Path, changes: &[ChangeRecord], runs: &Runs) -> Self {
        let mut backwards = changes.iter().rev();
        let given = backwards.find(|change| matches!(mover(change), Mover::Known(_)));
        let newest = changes.last();
        let last = given
            .filter(|given| newest.is_some_and(|newest| given.after == newest.after))
            .or(newest);
        let typed = runs.typed_at(&path::from_os(file));
        if let Some(typed) = typed.filter(|typed| last.is_none_or(|last| *last.ts < **typed)) {
            return Self {
                at: clock::parse(typed),
                doubt: None,
            };
        }
        let at = last.and_then(|last| clock::parse(&last.ts));
        Self {
            at: at.or_else(|| Some(modified(&fs::metadata(file).ok()?))),
            doubt: last.and_then(|last| match mover(last) {
                Mover::Known(_) => None,
                Mover::Nobody => Some("last changed by nobody known".to_owned()),
                Mover::Wrong(actor) => Some(format!("last changed by `{actor}`, who may not")),
            }),
        }
    }
}

/// The boxes of a group when a verdict was given, and after each later change, as far as the
/// change log says.
fn boxes_since(
    of_tasks: &[ChangeRecord],
    given: DateTime<Utc>,
    boxes_in: &dyn Fn(Option<BlobId>) -> Option<Vec<String>>,
) -> Vec<Vec<String>> {
    let (before, later): (Vec<_>, Vec<_>) = of_tasks
        .iter()
        .partition(|change| clock::parse(&change.ts).is_some_and(|at| at <= given));
    let last = before.last().map(|change| change.after);
    let then = last.or_else(|| Some(later.first()?.before));
    let all = then
        .into_iter()
        .chain(later.iter().map(|change| change.after));
    all.filter_map(boxes_in).collect()
}
