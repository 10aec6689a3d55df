//! Targets → [`Claim`]s: which targets fall to which system. Looks at the disk
//! for links.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::base::disk::cache::DirCache;
use crate::base::disk::resolve::{FollowFinal, is_missing, resolve};
use crate::base::git::{TrackedFiles, WorkTree};
use crate::base::path;
use crate::base::target::{Act, Target};
use crate::contract::denial::DenyCode;
use crate::contract::table::DirKind;
use crate::guard::descendants::taken_along;
use crate::guard::git_keeps;
use crate::guard::judge_error::MAX_SEARCHED;
pub use crate::guard::judge_error::{JudgeError, MAX_JUDGED};
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{OnDisk, Project, Root};
use crate::project::sites::{self, Level};
use crate::settings::load::OWN_FOLDER;
use crate::systems::{agentmux, own};

/// A target that falls to a system.
#[derive(Clone)]
pub struct Claim<'s> {
    pub governed: &'s EnabledSystem<'s>,
    pub target: Target,
    pub root: Root,
    /// The site, relative to the root.
    pub site: String,
    /// The entry, relative to the site; empty for the site itself.
    pub entry: String,
    pub resolution: Resolution,
}

/// Where a write at the claimed path ends up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// In the site.
    Inside,
    /// Elsewhere, through a link in the site.
    Outside { real: String },
    /// The path is a whole site, or holds one.
    WholeSite,
    /// The path holds a work tree of this repository, and in a site of it these entries, which
    /// git does not track.
    Untracked(Vec<String>),
}

impl Claim<'_> {
    /// The claimed path, relative to its root where it is below one.
    pub fn display_path(&self) -> String {
        match (self.site.as_str(), self.entry.as_str()) {
            (site, "") => site.to_owned(),
            ("", entry) => entry.to_owned(),
            (site, entry) => format!("{site}/{entry}"),
        }
    }

    /// The absolute path of the site.
    pub fn site_dir(&self) -> String {
        self.root.path(&self.site)
    }

    /// The absolute path of the entry.
    pub fn path(&self) -> String {
        self.root.path(&self.display_path())
    }
}

/// Finds the claim of every target; targets of no system have none. Behind [`MAX_JUDGED`] of
/// them comes one more at most.
///
/// # Errors
/// The disk refuses to say where a path lands that names a governed place, or
/// a tree that would go is too large to be searched.
pub fn of<'s>(
    targets: &[Target],
    project: &Project,
    registry: &'s Registry<'s>,
) -> Result<Vec<Claim<'s>>, JudgeError> {
    let (mut claims, surplus) = judged(targets, project, registry)?;
    claims.extend(surplus);
    Ok(claims)
}

/// The claims that are judged each by itself, and the first of those that are not.
///
/// # Errors
/// As of [`of`].
pub(crate) fn judged<'s>(
    targets: &[Target],
    project: &Project,
    registry: &'s Registry<'s>,
) -> Result<(Vec<Claim<'s>>, Option<Claim<'s>>), JudgeError> {
    let (mut claims, mut n_judged) = (Vec::new(), 0);
    // With every system switched off there is no place to keep.
    if registry.governed.is_empty() {
        return Ok((claims, None));
    }
    let mut search = Search::new(project, registry);
    for target in targets {
        let Some(mut claim) = search.claim(target)? else {
            continue;
        };
        if n_judged == MAX_JUDGED {
            return Ok((claims, Some(claim)));
        }
        n_judged += 1;
        let along = taken_along(&mut claim);
        claims.push(claim);
        claims.extend(along);
    }
    Ok((claims, None))
}

/// The site that an absolute path is in, or is, going by its name alone.
pub fn site_of<'s>(
    path: &str,
    project: &Project,
    registry: &'s Registry<'s>,
) -> Option<sites::Site<'s>> {
    let found = Search::new(project, registry).find(&path::collapse(path))?;
    Some(sites::Site::new(found.governed, found.root, found.site))
}

struct Found<'s> {
    governed: &'s EnabledSystem<'s>,
    root: Root,
    site: String,
    entry: String,
}

impl Found<'_> {
    /// The absolute path of the entry, or of the site.
    fn path(&self) -> String {
        self.root.path(&path::below(&self.site, &self.entry))
    }

    /// The site's path; links in it are not followed yet.
    fn real_site(&self) -> String {
        format!("{}/{}", &self.root.dir, self.site)
    }
}

/// The search for the sites of one call's targets.
struct Search<'p, 's> {
    project: &'p Project,
    registry: &'s Registry<'s>,
    dirs: DirCache,
    /// How many directories may still be searched.
    left: usize,
    git: RefCell<TrackedFiles>,
    /// Directories that lie in no inner work tree: many targets lie side by side.
    in_no_inner: RefCell<HashSet<String>>,
}

impl<'p, 's> Search<'p, 's> {
    fn new(project: &'p Project, registry: &'s Registry<'s>) -> Self {
        Self {
            project,
            registry,
            dirs: DirCache::default(),
            left: MAX_SEARCHED,
            git: RefCell::default(),
            in_no_inner: RefCell::default(),
        }
    }

    fn claim(&mut self, target: &Target) -> Result<Option<Claim<'s>>, JudgeError> {
        let written = path::collapse(&target.path);
        let by_name = self.find(&written);
        let last = match target.act {
            Act::Write | Act::Edit | Act::Clear | Act::Clean(_) => FollowFinal::Follow,
            Act::MakeDir | Act::Link | Act::Remove | Act::RemoveTree | Act::MoveAway => {
                FollowFinal::Keep
            }
        };
        let real = match self.dirs.resolve(&target.path, &written, last) {
            Ok(real) => real,
            Err(error) => {
                return by_name.map_or(Ok(None), |found| {
                    Err(JudgeError::Target {
                        path: written.to_string(),
                        system: found.governed.id().to_owned(),
                        code: DenyCode::PathEscape,
                        error,
                    })
                });
            }
        };
        let found = match (by_name, real == written) {
            (by_name, true) => by_name.map(|found| (found, Resolution::Inside)),
            (Some(found), false) => Some(self.follow(found, &real)),
            (None, false) => self.find(&real).map(|found| (found, Resolution::Inside)),
        };
        let found = match found {
            None => self.holder(target.act, [&written, &real])?,
            Some((found, _)) if !self.is_taken(&found.path(), target.act) => None,
            found => found,
        };
        Ok(match found {
            Some((found, _)) if Self::is_plain_file(&found, target.act) => None,
            found => found.map(|(found, resolution)| claimed(target, found, resolution)),
        })
    }

    /// Whether a file is, or would be, where each directory is a site:
    /// `openspec/changes/README.md`.
    fn is_plain_file(found: &Found<'_>, act: Act) -> bool {
        if !found.entry.is_empty() || matches!(act, Act::MakeDir | Act::Link) {
            return false;
        }
        let path = found.root.path(&found.site);
        match fs::metadata(&path) {
            Ok(meta) => !meta.is_dir(),
            Err(error) => is_missing(&error) && Path::new(&path).extension().is_some(),
        }
    }

    fn find(&self, path: &str) -> Option<Found<'s>> {
        self.find_in_project(path).or_else(|| {
            let (root, name) = self.project.locate_outside(path)?;
            Some(Found {
                governed: self.registry.get(own::ID)?,
                root,
                site: String::new(),
                entry: name.to_owned(),
            })
        })
    }

    fn find_in_project(&self, path: &str) -> Option<Found<'s>> {
        let project = self.project;
        let (root, below) = project.locate(path)?;
        // Only a site that is anchored to a root can tell whose root it is, and the
        // built-in one holds Markdown only; other paths are not worth the look.
        let may_be_anchored = below.ends_with(".md") || self.registry.names_sites();
        let found = self.find_below(&root, below);
        if found.is_some() || !may_be_anchored {
            return found;
        }
        let (dir, _) = path::split_last(path)?;
        if self.in_no_inner.borrow().contains(dir) {
            return None;
        }
        let Some((root, below)) = project.inner_work_tree(&root, below) else {
            self.in_no_inner.borrow_mut().insert(dir.to_owned());
            return None;
        };
        self.find_below(&root, below)
    }

    fn find_below(&self, root: &Root, below: &str) -> Option<Found<'s>> {
        let mut named = Cow::Borrowed(&self.registry.named_sites);
        if let Some(feature) = self.project.feature_dir_below(root) {
            named
                .to_mut()
                .push((agentmux::ID.to_owned(), vec![feature]));
        }
        let view = OnDisk {
            root,
            named: &named,
        };
        let (governed, place) = self.registry.locate(below, &view)?;
        let (site, entry) = (place.site.to_owned(), place.entry.to_owned());
        Some(Found {
            governed,
            root: root.clone(),
            site,
            entry,
        })
    }

    /// Where a claimed path lands: in its site under the name that the links on the
    /// way lead to, or outside it.
    fn follow(&self, found: Found<'s>, real: &str) -> (Found<'s>, Resolution) {
        if found.governed.system.may_be_linked(&found.entry) {
            // Where the link leads to may be a place of its own.
            let there = self.find(real);
            return (there.unwrap_or(found), Resolution::Inside);
        }
        let site = found.real_site();
        let site = resolve(&site, FollowFinal::Follow).unwrap_or(site);
        match path::relative(real, &site) {
            Some(entry) => (
                Found {
                    entry: entry.to_owned(),
                    ..found
                },
                Resolution::Inside,
            ),
            None => (
                found,
                Resolution::Outside {
                    real: real.to_owned(),
                },
            ),
        }
    }

    /// The site that removing, moving or clearing a directory above it would take
    /// along: the directory as it is named, and where it is.
    fn holder(
        &mut self,
        act: Act,
        paths: [&str; 2],
    ) -> Result<Option<(Found<'s>, Resolution)>, JudgeError> {
        if !matches!(
            act,
            Act::RemoveTree | Act::MoveAway | Act::Clear | Act::Clean(_)
        ) {
            return Ok(None);
        }
        if let Some(found) = self.own_file(act, paths) {
            return Ok(Some((found, Resolution::WholeSite)));
        }
        match self.held_in(act, paths[0])? {
            None if paths[0] != paths[1] => self.held_in(act, paths[1]),
            held => Ok(held),
        }
    }

    /// This program or a plugin's contract, where removing or moving a directory takes it
    /// along. What clears a directory leaves what git ignores.
    fn own_file(&self, act: Act, paths: [&str; 2]) -> Option<Found<'s>> {
        if matches!(act, Act::Clear | Act::Clean(_)) {
            return None;
        }
        let (root, name) = paths
            .into_iter()
            .find_map(|dir| self.project.own_file_in(dir))?;
        Some(Found {
            governed: self.registry.get(own::ID)?,
            site: String::new(),
            entry: name.to_owned(),
            root,
        })
    }

    /// Whether an act takes something of what is at a path: git leaves what it tracks.
    fn is_taken(&self, path: &str, act: Act) -> bool {
        match act {
            Act::Clean(cleaning) => {
                git_keeps::takes(&mut self.git.borrow_mut(), path.as_ref(), cleaning)
            }
            _ => true,
        }
    }

    /// A site at a directory or below it. What may still be searched is counted down.
    fn held_in(
        &mut self,
        act: Act,
        path: &str,
    ) -> Result<Option<(Found<'s>, Resolution)>, JudgeError> {
        let (project, registry) = (self.project, self.registry);
        let whole = |governed, root: &Root, site| {
            let (root, entry) = (root.clone(), String::new());
            let found = Found {
                governed,
                root,
                site,
                entry,
            };
            Ok(Some((found, Resolution::WholeSite)))
        };
        if let (Some(root), Some(agentmux)) = (project.feature_dir(), registry.get(agentmux::ID))
            && root.lies_in(path)
        {
            return whole(agentmux, root, String::new());
        }
        if fs::metadata(path).map_or_else(|error| is_missing(&error), |meta| !meta.is_dir()) {
            return Ok(None);
        }
        if let (Some(root), Some(own)) = (project.settings_in(path), registry.get(own::ID)) {
            return whole(own, root, OWN_FOLDER.to_owned());
        }
        let places = [project.locate(path), project.around(path)];
        for (root, below) in places.iter().flatten() {
            for level in sites::dirs_below(root, below) {
                if let Some(found) = self.held_at(act, root, below, &level) {
                    return Ok(Some(found));
                }
                self.left = self
                    .left
                    .checked_sub(1)
                    .ok_or_else(|| JudgeError::TooLarge {
                        path: path.to_owned(),
                    })?;
            }
        }
        Ok(None)
    }

    /// A site that a directory below the one that goes holds. Another repository that goes as a
    /// whole goes with its own; of a work tree, what git tracks is kept in the repository.
    fn held_at(
        &self,
        act: Act,
        root: &Root,
        start: &str,
        level: &Level,
    ) -> Option<(Found<'s>, Resolution)> {
        // What clears a directory leaves its `.git`.
        let is_cleared = matches!(act, Act::Clear | Act::Clean(_));
        let tree = level
            .work_tree
            .as_deref()
            .filter(|tree| !(is_cleared && *tree == start))
            .and_then(|tree| WorkTree::at(&Path::new(&root.dir).join(tree)));
        let is_linked = match &tree {
            Some(tree) if !self.project.is_of_repository(tree) => return None,
            Some(tree) => tree.is_linked(),
            None => false,
        };
        self.registry.governed.iter().find_map(|governed| {
            let mut sites = sites::held(root, level, governed, self.registry)
                .into_iter()
                .filter(|site| !is_ignored(site, act))
                .map(|site| site.site);
            let found = |site| Found {
                governed,
                root: root.clone(),
                site,
                entry: String::new(),
            };
            if !is_linked {
                let site = sites.find(|site| self.is_taken(&root.path(site), act))?;
                return Some((found(site), Resolution::WholeSite));
            }
            let view = OnDisk::of(root, self.registry);
            if governed.site_kind(&view) != DirKind::Closed {
                return None;
            }
            sites.find_map(|site| {
                let dir = root.path(&site);
                let left = git_keeps::untracked(&mut self.git.borrow_mut(), dir.as_ref());
                (!left.is_empty()).then(|| (found(site), Resolution::Untracked(left)))
            })
        })
    }
}

/// Whether what clears a directory leaves our own folder, which is ignored by the file that it
/// comes with.
fn is_ignored(site: &sites::Site<'_>, act: Act) -> bool {
    matches!(act, Act::Clean(cleaning) if !cleaning.takes_ignored())
        && site.governed.id() == own::ID
        && Path::new(&site.root.dir)
            .join(&site.site)
            .join(".gitignore")
            .exists()
}

fn claimed<'s>(target: &Target, found: Found<'s>, last: Resolution) -> Claim<'s> {
    let resolution = match (link_out(target, &found), last) {
        (Some(real), _) => Resolution::Outside { real },
        (None, Resolution::Inside) if found.entry.is_empty() => Resolution::WholeSite,
        (None, last) => last,
    };
    Claim {
        governed: found.governed,
        root: found.root,
        site: found.site,
        entry: found.entry,
        resolution,
        target: target.clone(),
    }
}

/// A link that would be made in a site and lead out of it.
fn link_out(target: &Target, found: &Found<'_>) -> Option<String> {
    if target.act != Act::Link {
        return None;
    }
    let link_to = target.link_to.as_deref()?;
    let (dir, _) = path::split_last(&target.path)?;
    let real = resolve(&path::join(dir, link_to, None), FollowFinal::Follow).ok()?;
    let site = resolve(&found.real_site(), FollowFinal::Follow).ok()?;
    path::relative(&real, &site).is_none().then_some(real)
}
