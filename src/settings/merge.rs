//! Layers of settings: which wins, what the managed file holds fast, and the
//! checks that need more than one key.

use std::fmt::Debug;

use crate::contract::denial::Mode;
use crate::contract::edition::Choice;
use crate::contract::glob::Pattern;
use crate::settings::contracts;
use crate::settings::file::{EvidenceFile, File, SystemFile, Words};
use crate::settings::gates::gates;
use crate::settings::model::{Declared, KnownSystem, Owner, Settings, SystemSettings, Undo};
use crate::settings::names::{Root, glob, globs, names, programs, relative, roles};

/// Where a settings file stands, weakest first.
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    pub settings: Settings,
    /// Files that count for nothing, with the reason: every denial says so.
    pub problems: Vec<String>,
    /// Single systems, contracts and rules that count for nothing, with the reason: commands and
    /// `doctor` say so.
    pub left_out: Vec<String>,
    /// Keys that the managed file overrules, with the reason: `doctor` says so.
    pub overruled: Vec<String>,
}

/// A settings file that exists: its path, and its text or why that cannot be read.
pub type Source<'a> = (Layer, &'a str, Result<&'a str, &'a str>);

pub(crate) fn resolve(layers: &[Source<'_>], known: &[KnownSystem]) -> Resolved {
    let mut resolved = Resolved::default();
    let mut merged = File::default();
    let mut managed = File::default();
    let (contracts, layers): (Vec<&Source<'_>>, Vec<&Source<'_>>) = layers
        .iter()
        .partition(|(layer, ..)| *layer == Layer::Contract);
    let mut brought = contracts::read(&contracts, known, &mut resolved.left_out);
    for &&(layer, path, text) in &layers {
        let file = text.map_err(str::to_owned);
        let file = file.and_then(|text| {
            let mut file = read(path, text)?;
            let left_out = contracts::take_unknown(path, &mut file, &merged, &brought, known)?;
            settings(&file, known)?;
            resolved.left_out.extend(left_out);
            Ok(file)
        });
        match file {
            Ok(mut file) => {
                let overruled = enforce_managed(&mut file, &managed);
                resolved.overruled.extend(overruled.iter().map(|key| {
                    format!("`{key}` in `{path}` is overruled by the managed settings")
                }));
                if layer == Layer::Managed {
                    managed = file.clone();
                }
                merged = overlay(merged, file);
            }
            Err(problem) => {
                resolved
                    .problems
                    .push(format!("`{path}` is ignored: {problem}"));
                // What the administrator meant is unknown, so the built-in
                // rules are the least that holds.
                if layer == Layer::Managed {
                    managed.mode = Some(Mode::Enforce);
                }
            }
        }
    }
    contracts::put_under(&mut merged, &mut brought);
    match settings(&merged, known) {
        Ok(settings) => resolved.settings = settings,
        Err(problem) => resolved
            .problems
            .push(format!("all settings are ignored: {problem}")),
    }
    contracts::add(&mut resolved, brought, known);
    for id in kept_on(&managed) {
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

fn read(path: &str, text: &str) -> Result<File, String> {
    let mut file = File::parse(text)?;
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
    over!(base, later: mode completion dispatch undo quarantine recorder on_error => File {
        systems: Some(systems),
        evidence,
        archive: archive.or(base.archive),
        log: log.or(base.log),
    })
}

pub(super) fn overlay_system(base: SystemFile, later: SystemFile) -> SystemFile {
    over!(base, later:
        enabled mode contract extra_names extra_globs subdirectories roots roles programs site open
        long_lived canonical patterns ephemeral owners content gates => SystemFile {})
}

/// Takes out of a file what would weaken the managed one, and names those keys.
/// Keys with an order may only rise; the others stand as the managed file has
/// them.
fn enforce_managed(file: &mut File, managed: &File) -> Vec<String> {
    let mut out = Vec::new();
    macro_rules! rise {
        ($($name:ident)*) => {
            $(at_least(&mut file.$name, managed.$name, stringify!($name), &mut out);)*
        };
    }
    rise!(mode completion dispatch quarantine recorder on_error);
    at_least(&mut file.undo, undo(managed), "undo", &mut out);
    if let (Some(archive), Some(held)) = (&mut file.archive, &managed.archive) {
        at_least(&mut archive.runs, held.runs, "archive.runs", &mut out);
    }
    if let (Some(evidence), Some(held)) = (&mut file.evidence, &managed.evidence) {
        at_least(&mut evidence.mode, held.mode, "evidence.mode", &mut out);
        pin(
            &mut evidence.commands,
            &held.commands,
            "evidence.commands",
            &mut out,
        );
    }
    if let (Some(log), Some(held)) = (&mut file.log, &managed.log) {
        at_least(
            &mut log.max_bytes,
            held.max_bytes,
            "log.max_bytes",
            &mut out,
        );
    }
    let absent = SystemFile::default();
    for (id, system) in file.systems.iter_mut().flatten() {
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

fn undo(file: &File) -> Option<Undo> {
    file.undo.or(file.quarantine.map(Undo::from_quarantine))
}

fn enforce_managed_system(
    id: &str,
    system: &mut SystemFile,
    held: &SystemFile,
    general: Option<Mode>,
    out: &mut Vec<String>,
) {
    let key = |name: &str| format!("systems.{id}.{name}");
    let on = held.is_switched_on().then_some(Mode::Warn);
    let mode = held.mode.or(general).or(on);
    let is_on = mode.is_some_and(|mode| mode > Mode::Off);
    at_least(&mut system.mode, mode, &key("mode"), out);
    at_least(
        &mut system.enabled,
        held.enabled.or(is_on.then_some(true)),
        &key("enabled"),
        out,
    );
    macro_rules! pin {
        ($($name:ident)*) => {
            $(pin(&mut system.$name, &held.$name, &key(stringify!($name)), out);)*
        };
    }
    pin!(contract extra_names extra_globs subdirectories roots roles programs);
    // What the managed file declares is closed unless it says so.
    let open = held.open.or(held.site.is_some().then_some(false));
    pin(&mut system.open, &open, &key("open"), out);
    pin!(site long_lived canonical patterns ephemeral owners content gates);
}

/// The systems that the managed file switches on by name, whatever their mode.
fn kept_on(managed: &File) -> impl Iterator<Item = &String> {
    let is_kept = |system: &SystemFile| {
        system.is_switched_on() && system.mode.or(managed.mode) != Some(Mode::Off)
    };
    let systems = managed.systems.iter().flatten();
    systems.filter_map(move |(id, system)| is_kept(system.as_ref()?).then_some(id))
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

/// The typed settings of a file, or what is wrong with one of its values.
fn settings(file: &File, known: &[KnownSystem]) -> Result<Settings, String> {
    let mut settings = Settings {
        mode: file.mode.unwrap_or_default(),
        completion: file.completion.unwrap_or_default(),
        dispatch: file.dispatch.unwrap_or_default(),
        undo: undo(file).unwrap_or_default(),
        recorder: file.recorder.unwrap_or_default(),
        on_error: file.on_error.unwrap_or_default(),
        ..Settings::default()
    };
    match file.archive.as_ref().and_then(|archive| archive.runs) {
        Some(0) => return Err("`archive.runs` is 0; at least 1 run is kept".to_owned()),
        Some(runs) => settings.archive_runs = runs as usize,
        None => {}
    }
    match file.log.as_ref().and_then(|log| log.max_bytes) {
        Some(bytes) if bytes < Settings::MIN_LOG_BYTES => {
            let least = Settings::MIN_LOG_BYTES;
            return Err(format!(
                "`log.max_bytes` is {bytes}; at least {least} is needed"
            ));
        }
        Some(bytes) => settings.log_max_bytes = bytes,
        None => {}
    }
    if let Some(evidence) = &file.evidence {
        settings.evidence = evidence.mode.unwrap_or_default();
        settings.test_commands = evidence.commands.clone().unwrap_or_default();
    }
    for (id, system) in file.systems.iter().flatten() {
        let absent = SystemFile::default();
        let system = system_settings(id, system.as_ref().unwrap_or(&absent), known)
            .map_err(|problem| format!("`systems.{id}`: {problem}"))?;
        settings.systems.insert(id.clone(), system);
    }
    Ok(settings)
}

pub(super) fn system_settings(
    id: &str,
    file: &SystemFile,
    known: &[KnownSystem],
) -> Result<SystemSettings, String> {
    check_keys(id, file, known)?;
    let built_in = known.iter().find(|system| system.id == id);
    let sites = built_in.map_or(&[][..], |system| system.sites).iter();
    let sites: Vec<Pattern> = sites.filter_map(|site| Pattern::parse(site).ok()).collect();
    let extra_globs = globs("extra_globs", &file.extra_globs, &sites)?;
    if let Some(glob) = extra_globs.iter().find(|glob| glob.matches_everything()) {
        let glob = glob.as_str();
        return Err(format!(
            "`extra_globs`: `{glob}` takes every name; to switch the system off say `enabled: false`"
        ));
    }
    let is_off = file.enabled == Some(false);
    Ok(SystemSettings {
        mode: if is_off { Some(Mode::Off) } else { file.mode },
        contract: file.contract.and_then(|Choice(edition)| edition),
        extra_names: names("extra_names", &file.extra_names, &sites)?,
        extra_globs,
        subdirectories: names("subdirectories", &file.subdirectories, &sites)?,
        roots: file
            .roots
            .iter()
            .flatten()
            .map(|root| match root.contains(['*', '?']) {
                true => Err(format!("`roots`: `{root}` is a glob; name each directory")),
                false => relative("roots", root, Root::Allowed),
            })
            .collect::<Result<_, _>>()?,
        roles: file
            .roles
            .as_ref()
            .map(roles)
            .transpose()?
            .unwrap_or_default(),
        programs: programs(&file.programs)?,
        declared: declared(file)?,
    })
}

/// Refuses keys that would be without effect for the system.
fn check_keys(id: &str, file: &SystemFile, known: &[KnownSystem]) -> Result<(), String> {
    let is_built_in = known.iter().any(|system| system.id == id);
    let is_word = id.starts_with(|c: char| c.is_ascii_lowercase())
        && id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !is_word {
        return Err("a system's id is lower-case letters, digits and `-`".to_owned());
    }
    for key in file.keys() {
        let has = |system: &&KnownSystem| system.keys.contains(&key);
        let all: Vec<&str> = known.iter().filter(has).map(|system| system.id).collect();
        if !all.is_empty() && !all.contains(&id) {
            return Err(format!("`{key}` is for `{}` only", all.join("`, `")));
        }
        let instead = match key {
            "canonical" => "; use `extra_names`",
            "patterns" => "; use `extra_globs`",
            "site" | "open" | "long_lived" | "ephemeral" | "owners" | "content" | "gates" => {
                " only"
            }
            _ => continue,
        };
        if is_built_in {
            return Err(format!("`{key}` is for new systems{instead}"));
        }
    }
    Ok(())
}

fn declared(file: &SystemFile) -> Result<Option<Declared>, String> {
    let sites = file.site.iter().flat_map(|Words(sites)| sites).map(|site| {
        let site = relative("site", site, Root::Refused)?;
        // All below a directory is the directory, which is closed.
        Pattern::parse(site.trim_end_matches("/**")).map_err(|e| format!("`site`: {e}"))
    });
    let sites = sites.collect::<Result<Vec<_>, String>>()?;
    if sites.is_empty() && file.site.is_some() {
        return Err("`site` is empty; name a directory".to_owned());
    }
    let owners = file.owners.iter().flat_map(|owners| &owners.0);
    let owners = owners.map(|(name, Words(owners))| {
        let owners = owners.iter().map(|owner| Owner::parse(owner));
        Ok((
            glob("owners", name, &sites)?,
            owners.collect::<Result<_, _>>()?,
        ))
    });
    let owners = owners.collect::<Result<_, String>>()?;
    let content = file.content.iter().flat_map(|content| &content.0);
    let content = content.map(|(name, rule)| Ok((glob("content", name, &sites)?, rule.clone())));
    let content = content.collect::<Result<_, String>>()?;
    let gates = gates(file.gates.as_deref().unwrap_or_default(), &sites)?;
    let (canonical, patterns, ephemeral) = (
        globs("canonical", &file.canonical, &sites)?,
        globs("patterns", &file.patterns, &sites)?,
        globs("ephemeral", &file.ephemeral, &sites)?,
    );
    Ok((!sites.is_empty()).then(|| Declared {
        sites,
        open: file.open.unwrap_or_default(),
        long_lived: file.long_lived.unwrap_or_default(),
        source: None,
        canonical,
        patterns,
        ephemeral,
        owners,
        content,
        gates,
    }))
}
