//! Contract files: systems that a project or a plugin brings to be guarded. A contract can
//! neither loosen nor switch off what settings or built-in systems guard.

use std::collections::BTreeMap;
use std::mem;

use serde::Deserialize;

use crate::base::text::is_in;
use crate::contract::glob::Pattern;
use crate::formats::yaml;
use crate::settings::file::{File, SystemFile, explain, nearest};
use crate::settings::merge::{Resolved, Source, overlay_system, system_settings};
use crate::settings::model::{KnownSystem, SystemSettings};

/// The systems that contract files bring, by their ids: each with its file.
pub(super) type Brought = BTreeMap<String, (String, SystemFile)>;

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

/// The keys that a contract may not set, since they do more than guard.
const OF_SETTINGS: &str = "enabled mode contract extra_names extra_globs roots roles";

/// Reads the systems of all contracts, and says in `left_out` what counts for nothing.
pub(super) fn read(
    contracts: &[&Source<'_>],
    known: &[KnownSystem],
    left_out: &mut Vec<String>,
) -> Brought {
    let mut brought = Brought::new();
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
            match may_add(&id, &mut system, path, &brought, known) {
                Ok(()) => drop(brought.insert(id, ((*path).to_owned(), system))),
                Err(problem) => {
                    left_out.push(format!("`systems.{id}` in `{path}` is ignored: {problem}"));
                }
            }
        }
    }
    brought
}

fn may_add(
    id: &str,
    system: &mut SystemFile,
    path: &str,
    brought: &Brought,
    known: &[KnownSystem],
) -> Result<(), String> {
    if let Some(key) = system.keys().find(|key| is_in(OF_SETTINGS, key)) {
        return Err(format!("only settings can say `{key}`"));
    }
    if known.iter().any(|known| known.id == id) {
        return Err("it is the id of a built-in system".to_owned());
    }
    if let Some((other, _)) = brought.get(id) {
        return Err(format!("`{other}` has a system of that id"));
    }
    if system.site.is_none() {
        return Err("a new system needs a `site`".to_owned());
    }
    system.find_schemas(path)
}

/// Puts what the settings say of the systems over their contracts. A system that the settings
/// declare themselves is theirs.
pub(super) fn put_under(merged: &mut File, brought: &mut Brought) {
    let settings = merged.systems.get_or_insert_default();
    brought.retain(|id, (_, contract)| {
        let own = settings.remove(id).flatten().unwrap_or_default();
        let is_brought = own.site.is_none();
        match is_brought {
            true => *contract = overlay_system(mem::take(contract), own),
            false => drop(settings.insert(id.clone(), Some(own))),
        }
        is_brought
    });
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
    brought: &Brought,
    known: &[KnownSystem],
) -> Result<Vec<String>, String> {
    let is_known = |id: &String| {
        known.iter().any(|system| system.id == id)
            || brought.contains_key(id)
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

/// Adds the systems of contracts to the typed settings. A site that is, holds or lies below one of
/// a built-in system or of the settings stays with these; among contracts the outer one wins.
pub(super) fn add(resolved: &mut Resolved, brought: Brought, known: &[KnownSystem]) {
    let (settings, left_out) = (&mut resolved.settings.systems, &mut resolved.left_out);
    let declared = settings.values().flat_map(sites_of).cloned();
    let roots = settings.values().flat_map(|system| &system.roots);
    let built_in = known.iter().flat_map(|system| system.sites).copied();
    let fixed = built_in.chain([".claude/statewarden"]);
    let fixed = fixed.chain(roots.map(String::as_str));
    let fixed = fixed.filter_map(|site| Pattern::parse(site).ok());
    let mut taken: Vec<Pattern> = declared.chain(fixed).collect();
    let mut systems = Vec::new();
    for (id, (path, file)) in brought {
        match system_settings(&id, &file, known) {
            Ok(system) => systems.push((id, path, system)),
            Err(problem) => {
                left_out.push(format!("`systems.{id}` in `{path}` is ignored: {problem}"));
            }
        }
    }
    let depth = |site: &Pattern| site.as_str().matches('/').count();
    systems.sort_by_key(|(.., system)| sites_of(system).iter().map(depth).min());
    for (id, path, mut system) in systems {
        let overlaps = |site: &&Pattern| taken.iter().any(|other| meet(site, other));
        if let Some(site) = sites_of(&system).iter().find(overlaps) {
            left_out.push(format!(
                "`{id}` of `{path}` is not guarded: `{}` is, holds or lies below a place of \
                 another system",
                site.as_str()
            ));
            continue;
        }
        taken.extend_from_slice(sites_of(&system));
        if let Some(declared) = &mut system.declared {
            declared.source = Some(path);
        }
        settings.insert(id, system);
    }
}

fn sites_of(system: &SystemSettings) -> &[Pattern] {
    let declared = system.declared.as_ref();
    declared.map_or(&[], |declared| &declared.sites)
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
