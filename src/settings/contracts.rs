//! Contract files: systems that a project or a plugin brings to be guarded. A contract can
//! neither loosen nor switch off what settings or built-in systems guard.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::contract::glob::Pattern;
use crate::formats::yaml;
use crate::settings::file::{File, SystemFile, explain, nearest};
use crate::settings::merge::{Resolved, Source, system_settings};
use crate::settings::model::{Declared, KnownSystem};

/// The contract file of each system that one brings.
pub(super) type Sources = BTreeMap<String, String>;

/// A contract file: systems to be guarded, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`systems:`")]
struct ContractFile {
    systems: BTreeMap<String, SystemFile>,
}

impl ContractFile {
    /// The error is one like that of [`File::parse`].
    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('{')
            && let Ok(contract) = serde_json::from_str(text)
        {
            return Ok(contract);
        }
        yaml::parse_as(text).map_err(|e| explain(&e))
    }
}

/// A contract as JSON, which is read faster; `None` for one with an error.
pub fn as_json(text: &str) -> Option<String> {
    let json = yaml::parse_as::<serde_json::Value>(text).ok()?.to_string();
    let contract = ContractFile::parse(text).ok()?;
    (ContractFile::parse(&json) == Ok(contract)).then_some(json)
}

/// A key by which a contract would do more than guard.
fn key_of_settings(system: &SystemFile) -> Option<&'static str> {
    let keys = [
        ("enabled", system.enabled.is_some()),
        ("mode", system.mode.is_some()),
        ("contract", system.contract.is_some()),
        ("extra_names", system.extra_names.is_some()),
        ("extra_globs", system.extra_globs.is_some()),
        ("roots", system.roots.is_some()),
        ("roles", system.roles.is_some()),
    ];
    let mut given = keys.into_iter().filter(|(_, is_given)| *is_given);
    given.next().map(|(key, _)| key)
}

/// Adds the systems of all contracts, and says in `left_out` what counts for nothing.
pub(super) fn merge(
    merged: &mut File,
    contracts: &[&Source<'_>],
    known: &[KnownSystem],
    left_out: &mut Vec<String>,
) -> Sources {
    let mut sources = Sources::new();
    for (_, path, text) in contracts {
        let file = text.map_err(str::to_owned).and_then(ContractFile::parse);
        let systems = match file {
            Ok(file) => file.systems,
            Err(problem) => {
                left_out.push(format!("`{path}` is ignored: {problem}"));
                continue;
            }
        };
        for (id, mut system) in systems {
            match may_add(&id, &mut system, path, &sources, known) {
                Ok(()) => {
                    let systems = merged.systems.get_or_insert_default();
                    systems.insert(id.clone(), Some(system));
                    sources.insert(id, (*path).to_owned());
                }
                Err(problem) => {
                    left_out.push(format!("`systems.{id}` in `{path}` is ignored: {problem}"));
                }
            }
        }
    }
    sources
}

fn may_add(
    id: &str,
    system: &mut SystemFile,
    path: &str,
    sources: &Sources,
    known: &[KnownSystem],
) -> Result<(), String> {
    if let Some(key) = key_of_settings(system) {
        return Err(format!("only settings can say `{key}`"));
    }
    if known.iter().any(|known| known.id == id) {
        return Err("it is the id of a built-in system".to_owned());
    }
    if let Some(other) = sources.get(id) {
        return Err(format!("`{other}` has a system of that id"));
    }
    if system.site.is_none() {
        return Err("a new system needs a `site`".to_owned());
    }
    system.find_schemas(path)
}

/// Adds the systems of contracts to the typed settings, as their files and the settings together
/// say them.
pub(super) fn add(
    resolved: &mut Resolved,
    brought: Vec<(String, SystemFile)>,
    sources: &Sources,
    known: &[KnownSystem],
) {
    for (id, system) in brought {
        match system_settings(&id, &system, known) {
            Ok(system) => drop(resolved.settings.systems.insert(id, system)),
            Err(problem) => resolved.left_out.push(format!(
                "`systems.{id}` in `{}` is ignored: {problem}",
                sources[&id]
            )),
        }
    }
}

/// Takes the systems of contracts out of the merged settings.
pub(super) fn take(merged: &mut File, sources: &Sources) -> Vec<(String, SystemFile)> {
    let systems = merged.systems.iter_mut().flatten();
    let brought = systems.filter(|(id, _)| sources.contains_key(*id));
    let taken = brought.filter_map(|(id, system)| Some((id.clone(), system.take()?)));
    taken.collect()
}

/// Takes the systems of contracts out that a settings file declares itself.
pub(super) fn give_way(merged: &mut File, sources: &mut Sources, settings: &File) {
    let systems = settings.systems.iter().flatten();
    let declared =
        systems.filter(|(_, system)| system.as_ref().is_some_and(|it| it.site.is_some()));
    for (id, _) in declared {
        if sources.remove(id).is_some() {
            merged
                .systems
                .iter_mut()
                .for_each(|all| drop(all.remove(id)));
        }
    }
}

/// Takes out of a settings file what it says of systems that nothing declares, and says so: most
/// likely they are a contract's that is not here now.
///
/// # Errors
/// A built-in system is meant.
pub(super) fn take_unknown(
    path: &str,
    file: &mut File,
    earlier: &File,
    known: &[KnownSystem],
) -> Result<Vec<String>, String> {
    let is_known = |id: &String| {
        known.iter().any(|system| system.id == id)
            || earlier.systems.iter().any(|all| all.contains_key(id))
    };
    let declares = |system: &Option<SystemFile>| system.as_ref().is_some_and(|s| s.site.is_some());
    let systems = file.systems.iter().flatten();
    let unknown = systems.filter(|(id, system)| !is_known(id) && !declares(system));
    let unknown: Vec<String> = unknown.map(|(id, _)| id.clone()).collect();
    for id in &unknown {
        if let Some(near) = nearest(id, known.iter().map(|system| system.id))
            && strsim::jaro_winkler(id, near) >= 0.8
        {
            return Err(format!(
                "`systems.{id}`: unknown system; did you mean `{near}`? A new one needs a `site`"
            ));
        }
    }
    let systems = file.systems.iter_mut();
    systems.for_each(|all| all.retain(|id, _| !unknown.contains(id)));
    let what = |id| {
        format!(
            "`systems.{id}` in `{path}` is ignored: nothing here declares that system; a new one \
             needs a `site`"
        )
    };
    Ok(unknown.iter().map(what).collect())
}

/// A contract's site that is, holds or lies below a place of a built-in system or of the
/// settings is theirs, and of contracts it is that of the outer one.
pub(super) fn leave_out_what_overlaps(
    resolved: &mut Resolved,
    sources: Sources,
    known: &[KnownSystem],
) {
    let systems = &mut resolved.settings.systems;
    let is_own = |id: &String| !sources.contains_key(id);
    let own = systems
        .iter()
        .filter(|(id, _)| is_own(id))
        .map(|(_, own)| own);
    let declared = own.clone().filter_map(|system| system.declared.as_ref());
    let declared = declared.flat_map(|declared| declared.sites.clone());
    let roots = own.flat_map(|system| &system.roots).map(String::as_str);
    let built_in = known.iter().flat_map(|system| system.sites).copied();
    let fixed = built_in.chain([".claude/statewarden"]).chain(roots);
    let fixed = fixed.filter_map(|site| Pattern::parse(site).ok());
    let mut taken: Vec<Pattern> = declared.chain(fixed).collect();
    let mut brought: Vec<(String, String, Declared)> = sources
        .into_iter()
        .filter_map(|(id, path)| {
            let declared = systems.get_mut(&id)?.declared.take()?;
            Some((id, path, declared))
        })
        .collect();
    let depth = |site: &Pattern| site.as_str().matches('/').count();
    brought.sort_by_key(|(.., declared)| declared.sites.iter().map(depth).min());
    for (id, source, declared) in brought {
        let overlaps = |site: &&Pattern| taken.iter().any(|other| meet(site, other));
        if let Some(site) = declared.sites.iter().find(overlaps) {
            resolved.left_out.push(format!(
                "`{id}` of `{source}` is not guarded: `{}` is, holds or lies below a place of \
                 another system",
                site.as_str()
            ));
            systems.remove(&id);
            continue;
        }
        taken.extend(declared.sites.clone());
        if let Some(system) = systems.get_mut(&id) {
            let source = Some(source);
            system.declared = Some(Declared { source, ..declared });
        }
    }
}

/// Whether one site is the other, holds it or lies below it.
fn meet(one: &Pattern, other: &Pattern) -> bool {
    let lies_in = |inner: &Pattern, outer: &Pattern| {
        let inner = inner.as_str().trim_start_matches("**/");
        let ends = inner.match_indices('/').map(|(at, _)| at);
        ends.chain([inner.len()])
            .any(|end| outer.matches(&inner[..end]))
    };
    lies_in(one, other) || lies_in(other, one)
}
