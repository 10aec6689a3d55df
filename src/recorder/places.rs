//! Where to look: the state directories around an event and those that are known,
//! and this program's and Claude Code's files beside them.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::base::disk::list;
use crate::base::env::Env;
use crate::base::path;
use crate::guard::claims;
use crate::log::append::{LogFile, Logs};
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::{self, Site};
use crate::recorder::index::Index;
use crate::store::replace::is_temp_name;
use crate::systems::{devt, own, system};

/// The most directories and the most sites that a command's text adds.
const MAX_NAMED: usize = 8;

/// What makes the next word of a command a directory to work in.
const CHANGES_DIR: &[&str] = &["cd", "pushd", "-C", "Set-Location"];

/// An event's surroundings.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub cwd: &'a str,
    pub home: Option<&'a str>,
    /// The text of a command.
    pub text: &'a str,
    /// Governed paths that the call was read to write, one of each state directory.
    pub targets: &'a [String],
}

/// The sites around an event: at the root, on the way to its directory, and those that
/// its text names.
pub fn around<'c>(
    project: &Project,
    registry: &'c Registry<'c>,
    event: &Around<'_>,
) -> Vec<Site<'c>> {
    let at = |word: &str| path::join(event.cwd, word, event.home);
    let mut dirs = vec![event.cwd.to_owned()];
    dirs.extend(
        lines_with(event.text, |line| {
            CHANGES_DIR.iter().any(|word| line.contains(word))
        })
        .flat_map(|line| words(line).zip(words(line).skip(1)))
        .filter(|(before, _)| CHANGES_DIR.contains(before))
        .map(|(_, dir)| at(dir))
        .take(MAX_NAMED),
    );
    let mut sites = sites::around(project, registry, &dirs);
    let named = lines_with(event.text, system::are_named_in)
        .flat_map(words)
        .filter(|word| system::are_named_in(word));
    let places = event.targets.iter().cloned().chain(named.map(at));
    for place in places.take(MAX_NAMED) {
        add(&mut sites, claims::site_of(&place, project, registry));
    }
    sites
}

/// Adds the sites that the index knows. Those of a system that is switched off are none.
pub fn add_known<'c>(
    sites: &mut Vec<Site<'c>>,
    index: &Index,
    project: &Project,
    registry: &'c Registry<'c>,
) {
    let keys = sites.iter().map(|site| (site.governed.id(), site.dir()));
    let there: HashSet<_> = keys.collect();
    let mut others: Vec<_> = index
        .sites()
        .filter(|(system, dir)| !there.contains(&(system.as_str(), dir.as_str())))
        .collect();
    others.sort_unstable();
    for (system, dir) in others {
        let governed = registry.get(system).into_iter();
        let root = project.root_of(path::split_last(dir).map_or(dir, |(above, _)| above));
        sites.extend(governed.zip(root).filter_map(|(governed, root)| {
            let site = root.relative(dir)?.to_owned();
            Some(Site::new(governed, root, site))
        }));
    }
}

/// Adds the sites of the files that the index knows: a file tool's is looked at alone.
pub fn add_of_entries<'c>(
    sites: &mut Vec<Site<'c>>,
    index: &Index,
    project: &Project,
    registry: &'c Registry<'c>,
) {
    let known: HashSet<PathBuf> = sites.iter().map(|site| site.dir().into()).collect();
    let dirs = index.entries().filter_map(|(file, _)| {
        let dir = Path::new(file).parent()?;
        let is_new = !dir.ancestors().any(|above| known.contains(above));
        is_new.then_some(dir)
    });
    for dir in dirs.collect::<BTreeSet<_>>() {
        let any_file = path::from_os(&dir.join("x"));
        add(sites, claims::site_of(&any_file, project, registry));
    }
}

fn add<'c>(sites: &mut Vec<Site<'c>>, site: Option<Site<'c>>) {
    if let Some(site) = site
        && site.governed.id() != own::ID
        && Path::new(&site.dir()).is_dir()
    {
        sites::add_new(sites, site);
    }
}

/// The lines of a text in which something is to be found, none where the text has none of it.
fn lines_with(text: &str, has: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let whole = if has(text) { text } else { "" };
    whole.lines().filter(move |line| has(line))
}

/// The words of a line, roughly: what is between blanks, quotes and operators.
fn words(line: &str) -> impl Iterator<Item = &str> {
    #[rustfmt::skip]
    const BETWEEN: &[char] = &[
        '\'', '"', '`', ';', '|', '&', '<', '>', '(', ')', '{', '}', '[', ']', '$', '=', ',',
    ];
    line.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c))
        .filter(|word| !word.is_empty())
}

/// The settings, logs and gates of this program, and the project's settings of Claude Code, with
/// the directory that holds them: it may be renamed and linked back.
pub fn own_files(project: &Project, env: &Env) -> Vec<PathBuf> {
    let settings = project.settings_files(env).iter();
    let logs = project.logs().all().map(|log| log.path());
    let gates = project.own_folder().join("gates");
    let gates = list::readable(&gates)
        .filter(|entry| !is_temp_name(&entry.name.to_string_lossy()))
        .map(|entry| gates.join(entry.name));
    let held_by = project.own_folder().parent().map(Path::to_owned);
    settings
        .map(|(_, path)| PathBuf::from(path))
        .chain(project.client_settings().map(PathBuf::from))
        .chain(held_by)
        .chain(logs)
        .chain(gates.collect::<Vec<_>>())
        .collect()
}

/// The logs that every process of this program appends to, those in sites as well.
pub fn own_logs(project: &Project, sites: &[Site<'_>]) -> Vec<LogFile> {
    let mut logs: Vec<LogFile> = project.logs().all().into_iter().collect();
    for site in sites {
        if site.governed.id() == devt::ID {
            logs.push(Logs::devt(site.dir().as_ref()));
        }
    }
    logs
}
