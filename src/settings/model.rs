//! The settings: layers of YAML text merged into one typed value. No I/O; the
//! caller reads the files.
//!
//! Later layers win key by key, except against the managed file: what that one
//! sets, the others may make stricter but not weaker.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::base::actor::{Actor, AgentName};
use crate::contract::denial::Mode;
use crate::contract::edition::{Edition, EnabledDevt, InForce};
use crate::contract::glob::Pattern;
use crate::settings::content::ContentRule;
use crate::settings::gates::GateRule;
use crate::settings::merge::{self, Resolved, Source};

/// The roles of the group files.
pub const ROLES: [&str; 5] = ["architect", "developer", "e2e-tester", "reviewer", "tester"];

/// A built-in system, as far as the settings are concerned.
#[derive(Clone, Copy, Debug)]
pub struct KnownSystem {
    pub id: &'static str,
    /// The keys it has beside those that all systems have.
    pub keys: &'static [&'static str],
    /// Where its sites lie, as globs.
    pub sites: &'static [&'static str],
}

/// What an agent's step out of order leads to. Weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    Off,
    #[default]
    Warn,
    Block,
}

/// The answer to an event that cannot be read and names no governed place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    #[default]
    Open,
    Closed,
}

/// What of a call is taken back after it. Weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Undo {
    /// All is told only.
    Off,
    /// Names that nobody may use.
    #[default]
    Names,
    /// Also changes and removals that one call alone can have made.
    Exclusive,
}

impl Undo {
    /// What the old key `quarantine` says.
    pub fn from_quarantine(quarantine: bool) -> Self {
        match quarantine {
            true => Self::Names,
            false => Self::Off,
        }
    }
}

/// Whether former contents of state files are kept. Weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recording {
    /// Listings only.
    Off,
    #[default]
    On,
}

/// What a gate without proof is. Weakest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceMode {
    /// Passed on its word.
    #[default]
    Record,
    /// Open.
    Require,
}

/// All settings with their values; `default()` is what holds without any file.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub mode: Mode,
    /// About an owed artifact that is missing or invalid.
    pub completion: Strictness,
    /// About the dispatch of an agent before its gate.
    pub dispatch: Strictness,
    /// What is taken back after a call.
    pub undo: Undo,
    /// Whether contents are kept.
    pub recorder: Recording,
    pub evidence: EvidenceMode,
    /// Test commands beside the usual runners.
    pub test_commands: Vec<String>,
    /// Archive runs kept, at least 1.
    pub archive_runs: usize,
    /// Size in bytes past which a log rotates, at least [`Settings::MIN_LOG_BYTES`].
    pub log_max_bytes: u64,
    pub on_error: OnError,
    /// Not of the files: what the start of a session or `install` found.
    pub devt: Option<EnabledDevt>,
    pub(crate) systems: BTreeMap<String, SystemSettings>,
}

/// What the settings say about one system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemSettings {
    /// `None` where the general mode holds. A system that is not `enabled` is [`Mode::Off`].
    pub mode: Option<Mode>,
    /// `None` where the enabled plugin decides.
    pub contract: Option<Edition>,
    pub extra_names: Vec<String>,
    pub extra_globs: Vec<Pattern>,
    pub subdirectories: Vec<String>,
    /// Directories relative to the root, with `/` and without a final one; `""` is the root.
    pub roots: Vec<String>,
    /// Agent name, or a pattern with `*`, to one of [`ROLES`].
    pub roles: BTreeMap<String, String>,
    /// Programs whose changes are the system's own.
    pub programs: Vec<String>,
    /// Present for a system the settings add.
    pub declared: Option<Declared>,
}

/// A system that exists in the settings only. All names are globs.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its directories, relative to a root.
    pub sites: Vec<Pattern>,
    /// Names that no list holds are nobody's business.
    pub open: bool,
    /// No file of `patterns` is ever stale.
    pub long_lived: bool,
    /// The contract file that brings it; `None` for one of the settings.
    pub source: Option<String>,
    pub canonical: Vec<Pattern>,
    pub patterns: Vec<Pattern>,
    pub ephemeral: Vec<Pattern>,
    /// Names that only the listed ones may write, in the order of the file.
    pub owners: Vec<(Pattern, Vec<Owner>)>,
    /// What names have to hold, in the order of the file.
    pub content: Vec<(Pattern, ContentRule)>,
    /// Its checkpoints, each behind those it comes after.
    pub gates: Vec<GateRule>,
}

/// Who may write a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Owner {
    Main,
    Program,
    User,
    Agent(AgentName),
}

impl Owner {
    /// # Errors
    /// A word with `@` in front that is none.
    pub fn parse(word: &str) -> Result<Self, String> {
        match (word, Actor::parse(word)) {
            ("@main", _) | (_, Actor::Main) => Ok(Self::Main),
            ("@program", _) => Ok(Self::Program),
            ("@user", _) => Ok(Self::User),
            (word, _) if word.starts_with('@') => Err(format!(
                "`owners`: `{word}` is none of `@main`, `@program`, `@user`"
            )),
            (_, Actor::Agent(name)) => Ok(Self::Agent(name)),
        }
    }

    /// The agent's name.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Agent(name) => Some(name.as_str()),
            _ => None,
        }
    }
}

impl Declared {
    /// Those a name belongs to; `None` when everyone may write it.
    pub fn owners_of(&self, name: &str) -> Option<&[Owner]> {
        value_of(&self.owners, name).map(Vec::as_slice)
    }

    pub fn content_of(&self, name: &str) -> Option<&ContentRule> {
        value_of(&self.content, name)
    }
}

/// What stands behind a name: its own line goes before globs, and of these the last one counts.
fn value_of<'v, V>(lines: &'v [(Pattern, V)], name: &str) -> Option<&'v V> {
    let named = |(pattern, _): &&(Pattern, V)| pattern.as_name() == Some(name);
    let own = lines.iter().find(named);
    let mut matching = lines.iter().rev();
    let line = own.or_else(|| matching.find(|(pattern, _)| pattern.matches(name)));
    line.map(|(_, value)| value)
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            completion: Strictness::default(),
            dispatch: Strictness::default(),
            undo: Undo::default(),
            recorder: Recording::default(),
            evidence: EvidenceMode::default(),
            test_commands: Vec::new(),
            archive_runs: 5,
            log_max_bytes: 8 << 20,
            on_error: OnError::default(),
            devt: None,
            systems: BTreeMap::new(),
        }
    }
}

impl Settings {
    pub const MIN_LOG_BYTES: u64 = 65_536;

    /// Merges the texts of the files that exist. A file that cannot be read or
    /// does not parse contributes nothing and is one of the problems. `known` are the
    /// built-in systems; any other id declares one.
    pub fn resolve(layers: &[Source<'_>], known: &[KnownSystem]) -> Resolved {
        merge::resolve(layers, known)
    }

    pub fn system(&self, id: &str) -> &SystemSettings {
        static ABSENT: LazyLock<SystemSettings> = LazyLock::new(SystemSettings::default);
        self.systems.get(id).unwrap_or(&ABSENT)
    }

    /// The edition of a system's contract; only devt's has more than one.
    pub fn edition_of(&self, id: &str) -> InForce<'_> {
        InForce::of(self.system(id).contract, self.devt.as_ref())
    }

    pub fn mode_of(&self, id: &str) -> Mode {
        self.system(id).mode.unwrap_or(self.mode)
    }

    /// The systems the settings add, in the order of their ids.
    pub fn declared(&self) -> impl Iterator<Item = (&str, &Declared)> {
        let systems = self.systems.iter();
        systems.filter_map(|(id, system)| Some((id.as_str(), system.declared.as_ref()?)))
    }
}

/// Whether a file's text, unread, can hold a key that makes a site: its word stands in
/// it, or an escape that could spell the word.
pub fn may_make_site(text: &str) -> bool {
    let words = ["site", "roots", "\\"];
    words.iter().any(|word| text.contains(word))
}
