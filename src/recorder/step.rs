//! One look and what follows from it: which changes are ripe to be decided, and which
//! calls are over.

use std::fs;
use std::io;
use std::path::Path;

use crate::base::disk::bounded_read;
use crate::base::disk::bounded_read::read_text;
use crate::log::record::{Record, What};
use crate::project::registry::Registry;
use crate::recorder::contents::Contents;
use crate::recorder::entry::{Change, Nanos, State};
use crate::recorder::index::Index;
use crate::recorder::look::Look;
use crate::recorder::mediate::{Recorder, warn_on_error};
use crate::recorder::places::{self};
use crate::recorder::telling::{Findings, Hearer};
use crate::recorder::windows::{Doing, MAX_AGE, Running, Window};
use crate::settings::load::Layers;
use crate::settings::merge::{Layer, Resolved};
use crate::store::lock::Locked;
use crate::store::replace;
use crate::systems::declared::DeclaredSystem;
use crate::systems::system;

/// Holds the time of the last look.
const LOOKED: &str = "looked";

/// The client's longest timeout of a command, ten minutes, and some seconds.
const LONGEST_COMMAND: Nanos = 610 * 1_000_000_000;

/// What an event tells of calls that are over.
pub(super) enum Closing<'a> {
    Nothing,
    Call(&'a str, Running),
    Those(&'a dyn Fn(&Window) -> Option<Running>),
}

/// What a look is for.
pub(super) struct Step<'a> {
    pub(super) closing: Closing<'a>,
    /// Who is told of what nobody can be asked about; `None` accuses nobody.
    pub(super) hearer: Option<Hearer>,
    /// A call that has no window, for what appeared where nothing was known before.
    pub(super) windowless: Option<Window>,
    pub(super) session: &'a str,
}

/// What is known, and the look that brings it up to date.
pub(super) struct Known {
    pub(super) index: Index,
    pub(super) contents: Contents,
    pub(super) last: Nanos,
}

impl Recorder<'_> {
    /// What earlier looks found; an index that cannot be read is made anew.
    pub(super) fn known(&self, locked: &Locked<'_>) -> io::Result<Known> {
        let index = match Index::read(locked.dir()) {
            Ok(index) => index.unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.log_fault(&format!(
                    "{error}; it is made anew, and changes before now are not known"
                ));
                Index::default()
            }
            Err(error) => return Err(error),
        };
        let looked = bounded_read::read(&locked.dir().join(LOOKED), 8).unwrap_or_default();
        let last = looked.try_into().map_or(0, Nanos::from_be_bytes);
        Ok(Known {
            last: if index.is_new() { 0 } else { last },
            contents: Contents::of(locked.dir()),
            index,
        })
    }

    /// Writes the contents that a look found. What is not kept cannot be brought back, and
    /// is told all the same.
    pub(super) fn keep(&self, known: &mut Known, locked: &Locked<'_>) {
        let kept = known.contents.commit(locked);
        warn_on_error("could not keep the contents of state files", &kept);
        self.note_unreadable(&known.contents);
    }

    pub(super) fn note_unreadable(&self, contents: &Contents) {
        if contents.was_unreadable {
            self.log_fault("kept contents of state files cannot be read; what is there now is kept anew, and former contents are lost");
        }
    }

    fn log_fault(&self, what: &str) {
        self.log(&Record::new(What::Fault, what, None, self.now));
    }

    pub(super) fn look(&self, known: &mut Known, begun: Option<Nanos>) -> Vec<Change> {
        let mut sites = places::around(self.project, self.registry, &self.around);
        places::add_known(&mut sites, &known.index, self.project, self.registry);
        let look = Look {
            sites: &sites,
            files: &places::own_files(self.project, self.env),
            logs: &places::own_logs(self.project, &sites),
            registry: self.registry,
            now: self.nanos(),
            last: known.last,
            begun,
            contents: self.settings.recorder,
        };
        let mut changes = look.take(&mut known.index, &mut known.contents);
        changes.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        changes
    }

    /// The settings as they were at the last look, where they have changed since: what
    /// changes them has no say in how it is judged.
    pub(super) fn settings_before(&self, known: &Known) -> Option<Resolved> {
        let files = self.project.settings_files(self.env);
        let before = |path: &str| known.index.get(path.as_ref());
        let is_changed = |(_, path): &(Layer, String)| {
            let now = fs::symlink_metadata(path).map(|meta| State::of(&meta));
            let is_same = match (before(path), now) {
                (Some(before), Ok(now)) => now.has_stat_of(before),
                (before, now) => before.is_none() && now.is_err(),
            };
            !is_same
        };
        let changed: Vec<_> = files
            .iter()
            .filter(|file| is_changed(file))
            .cloned()
            .collect();
        if changed.is_empty() || known.index.is_new() {
            return None;
        }
        let text_of = |path: &str| match changed.iter().any(|(_, changed)| changed == path) {
            true => {
                let blob = before(path).and_then(|before| before.blob);
                let text = blob.and_then(|blob| known.contents.get(blob));
                Ok(text.and_then(|text| String::from_utf8(text).ok()))
            }
            false => read_text(path),
        };
        Some(Layers::read(files, text_of).resolve(&system::known()))
    }

    pub(super) fn step(&self, locked: &Locked<'_>, step: &Step<'_>) -> io::Result<Findings> {
        let known = self.known(locked)?;
        let Some(rules) = self.settings_before(&known) else {
            return self.step_from(locked, step, known);
        };
        let declared = DeclaredSystem::all(&rules.settings);
        let before = Recorder {
            project: self.project,
            registry: &Registry::new(&rules.settings, &declared),
            settings: &rules.settings,
            env: self.env,
            around: self.around,
            now: self.now,
        };
        before.step_from(locked, step, known)
    }

    /// One look, and all that follows from it.
    ///
    /// The contents are written first and the index last: after a kill in between the
    /// next look finds the same changes again.
    pub(super) fn step_from(
        &self,
        locked: &Locked<'_>,
        step: &Step<'_>,
        mut known: Known,
    ) -> io::Result<Findings> {
        let begun = match &step.closing {
            Closing::Call(_, Running::Ended { begun, .. }) => Some(*begun),
            _ => None,
        };
        let was_new = known.index.is_new();
        let mut changes = self.look(&mut known, begun);
        self.keep(&mut known, locked);
        let is_quiet = changes.is_empty() && known.index.pending().is_empty();
        let mut windows = match (&step.closing, is_quiet) {
            (Closing::Nothing | Closing::Call(..), true) => Vec::new(),
            _ => self.windows(locked.dir(), &step.closing),
        };
        let windowless = step.windowless.iter();
        let counts = |window: &&Window| was_new || matches!(window.doing, Doing::Wrote { .. });
        let windowless = windowless.filter(counts);
        for change in &mut changes {
            let ran = |window: &&Window| window.overlaps(change.lo, change.hi);
            let ran = windows.iter().filter(ran);
            let unannounced = windowless.clone().filter(|window| window.explains(change));
            change.candidates = ran.chain(unannounced).map(Window::id).collect();
        }
        windows.extend(windowless.cloned());
        let open = known.index.pending().to_vec().into_iter().chain(changes);
        let (waiting, ripe): (Vec<Change>, Vec<Change>) =
            open.partition(|change| self.is_awaited(change, &windows));
        let findings = self.carry_out(locked, step, &mut known, &windows, waiting, &ripe)?;
        replace::overwrite_start(&locked.dir().join(LOOKED), &self.nanos().to_be_bytes())?;
        self.finish(locked.dir(), &step.closing, &windows)?;
        Ok(findings)
    }

    /// The open windows as the event leaves them, and which of them end now.
    pub(super) fn windows(&self, dir: &Path, closing: &Closing<'_>) -> Vec<Window> {
        let now = self.nanos();
        let mut windows = Window::all(dir);
        for window in &mut windows {
            let is_old = window.start < now - MAX_AGE;
            let state = match closing {
                Closing::Call(id, state) if window.caller.tool_use_id == **id => {
                    Some(state.clone())
                }
                Closing::Those(is_over) => is_over(window),
                _ => None,
            };
            let state = state.or_else(|| is_old.then_some(Running::Dangling { end: now }));
            // One that could not wait for the lock ended before.
            window.ends_now = state.is_some() || window.is_over();
            window.state = state.unwrap_or_else(|| window.state.clone());
        }
        windows
    }

    /// Leaves the windows that are over, and notes what goes on in the background.
    pub(super) fn finish(
        &self,
        dir: &Path,
        closing: &Closing<'_>,
        windows: &[Window],
    ) -> io::Result<()> {
        let leave = |id: &str, state: &Running| match state {
            Running::Background { .. } => Window::mark(dir, id, state),
            _ => Window::remove(dir, id),
        };
        if let Closing::Call(id, state) = closing {
            leave(id, state)?;
        }
        let mut over = windows.iter().filter(|window| window.ends_now);
        over.try_for_each(|window| leave(&window.caller.tool_use_id, &window.state))
    }

    /// Whether the end of a call is still to come that can tell more of a change. No
    /// foreground command runs longer than that, and a session that was killed ends none.
    fn is_awaited(&self, change: &Change, windows: &[Window]) -> bool {
        let candidates = windows.iter().filter(|window| window.is_candidate(change));
        self.nanos() - change.hi < LONGEST_COMMAND
            && !candidates.clone().any(|window| window.ends_now)
            && candidates.clone().any(Window::is_waited_for)
    }
}
