//! The health of what is on the disk: logs, locks, leftovers.

use std::fs::{self, Metadata};
use std::io::{self, BufReader};
use std::mem;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde::de::IgnoredAny;

use super::{Finding, Subject};
use crate::base::disk::bounded_read;
use crate::base::text;
use crate::cli::output;
use crate::log::append::{LogFile, Logs};
use crate::log::chain;
use crate::log::read::{self, Lines};
use crate::store::lock::is_held;
use crate::store::modified;
use crate::store::pid_lock::{self, Owner};
use crate::store::replace::is_temp_name;

/// A temporary file older than this is left over: writing one takes milliseconds.
const TEMP_AGE: TimeDelta = TimeDelta::seconds(60);

pub(super) fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let own = &subject.logs;
    let folder = own.own_folder();
    let mut findings = Vec::new();
    let logs = logs(subject);
    let max_bytes = subject.settings.settings.log_max_bytes;
    findings.extend(logs.iter().flat_map(|log| check_log(log, max_bytes)));
    findings.extend(check_chain(own));
    findings.extend(own.all().iter().filter_map(check_lines));
    for site in subject.sites {
        findings.extend(check_locks(site));
    }
    let sites = subject.sites.iter().map(PathBuf::as_path);
    findings.extend(sites.clone().chain([folder]).filter_map(check_folder));
    // `.claude` can be a site as well.
    let above = folder
        .parent()
        .filter(|above| sites.clone().all(|site| site != *above));
    let dirs = sites.chain(above).chain([folder]);
    findings.extend(dirs.filter_map(|dir| check_leftovers(dir, subject.now)));
    findings
}

/// The logs that are there, or may be.
pub(super) fn logs(subject: &Subject<'_>) -> Vec<PathBuf> {
    let own = &subject.logs;
    let own_logs = names_in(own.own_folder())
        .into_iter()
        .filter(|name| name.ends_with(".jsonl"))
        .map(|name| own.own_folder().join(name));
    let sites = subject.sites.iter();
    let site_logs = sites
        .map(|site| Logs::devt(site).path())
        .filter(|log| log.is_symlink() || log.try_exists().unwrap_or(true));
    own_logs.chain(site_logs).collect()
}

fn names_in(dir: &Path) -> Vec<String> {
    let list = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = list
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

/// What reading a log line by line shows.
#[derive(Default)]
struct Shape {
    n_whole: usize,
    n_broken: usize,
    /// Number of the first line that is not JSON, from 1.
    first_broken: Option<usize>,
    is_torn: bool,
}

impl Shape {
    fn note_broken(&mut self, number: usize) {
        self.n_broken += 1;
        self.first_broken.get_or_insert(number);
    }
}

fn shape(log: &Path) -> io::Result<Shape> {
    let mut lines = Lines::new(BufReader::new(bounded_read::open(log)?.0));
    let mut shape = Shape::default();
    for number in 1.. {
        let Some(line) = lines.next_line()? else {
            break;
        };
        let was_cut = mem::replace(&mut shape.is_torn, !line.ends_with(b"\n"));
        if was_cut {
            // Too long to be held, since there is a line behind it.
            shape.note_broken(number - 1);
        }
        if shape.is_torn || line.trim_ascii().is_empty() {
            continue;
        }
        match read::text(line).map(serde_json::from_str::<IgnoredAny>) {
            Some(Ok(_)) => shape.n_whole += 1,
            _ => shape.note_broken(number),
        }
    }
    Ok(shape)
}

/// A directory that logs are in, or would be.
fn check_folder(dir: &Path) -> Option<Finding> {
    let error = match fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => writable(dir).err()?,
        Ok(_) => io::Error::from(io::ErrorKind::NotADirectory),
        Err(_) if dir.is_symlink() => io::Error::other("it is a link that leads nowhere"),
        Err(_) => return None,
    };
    let what = format!("no record can be written in `{}`: {error}", dir.display());
    let fix = "make it a directory that you can write";
    Some(Finding::error("log", what, fix))
}

/// Whether the one who asks may write.
fn writable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?;
    let _ = path;
    Ok(())
}

fn check_log(log: &Path, max_bytes: u64) -> Vec<Finding> {
    let shown = log.display();
    let read = || match fs::symlink_metadata(log)? {
        link if link.is_symlink() => Err(io::Error::other("it is a link, and gets no records")),
        meta => {
            let shape = shape(log)?;
            writable(log).map(|()| (meta, shape))
        }
    };
    let (meta, found) = match read() {
        Ok(read) => read,
        Err(e) => {
            let fix = "make it a file that you can read and write";
            let what = format!("could not use `{shown}`: {e}");
            return vec![Finding::error("log", what, fix)];
        }
    };
    let records = text::count(found.n_whole, "record", "records");
    let what = format!("`{shown}`: {records}, {}", output::size(meta.len()));
    let mut findings = vec![Finding::info("log", what)];
    if let Some(first) = found.first_broken {
        let what = format!(
            "`{shown}` has {} not JSON, the first is line {first}",
            text::count(found.n_broken, "line that is", "lines that are")
        );
        let fix = "readers skip them; take them out by hand if they matter";
        findings.push(Finding::warning("log-line", what, fix));
    }
    if found.is_torn {
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
        let fix = format!("run `chmod 600 '{shown}'`");
        findings.push(Finding::warning("log-mode", what, fix));
    }
    findings
}

/// Whether a log holds what this program wrote into it; of the gate log the chain says it.
fn check_lines(log: &LogFile) -> Option<Finding> {
    if log.name == "gates.jsonl" {
        return None;
    }
    let what = log.difference(u64::MAX).ok()?.to_sentence(log.name)?;
    let fix =
        "the next event of a session puts it back; `statewarden config accept` takes it as it is";
    Some(Finding::warning("log-lines", what, fix))
}

/// A log that cannot be read is reported elsewhere.
fn check_chain(own: &Logs) -> Option<Finding> {
    let log = own.gates();
    let chain = chain::verify(&log).ok()?;
    let first = chain.faults.first()?;
    let shown = log.path();
    let faults = text::count(chain.faults.len(), "fault", "faults");
    let what = format!(
        "the chain of `{}` is broken, {faults}: {first}",
        shown.display()
    );
    let fix = "`statewarden verify` says which gates are still proved";
    Some(Finding::warning("gate-log", what, fix))
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
fn check_locks(site: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_held(site) {
        let shown = site.display();
        let what = format!("`{shown}` is locked by a process that writes to it");
        findings.push(Finding::info("lock", what));
    }
    let file = site.join(".lock");
    if file.exists() {
        findings.push(check_pid_lock(&file));
    }
    findings
}

fn check_pid_lock(file: &Path) -> Finding {
    let shown = file.display();
    // Elsewhere it is not known whether it lives.
    let is_held = if cfg!(unix) { "is" } else { "says it is" };
    match pid_lock::owner_of(file) {
        Ok(Owner::Alive(pid)) => {
            Finding::info("lock", format!("`{shown}` {is_held} held by process {pid}"))
        }
        Ok(Owner::Dead(pid)) => Finding::warning(
            "stale-lock",
            format!("`{shown}` is held by process {pid}, which has ended"),
            "remove it, or let the next writer do so",
        ),
        Ok(Owner::Unclear) => Finding::warning(
            "stale-lock",
            format!("`{shown}` holds no process id; each write of devt waits 3 s for it"),
            "remove it",
        ),
        Err(e) => Finding::warning(
            "stale-lock",
            format!("{e}; devt's state cannot be written"),
            "remove it if devt is not at work",
        ),
    }
}

fn check_leftovers(dir: &Path, now: DateTime<Utc>) -> Option<Finding> {
    let temps = names_in(dir).into_iter().filter(|name| is_temp(name));
    let old: Vec<_> = temps
        .map(|name| dir.join(name))
        .filter(|path| fs::metadata(path).is_ok_and(|meta| now - modified(&meta) > TEMP_AGE))
        .collect();
    let first = old.first()?.display();
    let what = format!(
        "{} of ended processes in `{}`, such as `{first}`",
        text::count(old.len(), "temporary file", "temporary files"),
        dir.display()
    );
    let fix = "remove them, or run `statewarden cleanup --apply` for a site";
    Some(Finding::warning("orphan-temp", what, fix))
}

/// Whether a name is of a temporary file of ours, or has the form of devt's
/// (`NAME.tmp`) or of Agent Flow's (`NAME.tmp.PID`).
fn is_temp(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once(".tmp") else {
        return is_temp_name(name);
    };
    let pid = end.strip_prefix('.');
    is_temp_name(name) || end.is_empty() || pid.is_some_and(|pid| pid.parse::<u32>().is_ok())
}
