//! The health of what lies on the disk: logs, locks, leftovers, the heartbeat.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{Finding, Subject};
use crate::cmd::output;
use crate::store::replace::is_temp_name;

/// A temporary file older than this belongs to nobody: writing one takes milliseconds.
const TEMP_AGE: Duration = Duration::from_secs(60);

pub(super) fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let claude = subject.place.project.join(".claude");
    let folder = claude.join("statewarden");
    let mut findings = Vec::new();
    let logs = names_in(&folder)
        .into_iter()
        .filter(|name| name.ends_with(".jsonl"));
    let logs = logs.map(|name| folder.join(name));
    let site_logs = subject
        .sites
        .iter()
        .map(|site| site.join("preflight-denies.jsonl"));
    let max_bytes = subject.settings.settings.log_max_bytes;
    for log in logs.chain(site_logs.filter(|log| log.exists())) {
        findings.extend(of_log(&log, max_bytes));
    }
    for site in subject.sites {
        findings.extend(of_locks(site));
    }
    let dirs = subject.sites.iter().chain([&claude, &folder]);
    findings.extend(dirs.filter_map(|dir| of_leftovers(dir, subject.now)));
    findings.push(of_heartbeat(&folder.join("events.jsonl")));
    findings
}

fn names_in(dir: &Path) -> Vec<String> {
    let list = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = list
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// What reading a log line by line shows.
#[derive(Default)]
struct Lines {
    whole: usize,
    /// Numbers of the lines that are not JSON, from 1.
    broken: Vec<usize>,
    is_torn: bool,
}

fn read_lines(log: &Path) -> io::Result<Lines> {
    let mut reader = BufReader::new(File::open(log)?);
    let (mut lines, mut line) = (Lines::default(), Vec::new());
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        match line.last() {
            Some(b'\n') if serde_json::from_slice::<IgnoredAny>(&line).is_ok() => lines.whole += 1,
            Some(b'\n') if line.trim_ascii().is_empty() => {}
            Some(b'\n') => lines.broken.push(number),
            _ => lines.is_torn = true,
        }
    }
    Ok(lines)
}

fn of_log(log: &Path, max_bytes: u64) -> Vec<Finding> {
    let shown = log.display();
    let (meta, lines) = match fs::metadata(log).and_then(|meta| Ok((meta, read_lines(log)?))) {
        Ok(read) => read,
        Err(e) => {
            let fix = "make it readable and writable for you";
            return vec![Finding::error(
                "log",
                format!("could not read `{shown}`: {e}"),
                fix,
            )];
        }
    };
    let size = output::size(meta.len());
    let what = format!("`{shown}`: {} records, {size}", lines.whole);
    let mut findings = vec![Finding::info("log", what)];
    if let Some(first) = lines.broken.first() {
        let what = format!(
            "`{shown}` has {} lines that are not JSON, the first is line {first}",
            lines.broken.len()
        );
        let fix = "readers skip them; take them out by hand if they matter";
        findings.push(Finding::warning("log-line", what, fix));
    }
    if lines.is_torn {
        let what = format!("`{shown}` ends in a torn line; the next record repairs it");
        findings.push(Finding::info("log-torn", what));
    }
    // A busy lock may let a log pass its bound, but not by as much again.
    if meta.len() > max_bytes.saturating_mul(2) {
        let what = format!("`{shown}` is larger than twice `log.max_bytes` ({max_bytes})");
        let fix = "see that its directory can be written: the log does not rotate";
        findings.push(Finding::warning("log-size", what, fix));
    }
    if let Some(mode) = open_mode(&meta) {
        let what = format!("`{shown}` has mode {mode:o}: others can read it");
        findings.push(Finding::warning(
            "log-mode",
            what,
            format!("run `chmod 600 '{shown}'`"),
        ));
    }
    findings
}

/// The mode of a file that others than its owner can open.
fn open_mode(meta: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        None
    }
}

/// The directory lock, and devt's own, a file `.lock` that holds a process id.
fn of_locks(site: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if cfg!(unix)
        && let Ok(dir) = File::open(site)
        && fd_lock::RwLock::new(dir).try_write().is_err()
    {
        let what = format!(
            "`{}` is locked by a process that writes to it",
            site.display()
        );
        findings.push(Finding::info("lock", what));
    }
    let file = site.join(".lock");
    let Ok(text) = fs::read_to_string(&file) else {
        return findings;
    };
    let shown = file.display();
    let finding = match text.trim().parse::<u32>().map(|pid| (pid, is_alive(pid))) {
        Ok((pid, Some(true))) => {
            Finding::info("lock", format!("`{shown}` is held by process {pid}"))
        }
        Ok((pid, None)) => Finding::info(
            "lock",
            format!("`{shown}` says it is held by process {pid}"),
        ),
        Ok((pid, Some(false))) => Finding::warning(
            "stale-lock",
            format!("`{shown}` is held by process {pid}, which has ended"),
            "remove it, or let the next writer do so",
        ),
        Err(_) => Finding::warning(
            "stale-lock",
            format!("`{shown}` holds no process id; each write of devt waits 3 s for it"),
            "remove it",
        ),
    };
    findings.push(finding);
    findings
}

/// `None` where the platform has no directory of processes to look into.
fn is_alive(pid: u32) -> Option<bool> {
    Path::new("/proc/self")
        .exists()
        .then(|| Path::new("/proc").join(pid.to_string()).exists())
}

fn of_leftovers(dir: &Path, now: DateTime<Utc>) -> Option<Finding> {
    let is_old = |path: &PathBuf| {
        let changed = fs::metadata(path).and_then(|meta| meta.modified());
        changed.is_ok_and(|at| {
            (now - DateTime::<Utc>::from(at))
                .to_std()
                .is_ok_and(|age| age > TEMP_AGE)
        })
    };
    let temps = names_in(dir).into_iter().filter(|name| is_temp_name(name));
    let old: Vec<_> = temps.map(|name| dir.join(name)).filter(is_old).collect();
    let first = old.first()?.display();
    let what = format!(
        "{} temporary files of ended processes in `{}`, such as `{first}`",
        old.len(),
        dir.display()
    );
    Some(Finding::warning(
        "orphan-temp",
        what,
        "remove them, or run `statewarden cleanup --apply` for a site",
    ))
}

fn of_heartbeat(events: &Path) -> Finding {
    let text = fs::read_to_string(events).unwrap_or_default();
    let mut records = text
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    match records.find(|record| record["decision"] == json!("heartbeat")) {
        Some(beat) => {
            let of = |key: &str| beat[key].as_str().unwrap_or("?").to_owned();
            Finding::info(
                "heartbeat",
                format!("last session start: {} ({})", of("ts"), of("reason")),
            )
        }
        None => Finding {
            fix: "start a session in this project; trust the folder if Claude Code asks".to_owned(),
            ..Finding::info("heartbeat", "no start of a session is on record here")
        },
    }
}
