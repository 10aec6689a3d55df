//! What a system is: the trait of every family of state files, what its answers are made of, and the
//! list of the built-in ones.

mod agent_event;

use std::borrow::Cow;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};

pub use self::agent_event::{AgentEvent, ClosedGate, Effects, Missing, no_gate, of_no_gate};
use crate::base::actor::AgentName;
use crate::contract::denial::DenyCode;
use crate::contract::table::{Contract, Name, Row, Writer};
use crate::settings::model::KnownSystem;
pub use crate::systems::files::Files;
use crate::systems::workflow::{UnreadableState, Workflow};
use crate::systems::{agent_flow, agentmux, devt, groups, own, session};

/// What a system may ask about the project while it looks at a path. Paths are
/// relative to the root, with `/` between components.
pub trait View {
    fn exists(&self, path: &str) -> bool;
    fn text(&self, path: &str) -> Option<String>;
    /// Directories that the environment or the settings name as sites of the system.
    fn named_sites(&self, system: &str) -> &[String];
}

/// What a system asks of the text that a new one replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorText {
    Ignored,
    /// Without it there is no judgement.
    Needed,
    /// The same, but one that is no text is a broken state, which a good one may replace.
    Repairable,
}

/// A governed place in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'p> {
    /// The site, relative to the root.
    pub site: &'p str,
    /// The entry, relative to the site; empty for the site itself.
    pub entry: &'p str,
}

/// Whose the files of a site are, which says what commands may archive there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// The state of one run: strays can be cleaned up, and all of it reset.
    Run,
    /// Work that outlives runs: only strays are cleaned up.
    Work,
    /// A program's own.
    Program,
}

/// What is said about a text that may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Worth telling the model.
    Remark(String),
    /// The present text is broken and this one mends it: reported, and recorded.
    Repair(String),
}

impl Note {
    pub fn text(&self) -> &str {
        match self {
            Self::Remark(text) | Self::Repair(text) => text,
        }
    }
}

/// What a system is, as far as data can say it.
#[derive(Clone, Copy, Debug)]
pub struct Info<'a> {
    /// The id that settings, logs and `--system` use.
    pub id: &'a str,
    /// Paths whose presence below a directory means that it holds a site, for
    /// commands that look for sites and for removals of whole trees. A last
    /// component `*` is any directory. Sites may be at any depth.
    pub landmarks: &'static [&'static str],
    /// The directory that holds the system's runs, relative to a root or to a
    /// directory below it; `""` is the main checkout's root alone. `None` for a system whose
    /// gates this program leaves alone.
    pub gate_dir: Option<&'static str>,
    /// The programs whose changes are the system's own, by their names.
    pub programs: &'static [&'static str],
    /// The keys of its settings that only some systems have.
    pub own_keys: &'static [&'static str],
    /// Whose the files of its sites are.
    pub upkeep: Retention,
    /// What the judgement of a new text asks of the present one. A text that is
    /// asked for nothing is not read.
    pub prior: PriorText,
    /// The name of a directory that is also for other programs' files, and may hold
    /// some of the system's where no landmark is.
    pub shared_dir: Option<&'static str>,
    /// The file that makes a root a site; `None` for a system of which no root is one.
    pub root_file: Option<&'static str>,
    /// A file whose existence is another program's lock on the state in
    /// `gate_dir`, with a process id inside.
    pub pid_lock: Option<&'static str>,
    /// Whether a pattern may take several entries away, because the system's own
    /// documents do so.
    pub goes_by_pattern: bool,
    /// No file of a pattern is ever stale.
    pub never_stale: bool,
}

impl<'a> Info<'a> {
    /// The state of runs, of which this program moves no gates.
    pub const fn new(id: &'a str) -> Self {
        Self {
            id,
            landmarks: &[],
            gate_dir: None,
            programs: &[],
            own_keys: &[],
            upkeep: Retention::Run,
            prior: PriorText::Ignored,
            shared_dir: None,
            root_file: None,
            pid_lock: None,
            goes_by_pattern: false,
            never_stale: false,
        }
    }
}

/// Where a whole site is archived.
pub struct ArchivePlace<'s> {
    /// A directory, relative to the root.
    pub dir: String,
    pub name: &'s str,
}

impl ArchivePlace<'_> {
    /// Whether a path below the directory is a place of the site: its last part ends with the
    /// site's name.
    pub fn takes(&self, below: &str) -> bool {
        below.ends_with(self.name)
    }
}

/// One family of state files.
pub trait System: Sync {
    fn info(&self) -> &Info<'_>;

    fn id(&self) -> &str {
        self.info().id
    }

    fn contract(&self) -> &Contract<'_>;

    /// Finds the site that a root-relative path is in, or is.
    fn locate<'p>(&self, path: &'p str, view: &dyn View) -> Option<Place<'p>>;

    /// Who may write an entry that falls under `row`.
    fn writer<'a>(&'a self, row: &'a Row<'a>, _entry: &str) -> Writer<'a> {
        row.writer.clone()
    }

    /// Who may write an entry that no row names, where its directory is open.
    fn free_writer<'a>(&'a self, _entry: &str) -> Writer<'a> {
        Writer::Anyone
    }

    /// Of a declared system the file that declares it, in words.
    fn declared_by(&self) -> Option<&str> {
        None
    }

    /// The name that its agents most likely want by one that is free for everyone else.
    fn near_miss(&self, _entry: &str) -> Option<String> {
        None
    }

    /// Whether the text of an entry is judged at all. What says no is never read.
    fn judges(&self, _entry: &str) -> bool {
        false
    }

    /// Whether an entry may be a link that leads out of the site.
    fn may_be_linked(&self, _entry: &str) -> bool {
        false
    }

    /// Judges the text an entry would hold. `present` is what it holds now, where
    /// [`Info::prior`] asks for it.
    ///
    /// # Errors
    /// The file's readers could not parse the text, or its state cannot follow
    /// the present one.
    fn check_content(&self, _at: Place<'_>, _text: &str, _present: Option<&str>) -> Judgement {
        Ok(Vec::new())
    }

    /// Where the system archives a whole site by moving it. The site is relative to the root.
    fn archive_of<'s>(&self, _site: &'s str) -> Option<ArchivePlace<'s>> {
        None
    }

    /// The id of the workflow that runs in a site, for the records.
    fn workflow_id(&self, _files: &dyn Files) -> Option<String> {
        None
    }

    /// Whether agents leave a file of `gate_dir`, or any where the name is empty: in a work tree
    /// of their own, where they have one.
    fn is_artifact(&self, _name: &str) -> bool {
        false
    }

    /// The files of `gate_dir` that an agent is to write, whether they are there or not.
    fn artifacts_of(&self, _agent: &AgentName, _files: &dyn Files) -> Vec<String> {
        Vec::new()
    }

    /// Whether the main thread moves a gate by writing an entry of a site.
    fn moves_gates(&self, _entry: &str) -> bool {
        false
    }

    /// What an event does to the state in `gate_dir`, and which artifacts are missing.
    fn at(&self, _event: AgentEvent<'_>, _files: &dyn Files, _now: DateTime<Utc>) -> Effects {
        Effects::default()
    }

    /// Whether a gate is an agent's, in a system whose state is at the root.
    fn has_gate(&self, _agent: &AgentName) -> bool {
        false
    }

    /// The gate before an agent's phase that has not passed.
    /// `task` is the prompt of the dispatch.
    fn closed_gate(
        &self,
        _agent: &AgentName,
        _task: &str,
        _files: &dyn Files,
    ) -> Option<ClosedGate> {
        None
    }

    /// The gates of an active run that a command can show, and that command.
    fn commands(&self, _files: &dyn Files) -> Vec<(&str, &str)> {
        Vec::new()
    }

    /// The runs that a site holds. `site` is its path below the root.
    fn runs(&self, _site: &str, _files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        Vec::new()
    }
}

/// What there is to say of a text that may be written, or why it may not.
pub type Judgement = Result<Vec<Note>, ContentError>;

/// Why a text may not be written, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentError {
    pub code: DenyCode,
    pub message: String,
}

impl ContentError {
    /// The file's readers could not use the text. `why` says what to write.
    pub fn malformed(why: String) -> Self {
        Self {
            code: DenyCode::MalformedContent,
            message: why,
        }
    }

    /// The text is readable, but no step leads to it.
    pub fn illegal(why: String) -> Self {
        Self {
            code: DenyCode::IllegalTransition,
            message: why,
        }
    }
}

/// The built-in systems, in the order in which they claim a path.
pub static SYSTEMS: &[&dyn System] = &[
    &own::Own,
    &devt::Devt,
    &agent_flow::AgentFlow,
    &session::Session,
    &groups::Groups,
    &agentmux::AgentMux,
];

/// Whether the bytes of an event, or of what is none, name a governed place. The path of the
/// transcript is Claude Code's own and does not count.
pub fn are_named_in_event(text: &str) -> bool {
    are_named_in(&without_transcript_path(text))
}

/// The keys end alike: `transcript_path`, `agent_transcript_path`.
fn without_transcript_path(text: &str) -> String {
    let mut parts = text.split("transcript_path\"");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest.push_str(part.splitn(3, '"').nth(2).unwrap_or_default());
    }
    rest
}

/// Whether a text names a place of a built-in system.
pub fn are_named_in(text: &str) -> bool {
    named_in(text).is_some()
}

/// The built-in system of which a text names a place, wherever that may lie: a
/// landmark up to its wildcard, a file by its name alone, or a name of the contract in a
/// directory that is shared. `\` counts as `/`, and so does what JSON makes of either.
pub fn named_in(text: &str) -> Option<&'static str> {
    let text = if text.contains('\\') {
        Cow::Owned(
            text.replace("\\\\", "/")
                .replace("\\/", "/")
                .replace('\\', "/"),
        )
    } else {
        Cow::Borrowed(text)
    };
    let mut systems = SYSTEMS.iter().copied();
    let named = systems.find(|system| {
        let mut landmarks = system.info().landmarks.iter();
        landmarks.any(|landmark| names_landmark(landmark, &text))
            || names_in_shared_dir(*system, &text)
    });
    named.map(|system| system.id())
}

fn names_landmark(landmark: &str, text: &str) -> bool {
    let place = landmark.trim_end_matches('*');
    let file = place.rsplit_once('/').map_or(place, |(_, file)| file);
    text.contains(if file.contains('.') { file } else { place })
}

fn names_in_shared_dir(system: &dyn System, text: &str) -> bool {
    let Some(dir) = system.info().shared_dir else {
        return false;
    };
    let mut behind = text.split(dir).skip(1);
    behind.any(|behind| {
        let mut rows = system.contract().rows.iter();
        behind.strip_prefix('/').is_some_and(|below| {
            rows.any(|row| matches!(row.name, Name::Exact(name) if below.starts_with(name)))
        })
    })
}

/// The names in a directory, first those with which a landmark begins.
pub fn outer_first(names: Vec<String>) -> Vec<String> {
    let (mut sorted, others): (Vec<_>, Vec<_>) = names
        .into_iter()
        .partition(|name| outer_dirs().contains(&name.as_str()));
    sorted.extend(others);
    sorted
}

/// The first components of the landmarks, each once.
pub fn outer_dirs() -> &'static [&'static str] {
    static DIRS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let mut dirs = Vec::new();
        for landmark in SYSTEMS.iter().flat_map(|system| system.info().landmarks) {
            let (dir, _) = landmark.split_once('/').unwrap_or_default();
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        dirs
    });
    &DIRS
}

/// The ids of the built-in systems, the program's own last. Any other id declares a system.
pub fn ids() -> Vec<&'static str> {
    let ids = SYSTEMS.iter().map(|system| system.id());
    ids.filter(|id| *id != own::ID).chain([own::ID]).collect()
}

/// The built-in systems as the settings know them, the program's own last.
pub fn known() -> Vec<KnownSystem> {
    let mut known = Vec::new();
    for id in ids() {
        if let Some(system) = by_id(id) {
            let info = system.info();
            known.push(KnownSystem {
                id,
                keys: info.own_keys,
                sites: info.landmarks,
            });
        }
    }
    known
}

/// The built-in system with this id.
pub fn by_id(id: &str) -> Option<&'static dyn System> {
    SYSTEMS.iter().copied().find(|system| system.id() == id)
}

/// Finds `marker` (one or more components, such as `.devt/state`) in a path and
/// splits it after `extra` further components: `Some((site, entry))`. Where the
/// file system folds case, so does this.
pub(crate) fn split_site<'p>(path: &'p str, marker: &str, extra: usize) -> Option<Place<'p>> {
    let (bytes, first) = (path.as_bytes(), marker.bytes().next()?);
    let mut start = 0;
    while !(bytes.get(start)?.eq_ignore_ascii_case(&first)
        && begins_with(path.get(start..)?, marker))
    {
        start += 1 + bytes[start..].iter().position(|byte| *byte == b'/')?;
    }
    let mut site_end = start + marker.len();
    for _ in 0..extra {
        let rest = path.get(site_end + 1..)?;
        site_end += 1 + rest.find('/').unwrap_or(rest.len());
    }
    Some(place_at(path, site_end))
}

/// Whether the first components of a path are those of `marker`.
fn begins_with(path: &str, marker: &str) -> bool {
    path.get(..marker.len())
        .is_some_and(|head| same_name(head, marker))
        && matches!(path.as_bytes().get(marker.len()), None | Some(b'/'))
}

/// Splits a path after its first `site_end` bytes.
pub(crate) fn place_at(path: &str, site_end: usize) -> Place<'_> {
    Place {
        site: &path[..site_end],
        entry: path.get(site_end + 1..).unwrap_or(""),
    }
}

/// The place in a site that is known by its whole path; `""` is the root itself.
pub(crate) fn below<'p>(path: &'p str, site: &str) -> Option<Place<'p>> {
    if site.is_empty() {
        return Some(Place {
            site: "",
            entry: path,
        });
    }
    begins_with(path, site).then(|| place_at(path, site.len()))
}

/// Equality of names as the file systems usual on the platform see it.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    if cfg!(any(windows, target_os = "macos")) {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}
