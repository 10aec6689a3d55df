//! Whether sessions ran the hook here, and what the client that ran them can do.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{Facts, Found};
use crate::base::clock;
use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::cli::install::Scope;
use crate::cli::output::LocalTime;
use crate::host::client_files::MANAGED_DIR;
use crate::host::settings_json::{self, Wiring};
use crate::project::roots::read_client_text;
use crate::store::modified;

/// Which settings files Claude Code takes here.
pub(super) fn settings_in_force(facts: &Facts<'_>) -> Option<Found> {
    let place = facts.subject.place;
    let managed = managed_files(&place.managed_settings).into_iter();
    let files = managed.chain(place.client_settings());
    let taken: Vec<_> = files
        .filter(|file| is_taken(file))
        .map(|file| format!("`{}`", file.display()))
        .collect();
    let what = format!("in force, the strongest first: {}", taken.join(", "));
    (!taken.is_empty()).then(|| what.into())
}

/// The strongest file that says anything about it decides.
pub(super) fn only_managed_hooks(facts: &Facts<'_>) -> Option<Found> {
    let managed = managed_files(&facts.subject.place.managed_settings);
    let (file, is_set) = managed.iter().find_map(|file| {
        let text = read_client_text(file).ok().flatten()?;
        let flag = settings_json::flag(&text, &["allowManagedHooksOnly"])?;
        Some((file.display(), flag))
    })?;
    let what = format!("`{file}` says `allowManagedHooksOnly`: no other hook runs");
    is_set.then(|| what.into())
}

fn is_taken(file: &Path) -> bool {
    let text = read_client_text(file).ok().flatten();
    text.is_some_and(|text| Wiring::fault(&text).is_none())
}

/// The managed settings and those in the directory beside them, the strongest first: each file
/// overrides the ones before it by name.
fn managed_files(first: &Path) -> Vec<PathBuf> {
    let dir = first.with_file_name(MANAGED_DIR);
    let names = list::readable(&dir).map(list::Entry::into_name);
    let mut files: Vec<PathBuf> = names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .map(|name| dir.join(name))
        .collect();
    files.sort_unstable_by(|one, other| other.cmp(one));
    files.push(first.to_owned());
    files
}

/// Records are short, so that many sessions' are in there.
const TAIL: u64 = 16 << 20;

/// The last heartbeat in a log. A log that cannot be read is another question's.
pub(super) fn last_heartbeat(log: &Path) -> Option<Value> {
    let mut last = None;
    let _ = bounded_read::tail(log, TAIL, &mut |line| {
        let record: Option<Value> = serde_json::from_str(line).ok();
        if record
            .as_ref()
            .is_some_and(|it| it["decision"] == "heartbeat")
        {
            last = record;
        }
    });
    last
}

/// The last start of a session, as a sentence; what nothing proves to be Claude Code's, or what
/// is.
fn last_start(facts: &Facts<'_>, is_proved: bool) -> Option<Found> {
    let beat = facts.beat.as_ref()?;
    let of = |key: &str| beat[key].as_str().unwrap_or("?");
    let ts = LocalTime::of_system().minute(of("ts"));
    let what = format!("last session start: {ts} ({})", of("reason"));
    // Other hosts run the hook as well, and their calls are not judged.
    let unproved = facts.subject.state.unproved.as_deref();
    let session = beat["session_id"].as_str().unwrap_or_default();
    let is_unproved = beat["client"].is_null() && unproved == Some(session);
    let found = match beat["client"].as_str() {
        Some(client) => format!("{what}, Claude Code {client}"),
        None if is_proved => what,
        None => format!("{what}, but nothing proves that Claude Code started it"),
    };
    (is_proved != is_unproved).then(|| found.into())
}

pub(super) fn no_session(facts: &Facts<'_>) -> Option<Found> {
    const WHAT: &str =
        "no session has run the hook yet; it needs Claude Code 2.1.139, and 2.1.295 to fail closed";
    facts.beat.is_none().then(|| WHAT.to_owned().into())
}

pub(super) fn last_session(facts: &Facts<'_>) -> Option<Found> {
    last_start(facts, true)
}

pub(super) fn unproved_session(facts: &Facts<'_>) -> Option<Found> {
    last_start(facts, false)
}

/// What a client lacks whose version is in a range.
fn lack(facts: &Facts<'_>, from: [u32; 3], before: [u32; 3], lack: &str) -> Option<Found> {
    let client = facts.beat.as_ref()?["client"].as_str()?;
    let numbers: Result<Vec<u32>, _> = client.split('.').map(str::parse).collect();
    let version = numbers.ok()?;
    let lacks_it = version >= from.to_vec() && version < before.to_vec();
    lacks_it.then(|| format!("Claude Code {client} {lack}").into())
}

const TAKES_ARGUMENTS: [u32; 3] = [2, 1, 139];
const STOPS_BLOCKING: [u32; 3] = [2, 1, 143];
const FAILS_CLOSED: [u32; 3] = [2, 1, 295];

pub(super) fn passes_no_arguments(facts: &Facts<'_>) -> Option<Found> {
    let what = "does not pass arguments to a hook: statewarden cannot work there";
    lack(facts, [0; 3], TAKES_ARGUMENTS, what)
}

pub(super) fn does_not_stop_blocking(facts: &Facts<'_>) -> Option<Found> {
    let what = "ignores `onFailure`: when the hook is missing, crashes or times out, calls go through; \
                and a hook that blocks the end of a turn is not stopped after eight times";
    lack(facts, TAKES_ARGUMENTS, STOPS_BLOCKING, what)
}

pub(super) fn fails_open(facts: &Facts<'_>) -> Option<Found> {
    let what =
        "ignores `onFailure`: when the hook is missing, crashes or times out, calls go through";
    lack(facts, STOPS_BLOCKING, FAILS_CLOSED, what)
}

/// A session leaves a sign of life more often than that.
const LONG: TimeDelta = TimeDelta::days(1);

/// A run whose state moved on although no session has run the hook meanwhile.
pub(super) fn unseen_run(facts: &Facts<'_>) -> Option<Found> {
    let subject = facts.subject;
    let changed = |file: &PathBuf| fs::metadata(file).ok().map(|meta| modified(&meta));
    let wired = |scope| changed(&subject.place.settings_here(scope).ok()?);
    let logs = facts.logs.iter().map(|log| &log.path);
    let (since, event) = match logs.filter_map(changed).max() {
        Some(last) => (last + LONG, last),
        None => {
            let wired = Scope::ALL.into_iter().filter_map(wired).max()?;
            (wired, wired)
        }
    };
    let later = |file: &PathBuf| Some((changed(file).filter(|at| *at > since)?, file.clone()));
    let (at, file) = subject.runs.iter().filter_map(later).max()?;
    let minute = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M").to_string();
    let (file, at, event) = (file.display(), minute(at), minute(event));
    let what =
        format!("`{file}` changed at {at}, but the hook has left no sign of life since {event}");
    Some(what.into())
}

/// After this long without it, another host is forgotten.
const WEEK: TimeDelta = TimeDelta::days(7);

/// A host that runs the hook, and of which nothing is judged.
pub(super) fn other_host(facts: &Facts<'_>) -> Option<Found> {
    let host = facts.subject.state.other_host.as_ref()?;
    let seen = clock::parse(&host.seen).filter(|seen| facts.subject.now - *seen < WEEK)?;
    let (name, day) = (&host.name, seen.format("%Y-%m-%d"));
    Some(format!("{name} ran statewarden here on {day}; it guards Claude Code alone").into())
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
