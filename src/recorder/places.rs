//! Where to look: the state directories around an event and those that are known,
//! and this program's and Claude Code's files beside them.

use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::path;
use crate::guard::claims;
use crate::log::append::{LogFile, Logs};
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::{self, Site};
use crate::recorder::index::Index;
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
    /// Paths that the call was read to write.
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
    let dirs = words(event.text).zip(words(event.text).skip(1));
    let dirs = dirs.filter(|(before, _)| CHANGES_DIR.contains(before));
    let dirs = dirs.map(|(_, dir)| at(dir)).take(MAX_NAMED);
    let dirs: Vec<String> = std::iter::once(event.cwd.to_owned()).chain(dirs).collect();
    let mut sites = sites::around(project, registry, &dirs);
    let names_one = system::are_named_in(event.text);
    let named = words(event.text).filter(|word| names_one && system::are_named_in(word));
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
    for (system, dir) in index.sites() {
        let is_there = |site: &Site<'_>| site.governed.id() == system && site.dir() == *dir;
        if sites.iter().any(is_there) {
            continue;
        }
        let governed = registry.get(system).into_iter();
        let root = project.root_of(path::split_last(dir).map_or(dir, |(above, _)| above));
        sites.extend(governed.zip(root).filter_map(|(governed, root)| {
            let site = root.relative(dir)?.to_owned();
            Some(Site {
                governed,
                root,
                site,
            })
        }));
    }
}

fn add<'c>(sites: &mut Vec<Site<'c>>, site: Option<Site<'c>>) {
    let site = site.filter(|site| site.governed.id() != own::ID);
    if let Some(site) = site.filter(|site| Path::new(&site.dir()).is_dir()) {
        sites::add_new(sites, site);
    }
}

/// The words of a command, roughly: what stands between blanks, quotes and operators.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`;|&<>(){}[]$=,".contains(c);
    command.split(is_between).filter(|word| !word.is_empty())
}

/// The settings and logs of this program, and the project's settings of Claude Code.
pub fn own_files(project: &Project, env: &Env) -> Vec<PathBuf> {
    let settings = project
        .settings_files(env)
        .into_iter()
        .map(|(_, path)| path);
    let settings = settings.chain(project.client_settings());
    let logs = logs_of(project).map(|log| log.path());
    settings.map(PathBuf::from).chain(logs).collect()
}

/// The logs that every process of this program appends to, those in sites as well.
pub fn own_logs(project: &Project, sites: &[Site<'_>]) -> Vec<LogFile> {
    let devt = sites.iter().filter(|site| site.governed.id() == devt::ID);
    let devt = devt.map(|site| Logs::devt(site.dir().as_ref()));
    logs_of(project).into_iter().chain(devt).collect()
}

fn logs_of(project: &Project) -> [LogFile; 3] {
    let logs = project.logs();
    [logs.denies(), logs.events(), logs.gates()]
}
