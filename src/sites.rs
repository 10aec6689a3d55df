//! The sites that exist below a project's roots.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use crate::catalog::{Catalog, Governed};
use crate::project::{OnDisk, Project, Root};

/// One site on the disk.
pub struct Site<'c> {
    pub governed: &'c Governed<'c>,
    pub root: Root,
    /// Relative to the root.
    pub site: String,
}

impl Site<'_> {
    /// The absolute path of the site.
    pub fn dir(&self) -> String {
        match self.site.as_str() {
            "" => self.root.dir.clone(),
            site => format!("{}/{site}", self.root.dir),
        }
    }
}

/// Directories that hold other programs' files in great number, never a site.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];

/// Finds every site, by walking the project without following links. The
/// program's own folder is none.
pub fn find<'c>(project: &Project, catalog: &'c Catalog<'c>) -> Vec<Site<'c>> {
    let root = &project.main;
    let mut sites: Vec<Site<'c>> = Vec::new();
    let mut queue = VecDeque::from([String::new()]);
    while let Some(dir) = queue.pop_front() {
        for governed in catalog
            .governed
            .iter()
            .filter(|governed| governed.system.id() != "self")
        {
            for site in held(root, &dir, governed, catalog) {
                let same = |known: &Site<'_>| {
                    known.site == site.site && known.governed.system.id() == governed.system.id()
                };
                if !sites.iter().any(same) {
                    sites.push(site);
                }
            }
        }
        let entries = fs::read_dir(Path::new(&root.real()).join(&dir))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !SKIPPED.contains(&name.as_str()))
            .collect();
        names.sort();
        queue.extend(names.into_iter().map(|name| join(&dir, &name)));
    }
    sites
}

/// The sites that lie at the root itself, for callers that cannot walk.
pub fn at_root<'c>(project: &Project, catalog: &'c Catalog<'c>) -> Vec<Site<'c>> {
    let systems = catalog
        .governed
        .iter()
        .filter(|governed| governed.system.id() != "self");
    systems
        .flat_map(|governed| held(&project.main, "", governed, catalog))
        .collect()
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

/// The sites of one system whose landmarks lie in a directory.
fn held<'c>(
    root: &Root,
    dir: &str,
    governed: &'c Governed<'c>,
    catalog: &Catalog<'_>,
) -> Vec<Site<'c>> {
    let view = OnDisk {
        root,
        named: &catalog.named_sites,
    };
    let system = governed.system;
    let mut found: Vec<String> = Vec::new();
    let mut add = |path: &str| {
        if let Some(place) = system.locate(path, &view)
            && !found.iter().any(|site| site == place.site)
        {
            found.push(place.site.to_owned());
        }
    };
    for landmark in system.landmarks() {
        for path in expand(root, &join(dir, landmark)) {
            add(&path);
        }
    }
    if dir.is_empty() {
        catalog
            .named_sites
            .iter()
            .filter(|(id, _)| id == system.id())
            .flat_map(|(_, sites)| sites)
            .for_each(|site| {
                if Path::new(&root.real()).join(site).is_dir() {
                    add(&join(site, "tasks.md"));
                }
            });
        add("tasks.md");
    }
    if system.landmarks().is_empty() && !dir.is_empty() {
        // A declared system's site is known by its glob alone.
        add(dir);
    }
    found
        .into_iter()
        .map(|site| Site {
            governed,
            root: root.clone(),
            site,
        })
        .collect()
}

/// The existing paths of a landmark.
fn expand(root: &Root, path: &str) -> Vec<String> {
    let there = |path: &str| Path::new(&root.real()).join(path).exists();
    match path.strip_suffix("/*") {
        None => {
            if there(path) {
                vec![path.to_owned()]
            } else {
                Vec::new()
            }
        }
        Some(parent) => {
            let entries = fs::read_dir(Path::new(&root.real()).join(parent))
                .into_iter()
                .flatten()
                .flatten();
            let dirs = entries.filter(|entry| entry.path().is_dir());
            let mut paths: Vec<String> = dirs
                .map(|entry| format!("{parent}/{}", entry.file_name().to_string_lossy()))
                .collect();
            paths.sort();
            paths
        }
    }
}
