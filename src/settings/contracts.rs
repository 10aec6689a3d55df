//! Contract files: systems that a project or a plugin brings to be guarded. A contract can
//! neither loosen nor switch off what settings or built-in systems guard.

use std::collections::BTreeMap;
use std::mem;

use serde::Deserialize;

use crate::base::text::{is_in, nearest};
use crate::contract::glob::Pattern;
use crate::formats::yaml;
use crate::settings::file::{File, SystemFile};
use crate::settings::merge::{LeftOut, LeftOutKind, Resolved, Source, overlay_system};
use crate::settings::model::{DeclaredBy, KnownSystem, SystemSettings};
use crate::settings::typed::system_settings;

/// The systems that contract files bring, by their ids: each with its file.
pub(super) type Brought = BTreeMap<String, (String, SystemFile)>;

/// A contract file: systems to be guarded, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`systems:`")]
struct ContractFile {
    systems: BTreeMap<String, SystemFile>,
}

/// The keys that a contract may not set, since they do more than guard.
pub(super) const OF_SETTINGS: &str = "enabled mode contract extra_names extra_globs roots roles";

/// Reads the systems of all contracts, and says in `left_out` what counts for nothing.
pub(super) fn read(
    contracts: &[&Source<'_>],
    known: &[KnownSystem],
    left_out: &mut Vec<LeftOut>,
) -> Brought {
    let mut brought = Brought::new();
    for (_, path, text) in contracts {
        let file = text
            .map_err(str::to_owned)
            .and_then(|text| yaml::parse_as(text).map_err(|fault| fault.to_string()));
        let systems = match file {
            Ok(ContractFile { systems }) => systems,
            Err(problem) => {
                left_out.push(LeftOut::file(path, &problem));
                continue;
            }
        };
        for (id, mut system) in systems {
            match may_add(&id, &mut system, path, &brought, known) {
                Ok(()) => drop(brought.insert(id, ((*path).to_owned(), system))),
                Err(why) => left_out.push(of_contract(path, &id, &why)),
            }
        }
    }
    brought
}

fn of_contract(path: &str, id: &str, why: &str) -> LeftOut {
    LeftOut::system(path, id, why, LeftOutKind::Contract)
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
        if is_brought {
            *contract = overlay_system(mem::take(contract), own);
        } else {
            settings.insert(id.clone(), Some(own));
        }
        is_brought
    });
}

/// Takes out of a settings file what it says of systems that nothing declares, and says so: most
/// likely they are a contract's that is not here now.
///
/// # Errors
/// Its id is nearly that of a built-in system.
pub(super) fn take_unknown(
    path: &str,
    file: &mut File,
    earlier: &File,
    brought: &Brought,
    known: &[KnownSystem],
) -> Result<Vec<LeftOut>, String> {
    let systems = file.systems.iter().flatten();
    let unknown: Vec<String> = systems
        .filter(|(id, system)| {
            let is_declared = system.as_ref().is_some_and(|system| system.site.is_some())
                || known.iter().any(|system| system.id == *id)
                || brought.contains_key(*id)
                || earlier.systems.iter().any(|all| all.contains_key(*id));
            !is_declared
        })
        .map(|(id, _)| id.clone())
        .collect();
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
    let why = "nothing here declares that system; a new one needs a `site`";
    let left_out = unknown
        .iter()
        .map(|id| LeftOut::system(path, id, why, LeftOutKind::Settings));
    Ok(left_out.collect())
}

/// Adds the systems of contracts to the typed settings. A site that is, holds or is below one of
/// a built-in system or of the settings stays with these; among contracts the outer one wins.
pub(super) fn add(resolved: &mut Resolved, brought: Brought, known: &[KnownSystem]) {
    let (settings, left_out) = (&mut resolved.settings.systems, &mut resolved.left_out);
    let mut taken = taken_sites(settings, known);
    let mut systems = Vec::new();
    for (id, (path, file)) in brought {
        match system_settings(&id, &file, known) {
            Ok(system) => {
                let given: Vec<&str> = file.keys().collect();
                systems.push((id, path, given, system));
            }
            Err(why) => left_out.push(of_contract(&path, &id, &why)),
        }
    }
    systems.sort_by_key(|(.., system)| {
        let depths = sites_of(system)
            .iter()
            .map(|site| site.as_str().matches('/').count());
        depths.min()
    });
    for (id, path, given, mut system) in systems {
        let sites: Vec<SitePattern> = sites_of(&system)
            .iter()
            .cloned()
            .map(SitePattern::new)
            .collect();
        let mut each = sites.iter();
        if let Some(site) = each.find(|site| taken.iter().any(|other| site.meets(other))) {
            let why = format!(
                "`{}` is, holds or is below a place of another system",
                site.glob.as_str()
            );
            left_out.push(of_contract(&path, &id, &why));
            continue;
        }
        taken.extend(sites);
        for key in given {
            let origin = resolved.origins.entry(format!("systems.{id}.{key}"));
            origin.or_insert_with(|| path.clone());
        }
        if let Some(declared) = &mut system.declared {
            declared.edit(|rules| rules.by = DeclaredBy::new(&path, true));
        }
        settings.insert(id, system);
    }
}

/// The sites that no contract may take.
fn taken_sites(
    settings: &BTreeMap<String, SystemSettings>,
    known: &[KnownSystem],
) -> Vec<SitePattern> {
    let roots = settings.values().flat_map(|system| &system.roots);
    let built_in = known.iter().flat_map(|system| system.sites).copied();
    let fixed = built_in
        .chain([".claude/statewarden"])
        .chain(roots.map(String::as_str))
        .filter_map(|site| Pattern::parse(site).ok());
    let declared = settings.values().flat_map(sites_of).cloned();
    declared.chain(fixed).map(SitePattern::new).collect()
}

fn sites_of(system: &SystemSettings) -> &[Pattern] {
    let declared = system.declared.as_ref();
    declared.map_or(&[], |declared| &declared.sites)
}

/// A site, and where the first sign in it is that is no character of a name.
struct SitePattern {
    glob: Pattern,
    literal: usize,
}

impl SitePattern {
    fn new(glob: Pattern) -> Self {
        let end = glob.as_str().find(['*', '?', '[', '{', '\\']);
        let literal = end.unwrap_or(glob.as_str().len());
        Self { glob, literal }
    }

    /// Whether one site is the other, holds it or is below it.
    fn meets(&self, other: &Self) -> bool {
        let [one, two] = [self, other].map(|site| &site.glob.as_str()[..site.literal]);
        (one.starts_with(two) || two.starts_with(one))
            && (is_in_or_same(&self.glob, &other.glob) || is_in_or_same(&other.glob, &self.glob))
    }
}

fn is_in_or_same(inner: &Pattern, outer: &Pattern) -> bool {
    let path = inner.as_str().trim_start_matches("**/");
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    ends.any(|end| outer.matches(&path[..end])) || outer.matches(path)
}
