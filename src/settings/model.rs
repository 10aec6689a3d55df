//! The settings as one typed value, which the layers of `merge` become. What contracts and declared
//! systems say is parsed, and their schemas are read, when it is first asked for.
//!
//! Later layers win key by key, except against the managed file: what that one
//! sets, the others may make stricter but not weaker.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use serde::{Deserialize, Serialize};

use crate::base::actor::{Actor, AgentName};
use crate::contract::denial::Mode;
use crate::contract::edition::{Edition, EnabledDevt, InForce};
use crate::contract::glob::Pattern;
use crate::contract::table::wild;
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    Off,
    #[default]
    Warn,
    Block,
}

/// The answer to an event that cannot be read and names no governed place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    #[default]
    Open,
    Closed,
}

/// What of a call is taken back after it. Weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Undo {
    /// All is only reported.
    Off,
    /// Names that are allowed to no one.
    #[default]
    Names,
    /// Also changes and removals that one call alone can have made.
    Exclusive,
}

/// Whether former contents of state files are kept. Weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EvidenceMode {
    /// Passed on its word.
    #[default]
    Record,
    /// Open.
    Require,
}

/// All settings with their values; `default()` is what holds without any file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Whether commands that cannot be judged before they run may write no state.
    pub strict: bool,
    /// Not of the files: what the start of a session or `install` found.
    pub devt: Option<EnabledDevt>,
    pub(crate) systems: BTreeMap<String, SystemSettings>,
}

/// What the settings say about one system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemSettings {
    /// `None` where the general mode holds. A system that is not `enabled` is [`Mode::Off`].
    #[serde(skip_serializing_if = "is_default")]
    pub mode: Option<Mode>,
    /// `None` where the enabled plugin decides.
    #[serde(skip_serializing_if = "is_default")]
    pub contract: Option<Edition>,
    #[serde(skip_serializing_if = "is_default")]
    pub extra_names: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub extra_globs: Vec<Pattern>,
    #[serde(skip_serializing_if = "is_default")]
    pub subdirectories: Vec<String>,
    /// Directories relative to the root, with `/` and without a final one; `""` is the root.
    #[serde(skip_serializing_if = "is_default")]
    pub roots: Vec<String>,
    /// Agent name, or a pattern with `*`, to one of [`ROLES`].
    #[serde(skip_serializing_if = "is_default")]
    pub roles: BTreeMap<String, String>,
    /// Programs whose changes are the system's own, and tools of MCP servers: `mcp__SERVER__*`.
    #[serde(skip_serializing_if = "is_default")]
    pub programs: Vec<String>,
    /// Present for a system the settings add.
    #[serde(skip_serializing_if = "is_default")]
    pub declared: Option<Declared>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl SystemSettings {
    /// Whether a program, or a tool by its whole name, is one of the system's own.
    pub fn is_own_program(&self, name: &str) -> bool {
        self.programs.iter().any(|own| wild(own, name))
    }
}

/// Which names a declared system leaves alone in its directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Openness {
    /// None: what no list holds is denied.
    #[default]
    Closed,
    /// All that no list holds, but for misspelled forms of what one does.
    Near,
    /// All that no list holds.
    Open,
}

/// The file that declares a system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredBy {
    /// Absolute.
    pub file: String,
    pub is_contract: bool,
    /// `declared by the contract .claude/statewarden.d/x.yaml`
    pub sentence: String,
}

impl DeclaredBy {
    pub(crate) fn new(file: &str, is_contract: bool) -> Self {
        let kind = if is_contract { "contract" } else { "settings" };
        // A file of a project is named as people name it there.
        let inside = file.rfind("/.claude/statewarden");
        let short = inside.map_or(file, |at| &file[at + 1..]);
        Self {
            file: file.to_owned(),
            is_contract,
            sentence: format!("declared by the {kind} {short}"),
        }
    }
}

/// A system that exists in the settings only: where it is, and its rules, to which it derefs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// Its directories, relative to a root.
    pub sites: Vec<Pattern>,
    /// No file of `patterns` is ever stale.
    pub long_lived: bool,
    /// By whose ends its gates pass: agents, and `@main`.
    pub gate_agents: Vec<AgentName>,
    /// Whether one of its gates needs a command.
    pub needs_commands: bool,
    #[serde(skip)]
    rules: LazyRules,
}

/// The rules of a declared system. All names are globs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub by: DeclaredBy,
    pub open: Openness,
    pub canonical: Vec<Pattern>,
    pub patterns: Vec<Pattern>,
    pub ephemeral: Vec<Pattern>,
    /// Names that only the listed ones may write, in the order of the file.
    pub owners: Vec<(Pattern, Vec<Owner>)>,
    /// What names have to hold, in the order of the file.
    pub content: Vec<(Pattern, ContentRule)>,
    /// Its checkpoints, each behind those it comes after.
    pub gates: Vec<GateRule>,
    /// Words that texts use for a directory, such as `FEATURE_DIR`, each with its glob.
    pub aliases: Vec<(String, String)>,
}

/// Rules, or their text until they are asked for: a hook meets few of the systems there are.
#[derive(Clone, Debug, Default)]
struct LazyRules {
    text: String,
    rules: OnceLock<Rules>,
}

impl From<Rules> for LazyRules {
    fn from(rules: Rules) -> Self {
        Self {
            text: String::new(),
            rules: rules.into(),
        }
    }
}

impl From<&str> for LazyRules {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            rules: OnceLock::new(),
        }
    }
}

impl Deref for LazyRules {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        self.rules.get_or_init(|| parse(&self.text))
    }
}

/// The rules of a text, with their schemas.
fn parse(text: &str) -> Rules {
    let mut rules: Rules = serde_json::from_str(text).unwrap_or_default();
    rules.content.retain_mut(|(_, rule)| rule.load().is_ok());
    rules
}

impl PartialEq for LazyRules {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Declared {
    pub(super) fn new(sites: Vec<Pattern>, long_lived: bool, rules: Rules) -> Self {
        let gates = &rules.gates;
        Self {
            sites,
            long_lived,
            gate_agents: gates.iter().flat_map(GateRule::by_whose_ends).collect(),
            needs_commands: gates.iter().any(GateRule::needs_command),
            rules: LazyRules::from(rules),
        }
    }

    /// Gives it the text of its rules.
    pub(crate) fn set_rules(&mut self, text: &str) {
        self.rules = LazyRules::from(text);
    }

    /// Changes its rules, but for its gates.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Rules)) {
        let LazyRules { text, rules } = mem::take(&mut self.rules);
        let mut changed = rules.into_inner().unwrap_or_else(|| parse(&text));
        change(&mut changed);
        self.rules = LazyRules::from(changed);
    }
}

impl Deref for Declared {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        &self.rules
    }
}

/// Who may write a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("@main"),
            Self::Program => f.write_str("@program"),
            Self::User => f.write_str("@user"),
            Self::Agent(name) => f.write_str(name.as_str()),
        }
    }
}

impl Rules {
    /// The files of the schemas that its rules name.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &str> {
        self.content
            .iter()
            .filter_map(|(_, rule)| rule.schema_file())
    }

    /// Those a name belongs to; `None` when everyone may write it.
    pub fn owners_of(&self, name: &str) -> Option<&[Owner]> {
        value_of(&self.owners, name).map(Vec::as_slice)
    }

    pub fn content_of(&self, name: &str) -> Option<&ContentRule> {
        value_of(&self.content, name)
    }
}

/// The value of a name: its own line goes before globs, and of these the last one counts.
fn value_of<'v, V>(lines: &'v [(Pattern, V)], name: &str) -> Option<&'v V> {
    let mut all = lines.iter();
    let own = all.find(|(pattern, _)| pattern.as_name() == Some(name));
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
            strict: false,
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

    /// Whether a file speaks of a system that is in force.
    pub fn has_system(&self, id: &str) -> bool {
        self.systems.contains_key(id)
    }

    /// The edition of a system's contract; only devt's has more than one.
    pub fn edition_of(&self, id: &str) -> InForce<'_> {
        InForce::of(self.system(id).contract, self.devt.as_ref())
    }

    pub fn mode_of(&self, id: &str) -> Mode {
        self.system(id).mode.unwrap_or(self.mode)
    }

    /// The same, to be given their rules.
    pub(crate) fn declared_mut(&mut self) -> impl Iterator<Item = &mut Declared> {
        let systems = self.systems.values_mut();
        systems.filter_map(|system| system.declared.as_mut())
    }

    /// The systems the settings add, in the order of their ids.
    pub fn declared(&self) -> impl Iterator<Item = (&str, &Declared)> {
        let systems = self.systems.iter();
        systems.filter_map(|(id, system)| Some((id.as_str(), system.declared.as_ref()?)))
    }
}

/// Whether a file's text, unread, can hold a key that makes a site: its word is in
/// it, or an escape that could spell the word.
pub fn may_make_site(text: &str) -> bool {
    let words = ["site", "roots", "\\"];
    words.iter().any(|word| text.contains(word))
}
