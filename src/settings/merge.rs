//! Layers of settings: which wins, and what the managed file holds fast.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use serde::{Deserialize, Serialize};

use crate::contract::denial::Mode;
use crate::settings::contracts::{self, Brought};
use crate::settings::file::{ArchiveFile, EvidenceFile, File, LogFile, SystemFile};
use crate::settings::model::{DeclaredBy, KnownSystem, Openness, Settings};
use crate::settings::typed::settings;

/// The place of a settings file, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// A contract of `.claude/statewarden.d/` or of a plugin. It only guards, so that all
    /// settings go before it.
    Contract,
    /// `/etc/statewarden/config.yaml`
    Managed,
    /// `$XDG_CONFIG_HOME/statewarden/config.yaml`
    User,
    /// `.claude/statewarden.yaml`
    Project,
    /// `.claude/statewarden.local.yaml`
    Local,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    pub settings: Settings,
    /// Files that count for nothing, with the reason: every denial says so.
    pub problems: Vec<String>,
    /// Single systems, contracts and rules that count for nothing: commands and `doctor` say so.
    pub left_out: Vec<LeftOut>,
    /// The settings files among the problems.
    pub ignored: Vec<String>,
    /// Keys that the managed file overrules, with the reason: `doctor` says so.
    pub overruled: Vec<String>,
    /// The last file that gives a key which is in force, by the key with dots:
    /// `systems.devt.mode`. Only commands ask.
    #[serde(skip)]
    pub origins: BTreeMap<String, String>,
    /// The settings files that speak of a system, weakest first, by its id.
    pub files_of: BTreeMap<String, Vec<String>>,
}

impl Resolved {
    /// What is wrong with contracts here, in one line.
    pub fn contract_errors(&self) -> Option<String> {
        let mut errors = self.left_out.iter().filter(|what| what.is_of_contract());
        let (first, rest) = (errors.next()?, errors.count());
        Some(match rest {
            0 => first.to_string(),
            n => format!("{first} (and {n} more: `statewarden config`)"),
        })
    }
}

/// Something of a file that counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    /// The system that is not in force; `None` for the whole file.
    pub system: Option<String>,
    /// What is not in force, in a sentence with the reason.
    pub what: String,
    pub kind: LeftOutKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeftOutKind {
    /// Of settings: most likely the contract that they are about is not here now.
    Settings,
    /// A contract, or a system of one, is not in force.
    Contract,
    /// One rule of a system is not in force.
    Rule,
}

impl LeftOut {
    /// Whether an author of a contract made a mistake.
    pub fn is_of_contract(&self) -> bool {
        self.kind != LeftOutKind::Settings
    }

    /// A whole contract file.
    pub(super) fn file(path: &str, why: &str) -> Self {
        Self {
            path: path.to_owned(),
            system: None,
            what: format!("`{path}` is ignored: {why}"),
            kind: LeftOutKind::Contract,
        }
    }

    pub(super) fn system(path: &str, id: &str, why: &str, kind: LeftOutKind) -> Self {
        Self {
            path: path.to_owned(),
            system: Some(id.to_owned()),
            what: format!("`systems.{id}` in `{path}` is ignored: {why}"),
            kind,
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// A settings file that exists: its path, and its text or why that cannot be read.
pub type Source<'a> = (Layer, &'a str, Result<&'a str, &'a str>);

pub(crate) fn resolve(layers: &[Source<'_>], known: &[KnownSystem]) -> Resolved {
    if layers.is_empty() {
        return Resolved::default();
    }
    let (contracts, settings): (Vec<&Source<'_>>, Vec<&Source<'_>>) = layers
        .iter()
        .partition(|(layer, ..)| *layer == Layer::Contract);
    let mut resolved = Resolved::default();
    let brought = contracts::read(&contracts, known, &mut resolved.left_out);
    let mut merge = Merge {
        known,
        brought,
        merged: File::default(),
        managed: File::default(),
        resolved,
    };
    for &&(layer, path, text) in &settings {
        let file = text.map_err(str::to_owned);
        match file.and_then(|text| merge.read(path, text)) {
            Ok(file) => merge.add(layer, path, file),
            Err(problem) => merge.ignore(layer, path, &problem),
        }
    }
    merge.finish()
}

/// The files that were merged so far.
struct Merge<'k> {
    known: &'k [KnownSystem],
    brought: Brought,
    merged: File,
    /// What the administrator wrote.
    managed: File,
    resolved: Resolved,
}

impl Merge<'_> {
    /// A settings file without the systems that nothing declares.
    fn read(&mut self, path: &str, text: &str) -> Result<File, String> {
        let mut file = read(path, text)?;
        let left_out =
            contracts::take_unknown(path, &mut file, &self.merged, &self.brought, self.known)?;
        settings(&file, self.known)?;
        self.resolved.left_out.extend(left_out);
        Ok(file)
    }

    fn add(&mut self, layer: Layer, path: &str, mut file: File) {
        for id in file.systems.iter().flat_map(BTreeMap::keys) {
            let files = self.resolved.files_of.entry(id.clone()).or_default();
            files.push(path.to_owned());
        }
        let overruled = &mut self.resolved.overruled;
        let is_of_project = matches!(layer, Layer::Project | Layer::Local);
        if is_of_project && file.strict.take().is_some() {
            overruled.push(format!(
                "`strict` in `{path}` has no effect: only your own settings and the managed file can set it"
            ));
        }
        let weaker = enforce_managed(&mut file, &self.managed).into_iter();
        overruled.extend(
            weaker.map(|key| format!("`{key}` in `{path}` is overruled by the managed settings")),
        );
        if layer == Layer::Managed {
            self.managed = file.clone();
        }
        let keys = file.keys().into_iter();
        let origins = keys.map(|key| (key, path.to_owned()));
        self.resolved.origins.extend(origins);
        self.merged = overlay(std::mem::take(&mut self.merged), file);
    }

    fn ignore(&mut self, layer: Layer, path: &str, problem: &str) {
        let problems = &mut self.resolved.problems;
        problems.push(format!("`{path}` is ignored: {problem}"));
        self.resolved.ignored.push(path.to_owned());
        // What the administrator intended is unknown, so the built-in
        // rules are the least that holds.
        if layer == Layer::Managed {
            self.managed.mode = Some(Mode::Enforce);
        }
    }

    fn finish(mut self) -> Resolved {
        let mut resolved = self.resolved;
        contracts::put_under(&mut self.merged, &mut self.brought);
        match settings(&self.merged, self.known) {
            Ok(settings) => resolved.settings = settings,
            Err(problem) => {
                resolved.origins.clear();
                resolved
                    .problems
                    .push(format!("all settings are ignored: {problem}"));
            }
        }
        for (id, system) in &mut resolved.settings.systems {
            let file = resolved.origins.get(&format!("systems.{id}.site"));
            if let (Some(declared), Some(file)) = (&mut system.declared, file) {
                declared.edit(|rules| rules.by = DeclaredBy::new(file, false));
            }
        }
        contracts::add(&mut resolved, self.brought, self.known);
        for id in kept_on(&self.managed) {
            // Only the general mode of a later file can still have said so.
            if resolved.settings.mode_of(id) == Mode::Off {
                let system = resolved.settings.systems.entry(id.clone()).or_default();
                system.mode = Some(Mode::Warn);
                resolved.overruled.push(format!(
                    "`mode: off` is overruled for `{id}` by the managed settings"
                ));
            }
        }
        resolved
    }
}

fn read(path: &str, text: &str) -> Result<File, String> {
    let mut file = File::parse(text).map_err(|fault| fault.to_string())?;
    for (id, system) in file.systems.iter_mut().flatten() {
        let Some(system) = system else { continue };
        let paths = system.find_schemas(path);
        paths.map_err(|problem| format!("`systems.{id}`: {problem}"))?;
    }
    Ok(file)
}

/// The named keys of a later file over an earlier one's, and the others as given.
macro_rules! over {
    ($base:ident, $later:ident: $($name:ident)* => $kind:ident { $($rest:tt)* }) => {
        $kind { $($name: $later.$name.or($base.$name),)* $($rest)* }
    };
}

/// A later file over what the earlier ones said, key by key.
fn overlay(base: File, later: File) -> File {
    let mut systems = base.systems.unwrap_or_default();
    for (id, system) in later.systems.unwrap_or_default() {
        let before = systems.remove(&id).flatten().unwrap_or_default();
        let after = overlay_system(before, system.unwrap_or_default());
        systems.insert(id, Some(after));
    }
    let archive = later.archive.filter(|archive| archive.runs.is_some());
    let evidence = match (base.evidence, later.evidence) {
        (Some(base), Some(later)) => Some(over!(base, later: mode commands => EvidenceFile {})),
        (base, later) => later.or(base),
    };
    let log = later.log.filter(|log| log.max_bytes.is_some());
    over!(base, later: mode completion dispatch undo recorder on_error strict => File {
        systems: Some(systems),
        evidence,
        archive: archive.or(base.archive),
        log: log.or(base.log),
    })
}

pub(super) fn overlay_system(base: SystemFile, later: SystemFile) -> SystemFile {
    over!(base, later:
        enabled mode contract extra_names extra_globs subdirectories roots roles programs site open
        long_lived canonical patterns ephemeral owners content gates aliases => SystemFile {})
}

/// Takes out of a file what would weaken the managed one, and names those keys.
/// Keys with an order may only rise; the others stay as the managed file has
/// them.
fn enforce_managed(file: &mut File, managed: &File) -> Vec<String> {
    let mut out = Vec::new();
    // Each key by its name: one that is missing here could be weakened in silence.
    let File {
        mode,
        completion,
        dispatch,
        undo,
        recorder,
        on_error,
        strict,
        archive,
        log,
        evidence,
        systems,
    } = file;
    macro_rules! rise {
        ($($name:ident)*) => {
            $(at_least($name, managed.$name, stringify!($name), &mut out);)*
        };
    }
    rise!(mode completion dispatch undo recorder on_error strict);
    if let (Some(ArchiveFile { runs }), Some(held)) = (archive, &managed.archive) {
        at_least(runs, held.runs, "archive.runs", &mut out);
    }
    if let (Some(EvidenceFile { mode, commands }), Some(held)) = (evidence, &managed.evidence) {
        at_least(mode, held.mode, "evidence.mode", &mut out);
        pin(commands, &held.commands, "evidence.commands", &mut out);
    }
    if let (Some(LogFile { max_bytes }), Some(held)) = (log, &managed.log) {
        at_least(max_bytes, held.max_bytes, "log.max_bytes", &mut out);
    }
    let absent = SystemFile::default();
    for (id, system) in systems.iter_mut().flatten() {
        let held = managed
            .systems
            .as_ref()
            .and_then(|all| all.get(id)?.as_ref());
        if let Some(system) = system {
            enforce_managed_system(id, system, held.unwrap_or(&absent), managed.mode, &mut out);
        }
    }
    out
}

fn enforce_managed_system(
    id: &str,
    system: &mut SystemFile,
    held: &SystemFile,
    general: Option<Mode>,
    out: &mut Vec<String>,
) {
    let key = |name: &str| format!("systems.{id}.{name}");
    macro_rules! pin {
        ($($name:ident)* | $($other:ident)*) => {
            let SystemFile { $($name,)* $($other,)* } = system;
            $(pin($name, &held.$name, &key(stringify!($name)), out);)*
        };
    }
    pin!(contract extra_names extra_globs subdirectories roots roles programs site long_lived
        canonical patterns ephemeral owners content gates aliases | enabled mode open);
    let on = held.is_switched_on().then_some(Mode::Warn);
    let least = held.mode.or(general).or(on);
    let is_on = least.is_some_and(|mode| mode > Mode::Off);
    at_least(mode, least, &key("mode"), out);
    at_least(
        enabled,
        held.enabled.or(is_on.then_some(true)),
        &key("enabled"),
        out,
    );
    // What the managed file declares is closed unless it says so.
    let openness = held
        .open
        .or(held.site.is_some().then_some(Openness::Closed));
    pin(open, &openness, &key("open"), out);
}

/// The systems that the managed file switches on by name, whatever their mode.
fn kept_on(managed: &File) -> impl Iterator<Item = &String> {
    let systems = managed.systems.iter().flatten();
    systems.filter_map(|(id, system)| {
        let given = system.as_ref()?;
        let is_off = given.mode.or(managed.mode) == Some(Mode::Off);
        (given.is_switched_on() && !is_off).then_some(id)
    })
}

fn at_least<T: PartialOrd>(
    value: &mut Option<T>,
    floor: Option<T>,
    key: &str,
    out: &mut Vec<String>,
) {
    if let (Some(asked), Some(floor)) = (&value, floor)
        && *asked < floor
    {
        *value = None;
        out.push(key.to_owned());
    }
}

fn pin<T: PartialEq + Debug>(
    value: &mut Option<T>,
    held: &Option<T>,
    key: &str,
    out: &mut Vec<String>,
) {
    if held.is_some() && value.is_some() && value != held {
        *value = None;
        out.push(key.to_owned());
    }
}
