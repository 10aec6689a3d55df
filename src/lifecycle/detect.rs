//! What got past the guard: one look at the sites after whatever can run code.
//!
//! A command can write what no reading of its text shows. Entries that changed
//! while the call ran, or while a command of the session ran in the background,
//! and the changed files that the client lists itself, are told to the model and
//! recorded when their name, place or text breaks a rule.

mod settings;
mod told;

use std::fmt::Display;
use std::fs;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use told::{Culprit, End, Told};

use crate::base::disk::bounded_read::read_text;
use crate::base::disk::resolve::exists;
use crate::base::target::{Act, Target};
use crate::base::{path, warn};
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::contract::table::{Bucket, Writer};
use crate::guard::claims::{self, Claim};
use crate::guard::decision::{self, Call, Channel};
use crate::guard::targets::commands;
use crate::guard::{content, message};
use crate::host::event::{Event, Kind, Text, Tool};
use crate::host::reply::Reply;
use crate::lifecycle::agents::TO_COUNT;
use crate::lifecycle::background::{Background, By};
use crate::lifecycle::restored::Restored;
use crate::log::record::{Record, What};
use crate::project::context::Context;
use crate::project::entries::{self, Entry};
use crate::project::registry::Registry;
use crate::project::sites::{self, Site};
use crate::store::archive::{self, Item, Run, Status, WhenChanged};
use crate::store::lock::{IN_HOOK, with_lock, with_state_lock};
use crate::store::{self, make_own_folder};
use crate::systems::{own, system};

/// How far clocks and file systems may disagree with the client's measure of a call.
const SLACK: TimeDelta = TimeDelta::seconds(2);

/// The window of a call whose duration the client does not tell.
const UNTOLD: TimeDelta = TimeDelta::seconds(60);

/// No call that is waited for runs longer.
const LONGEST: TimeDelta = TimeDelta::days(1);

/// The most directories and the most sites that a command's text adds.
const MAX_NAMED: usize = 8;

/// Something that is there and should not be as it is.
struct Found {
    denial: Denial,
    /// When it was changed; `None` when it is gone.
    changed: Option<DateTime<Utc>>,
}

/// The times from which on changes are told.
struct Span {
    /// When the event's own call began; `None` for an event without a call that
    /// can run code.
    call: Option<DateTime<Utc>>,
    /// When the session's oldest command in the background began.
    background: Option<DateTime<Utc>>,
}

impl Span {
    fn since(&self) -> Option<DateTime<Utc>> {
        self.call.into_iter().chain(self.background).min()
    }

    fn culprit(&self) -> Culprit {
        match (self.call, self.background) {
            (Some(_), None) => Culprit::Call,
            (Some(_), Some(_)) => Culprit::CallOrBackground,
            (None, _) => Culprit::Background,
        }
    }
}

/// Tells what a call left behind, or a command of the session that goes on
/// in the background, that the contracts do not know. `claims` are the call's.
pub(crate) fn detect(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) -> Reply {
    let noted = Background::read(context.logs().own_folder());
    let runs_code =
        event.kind() != Kind::Stop && matches!(event.tool(), Tool::Shell(_) | Tool::Mcp(_));
    let background = noted
        .as_ref()
        .and_then(|noted| noted.since(event.session(), event.agent_id(), context.now.get()));
    let span = Span {
        call: runs_code.then(|| context.now.get() - window(event)),
        background,
    };
    let Some(since) = span.since() else {
        return Reply::Silent;
    };
    let sites = sites_of(context, event, claims);
    let (mut found, moved_to) = look(context, &sites, since);
    if let Some(since) = span.call {
        let listed = listed_changes(context, event, since);
        let settings = settings::settings_changed(context, since);
        add_new(&mut found, listed.into_iter().chain(settings));
    }
    let begun = background_task(event).filter(|_| !sites.is_empty());
    let is_worth_it = |noted: &Background| {
        event.kind() == Kind::Stop || !found.is_empty() || noted.has_stale(context.now.get())
    };
    if begun.is_some() || noted.is_some_and(|noted| is_worth_it(&noted)) {
        keep_books(context, event, &span, begun.as_deref(), &mut found);
    }
    if let Some(since) = span.call {
        told::leave_out_told(context, &mut found, event, since);
    }
    let found: Vec<Denial> = found.into_iter().map(|found| found.denial).collect();
    log_detected(context, &found, event);
    let told = Told {
        culprit: span.culprit(),
        found: &found,
        moved_to: &moved_to,
    };
    let end = match event.is_held() {
        true => End::Again,
        false => End::First,
    };
    told.to_reply(event.kind(), end)
}

/// Tells what a file tool wrote although its input before the call would have been refused:
/// another hook has changed it.
pub(crate) fn tell_rewritten(context: &Context<'_>, event: &Event<'_>, found: &[Denial]) -> Reply {
    log_detected(context, found, event);
    let told = Told {
        culprit: Culprit::Rewritten,
        found,
        moved_to: &[],
    };
    told.to_reply(event.kind(), End::First)
}

fn log_detected(context: &Context<'_>, found: &[Denial], event: &Event<'_>) {
    for denial in found {
        let denials = std::slice::from_ref(denial);
        let reason = message::reason(denials, &[]);
        let record = Record::of_denials(What::Detected, denials, &reason, event, context.now.get());
        context.append(&context.logs().events(), &record);
    }
}

/// Where a call can have written: the sites around the event, those of the
/// call's targets, and those in a place or a directory that its command names.
fn sites_of<'w>(context: &Context<'w>, event: &Event<'_>, claims: &[Claim<'_>]) -> Vec<Site<'w>> {
    let commands = commands::of(event).unwrap_or_default();
    let texts = || commands.iter().map(|command| &*command.text);
    let at = |word: &str| path::join(&context.cwd, word, context.env.home.as_deref());
    let dirs = texts().flat_map(|text| words(text).zip(words(text).skip(1)));
    let dirs = dirs
        .filter(|(before, _)| CHANGES_DIR.contains(before))
        .map(|(_, dir)| dir);
    let given = commands.iter().filter_map(|command| command.cwd.as_deref());
    let dirs: Vec<String> = std::iter::once(context.cwd.clone())
        .chain(given.chain(dirs).take(MAX_NAMED).map(at))
        .collect();
    let mut sites = sites::around(&context.project, context.registry, &dirs);
    let named = texts()
        .filter(|text| system::are_named_in(text))
        .flat_map(words);
    let named = named.filter(|word| system::are_named_in(word)).map(at);
    let places = claims.iter().map(Claim::path).chain(named);
    for place in places.take(MAX_NAMED) {
        let site = claims::site_of(&place, &context.project, context.registry);
        let site = site.filter(|site| site.governed.id() != own::ID);
        if let Some(site) = site.filter(|site| Path::new(&site.dir()).is_dir()) {
            sites::add_new(&mut sites, site);
        }
    }
    sites
}

/// What changed in the sites and should not be as it is; moves strays away
/// where the settings say so, and gives the snapshots.
fn look(
    context: &Context<'_>,
    sites: &[Site<'_>],
    since: DateTime<Utc>,
) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut moved_to) = (Vec::new(), Vec::new());
    for site in sites {
        // A site that cannot be listed has nothing to tell; the guard stands.
        let entries = entries::entries_changed(site, context.registry, since);
        let mut entries = entries.unwrap_or_default();
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        if entries.iter().any(is_wrong) {
            let restored = Restored::read(context.logs().own_folder());
            let of = site
                .ring(&context.project, context.rules.settings.archive_runs)
                .site;
            let came_back = |entry: &Entry<'_>| restored.holds(&of, &entry.name, entry.modified);
            entries.retain(|entry| !is_wrong(entry) || !came_back(entry));
        }
        found.extend(entries.iter().filter_map(|entry| {
            Some(Found {
                denial: fault_of(context, site, entry)?,
                changed: Some(entry.changed),
            })
        }));
        entries.retain(|entry| entry.bucket == Bucket::AdHoc);
        let acts = context.rules.settings.quarantine && site.governed.mode == Mode::Enforce;
        if acts && !entries.is_empty() {
            moved_to.extend(quarantine(context, site, &entries));
        }
    }
    (found, moved_to)
}

/// What is wrong with an entry whoever made it: its name, where it leads,
/// or its text.
fn fault_of(context: &Context<'_>, site: &Site<'_>, entry: &Entry<'_>) -> Option<Denial> {
    let path = path::from_os(&entry.path);
    if is_wrong(entry) {
        return objection(context, &path, None, context.registry);
    }
    if entry.is_link {
        let objection = objection(context, &path, None, context.registry);
        return objection.filter(|denial| denial.code == DenyCode::PathEscape);
    }
    // A file that is empty is about to be written.
    if entry.is_dir || entry.size == 0 || !site.governed.system.judges(&entry.name) {
        return None;
    }
    let text = read_text(&path).ok()??;
    let claims = claims::of(
        &[Target::literal(path, Act::Write)],
        &context.project,
        context.registry,
    );
    content::objection_to_text(claims.ok()?.first()?, &text, &context.cwd)
}

/// Notes which commands go on in the background and which are over, and
/// leaves of what was found what the session has not been told yet.
fn keep_books(
    context: &Context<'_>,
    event: &Event<'_>,
    span: &Span,
    begun: Option<&str>,
    found: &mut Vec<Found>,
) {
    let logs = context.logs();
    let session = event.session();
    let going_on = event.background_tasks.value();
    let kept = make_own_folder(logs.own_folder()).and_then(|()| {
        with_lock(logs.own_folder(), TO_COUNT, |locked| {
            let mut noted = Background::read(locked.dir()).unwrap_or_default();
            found.retain(|Found { denial, changed }| {
                let is_of_call =
                    changed.is_none_or(|at| span.call.is_some_and(|since| at >= since));
                let by = if is_of_call { By::Call } else { By::Others };
                noted.tell(session, &denial.path, *changed, by)
            });
            if let Some((id, since)) = begun.zip(span.call) {
                noted.begin(session, event.agent_id(), id, since);
            }
            if let Some(going_on) = going_on.as_array() {
                noted.end(session, |id| going_on.iter().all(|task| task["id"] != id));
            }
            noted.write(locked, context.now.get())
        })
    });
    context.warn_about("background.json", kept);
}

/// Moves entries that no row names into the site's archive; gives the
/// snapshot. Where that fails an entry stays, and stderr says why.
fn quarantine(context: &Context<'_>, site: &Site<'_>, entries: &[Entry<'_>]) -> Option<String> {
    let items: Vec<Item<'_>> = entries
        .iter()
        .map(|entry| entry.item("ad_hoc", WhenChanged::Move))
        .collect();
    let run = Run {
        kind: archive::Kind::Quarantine,
        now: context.now.get(),
    };
    let ring = site.ring(&context.project, context.rules.settings.archive_runs);
    let dir = site.dir();
    let pid_lock = site.governed.system.pid_lock();
    let taken = with_state_lock(Path::new(&dir), pid_lock, IN_HOOK, |locked| {
        ring.take(locked, run, &items, &mut |_| {})
    });
    let complain = |error: &dyn Display| {
        warn::warn(&format!("could not quarantine in `{dir}`: {error}"));
    };
    let taken = taken.inspect_err(|error| complain(error)).ok()?;
    for (status, item) in taken.statuses.iter().zip(&items) {
        if let Status::Failed { error } = status {
            complain(&format_args!("`{}`: {error}", item.name));
        }
    }
    taken.trouble.iter().for_each(|trouble| complain(trouble));
    taken.path.map(|path| path::from_os(&path))
}

/// What the client lists as changed by a command and breaks a rule. What
/// programs own is left out, since commands run them; and so is who wrote,
/// where the client says that several calls share the list, or where the hook
/// itself moved a gate meanwhile.
fn listed_changes(context: &Context<'_>, event: &Event<'_>, since: DateTime<Utc>) -> Vec<Denial> {
    let diff = event.response.bash_edit_diff.value();
    let shared = diff["shared"] == true || has_changed(&context.logs().gates().path(), since);
    let files = diff["changedFiles"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let objections =
        files.filter_map(|file| objection(context, file, Some(event), context.registry));
    objections
        .filter(|denial| denial.code != DenyCode::ProgramOwned)
        .filter(|denial| !shared || denial.code != DenyCode::WrongWriter)
        .collect()
}

/// What the rules would have said to a write of a path that is there now.
fn objection(
    context: &Context<'_>,
    file: &str,
    by: Option<&Event<'_>>,
    registry: &Registry<'_>,
) -> Option<Denial> {
    let there = fs::symlink_metadata(file).ok()?;
    let act = if there.is_dir() {
        Act::MakeDir
    } else {
        Act::Write
    };
    let targets = [Target::literal(path::join(&context.cwd, file, None), act)];
    let claims = claims::of(&targets, &context.project, registry).ok()?;
    let actor = by.map_or(crate::base::actor::Actor::Main, Event::actor);
    let call = Call {
        actor: &actor,
        channel: Channel::Shell,
        cwd: &context.cwd,
        targets: &targets,
        exists,
    };
    let decision = decision::decide(&claims, &call, &|_| Ok(None)).ok()?;
    decision.denials().first().cloned()
}

/// Adds what was not found already.
fn add_new(found: &mut Vec<Found>, denials: impl IntoIterator<Item = Denial>) {
    for denial in denials {
        let is_new = |known: &Found| known.denial.path != denial.path;
        if found.iter().all(is_new) {
            let changed = changed(Path::new(&denial.path));
            found.push(Found { denial, changed });
        }
    }
}

/// Whether an entry should not be there by its name alone.
fn is_wrong(entry: &Entry<'_>) -> bool {
    entry.bucket == Bucket::AdHoc || entry.row.is_some_and(|row| row.writer == Writer::User)
}

/// How long a call ran, with slack; within bounds, whatever the event says.
fn window(event: &Event<'_>) -> TimeDelta {
    let told: Option<i64> = event.duration_ms.read().ok().flatten();
    let told = told.map(|told| TimeDelta::milliseconds(told.clamp(0, LONGEST.num_milliseconds())));
    told.unwrap_or(UNTOLD) + SLACK
}

/// The task that goes on after its call, by the client's id for it; `Monitor`
/// has a key of its own.
fn background_task(event: &Event<'_>) -> Option<String> {
    if !matches!(event.tool(), Tool::Shell(_)) {
        return None;
    }
    let response = &event.response;
    let ids = [&response.background_task_id, &response.task_id];
    ids.into_iter().find_map(Text::get).map(str::to_owned)
}

/// What makes the next word of a command a directory to work in.
const CHANGES_DIR: &[&str] = &["cd", "pushd", "-C", "Set-Location"];

/// The words of a command, roughly: what stands between blanks, quotes and operators.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`;|&<>(){}[]$=,".contains(c);
    command.split(is_between).filter(|word| !word.is_empty())
}

fn changed(path: &Path) -> Option<DateTime<Utc>> {
    fs::symlink_metadata(path)
        .ok()
        .map(|meta| store::changed(&meta))
}

fn has_changed(path: &Path, since: DateTime<Utc>) -> bool {
    changed(path).is_some_and(|changed| changed >= since)
}
