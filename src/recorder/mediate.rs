//! Around the calls: a look before and after, and what follows from what changed.
//!
//! A recorder that cannot work changes no decision of the guard; it says so on stderr.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::clock;
use crate::base::env::Env;
use crate::base::warn;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::recorder::changes::{self};
use crate::recorder::entry::Nanos;
use crate::recorder::look::{self};
use crate::recorder::places::{self, Around};
use crate::recorder::step::{Closing, Step};
use crate::recorder::telling::{self, Finding, Hearer};
use crate::recorder::windows::{self, CallText, Caller, Doing, MAX_AGE, Running, Window};
use crate::settings::model::{Recording, Settings};
use crate::store::lock::{IN_HOOK, Locked, with_lock};
use crate::store::{make_own_folder, replace};

/// The recorder's folder in the program's own.
const DIR: &str = "recorder";

/// Other hooks of the same event run before and after the tool.
const AROUND_TOOL: Nanos = 100_000_000;

/// How long contents are kept that only the log of changes refers to.
const KEPT: TimeDelta = TimeDelta::days(30);

/// The recorder around one event.
pub struct Recorder<'w> {
    pub project: &'w Project,
    pub registry: &'w Registry<'w>,
    pub settings: &'w Settings,
    pub env: &'w Env,
    pub around: Around<'w>,
    pub now: DateTime<Utc>,
}

/// Where the recorder of a project keeps what it knows.
pub fn dir(project: &Project) -> PathBuf {
    project.logs().own_folder().join(DIR)
}

impl<'w> Recorder<'w> {
    /// The recorder of a project, looking around an event's directory.
    pub fn of(context: &'w Context<'_>) -> Self {
        Self::around(context, "", &[])
    }

    /// The same, and where a command's text and its targets lead.
    pub fn around(context: &'w Context<'_>, text: &'w str, targets: &'w [String]) -> Self {
        Self {
            project: &context.project,
            registry: context.registry,
            settings: &context.rules.settings,
            env: context.env,
            around: Around {
                cwd: &context.cwd,
                home: context.env.home.as_deref(),
                text,
                targets,
            },
            now: context.now.get(),
        }
    }

    pub fn dir(&self) -> PathBuf {
        dir(self.project)
    }

    /// Before a call that runs code. A project without a site and without our folder stays
    /// untouched.
    pub fn before(&self, caller: Caller, call: CallText) {
        if !self.is_concerned() {
            return;
        }
        // No two calls of one actor that write run at once: one that is open was interrupted.
        let (id, end) = (&caller.tool_use_id, self.nanos());
        let is_over = |window: &Window| {
            let is_earlier = window.is_waited_for() && window.caller.tool_use_id != *id;
            let is_its_own = Hearer::of(&window.caller) == Hearer::of(&caller);
            (is_earlier && is_its_own).then_some(Running::Dangling { end })
        };
        let step = Step {
            closing: Closing::Those(&is_over),
            hearer: Some(Hearer::of(&caller)),
            windowless: None,
            session: &caller.session,
        };
        warn_on_error(
            "could not look at the state directories before the call",
            &self.look_for(None, &step),
        );
        // Also without a look: what is found later happened since.
        self.open(caller, Doing::RunsCode(call));
    }

    /// Notes that a call runs.
    pub fn open(&self, caller: Caller, doing: Doing) {
        let opened = Window::open(&self.dir(), caller, self.nanos(), doing);
        warn_on_error("could not note that the call runs", &opened);
    }

    /// After a call: what it did is judged, and what concerns its caller is given.
    /// `unannounced` is what a call without a window does: a file tool that ran by itself is
    /// judged again, since another hook may have changed its input. `duration` is the tool's
    /// own time in milliseconds, `task` the client's id for it where it goes on in the
    /// background.
    pub fn after(
        &self,
        caller: &Caller,
        unannounced: Option<Doing>,
        duration: Option<i64>,
        task: Option<String>,
    ) -> Vec<Finding> {
        let (dir, id) = (self.dir(), caller.tool_use_id.as_str());
        let has_window = windows::is_open(&dir, id);
        if !has_window && (unannounced.is_none() || !self.is_concerned()) {
            return Vec::new();
        }
        let end = self.nanos();
        let ran = duration.unwrap_or(0).clamp(0, MAX_AGE / 1_000_000) * 1_000_000;
        let begun = end - ran - AROUND_TOOL;
        let ended = Running::Ended { begun, end };
        let state = match task {
            Some(task) => Running::Background { task },
            None => ended.clone(),
        };
        let is_write = matches!(unannounced, Some(Doing::Wrote { .. }));
        let windowless = unannounced.filter(|_| duration.is_some() || is_write);
        let step = Step {
            closing: Closing::Call(id, state.clone()),
            hearer: (has_window || is_write).then(|| Hearer::of(caller)),
            windowless: windowless.map(|doing| Window {
                caller: caller.clone(),
                start: if is_write { 0 } else { begun },
                doing,
                state: ended,
                ends_now: false,
            }),
            session: &caller.session,
        };
        let told = self.look_for(Some(&Hearer::of(caller)), &step);
        if told.is_err() {
            // The next look finds what it did, and who it was.
            let marked = Window::mark(&dir, id, &state);
            warn_on_error("could not note that the call is over", &marked);
        }
        warn_on_error(
            "could not look at the state directories after the call",
            &told,
        );
        told.unwrap_or_default()
    }

    /// At an event that tells which calls are over, or none: they are judged. Gives what
    /// concerns the hearer, if that can be told now.
    pub fn close(
        &self,
        hearer: &Hearer,
        can_tell: bool,
        is_over: &dyn Fn(&Window) -> Option<Running>,
    ) -> Vec<Finding> {
        if !self.dir().is_dir() {
            return Vec::new();
        }
        let step = Step {
            closing: Closing::Those(is_over),
            hearer: Some(hearer.clone()),
            windowless: None,
            session: &hearer.session,
        };
        let told = self.look_for(Some(hearer).filter(|_| can_tell), &step);
        warn_on_error("could not look at the state directories", &told);
        told.unwrap_or_default()
    }

    /// Readdresses what is still to be told.
    pub fn pass_on(&self, to: &dyn Fn(&Hearer) -> Option<Hearer>) {
        if self.dir().is_dir() {
            let passed = self.locked(|locked| telling::pass_on(locked, to));
            warn_on_error("could not note what is still to be told", &passed);
        }
    }

    /// Keeps the recorder's folder small and whole: contents that nothing refers to go,
    /// those that should be there and are not come, and what was undone long ago goes.
    pub fn tidy(&self) {
        if !self.dir().is_dir() {
            return;
        }
        let tidied = self.locked(|locked| {
            let mut known = self.known(locked)?;
            for (path, state) in known.index.entries() {
                let is_kept = state
                    .blob
                    .is_none_or(|blob| known.contents.get(blob).is_some());
                if !is_kept && self.settings.recorder == Recording::On {
                    look::state_of(Path::new(path), Some(&mut known.contents));
                }
            }
            let mut wanted = known.index.blobs();
            let oldest = clock::millis(self.now - KEPT);
            let mut changes = Vec::new();
            changes::each(locked.dir(), &mut |change| changes.push(change));
            let changes = changes.iter().rev();
            let changes = changes.take_while(|change| change.ts >= oldest);
            wanted.extend(
                changes
                    .flat_map(|change| [change.before, change.after])
                    .flatten(),
            );
            known.contents.tidy(locked, &wanted)?;
            self.note_unreadable(&known.contents);
            let mut sites = places::around(self.project, self.registry, &self.around);
            places::add_known(&mut sites, &known.index, self.project, self.registry);
            let mut rings = sites
                .iter()
                .map(|site| site.ring(self.project, self.settings.archive_runs));
            rings.try_for_each(|ring| ring.drop_undone(locked, self.now))
        });
        warn_on_error("could not tidy the recorder's folder", &tidied);
    }

    /// Looks, and gives what a hearer is to be told; the rest is kept for the others.
    fn look_for(&self, hearer: Option<&Hearer>, step: &Step<'_>) -> io::Result<Vec<Finding>> {
        self.locked(|locked| {
            let findings = self.step(locked, step)?;
            let (now, later): (Vec<_>, Vec<_>) =
                findings.into_iter().partition(|(to, _)| Some(to) == hearer);
            let mut mine = hearer.map_or(Ok(Vec::new()), |hearer| telling::take(locked, hearer))?;
            mine.extend(now.into_iter().map(|(_, finding)| finding));
            telling::keep(locked, later)?;
            Ok(mine)
        })
    }

    /// Runs what this program itself writes, once, so that nobody is accused of it.
    pub fn own_writes<T>(&self, tool: &str, wait: Duration, write: &mut dyn FnMut() -> T) -> T {
        let (dir, mut written) = (self.dir(), None);
        let has_looked = dir.is_dir();
        let begins = !has_looked && !self.is_concerned();
        if has_looked {
            let noted = with_lock(&dir, wait, |locked| {
                let step = Step {
                    closing: Closing::Nothing,
                    hearer: Some(Hearer::default()),
                    windowless: None,
                    session: "",
                };
                let findings = self.step(locked, &step)?;
                telling::keep(locked, findings)?;
                written = Some(write());
                self.note_own(locked, tool)
            });
            warn_on_error("could not record a change of its own", &noted);
        }
        let written = written.unwrap_or_else(write);
        if begins && self.is_concerned() {
            // There was no state before: all of it is its own.
            let noted = self.locked(|locked| self.note_own(locked, tool));
            warn_on_error("could not record a change of its own", &noted);
        }
        written
    }

    fn note_own(&self, locked: &Locked<'_>, tool: &str) -> io::Result<()> {
        let mut known = self.known(locked)?;
        // A site that the look before did not know is of its making.
        for change in self.look(&mut known, Some(Nanos::MIN)) {
            let mut record = self.change_record(&change, None);
            record.actor = Some("statewarden".to_owned());
            record.tool = Some(tool.to_owned());
            self.append_change(locked, &record)?;
        }
        self.keep(&mut known, locked);
        known.index.commit(locked)
    }

    /// Whether there is anything to look after here.
    fn is_concerned(&self) -> bool {
        self.project.logs().own_folder().is_dir()
            || !places::around(self.project, self.registry, &self.around).is_empty()
    }

    /// Makes the recorder's folder, so that the next look is the first.
    pub fn set_up(&self) {
        warn_on_error("could not make the recorder's folder", &self.make_dir());
    }

    fn make_dir(&self) -> io::Result<PathBuf> {
        let dir = self.dir();
        if !dir.is_dir() {
            make_own_folder(self.project.logs().own_folder())?;
            replace::make_private_dir(&dir)?;
        }
        Ok(dir)
    }

    pub(super) fn locked<T>(&self, f: impl FnOnce(&Locked<'_>) -> io::Result<T>) -> io::Result<T> {
        with_lock(&self.make_dir()?, IN_HOOK, f)
    }

    /// The time of the event.
    pub fn nanos(&self) -> Nanos {
        self.now.timestamp_nanos_opt().unwrap_or(Nanos::MAX)
    }
}

pub(super) fn warn_on_error<T>(what: &str, result: &io::Result<T>) {
    if let Err(error) = result {
        warn::warn(&format!("{what}: {error}"));
    }
}
