//! The sites that exist below a project's roots.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::base::disk::list::{self, Entry};
use crate::base::disk::resolve;
use crate::base::disk::stat::Kind;
use crate::base::path;
use crate::contract::table::DirKind;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{OnDisk, Project, Root};
use crate::store::archive::Archive;
use crate::systems::system::{self, System};
use crate::systems::{agentmux, own};

/// Where the archives of sites without a program's directory lie, in this
/// program's own folder.
pub const OWN_ARCHIVE: &str = "archive";

/// One site on the disk.
pub struct Site<'c> {
    pub governed: &'c EnabledSystem<'c>,
    pub root: Root,
    /// Relative to the root.
    pub site: String,
    dir: Rc<str>,
}

impl<'c> Site<'c> {
    pub fn new(governed: &'c EnabledSystem<'c>, root: Root, site: String) -> Self {
        let dir = root.path(&site).into();
        Self {
            governed,
            root,
            site,
            dir,
        }
    }

    /// What no other site has: its system's id and its path.
    pub fn key(&self) -> (&'c str, Rc<str>) {
        (self.governed.id(), self.dir.clone())
    }

    /// The absolute path of the site.
    pub fn dir(&self) -> &str {
        &self.dir
    }

    /// The directory that the site's own belong to: the one that holds `.devt`, `.claude`,
    /// `openspec` or `.agentmux`, else the root.
    pub fn owner(&self, project: &Project) -> String {
        let dir = self.dir();
        let root = project.root_of(dir).unwrap_or_else(|| self.root.clone());
        let below = root.relative(dir).unwrap_or_default();
        let parts: Vec<&str> = below.split('/').collect();
        let outer = parts
            .iter()
            .rposition(|part| system::outer_dirs().contains(part));
        root.path(&parts[..outer.unwrap_or(0)].join("/"))
    }

    /// The path of the site as people see it: relative to the main checkout
    /// where it is in there.
    pub fn display_path(&self, project: &Project) -> String {
        if self.root.dir == project.main.dir {
            self.site.clone()
        } else {
            self.dir.to_string()
        }
    }

    /// The archive of the site: in the directory that its contract gives to
    /// programs, else in this program's own folder, named after the system and
    /// the site.
    pub fn archive(&self, project: &Project, runs: usize) -> Archive {
        let edition = self.governed.edition;
        let mut dirs = self.governed.contract.dirs.iter();
        let in_site = dirs.find(|dir| dir.kind == DirKind::Program && edition.holds(dir.edition));
        let id = self.governed.id();
        let whole = self.dir();
        // Sites of several work trees share the folder, and not their path.
        let site = project.main.relative(whole).unwrap_or(whole);
        let (dir, own_folder) = match in_site {
            Some(dir) => (Path::new(whole).join(dir.path), None),
            None => {
                let own = project.own_folder().to_owned();
                let dir = own.join(OWN_ARCHIVE).join(id).join(label(self, site));
                (dir, Some(own))
            }
        };
        Archive {
            dir,
            system: id.to_owned(),
            site: site.to_owned(),
            own_folder,
            runs,
        }
    }
}

/// A site's path without the part that all sites of its system share:
/// `.claude/.docs/260110-task` is `260110-task`.
fn label(site: &Site<'_>, path: &str) -> PathBuf {
    let landmarks = site.governed.system.info().landmarks.iter();
    let mut shared = landmarks.filter_map(|landmark| Some(landmark.rsplit_once('/')?.0));
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let without = shared.find_map(|shared| {
        let shared: Vec<&str> = shared.split('/').collect();
        let at = parts
            .windows(shared.len())
            .position(|window| window == shared)?;
        Some([&parts[..at], &parts[at + shared.len()..]].concat())
    });
    without.unwrap_or(parts).iter().collect()
}

/// Every site of the project, and the session of AgentMux that the environment names.
pub fn all<'c>(project: &Project, registry: &'c Registry<'c>) -> Vec<Site<'c>> {
    let mut sites = find(project, registry);
    if let (Some(root), Some(governed)) = (project.feature_dir(), registry.get(agentmux::ID))
        && Path::new(&root.dir).is_dir()
        && !sites.iter().any(|site| root.is_at(site.dir()))
    {
        sites.push(Site::new(governed, root.clone(), String::new()));
    }
    sites
}

/// Directories that hold other programs' files in great number, never a site.
pub const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];

/// Finds every site, by walking the project. The program's own folder is none.
pub fn find<'c>(project: &Project, registry: &'c Registry<'c>) -> Vec<Site<'c>> {
    let (mut sites, mut known) = (Vec::new(), BTreeSet::new());
    // A work tree inside the project is walked along, but for what its `.claude` shares.
    let own = project.session_root();
    let inside = project.checkouts().all(|root| root.dir != own.dir);
    let roots = project.checkouts().chain(inside.then_some(own));
    for root in roots {
        for level in dirs_below(root, "") {
            let held = held_by_any(root, &level, registry, &|_| true);
            sites.extend(held.filter(|site| known.insert(site.key())));
        }
    }
    sites
}

/// A directory that may hold a site.
pub struct Level {
    /// Relative to the root.
    pub dir: String,
    /// The nearest directory above it or itself, relative to the root, that has a `.git`, as far
    /// as the walk came from there.
    pub work_tree: Option<Rc<str>>,
    /// What it holds; `None` where not all of that was read.
    entries: Option<Vec<Entry>>,
}

impl Level {
    fn unread(dir: &str) -> Self {
        Self {
            dir: dir.to_owned(),
            work_tree: None,
            entries: None,
        }
    }

    /// A directory, and those in it.
    fn read(root: &Root, dir: String, above: Option<Rc<str>>) -> (Self, Vec<String>) {
        let here = Path::new(&root.dir).join(&dir);
        let entries: Option<Vec<_>> = list::entries(&here).and_then(Iterator::collect).ok();
        let subdirs = match &entries {
            Some(entries) => subdirs(&dir, entries),
            None => subdirs(&dir, &list::readable(&here).collect::<Vec<_>>()),
        };
        let has_git = entries
            .iter()
            .flatten()
            .any(|entry| entry.name.as_os_str() == ".git");
        let work_tree = if has_git {
            Some(Rc::from(dir.as_str()))
        } else {
            above
        };
        let level = Self {
            dir,
            work_tree,
            entries,
        };
        (level, subdirs)
    }

    /// Whether something may be at a path below, by the first part of it: to ask the disk for
    /// each landmark costs ten times what the listing did. Disks may take names for the same
    /// that differ in their letters.
    pub fn may_hold(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or(path);
        if first.is_empty() {
            return true;
        }
        let is_first =
            |entry: &Entry| !entry.name.is_ascii() || entry.name.eq_ignore_ascii_case(first);
        let entries = self.entries.as_ref();
        entries.is_none_or(|entries| entries.iter().any(is_first))
    }
}

/// The directories among the entries of one, sorted.
fn subdirs(dir: &str, entries: &[Entry]) -> Vec<String> {
    let dirs = entries.iter().filter(|entry| entry.kind == Kind::Dir);
    // Paths are text here, so nothing below another name would be found.
    let names = dirs
        .filter_map(|entry| entry.name.to_str())
        .filter(|name| !SKIPPED.contains(name));
    // What looks like a site in an archive is none.
    let mut paths: Vec<String> = names
        .map(|name| path::below(dir, name))
        .filter(|path| {
            !path.ends_with(".claude/statewarden") && !path.ends_with(".devt/state/.archive")
        })
        .collect();
    paths.sort_unstable();
    paths
}

/// A directory and those below it that can hold a site, nearest first, without
/// following links.
pub fn dirs_below<'r>(root: &'r Root, dir: &str) -> impl Iterator<Item = Level> + 'r {
    let mut queue = VecDeque::from([(dir.to_owned(), None)]);
    std::iter::from_fn(move || {
        let (dir, work_tree) = queue.pop_front()?;
        let last = dir.rsplit('/').next().unwrap_or_default();
        if SKIPPED.contains(&last) {
            return Some(Level::unread(&dir));
        }
        let (level, subdirs) = Level::read(root, dir, work_tree);
        let below = subdirs.into_iter();
        queue.extend(below.map(|dir| (dir, level.work_tree.clone())));
        Some(level)
    })
}

/// What is in the directory that a system shares with other programs.
fn in_shared_dir(root: &Root, level: &Level, system: &dyn System) -> Vec<String> {
    let Some(shared) = system
        .info()
        .shared_dir
        .filter(|shared| level.may_hold(shared))
    else {
        return Vec::new();
    };
    let shared = path::below(&level.dir, shared);
    let here = Path::new(&root.dir).join(&shared);
    list::readable(&here)
        .map(|entry| path::below(&shared, &entry.into_name()))
        .collect()
}

/// The sites of every system but our own, by their ids, that a directory holds.
fn held_by_any<'c>(
    root: &Root,
    level: &Level,
    registry: &'c Registry<'c>,
    is_asked: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = Site<'c>> {
    let systems = registry
        .governed
        .iter()
        .filter(|governed| governed.id() != own::ID && is_asked(governed.id()));
    systems.flat_map(move |governed| {
        let mut sites = held(root, level, governed, registry);
        if sites.is_empty() {
            let paths = in_shared_dir(root, level, governed.system);
            sites = located(root, &paths, governed, registry);
        }
        if level.dir.is_empty() {
            sites.extend(named(root, governed, registry));
        }
        sites
    })
}

/// The sites around an event, for callers that cannot walk: those at the root,
/// and those at the given directories and above them, up to the root of the work
/// tree that each is in.
pub fn around<'c>(project: &Project, registry: &'c Registry<'c>, dirs: &[String]) -> Vec<Site<'c>> {
    around_of(project, registry, dirs, &|_| true)
}

/// Those of some systems, by their ids.
pub fn around_of<'c>(
    project: &Project,
    registry: &'c Registry<'c>,
    dirs: &[String],
    is_asked: &dyn Fn(&str) -> bool,
) -> Vec<Site<'c>> {
    let root = Level::unread("");
    let mut sites: Vec<_> = held_by_any(&project.main, &root, registry, is_asked).collect();
    let mut known: HashSet<_> = sites.iter().map(Site::key).collect();
    for dir in dirs {
        // A client's work tree is found by a path in it.
        let inside = format!("{}/x", path::collapse(dir));
        let Some((root, below)) = project.innermost(&inside) else {
            continue;
        };
        let above = below
            .rmatch_indices('/')
            .map(|(end, _)| &below[..end])
            .skip_while(|level| level.len() > resolve::LONGEST);
        let own = (root.dir != project.main.dir).then_some("");
        for level in above.chain(own).map(Level::unread) {
            let held = held_by_any(&root, &level, registry, is_asked);
            sites.extend(held.filter(|site| known.insert(site.key())));
        }
    }
    sites
}

/// Adds a site that is not among the known ones, where these are few.
pub fn add_new<'c>(sites: &mut Vec<Site<'c>>, site: Site<'c>) {
    if !sites.iter().any(|known| known.key() == site.key()) {
        sites.push(site);
    }
}

/// Whether a directory below a root holds state of a system.
pub fn has_landmark(root: &Root, dir: &str, system: &dyn System) -> bool {
    let mut landmarks = system.info().landmarks.iter();
    landmarks.any(|landmark| {
        let path = path::below(dir, landmark);
        match path.strip_suffix("/*") {
            Some(parent) => dirs_in(&Path::new(&root.dir).join(parent)).next().is_some(),
            None => is_there(root, &path),
        }
    })
}

/// The sites of one system that a directory is, or holds under a landmark. Of our own system
/// each landmark is one: the rest of `.claude` is not ours.
pub fn held<'c>(
    root: &Root,
    level: &Level,
    governed: &'c EnabledSystem<'c>,
    registry: &Registry<'_>,
) -> Vec<Site<'c>> {
    let (info, dir) = (governed.system.info(), level.dir.as_str());
    let mut paths = Vec::new();
    for landmark in info.landmarks {
        paths.extend(under_landmark(root, level, landmark));
    }
    if governed.id() == own::ID {
        let sites = paths.into_iter();
        return sites
            .map(|site| Site::new(governed, root.clone(), site))
            .collect();
    }
    let mut named = registry.sites_of(governed.id()).iter();
    if named.any(|site| site == dir) {
        // Any name in it leads to its site.
        paths.push(path::below(dir, info.root_file.unwrap_or("a")));
    } else if info.landmarks.is_empty() && !dir.is_empty() {
        // A declared system's site is known by its glob alone.
        paths.push(dir.to_owned());
    }
    located(root, &paths, governed, registry)
}

/// The existing paths of a landmark below a directory, or around it: `.devt` holds the landmark
/// `.devt/state` when it has an entry `state`.
fn under_landmark(root: &Root, level: &Level, landmark: &str) -> Vec<String> {
    let dir = level.dir.as_str();
    let mut rest = Some(landmark);
    while let Some(below) = rest {
        let above = landmark[..landmark.len() - below.len()].trim_end_matches('/');
        let is_there = above.is_empty()
            || dir
                .strip_suffix(above)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'));
        if is_there && level.may_hold(below.trim_start_matches('*')) {
            let paths = expand(root, &path::below(dir, below));
            if !paths.is_empty() {
                return paths;
            }
        }
        rest = below.split_once('/').map(|(_, rest)| rest);
    }
    Vec::new()
}

/// The sites of one system at the root that no landmark leads to.
pub fn named<'c>(
    root: &Root,
    governed: &'c EnabledSystem<'c>,
    registry: &Registry<'_>,
) -> Vec<Site<'c>> {
    located(
        root,
        &named_paths(root, governed, registry),
        governed,
        registry,
    )
}

/// The signs by which a glob takes more than one name.
const GLOB_SIGNS: [char; 4] = ['*', '?', '[', '{'];

/// As many directories are looked through for the sites of one glob.
const MAX_LOOKED_THROUGH: usize = 4096;

/// The directories of a root that are sites of a declared system, relative to it.
pub fn from_globs(root: &Root, globs: &[String], governed: &EnabledSystem<'_>) -> Vec<String> {
    let view = OnDisk { root, named: &[] };
    let mut sites = Vec::new();
    for glob in globs {
        let parts: Vec<&str> = glob
            .split('/')
            .take_while(|part| !part.contains(GLOB_SIGNS))
            .collect();
        let start = parts.join("/");
        if !Path::new(&root.dir).join(&start).is_dir() {
            continue;
        }
        let found = dirs_below(root, &start)
            .take(MAX_LOOKED_THROUGH)
            .map(|level| level.dir)
            .filter(|dir| {
                let place = governed.system.locate(dir, &view);
                place.is_some_and(|place| place.site == dir)
            });
        let most = if start == *glob { 1 } else { usize::MAX };
        sites.extend(found.take(most));
    }
    sites
}

/// A path in each directory that the settings name as a site, and in the root.
fn named_paths(root: &Root, governed: &EnabledSystem<'_>, registry: &Registry<'_>) -> Vec<String> {
    let file = governed.system.info().root_file;
    let named = registry.sites_of(governed.id()).iter();
    let there = named
        .filter(|site| !site.contains(GLOB_SIGNS))
        .filter(|site| Path::new(&root.dir).join(site).is_dir());
    // A declared system is found by any name in its site.
    there
        .map(|site| path::below(site, file.unwrap_or("a")))
        .chain(file.map(str::to_owned))
        .collect()
}

fn located<'c>(
    root: &Root,
    paths: &[String],
    governed: &'c EnabledSystem<'c>,
    registry: &Registry<'_>,
) -> Vec<Site<'c>> {
    let view = OnDisk::of(root, registry);
    let mut known = HashSet::new();
    let places = paths
        .iter()
        .filter_map(|path| governed.system.locate(path, &view));
    places
        .filter(|place| known.insert(place.site))
        .map(|place| Site::new(governed, root.clone(), place.site.to_owned()))
        .collect()
}

/// The existing paths of a landmark.
fn expand(root: &Root, path: &str) -> Vec<String> {
    let Some(parent) = path.strip_suffix("/*") else {
        let there = is_there(root, path).then(|| path.to_owned());
        return there.into_iter().collect();
    };
    let mut names: Vec<_> = dirs_in(&Path::new(&root.dir).join(parent)).collect();
    names.sort_unstable();
    let paths = names.into_iter().map(|name| path::below(parent, &name));
    paths.collect()
}

/// Whether a landmark exists. One with an extension is a file, each other a directory.
fn is_there(root: &Root, path: &str) -> bool {
    let whole = Path::new(&root.dir).join(path);
    fs::metadata(&whole).is_ok_and(|meta| meta.is_dir() || whole.extension().is_some())
}

/// The names of the directories in one, in no order.
fn dirs_in(dir: &Path) -> impl Iterator<Item = String> {
    list::readable(dir)
        .filter(|entry| entry.leads_to_dir(dir))
        .filter_map(|entry| entry.name.into_string().ok())
}
