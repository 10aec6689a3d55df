//! The recorder at each event: what is noted of the calls, and when it looks.
//!
//! A recorder that cannot work changes no decision of the guard; it says so on stderr.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::clock;
use crate::base::env::Env;
use crate::base::warn;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::Site;
use crate::recorder::agents;
use crate::recorder::calls::{self, Call, Caller, Notes, OURSELVES, Progress, Work};
use crate::recorder::changes;
use crate::recorder::entry::Nanos;
use crate::recorder::findings::{self, Finding, Recipient};
use crate::recorder::index::Index;
use crate::recorder::look::{self, Scope};
use crate::recorder::pipeline::{self, Known, Moment, Step};
use crate::recorder::places::{self, Around};
use crate::recorder::records;
use crate::settings::model::{Recording, Settings};
use crate::store::lock::{IN_HOOK, Locked, with_lock};

/// How long contents are kept that only the log of changes refers to.
const KEPT: TimeDelta = TimeDelta::days(30);

/// As long a call is taken to have run that has neither a note nor a time.
const MAX_UNNOTED_MS: i64 = 60_000;

/// Other hooks of the same event run before and after the tool.
const AROUND_TOOL: Nanos = 100_000_000;

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
    project.memory().to_owned()
}

/// Whether a call is noted before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNote {
    /// It runs code, or its end moves a gate if it was announced.
    Always,
    /// A file tool's that runs alone needs none.
    BesideOthers,
}

/// What becomes of what a look finds, and of what is undelivered.
#[derive(Clone, Copy)]
pub enum Delivery<'a> {
    /// What concerns a recipient is given to it.
    To(&'a Recipient),
    /// It waits for an event that can send it.
    Later,
    /// All that waits is for another recipient; of `None` it is dropped.
    PassedOn(&'a dyn Fn(&Recipient) -> Option<Recipient>),
}

/// Where this program writes.
pub enum WritesTo {
    Anywhere,
    /// In these files, by their absolute paths.
    Files(Vec<String>),
}

impl WritesTo {
    fn scopes(&self) -> Vec<Scope<'_>> {
        match self {
            Self::Anywhere => vec![Scope::All],
            Self::Files(paths) => paths.iter().map(|path| Scope::Path(path)).collect(),
        }
    }
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

    /// Before a call. A project without a site and without our folder stays untouched. What
    /// a file tool is about to write is looked at too: what a person saved there is kept, and
    /// what it writes is judged against that. `work` is what the note says of it.
    pub fn before(
        &self,
        caller: Caller,
        scope: Scope<'_>,
        work: &dyn Fn() -> Work,
        note: CallNote,
        noted: &Notes,
    ) {
        if !self.is_concerned() {
            return;
        }
        let clock = self.nanos();
        let step = Step::new(Moment::BeforeCall, scope, &caller.session);
        warn_on_error(
            "could not look at the state directories before the call",
            &self.look(Delivery::Later, &step),
        );
        // A call with the id of one that has ended is another one.
        if let Some(call) = calls::find(&self.dir(), &caller.tool_use_id)
            && !call.is_running()
        {
            warn_on_error("could not drop an old note", &call.forget(&self.dir()));
        }
        // Also without a look: what is found later happened since.
        if note == CallNote::Always || noted.running().next().is_some() {
            let opened = Call::open(&self.dir(), caller.clone(), clock, work());
            warn_on_error("could not note that the call runs", &opened);
        }
    }

    /// After a call: what it did is judged, and what concerns its caller is given. `work` is
    /// what a call without a note can have done. `ran` is the tool's own time in milliseconds,
    /// `task` the client's id for what goes on in the background.
    pub fn after(
        &self,
        caller: &Caller,
        work: Option<Work>,
        ran: Option<i64>,
        task: Option<String>,
    ) -> Vec<Finding> {
        let progress = match task {
            Some(task) => Progress::Background { task, ran },
            None => Progress::Ended { ran },
        };
        let noted = calls::find(&self.dir(), &caller.tool_use_id);
        let has_note = noted.is_some();
        let call = match (noted, work) {
            (Some(call), _) => self.ended(call, progress),
            (None, Some(work)) if self.is_concerned() => {
                Some(self.without_note(caller, work, progress))
            }
            _ => None,
        };
        let Some(call) = call else {
            return Vec::new();
        };
        let scope = match &call.work {
            Work::Writes { path, .. } => Scope::Path(path),
            Work::RunsCode(_) => Scope::All,
        };
        let step = Step {
            begun: Some(call.began()),
            unnoted: (!has_note).then(|| call.clone()),
            ..Step::new(Moment::Later, scope, &caller.session)
        };
        let recipient = Recipient {
            session: caller.session.clone(),
            agent_id: caller.agent_id.clone(),
        };
        let found = self.look(Delivery::To(&recipient), &step);
        warn_on_error(
            "could not look at the state directories after the call",
            &found,
        );
        found.unwrap_or_default()
    }

    /// Notes the end of a call before the look: what a kill leaves is judged as this call's.
    /// `None` where all of it is done. An end is sent twice where the hook is registered twice;
    /// a kill, or a full disk, may have kept the first from looking.
    fn ended(&self, mut call: Call, progress: Progress) -> Option<Call> {
        if let Progress::Ended { .. } = call.progress {
            let has_looked = pipeline::has_looked_since(&self.dir(), call.noted);
            return (!has_looked).then_some(call);
        }
        let marked = call.note(&self.dir(), progress);
        warn_on_error("could not note that the call is over", &marked);
        Some(call)
    }

    /// A call whose note is missing may have begun as long ago as its tool ran.
    fn without_note(&self, caller: &Caller, work: Work, progress: Progress) -> Call {
        let ran = match &progress {
            Progress::Background { ran, .. } | Progress::Ended { ran } => *ran,
            _ => None,
        };
        let clock = self.nanos();
        let nanos = ran.unwrap_or(MAX_UNNOTED_MS).max(0) * 1_000_000;
        Call {
            caller: caller.clone(),
            opened: clock - nanos - AROUND_TOOL,
            skew: 0,
            work,
            progress,
            noted: clock,
        }
    }

    /// At an event that says which calls are over, or none: they are judged. Gives what
    /// concerns the recipient, if it can be sent something now.
    pub fn close(
        &self,
        moment: Moment,
        session: &str,
        delivery: Delivery<'_>,
        progress: &dyn Fn(&Call) -> Option<Progress>,
    ) -> Vec<Finding> {
        if !self.project.has_memory() {
            return Vec::new();
        }
        let step = Step {
            progress: Some(progress),
            ..Step::new(moment, Scope::All, session)
        };
        let found = self.look(delivery, &step);
        warn_on_error("could not look at the state directories", &found);
        found.unwrap_or_default()
    }

    /// The same where a session begins or ends: the memory is tidied as well. Gives the state
    /// directories around it, and what is known of all then.
    pub fn close_session(
        &self,
        moment: Moment,
        session: &str,
        delivery: Delivery<'_>,
        progress: &dyn Fn(&Call) -> Option<Progress>,
    ) -> Option<(Vec<Site<'w>>, Index)> {
        if !self.project.has_memory() {
            return None;
        }
        let step = Step {
            progress: Some(progress),
            ..Step::new(moment, Scope::All, session)
        };
        let closed = self.locked(|locked| {
            let mut known = pipeline::known(self, locked, Scope::All)?;
            let looked = self.look_with(locked, &mut known, delivery, &step);
            warn_on_error("could not look at the state directories", &looked);
            let tidied = self.tidy(locked, &mut known);
            warn_on_error("could not tidy the recorder's memory", &tidied);
            known.sites.truncate(known.n_around);
            Ok((known.sites, known.index))
        });
        warn_on_error("could not look at the state directories", &closed);
        closed.ok()
    }

    /// Notes what is known of an agent, for the day the user interrupts.
    pub fn note_agent(&self, note: &agents::Note) {
        if self.project.has_memory() {
            let noted = agents::note(&self.dir(), note);
            warn_on_error("could not note an agent", &noted);
        }
    }

    /// Keeps the memory small and whole: contents that nothing refers to go, those that should
    /// be there and are not come, and what was undone long ago goes.
    fn tidy(&self, locked: &Locked<'_>, known: &mut Known<'_>) -> io::Result<()> {
        for (path, state) in known.index.entries() {
            let blob = state.blob;
            let is_kept = blob.is_none_or(|blob| known.contents.get(blob).is_some());
            if !is_kept && self.settings.recorder == Recording::On {
                look::state_of(Path::new(path), Some(&mut known.contents));
            }
        }
        let mut wanted = known.index.blobs();
        let oldest = clock::millis(self.now - KEPT);
        if known.contents.may_be_tidied() {
            changes::newest(locked.dir(), &mut |change| {
                wanted.extend([change.before, change.after].into_iter().flatten());
                if change.ts < oldest {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        }
        known.contents.tidy(locked, &wanted)?;
        records::note_unkept(self, &mut known.contents);
        agents::tidy(locked, self.now)?;
        known.sites.iter().try_for_each(|site| {
            site.archive(self.project, self.settings.archive_runs)
                .drop_undone(locked, self.now)
        })
    }

    /// Looks, and gives what is reported to a recipient; the rest is kept for the others.
    fn look(&self, delivery: Delivery<'_>, step: &Step<'_>) -> io::Result<Vec<Finding>> {
        self.locked(|locked| {
            let mut known = pipeline::known(self, locked, step.scope)?;
            self.look_with(locked, &mut known, delivery, step)
        })
    }

    fn look_with(
        &self,
        locked: &Locked<'_>,
        known: &mut Known<'w>,
        delivery: Delivery<'_>,
        step: &Step<'_>,
    ) -> io::Result<Vec<Finding>> {
        let found = pipeline::run(self, locked, known, step)?;
        let Delivery::To(recipient) = delivery else {
            findings::keep(locked, found)?;
            if let Delivery::PassedOn(to) = delivery {
                findings::pass_on(locked, to)?;
            }
            return Ok(Vec::new());
        };
        let (now, later): (Vec<_>, Vec<_>) = found.into_iter().partition(|(to, _)| to == recipient);
        let mut mine = findings::take(locked, recipient)?;
        mine.extend(now.into_iter().map(|(_, finding)| finding));
        findings::keep(locked, later)?;
        mine.retain(Finding::is_due);
        Ok(mine)
    }

    /// Runs what this program itself writes, once, so that no call is accused of it. `by` is who
    /// has it written: [`Caller::ourselves`], or the agent whose call runs a verb.
    pub fn own_writes<T>(&self, by: &Caller, wait: Duration, write: &mut dyn FnMut() -> T) -> T {
        self.own_writes_at(&WritesTo::Anywhere, by, wait, &mut || {
            (write(), WritesTo::Anywhere)
        })
    }

    /// The same where it is known which files are `planned`, and then which were written: the
    /// others are left to the next look.
    pub fn own_writes_at<T>(
        &self,
        planned: &WritesTo,
        by: &Caller,
        wait: Duration,
        write: &mut dyn FnMut() -> (T, WritesTo),
    ) -> T {
        let (dir, mut written) = (self.dir(), None);
        let has_looked = self.project.has_memory();
        let begins = !has_looked && !self.is_concerned();
        if has_looked {
            let noted = with_lock(&dir, wait, |locked| {
                let scopes = planned.scopes();
                let widest = scopes.first().copied().unwrap_or(Scope::All);
                let mut known = pipeline::known(self, locked, widest)?;
                for scope in scopes {
                    let step = Step::new(Moment::BeforeCall, scope, "");
                    let found = pipeline::run(self, locked, &mut known, &step)?;
                    findings::keep(locked, found)?;
                }
                let (value, at) = write();
                written = Some(value);
                pipeline::note_own(self, locked, &mut known, by, &at.scopes())
            });
            warn_on_error("could not record a change of its own", &noted);
        }
        let value = match written {
            Some(value) => value,
            // A look that is busy finds what is written here: it is a call like any other then.
            None if has_looked => self.noted_as_own(&by.tool, &mut || write().0),
            None => write().0,
        };
        if begins && self.is_concerned() {
            // There was no state before: all of it is its own.
            let all = WritesTo::Anywhere.scopes();
            let noted = self.locked(|locked| {
                let mut known = pipeline::known(self, locked, Scope::All)?;
                pipeline::note_own(self, locked, &mut known, by, &all)
            });
            warn_on_error("could not record a change of its own", &noted);
        }
        value
    }

    fn noted_as_own<T>(&self, tool: &str, write: &mut dyn FnMut() -> T) -> T {
        let dir = self.dir();
        let caller = Caller {
            tool_use_id: format!("own-{}", std::process::id()),
            ..Caller::ourselves(tool)
        };
        let work = Work::RunsCode(calls::CallText {
            programs: vec![OURSELVES.to_owned()],
            ..calls::CallText::default()
        });
        let id = caller.tool_use_id.clone();
        let opened = Call::open(&dir, caller, self.nanos(), work);
        warn_on_error("could not note a change of its own", &opened);
        let written = write();
        if let Some(mut call) = calls::find(&dir, &id) {
            let noted = call.note(&dir, Progress::Ended { ran: None });
            warn_on_error("could not note a change of its own", &noted);
        }
        written
    }

    /// Whether there is anything to look after here.
    fn is_concerned(&self) -> bool {
        self.project.has_memory()
            || self.project.own_folder().is_dir()
            || !places::around(self.project, self.registry, &self.around).is_empty()
    }

    /// When the last session before this event began, by the last bytes of our own log.
    pub(super) fn last_heartbeat(&self, max_bytes: u64) -> Option<Nanos> {
        let (mut last, now) = (None, clock::millis(self.now));
        let events = self.project.logs().events();
        events.newest(
            max_bytes,
            "\"heartbeat\"",
            &mut |record: serde_json::Value| {
                let ts = record["ts"].as_str().filter(|ts| *ts < now.as_str());
                match ts.and_then(clock::parse) {
                    Some(at) if record["decision"] == "heartbeat" => {
                        last = Some(at);
                        ControlFlow::Break(())
                    }
                    _ => ControlFlow::Continue(()),
                }
            },
        );
        last?.timestamp_nanos_opt()
    }

    /// Makes the memory's folder, so that the next look is the first.
    pub fn set_up(&self) {
        warn_on_error(
            "could not make the recorder's memory",
            &self.project.make_memory(),
        );
    }

    pub(super) fn locked<T>(&self, f: impl FnOnce(&Locked<'_>) -> io::Result<T>) -> io::Result<T> {
        with_lock(self.project.make_memory()?, IN_HOOK, f)
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
