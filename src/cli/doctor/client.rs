//! Whether sessions ran the hook here, and what the client that ran them can do.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{Finding, Level, Subject, disk};
use crate::base::clock;
use crate::base::disk::bounded_read;
use crate::base::disk::list;
use crate::cli::install::{Place, Scope};
use crate::cli::output::LocalTime;
use crate::host::client_files::MANAGED_DIR;
use crate::host::settings_json::{self, Wiring};
use crate::project::roots::read_client_text;
use crate::project::state::OtherHost;
use crate::store::modified;

pub(super) fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let (own, logs) = (&subject.logs, disk::logs(subject));
    let beat = last_heartbeat(&own.events().path());
    let client = beat.as_ref().and_then(|beat| beat["client"].as_str());
    let mut findings = check_client_settings(subject.place);
    let state = &subject.state;
    findings.push(check_heartbeat(beat.as_ref(), state.unproved.as_deref()));
    findings.extend(client.and_then(check_version));
    findings.extend(check_unseen_run(subject, &logs));
    findings.extend(
        state
            .other_host
            .as_ref()
            .and_then(|host| check_other_host(host, subject.now)),
    );
    findings
}

/// Which settings files Claude Code takes here, and what the managed one forbids.
fn check_client_settings(place: &Place) -> Vec<Finding> {
    let managed = managed_files(&place.managed_settings);
    let files = managed.iter().cloned().chain(place.client_settings());
    let taken: Vec<_> = files
        .filter(|file| is_taken(file))
        .map(|file| format!("`{}`", file.display()))
        .collect();
    let mut findings = Vec::new();
    if !taken.is_empty() {
        let what = format!("in force, the strongest first: {}", taken.join(", "));
        findings.push(Finding::info("settings-files", what));
    }
    // The strongest file that says anything about it decides.
    let only_managed = managed.iter().find_map(|file| {
        let text = read_client_text(file).ok().flatten()?;
        Some((
            file,
            settings_json::flag(&text, &["allowManagedHooksOnly"])?,
        ))
    });
    if let Some((file, true)) = only_managed {
        let what = format!(
            "`{}` says `allowManagedHooksOnly`: no other hook runs",
            file.display()
        );
        let fix = "have statewarden's entries put into that file";
        findings.push(Finding::error("managed-hooks-only", what, fix));
    }
    findings
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

/// After this long without it, another host is forgotten.
const WEEK: TimeDelta = TimeDelta::days(7);

/// A host that runs the hook, and of which nothing is judged.
fn check_other_host(host: &OtherHost, now: DateTime<Utc>) -> Option<Finding> {
    let seen = clock::parse(&host.seen).filter(|seen| now - *seen < WEEK)?;
    let (name, day) = (&host.name, seen.format("%Y-%m-%d"));
    let what = format!("{name} ran statewarden here on {day}; it guards Claude Code alone");
    let fix =
        "work on state files in Claude Code; a week after the last run this is not said again";
    Some(Finding::warning("other-host", what, fix))
}

/// Records are short, so that many sessions' are in there.
const TAIL: u64 = 16 << 20;

/// The last heartbeat in a log. A log that cannot be read is reported elsewhere.
fn last_heartbeat(log: &Path) -> Option<Value> {
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

/// `unproved` is the last session of which no host is known.
fn check_heartbeat(beat: Option<&Value>, unproved: Option<&str>) -> Finding {
    let Some(beat) = beat else {
        return Finding::new(
            "heartbeat",
            Level::Info,
            "no session has run the hook yet; it needs Claude Code 2.1.139, and 2.1.295 to fail closed",
            "start a session in this project, and trust the folder if Claude Code asks: only that \
             proves that it takes the settings",
        );
    };
    let of = |key: &str| beat[key].as_str().unwrap_or("?");
    let ts = LocalTime::of_system().minute(of("ts"));
    let what = format!("last session start: {ts} ({})", of("reason"));
    if let Some(client) = beat["client"].as_str() {
        return Finding::info("heartbeat", format!("{what}, Claude Code {client}"));
    }
    // Other hosts run the hook as well, and their calls are not judged.
    if unproved != Some(beat["session_id"].as_str().unwrap_or_default()) {
        return Finding::info("heartbeat", what);
    }
    Finding::new(
        "heartbeat",
        Level::Info,
        format!("{what}, but nothing proves that Claude Code started it"),
        "start a session of Claude Code in this project: other hosts are not guarded",
    )
}

/// What versions of Claude Code lack up to one of them.
struct Lack {
    before: [u32; 3],
    id: &'static str,
    level: Level,
    what: &'static str,
}

/// The first that holds for a version is reported.
const LACKS: [Lack; 3] = [
    Lack {
        before: [2, 1, 139],
        id: "client-too-old",
        level: Level::Error,
        what: "does not pass arguments to a hook: statewarden cannot work there",
    },
    Lack {
        before: [2, 1, 143],
        id: "client-old",
        level: Level::Warning,
        what: "ignores `onFailure`: when the hook is missing, crashes or times out, calls go through; \
               and a hook that blocks the end of a turn is not stopped after eight times",
    },
    Lack {
        before: [2, 1, 295],
        id: "fails-open",
        level: Level::Warning,
        what: "ignores `onFailure`: when the hook is missing, crashes or times out, calls go through",
    },
];

fn check_version(client: &str) -> Option<Finding> {
    let numbers: Result<Vec<u32>, _> = client.split('.').map(str::parse).collect();
    let version = numbers.ok()?;
    let lack = LACKS.iter().find(|lack| version < lack.before.to_vec())?;
    let what = format!("Claude Code {client} {}", lack.what);
    let fix = "update it to 2.1.295 or newer";
    Some(Finding::new(lack.id, lack.level, what, fix))
}

/// A session leaves a sign of life more often than that.
const LONG: TimeDelta = TimeDelta::days(1);

/// A run whose state moved on although no session has run the hook meanwhile.
fn check_unseen_run(subject: &Subject<'_>, logs: &[PathBuf]) -> Option<Finding> {
    let changed = |file: &PathBuf| fs::metadata(file).ok().map(|meta| modified(&meta));
    let wired = |scope| changed(&subject.place.settings_here(scope).ok()?);
    let (since, event) = match logs.iter().filter_map(changed).max() {
        Some(last) => (last + LONG, last),
        None => {
            let wired = Scope::ALL.into_iter().filter_map(wired).max()?;
            (wired, wired)
        }
    };
    let run = |file: &PathBuf| Some((changed(file).filter(|at| *at > since)?, file.clone()));
    let (at, file) = subject.runs.iter().filter_map(run).max()?;
    let minute = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M").to_string();
    let (file, at, event) = (file.display(), minute(at), minute(event));
    let what =
        format!("`{file}` changed at {at}, but the hook has left no sign of life since {event}");
    let fix =
        "start Claude Code anew, and trust the folder if it asks; what wrote it was not guarded";
    Some(Finding::warning("unseen-run", what, fix))
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
