//! What is read-only behind the fence: the state directories that the recorder looks at too, and
//! what this program and the client go by.

use std::path::{Path, PathBuf};

use crate::base::env;
use crate::base::path;
use crate::contract::denial::Mode;
use crate::contract::table::{Bucket, DirKind};
use crate::host::client_files;
use crate::project::context::Context;
use crate::project::entries;
use crate::project::roots::OnDisk;
use crate::project::sites::Site;
use crate::recorder::index::Index;
use crate::recorder::places::add_known;
use crate::store::replace;
use crate::systems::{agentmux, devt, session};

/// The most paths that are kept: each costs some system calls.
const MAX_PATHS: usize = 512;

/// Where new sites of a system come: the directory that holds them, and the one whose presence
/// says that they may come. It is made, since what is not there cannot be kept.
const HOLDERS: [(&str, &str, &str); 3] = [
    (devt::ID, ".devt", ".devt/state"),
    (session::ID, ".claude/.docs", ".claude/.docs"),
    (agentmux::ID, ".agentmux", ".agentmux/.sessions"),
];

/// Everything that a command may only read. `env_file` is the client's file of the session.
pub fn read_only(context: &Context<'_>, env_file: Option<&str>) -> Vec<PathBuf> {
    let project = &context.project;
    let own = project.own_folder().to_owned();
    let settings = project.settings_files(context.env).iter();
    let mut paths = vec![own.with_extension("d"), project.memory().to_owned(), own];
    if let Some(dir) = &project.claude_dir {
        paths.extend(client_files::BEFORE_COMMANDS.map(|name| Path::new(dir).join(name)));
    }
    paths.extend(env::own_program().map(PathBuf::from));
    paths.extend(env_file.map(PathBuf::from));
    paths.extend(settings.map(|(_, path)| PathBuf::from(path)));
    paths.extend(holders(context));
    paths.extend(
        sites(context)
            .iter()
            .flat_map(|site| places_of(site, context)),
    );
    paths.truncate(MAX_PATHS);
    paths
}

/// The sites around the event, and those that were looked at before.
fn sites<'c>(context: &Context<'c>) -> Vec<Site<'c>> {
    let mut sites = context.sites_around();
    if let Ok(Some(index)) = Index::open(context.project.memory()) {
        add_known(&mut sites, &index, &context.project, context.registry);
    }
    // A mode that only warns refuses nothing.
    sites.retain(|site| site.governed.mode == Mode::Enforce);
    sites
}

/// The directories that hold the sites of systems whose sites come and go.
fn holders(context: &Context<'_>) -> Vec<PathBuf> {
    let mut dirs = vec![context.project.main.dir.as_str()];
    let mut dir = context.cwd.as_str();
    while context.project.locate(dir).is_some() {
        dirs.push(dir);
        let Some((above, _)) = path::split_last(dir) else {
            break;
        };
        dir = above;
    }
    let enforced = HOLDERS.iter().filter(|(id, ..)| {
        let governed = context.registry.get(id);
        governed.is_some_and(|governed| governed.mode == Mode::Enforce)
    });
    let pairs =
        enforced.flat_map(|(_, owner, holder)| dirs.iter().map(move |dir| (dir, owner, holder)));
    let owned = pairs.filter(|(dir, owner, _)| Path::new(dir).join(owner).is_dir());
    let holders = owned.map(|(dir, _, holder)| Path::new(dir).join(holder));
    // One that cannot be made is not there.
    holders
        .filter(|holder| holder.is_dir() || replace::make_dir(holder).is_ok())
        .collect()
}

/// A site whose names are all known as a whole; of another one what its contract names.
fn places_of(site: &Site<'_>, context: &Context<'_>) -> Vec<PathBuf> {
    let governed = site.governed;
    let view = OnDisk::of(&site.root, context.registry);
    let dir = PathBuf::from(site.dir());
    if governed.site_kind(&view) == DirKind::Closed {
        return vec![dir];
    }
    let closed = governed.contract.dirs.iter().filter(|below| {
        below.kind == DirKind::Closed
            && !below.path.is_empty()
            && governed.edition.holds(below.edition)
    });
    let mut paths: Vec<PathBuf> = closed.map(|below| dir.join(below.path)).collect();
    for entry in entries::entries(site, context.registry).unwrap_or_default() {
        if !matches!(entry.bucket, Bucket::AdHoc | Bucket::Ignored) {
            paths.push(entry.path);
        }
    }
    paths
}
