//! The typed settings of a file, and the checks that need more than one key.

use crate::contract::denial::Mode;
use crate::contract::edition::Choice;
use crate::contract::glob::Pattern;
use crate::settings::file::{Bounded, File, SystemFile, Words};
use crate::settings::gates::gates;
use crate::settings::model::{
    Declared, DeclaredBy, KnownSystem, Owner, Rules, Settings, SystemSettings,
};
use crate::settings::names::{Root, aliases, glob, globs, names, programs, relative, roles};

/// The typed settings of a file, or what is wrong with one of its values.
pub(super) fn settings(file: &File, known: &[KnownSystem]) -> Result<Settings, String> {
    let mut settings = Settings {
        mode: file.mode.unwrap_or_default(),
        completion: file.completion.unwrap_or_default(),
        dispatch: file.dispatch.unwrap_or_default(),
        undo: file.undo.unwrap_or_default(),
        recorder: file.recorder.unwrap_or_default(),
        on_error: file.on_error.unwrap_or_default(),
        strict: file.strict.unwrap_or_default(),
        ..Settings::default()
    };
    if let Some(Bounded(runs)) = file.archive.as_ref().and_then(|archive| archive.runs) {
        settings.archive_runs = runs as usize;
    }
    if let Some(Bounded(bytes)) = file.log.as_ref().and_then(|log| log.max_bytes) {
        settings.log_max_bytes = bytes;
    }
    if let Some(evidence) = &file.evidence {
        settings.evidence = evidence.mode.unwrap_or_default();
        settings.test_commands = evidence.commands.clone().unwrap_or_default();
    }
    for (id, system) in file.systems.iter().flatten() {
        let absent = SystemFile::default();
        let typed = system_settings(id, system.as_ref().unwrap_or(&absent), known)
            .map_err(|problem| format!("`systems.{id}`: {problem}"))?;
        settings.systems.insert(id.clone(), typed);
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
    let sites: Vec<Pattern> = built_in
        .map_or(&[][..], |system| system.sites)
        .iter()
        .filter_map(|site| Pattern::parse(site).ok())
        .collect();
    let extra_globs = globs("extra_globs", &file.extra_globs, &sites)?;
    if let Some(glob) = extra_globs.iter().find(|glob| glob.matches_everything()) {
        return Err(format!(
            "`extra_globs`: `{}` takes every name; to switch the system off say `enabled: false`",
            glob.as_str()
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
            .map(|root| root_below(root))
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

fn root_below(root: &str) -> Result<String, String> {
    if root.contains(['*', '?']) {
        return Err(format!("`roots`: `{root}` is a glob; name each directory"));
    }
    relative("roots", root, Root::Allowed)
}

/// Refuses keys that would be without effect for the system.
fn check_keys(id: &str, file: &SystemFile, known: &[KnownSystem]) -> Result<(), String> {
    let is_word = id.starts_with(|c: char| c.is_ascii_lowercase())
        && id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !is_word {
        return Err("a system's id is lower-case letters, digits and `-`".to_owned());
    }
    file.keys().try_for_each(|key| check_key(id, key, known))
}

/// Refuses a key that would be without effect for the system.
pub(super) fn check_key(id: &str, key: &str, known: &[KnownSystem]) -> Result<(), String> {
    let with_key = known.iter().filter(|system| system.keys.contains(&key));
    let all: Vec<&str> = with_key.map(|system| system.id).collect();
    if !all.is_empty() && !all.contains(&id) {
        return Err(format!("`{key}` is for `{}` only", all.join("`, `")));
    }
    let instead = match key {
        "canonical" => "; use `extra_names`",
        "patterns" => "; use `extra_globs`",
        "site" | "open" | "long_lived" | "ephemeral" | "owners" | "content" | "gates"
        | "aliases" => " only",
        _ => return Ok(()),
    };
    if known.iter().any(|system| system.id == id) {
        return Err(format!("`{key}` is for new systems{instead}"));
    }
    Ok(())
}

fn site(word: &str) -> Result<Pattern, String> {
    let site = relative("site", word, Root::Refused)?;
    // All below a directory is the directory, which is closed.
    Pattern::parse(site.trim_end_matches("/**")).map_err(|e| format!("`site`: {e}"))
}

fn declared(file: &SystemFile) -> Result<Option<Declared>, String> {
    let words = file.site.iter().flat_map(|Words(sites)| sites);
    let sites: Vec<Pattern> = words.map(|word| site(word)).collect::<Result<_, _>>()?;
    if sites.is_empty() && file.site.is_some() {
        return Err("`site` is empty; name a directory".to_owned());
    }
    let mut owners = Vec::new();
    for (name, Words(words)) in file.owners.iter().flat_map(|owners| &owners.0) {
        let name = glob("owners", name, &sites)?;
        let parsed = words.iter().map(|word| Owner::parse(word));
        owners.push((name, parsed.collect::<Result<_, _>>()?));
    }
    let mut content = Vec::new();
    for (name, rule) in file.content.iter().flat_map(|content| &content.0) {
        content.push((glob("content", name, &sites)?, rule.clone()));
    }
    let gates = gates(file.gates.as_deref().unwrap_or_default(), &sites)?;
    let aliases = aliases(&file.aliases)?;
    let (canonical, patterns, ephemeral) = (
        globs("canonical", &file.canonical, &sites)?,
        globs("patterns", &file.patterns, &sites)?,
        globs("ephemeral", &file.ephemeral, &sites)?,
    );
    if sites.is_empty() {
        return Ok(None);
    }
    let rules = Rules {
        by: DeclaredBy::default(),
        open: file.open.unwrap_or_default(),
        canonical,
        patterns,
        ephemeral,
        owners,
        content,
        gates,
        aliases,
    };
    let long_lived = file.long_lived.unwrap_or_default();
    Ok(Some(Declared::new(sites, long_lived, rules)))
}
