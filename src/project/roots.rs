//! The project around an event: its roots, and the disk as the analyser asks it.
//! Reads the disk, never writes.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::base::disk::bounded_read::{self, MAX_TEXT, read_bytes, read_text};
use crate::base::disk::cache::{DirCache, Disk};
use crate::base::disk::resolve::{self, real_dir};
use crate::base::env::{self, Env};
use crate::base::git::WorkTree;
use crate::base::path;
use crate::host::client_files;
use crate::host::settings_json::is_our_name;
use crate::log::append::{Logs, own_folder};
use crate::project::accepted::Accepted;
use crate::project::memory::MemoryFolder;
use crate::project::plugins::{CONTRACT, EnabledPlugins};
use crate::project::registry::Registry;
use crate::project::stamps::Stamps;
use crate::settings::load::{self, OWN_FOLDER, SettingsFile};
use crate::settings::merge::Layer;
use crate::systems::system::View;

/// What marks a project root.
const MARKERS: &[&str] = &[".devt", ".claude", ".agentmux", "openspec", ".git"];

/// A project root.
#[derive(Clone, Debug)]
pub struct Root {
    /// Without links: what is kept of a root, whoever named it how, is kept under one path.
    pub dir: String,
    /// As it was named, where links lead there.
    named: Option<String>,
}

impl Root {
    fn new(named: String) -> Self {
        let dir = real_dir(&named).unwrap_or_else(|| named.clone());
        Self {
            named: (dir != named).then_some(named),
            dir,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.named.as_deref().into_iter().chain([self.dir.as_str()])
    }

    /// Whether the root is a directory or is below it.
    pub fn lies_in(&self, dir: &str) -> bool {
        self.names().any(|name| path::relative(name, dir).is_some())
    }

    /// The absolute path of what is below the root; `""` is the root itself.
    pub fn path(&self, below: &str) -> String {
        match below {
            "" => self.dir.clone(),
            below => format!("{}/{below}", self.dir.trim_end_matches('/')),
        }
    }

    /// The same by each name of the root.
    pub fn paths(&self, below: &str) -> impl Iterator<Item = String> {
        let names = self.names();
        names.map(move |name| format!("{}/{below}", name.trim_end_matches('/')))
    }

    /// Whether a directory, as a call names it, is the root.
    pub fn is_at(&self, dir: &str) -> bool {
        self.names().any(|name| name == dir)
    }

    /// The part of a collapsed path below this root.
    pub fn relative<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.names().find_map(|name| path::relative(path, name))
    }
}

/// The roots that govern an event.
#[derive(Clone, Debug)]
pub struct Project {
    /// The main checkout: settings and logs that lie in no site are here.
    pub main: Root,
    /// The work tree that the session is of, where one is named.
    tree: Option<Root>,
    /// Work trees beside the project: the one that the session names, and the
    /// one in which the event happened.
    beside: Vec<Root>,
    /// AgentMux's session directory, where the environment names one.
    feature_dir: Option<Root>,
    /// Claude Code's directory of the user.
    pub claude_dir: Option<String>,
    /// The directory of the user's settings of programs.
    config_dir: Option<String>,
    /// The directory of the machine's settings.
    etc_dir: String,
    /// The client's directory of settings for everyone on this machine.
    managed_dir: String,
    /// The directory of what programs keep for the user.
    pub(super) state_home: Option<String>,
    own_folder: PathBuf,
    /// Where the memory is, once that is asked for.
    pub(super) memory: OnceCell<MemoryFolder>,
    /// What the client's plugins bring, once that is asked for.
    pub(super) plugins: OnceCell<EnabledPlugins>,
    /// The paths of the settings files, once they are asked for.
    pub(super) settings_files: OnceCell<Vec<(Layer, String)>>,
    /// The settings files, once they are asked for.
    pub(super) read_settings: OnceCell<Vec<SettingsFile>>,
    /// Which settings are in force, once that is asked for.
    pub(super) accepted: OnceCell<Accepted>,
    /// The stamps of the settings files, once they are asked for; `None` without contracts.
    pub(super) stamps: OnceCell<Option<Stamps>>,
    /// What is kept of the settings as they are now, once that is asked for.
    pub(super) kept_settings: OnceCell<Option<String>>,
    /// The repository that the project is in, once it is asked for.
    repository: OnceCell<Option<WorkTree>>,
    /// The directories above our own folders outside the project, once they are asked for.
    homes: OnceCell<Vec<Root>>,
    /// The paths of the program that runs and of the contracts of plugins elsewhere, once they
    /// are asked for.
    own_files: OnceCell<Vec<String>>,
}

impl Project {
    /// Finds the project: the given directory, else `CLAUDE_PROJECT_DIR`, else
    /// the nearest ancestor of `cwd` with a marker, else `cwd` itself.
    pub fn discover(given: Option<&str>, env: &Env, cwd: &str) -> Self {
        let cwd = path::absolute("/", cwd, None);
        // A project that was moved under its session is not where its name says.
        let of_session = env
            .project_dir
            .as_deref()
            .filter(|dir| path::relative(&cwd, dir).is_some() || Path::new(dir).is_dir());
        let named = given.or(of_session);
        let dir = match named {
            Some(dir) => path::absolute(&cwd, dir, env.home.as_deref()),
            None => nearest_marked(&cwd, env).unwrap_or_else(|| cwd.clone()),
        };
        // A work tree whose repository was moved away has only itself.
        let checkout = main_checkout(&dir).filter(|main| Path::new(main).is_dir());
        let tree = (checkout.is_some() && named.is_some()).then(|| Root::new(dir.clone()));
        let main = Root::new(checkout.unwrap_or_else(|| dir.clone()));
        let dirs = [dir.as_str(), &cwd].into_iter();
        let mut beside: Vec<Root> = dirs.filter_map(|dir| beside(&main, dir, env)).collect();
        beside.dedup_by(|one, other| one.dir == other.dir);
        // AgentMux says it whole; what is relative belongs to another program.
        let feature_dir = env
            .feature_dir
            .as_deref()
            .filter(|dir| path::is_absolute(&path::slashed(dir)));
        Self {
            beside,
            feature_dir: feature_dir.map(|dir| Root::new(path::absolute("/", dir, None))),
            config_dir: env.config_dir(),
            etc_dir: env.etc_dir().to_owned(),
            managed_dir: client_files::managed_dir(env),
            state_home: env.state_dir(),
            memory: OnceCell::new(),
            plugins: OnceCell::new(),
            settings_files: OnceCell::new(),
            read_settings: OnceCell::new(),
            stamps: OnceCell::new(),
            kept_settings: OnceCell::new(),
            accepted: OnceCell::new(),
            repository: OnceCell::new(),
            homes: OnceCell::new(),
            own_files: OnceCell::new(),
            claude_dir: env.claude_dir().map(|dir| path::absolute(&cwd, &dir, None)),
            tree,
            own_folder: own_folder(Path::new(&main.dir)),
            main,
        }
    }

    /// The root that the session is of, and its runs with it: the work tree that
    /// is named, else the main checkout, also for agents that have a work tree.
    pub fn session_root(&self) -> &Root {
        self.tree.as_ref().unwrap_or(&self.main)
    }

    /// The folder of the program's own logs and state.
    pub fn own_folder(&self) -> &Path {
        &self.own_folder
    }

    /// The logs in that folder.
    pub fn logs(&self) -> Logs {
        Logs::of(Path::new(&self.main.dir), Some(self.memory()))
    }

    /// The main checkout, and the work trees beside it.
    pub fn checkouts(&self) -> impl Iterator<Item = &Root> {
        std::iter::once(&self.main).chain(&self.beside)
    }

    /// The root a collapsed path is in, and the path below it. The client's
    /// own work trees, `.claude/worktrees/<name>`, are roots.
    pub fn locate<'p>(&self, path: &'p str) -> Option<(Cow<'_, Root>, &'p str)> {
        const CLIENT: &str = ".claude/worktrees/";
        // By its real name the project would take it for a directory like any other.
        let linked = self.feature_dir.as_ref().filter(|feature| {
            let real = self.main.relative(&feature.dir);
            let named = feature.named.as_deref();
            real.is_some_and(|real| !real.is_empty())
                && named.is_some_and(|named| self.main.relative(named) != real)
        });
        let (root, below) = linked
            .into_iter()
            .chain(self.checkouts())
            .chain(&self.feature_dir)
            .find_map(|root| Some((root, root.relative(path)?)))?;
        match below
            .strip_prefix(CLIENT)
            .and_then(|rest| rest.split_once('/'))
        {
            Some((name, inside)) => {
                let root = child(root, &format!("{CLIENT}{name}"));
                Some((Cow::Owned(root), inside))
            }
            None => Some((Cow::Borrowed(root), below)),
        }
    }

    /// The project's root where it is below a collapsed path.
    pub fn around(&self, path: &str) -> Option<(Cow<'_, Root>, &'static str)> {
        let around = self.main.lies_in(path);
        around.then_some((Cow::Borrowed(&self.main), ""))
    }

    /// The files in which the project has Claude Code's hooks: those of
    /// everyone, and the personal ones.
    pub fn client_settings(&self) -> [String; 2] {
        ["settings.json", "settings.local.json"]
            .map(|name| format!("{}/.claude/{name}", self.main.dir))
    }

    /// The file in which the user has Claude Code's hooks for every project.
    pub fn user_settings(&self) -> Option<String> {
        Some([self.claude_dir.as_deref()?, "/settings.json"].concat())
    }

    /// The settings files of Claude Code that a session here reads, the one that wins first.
    pub fn session_settings(&self) -> impl Iterator<Item = String> {
        let [of_all, personal] = self.client_settings();
        let in_tree = self
            .tree
            .as_ref()
            .map(|tree| tree.path(".claude/settings.json"));
        let project = [Some(personal), in_tree, Some(of_all)]
            .into_iter()
            .flatten();
        project.chain(self.user_settings())
    }

    /// The directory and the name of what is ours outside the project: the program that
    /// runs, its own settings, the contracts of plugins, and the settings of the user that may
    /// hold our entries. As if the directory were a root for them alone.
    pub fn locate_outside<'p>(&self, path: &'p str) -> Option<(Root, &'p str)> {
        let claude_dir = self.claude_dir.as_deref();
        if let Some((dir, below)) = client_files::locate(path, &self.managed_dir, claude_dir) {
            return Some((Root::new(dir.to_owned()), below));
        }
        let (dir, name) = path::split_last(path)?;
        let is_settings = name == "settings.json" && self.claude_dir.as_deref() == Some(dir);
        let may_be_own = is_our_name(name) || name == CONTRACT;
        if is_settings || (may_be_own && self.own_files().iter().any(|file| file == path)) {
            return Some((Root::new(dir.to_owned()), name));
        }
        // Only a path that may be one is worth asking the disk about links.
        if !path.contains(OWN_FOLDER) || path.split('/').all(|part| part != OWN_FOLDER) {
            return None;
        }
        let in_home = self.settings_homes().iter().find_map(|home| {
            let below = home.relative(path)?;
            (below.split('/').next() == Some(OWN_FOLDER)).then(|| (home.clone(), below))
        });
        in_home.or_else(|| {
            let memory = path::from_os(self.memory());
            let (above, _) = path::split_last(&memory)?;
            path::relative(path, &memory)?;
            Some((Root::new(above.to_owned()), path::relative(path, above)?))
        })
    }

    /// The directory above settings of our own outside the project that a directory holds.
    pub fn settings_in(&self, dir: &str) -> Option<&Root> {
        self.settings_homes()
            .iter()
            .find(|home| home.lies_in(dir) && Path::new(&home.path(OWN_FOLDER)).exists())
    }

    /// The directory and the name of one of [`Self::own_files`] that a directory holds.
    pub fn own_file_in(&self, dir: &str) -> Option<(Root, &str)> {
        let mut files = self
            .own_files()
            .iter()
            .filter_map(|it| path::split_last(it));
        let (above, name) = files.find(|(above, _)| path::relative(above, dir).is_some())?;
        Some((Root::new(above.to_owned()), name))
    }

    /// The paths of the program that runs, of the contracts of plugins, and of the memory. A
    /// plugin that is the project itself is what one works on there.
    fn own_files(&self) -> &[String] {
        self.own_files.get_or_init(|| {
            let contracts = self.enabled_plugins().contracts.iter().cloned();
            let elsewhere = contracts.filter(|path| self.main.relative(path).is_none());
            let memory = self.has_memory().then(|| path::from_os(self.memory()));
            env::own_program().chain(elsewhere).chain(memory).collect()
        })
    }

    fn settings_homes(&self) -> &[Root] {
        self.homes.get_or_init(|| {
            load::homes(&self.etc_dir, self.config_dir.clone())
                .map(|(_, dir)| dir)
                .chain(self.state_home.clone())
                .map(|dir| Root::new(path::collapse(&dir).into_owned()))
                .collect()
        })
    }

    /// The innermost other work tree of the project around a path: a directory
    /// whose `.git` is a file that points into the project's repository.
    ///
    /// Asks the disk once for each directory on the way that can exist.
    pub fn inner_work_tree<'p>(&self, root: &Root, below: &'p str) -> Option<(Root, &'p str)> {
        let ends = below.rmatch_indices('/').map(|(at, _)| at);
        let existing = ends.skip_while(|end| *end > resolve::LONGEST);
        let mut inner = existing.filter(|&end| {
            let git = [&root.dir, "/", &below[..end], "/.git"].concat();
            main_checkout_of_git_file(&git).is_some_and(|main| same_dir(&main, &self.main))
        });
        inner
            .next()
            .map(|end| (child(root, &below[..end]), &below[end + 1..]))
    }

    /// The innermost root around a collapsed path, and the path below it.
    pub fn innermost<'p>(&self, path: &'p str) -> Option<(Root, &'p str)> {
        let (root, below) = self.locate(path)?;
        let inner = self.inner_work_tree(&root, below);
        Some(inner.unwrap_or_else(|| (root.into_owned(), below)))
    }

    /// The innermost root that a collapsed directory is, or is in.
    pub fn root_of(&self, dir: &str) -> Option<Root> {
        // A work tree is found by a path in it.
        let (root, _) = self.innermost(&format!("{dir}/x"))?;
        Some(root)
    }

    /// The root of the other git repository that a directory of the project is in, or is. Work
    /// trees are of this repository, submodules of others. What is in there is shown and guarded,
    /// but only moved by a verb whose project it is.
    pub fn other_repository(&self, dir: &str) -> Option<String> {
        let root = self.checkouts().find(|root| root.relative(dir).is_some())?;
        let (above, tree) = ancestors(dir)
            .take_while(|above| !root.is_at(above))
            .find_map(|above| Some((above, WorkTree::at(Path::new(above))?)))?;
        (!self.is_of_repository(&tree)).then(|| above.to_owned())
    }

    /// Whether a work tree is one of the repository that the project is in.
    pub fn is_of_repository(&self, tree: &WorkTree) -> bool {
        let own = self
            .repository
            .get_or_init(|| WorkTree::around(Path::new(&self.main.dir)));
        own.as_ref()
            .is_some_and(|own| own.is_of_same_repository(tree))
    }

    /// AgentMux's session directory, where the environment names one.
    pub fn feature_dir(&self) -> Option<&Root> {
        self.feature_dir.as_ref()
    }

    /// AgentMux's session directory below a root, if it is.
    pub fn feature_dir_below(&self, root: &Root) -> Option<String> {
        let mut names = self.feature_dir.as_ref()?.names();
        let below = names.find_map(|name| root.relative(name));
        below.map(str::to_owned)
    }
}

fn child(root: &Root, below: &str) -> Root {
    Root::new(root.path(below))
}

fn same_dir(dir: &str, root: &Root) -> bool {
    dir == root.dir || real_dir(dir).is_some_and(|real| real == root.dir)
}

/// The work tree beside the project that a directory is in, if any.
fn beside(main: &Root, dir: &str, env: &Env) -> Option<Root> {
    if main.relative(dir).is_some() {
        return None;
    }
    up_to_ceiling(dir, env)
        .find(|dir| main_checkout(dir).is_some_and(|found| same_dir(&found, main)))
        .map(|dir| Root::new(dir.to_owned()))
}

fn ancestors(dir: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(dir), |dir| {
        path::split_last(dir).map(|(above, _)| above)
    })
    .skip_while(|dir| dir.len() > resolve::LONGEST)
}

/// A directory and those above it, but none above the ceiling.
fn up_to_ceiling<'d>(dir: &'d str, env: &Env) -> impl Iterator<Item = &'d str> {
    let ceiling = env
        .ceiling
        .as_deref()
        .map(|ceiling| path::absolute("/", ceiling, env.home.as_deref()));
    let n_below = ancestors(dir).position(|above| Some(above) == ceiling.as_deref());
    ancestors(dir).take(n_below.map_or(usize::MAX, |n| n + 1))
}

fn nearest_marked(cwd: &str, env: &Env) -> Option<String> {
    up_to_ceiling(cwd, env)
        .find(|dir| is_marked(dir) && !is_shared(dir, env))
        .map(str::to_owned)
}

fn is_marked(dir: &str) -> bool {
    MARKERS
        .iter()
        .any(|marker| Path::new(&format!("{dir}/{marker}")).exists())
}

/// Whether a directory holds the projects and markers of many: the home directory, that of
/// temporary files, the root of the file system.
fn is_shared(dir: &str, env: &Env) -> bool {
    let named = [env.home.as_deref(), env.temp_dir.as_deref()];
    let mut shared = named.into_iter().flatten().chain(TEMP_DIRS.iter().copied());
    path::split_last(dir).is_none()
        || shared.any(|shared| {
            let shared = path::absolute("/", shared, None);
            shared == dir || real_dir(&shared).is_some_and(|real| real == dir)
        })
}

/// Where systems have their temporary files, whatever the environment says.
const TEMP_DIRS: &[&str] = &["/tmp", "/var/tmp"];

/// The main checkout of a directory that is a linked work tree.
fn main_checkout(dir: &str) -> Option<String> {
    main_checkout_of_git_file(&format!("{dir}/.git"))
}

/// Reads a `.git` file of a linked work tree: `gitdir: <main>/.git/worktrees/<name>`.
fn main_checkout_of_git_file(git: &str) -> Option<String> {
    let is_file = fs::symlink_metadata(git).is_ok_and(|meta| meta.is_file() && meta.len() < 4096);
    let text = is_file.then(|| fs::read_to_string(git).ok()).flatten()?;
    let gitdir = path::slashed(text.strip_prefix("gitdir:")?.trim());
    let (dir, _) = path::split_last(git)?;
    let gitdir = path::absolute(dir, &gitdir, None);
    let (main, _) = gitdir.split_once("/.git/worktrees/")?;
    Some(main.to_owned())
}

/// A root on the disk, as the systems see it.
pub struct OnDisk<'a> {
    pub root: &'a Root,
    pub named: &'a [(String, Vec<String>)],
}

impl<'a> OnDisk<'a> {
    /// With the sites that the settings name.
    pub fn of(root: &'a Root, registry: &'a Registry<'_>) -> Self {
        Self {
            root,
            named: &registry.named_sites,
        }
    }
}

impl View for OnDisk<'_> {
    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(format!("{}/{path}", self.root.dir)).is_ok()
    }

    fn text(&self, path: &str) -> Option<String> {
        read_text(&format!("{}/{path}", self.root.dir))
            .ok()
            .flatten()
    }

    fn named_sites(&self, system: &str) -> &[String] {
        self.named
            .iter()
            .find(|(id, _)| id == system)
            .map_or(&[], |(_, sites)| sites)
    }
}

/// The text of a settings file of Claude Code, as it takes the bytes: UTF-16 behind the
/// mark of that, and no error where they are not UTF-8.
///
/// # Errors
/// The file cannot be read, is no regular file, or larger than such a file may be.
pub fn read_client_text<P: AsRef<Path> + ?Sized>(path: &P) -> io::Result<Option<String>> {
    let text = |bytes: Vec<u8>| match bytes.strip_prefix(b"\xff\xfe") {
        Some(pairs) => {
            let units = pairs.as_chunks::<2>().0.iter().copied();
            String::from_utf16_lossy(&units.map(u16::from_le_bytes).collect::<Vec<_>>())
        }
        None => String::from_utf8_lossy(&bytes).into_owned(),
    };
    Ok(read_bytes(path.as_ref())?.map(text))
}

/// The disk as the shell analyser asks it.
impl Disk for DirCache {
    fn entries(&self, dir: &str) -> Vec<String> {
        self.names(dir)
    }

    fn is_dir(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn text(&self, path: &str) -> Option<String> {
        read_text(path).ok().flatten()
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        bounded_read::read(Path::new(path), MAX_TEXT).ok()
    }
}
