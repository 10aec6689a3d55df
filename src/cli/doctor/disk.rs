//! The health of what is on the disk: logs, locks, leftovers.

use std::fs::{self, Metadata};
use std::io::{self, BufReader};
use std::mem;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde::de::IgnoredAny;

use super::{Facts, Found, Subject};
use crate::base::disk::bounded_read;
use crate::base::text;
use crate::cli::output;
use crate::log::append::Logs;
use crate::log::chain;
use crate::log::read::{self, Lines};
use crate::store::lock::is_held;
use crate::store::modified;
use crate::store::pid_lock::{self, Owner};
use crate::store::replace::is_temp_name;

/// A temporary file older than this is left over: writing one takes milliseconds.
const TEMP_AGE: TimeDelta = TimeDelta::seconds(60);

/// A log that is there, or may be, and what it shows.
pub(super) struct ReadLog {
    pub path: PathBuf,
    read: io::Result<(Metadata, Shape)>,
}

impl ReadLog {
    fn of(path: PathBuf) -> Self {
        let read = || match fs::symlink_metadata(&path)? {
            link if link.is_symlink() => Err(io::Error::other("it is a link, and gets no records")),
            meta => {
                let shape = shape(&path)?;
                writable(&path).map(|()| (meta, shape))
            }
        };
        let read = read();
        Self { path, read }
    }

    /// The logs of a project, in its sites as well.
    pub(super) fn all(subject: &Subject<'_>) -> Vec<Self> {
        let folder = subject.logs.own_folder();
        let own_logs = names_in(folder)
            .into_iter()
            .filter(|name| name.ends_with(".jsonl"))
            .map(|name| folder.join(name));
        let sites = subject.sites.iter();
        let site_logs = sites
            .map(|site| Logs::devt(site).path())
            .filter(|log| log.is_symlink() || log.try_exists().unwrap_or(true));
        own_logs.chain(site_logs).map(Self::of).collect()
    }
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

/// Whether the one who asks may write.
fn writable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?;
    let _ = path;
    Ok(())
}

pub(super) fn unusable_log(log: &ReadLog) -> Option<Found> {
    let (why, log) = (log.read.as_ref().err()?, log.path.display());
    Some(format!("could not use `{log}`: {why}").into())
}

pub(super) fn log(log: &ReadLog) -> Option<Found> {
    let (meta, shape) = log.read.as_ref().ok()?;
    let records = text::count(shape.n_whole, "record", "records");
    let (log, size) = (log.path.display(), output::size(meta.len()));
    Some(format!("`{log}`: {records}, {size}").into())
}

pub(super) fn broken_lines(log: &ReadLog) -> Option<Found> {
    let (_, shape) = log.read.as_ref().ok()?;
    let (log, first) = (log.path.display(), shape.first_broken?);
    let lines = text::count(shape.n_broken, "line that is", "lines that are");
    Some(format!("`{log}` has {lines} not JSON, the first is line {first}").into())
}

pub(super) fn torn_line(log: &ReadLog) -> Option<Found> {
    let (_, shape) = log.read.as_ref().ok()?;
    let path = log.path.display();
    let what = format!("`{path}` ends in a torn line; the next record repairs it");
    shape.is_torn.then(|| what.into())
}

/// A busy lock may let a log pass its bound, but not by as much again.
pub(super) fn large_logs(facts: &Facts<'_>) -> Vec<Found> {
    let max_bytes = facts.rules().settings.log_max_bytes;
    let large = facts.logs.iter().filter(|log| {
        let read = log.read.as_ref();
        read.is_ok_and(|(meta, _)| meta.len() > max_bytes.saturating_mul(2))
    });
    let found = large.map(|log| {
        let path = log.path.display();
        format!("`{path}` is larger than twice `log.max_bytes` ({max_bytes})").into()
    });
    found.collect()
}

pub(super) fn open_log(log: &ReadLog) -> Option<Found> {
    let (meta, _) = log.read.as_ref().ok()?;
    let (mode, log) = (open_mode(meta)?, log.path.display());
    let what = format!("`{log}` has mode {mode:o}: others can read it");
    Some(Found::about(what, log))
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

/// A log that cannot be read is another question's.
pub(super) fn broken_chain(facts: &Facts<'_>) -> Option<Found> {
    let log = facts.subject.logs.gates();
    let chain = chain::verify(&log).ok()?;
    let first = chain.faults.first()?;
    let faults = text::count(chain.faults.len(), "fault", "faults");
    let path = log.path();
    let what = format!(
        "the chain of `{}` is broken, {faults}: {first}",
        path.display()
    );
    Some(what.into())
}

/// Whether a log holds what this program wrote into it; of the gate log the chain says it.
pub(super) fn lines_of_others(facts: &Facts<'_>) -> Vec<Found> {
    let logs = facts.subject.logs.all().into_iter();
    let differ = logs
        .filter(|log| log.name != "gates.jsonl")
        .filter_map(|log| {
            let what = log.difference(u64::MAX).ok()?.to_sentence(log.name)?;
            Some(what.into())
        });
    differ.collect()
}

/// A state directory's lock, and devt's own, a file `.lock` that holds a process id.
pub(super) struct SiteLock {
    site: PathBuf,
    is_held: bool,
    file: PathBuf,
    /// `None` without such a file.
    owner: Option<io::Result<Owner>>,
}

impl SiteLock {
    pub(super) fn of(site: &Path) -> Self {
        let file = site.join(".lock");
        Self {
            site: site.to_owned(),
            is_held: is_held(site),
            owner: file.exists().then(|| pid_lock::owner_of(&file)),
            file,
        }
    }
}

pub(super) fn locked(lock: &SiteLock) -> Option<Found> {
    let site = lock.site.display();
    let what = format!("`{site}` is locked by a process that writes to it");
    lock.is_held.then(|| what.into())
}

pub(super) fn locked_by_devt(lock: &SiteLock) -> Option<Found> {
    let file = lock.file.display();
    // Elsewhere it is not known whether it lives.
    let is_held = if cfg!(unix) { "is" } else { "says it is" };
    match lock.owner {
        Some(Ok(Owner::Alive(pid))) => {
            Some(format!("`{file}` {is_held} held by process {pid}").into())
        }
        _ => None,
    }
}

pub(super) fn lock_of_ended_process(lock: &SiteLock) -> Option<Found> {
    let file = lock.file.display();
    match lock.owner {
        Some(Ok(Owner::Dead(pid))) => {
            Some(format!("`{file}` is held by process {pid}, which has ended").into())
        }
        _ => None,
    }
}

pub(super) fn lock_of_nobody(lock: &SiteLock) -> Option<Found> {
    let file = lock.file.display();
    let what = format!("`{file}` holds no process id; each write of devt waits 3 s for it");
    matches!(lock.owner, Some(Ok(Owner::Unclear))).then(|| what.into())
}

pub(super) fn unreadable_lock(lock: &SiteLock) -> Option<Found> {
    let why = lock.owner.as_ref()?.as_ref().err()?;
    Some(format!("{why}; devt's state cannot be written").into())
}

/// The sites and the folder of our logs.
fn folders<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = &'f Path> {
    let sites = facts.subject.sites.iter().map(PathBuf::as_path);
    sites.chain([facts.subject.logs.own_folder()])
}

/// The directories that logs are in, or would be.
pub(super) fn unwritable_folders(facts: &Facts<'_>) -> Vec<Found> {
    let unwritable = folders(facts).filter_map(|dir| {
        let error = match fs::metadata(dir) {
            Ok(meta) if meta.is_dir() => writable(dir).err()?,
            Ok(_) => io::Error::from(io::ErrorKind::NotADirectory),
            Err(_) if dir.is_symlink() => io::Error::other("it is a link that leads nowhere"),
            Err(_) => return None,
        };
        let what = format!("no record can be written in `{}`: {error}", dir.display());
        Some(what.into())
    });
    unwritable.collect()
}

pub(super) fn leftovers(facts: &Facts<'_>) -> Vec<Found> {
    let above = facts.subject.logs.own_folder().parent();
    // `.claude` can be a site as well.
    let more = above.filter(|above| folders(facts).all(|dir| dir != *above));
    let dirs = folders(facts).chain(more);
    dirs.filter_map(|dir| leftovers_in(dir, facts.subject.now))
        .collect()
}

fn leftovers_in(dir: &Path, now: DateTime<Utc>) -> Option<Found> {
    let temps = names_in(dir).into_iter().filter(|name| is_temp(name));
    let old: Vec<_> = temps
        .map(|name| dir.join(name))
        .filter(|path| fs::metadata(path).is_ok_and(|meta| now - modified(&meta) > TEMP_AGE))
        .collect();
    let (first, dir) = (old.first()?.display(), dir.display());
    let files = text::count(old.len(), "temporary file", "temporary files");
    Some(format!("{files} of ended processes in `{dir}`, such as `{first}`").into())
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
