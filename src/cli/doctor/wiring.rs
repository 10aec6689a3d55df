//! The wiring: what the settings files and the plugins of Claude Code run.

use std::path::{Path, PathBuf};

use super::{Facts, Found};
use crate::base::git::TrackedFiles;
use crate::base::git_index::Tracked;
use crate::base::path::{is_in_package_cache, passing_part};
use crate::cli::install::{Place, Scope};
use crate::host::settings_json::{self, Wiring};
use crate::project::plugins::Plugin;
use crate::project::roots::read_client_text;

/// A settings file of Claude Code.
pub(super) struct ScopeFile {
    scope: Scope,
    /// Why the scope has no file where that is so.
    path: Result<PathBuf, String>,
    /// Why it cannot be read where that is so; one that is not there is empty.
    text: Result<String, String>,
    wiring: Wiring,
}

impl ScopeFile {
    pub(super) fn read(scope: Scope, place: &Place) -> Self {
        let path = place.settings_here(scope).map_err(|e| e.to_string());
        let file = path.as_ref().ok();
        let content = file.map_or(Ok(None), read_client_text);
        let text = content
            .map(Option::unwrap_or_default)
            .map_err(|e| e.to_string());
        let read = text.as_deref().map(Wiring::read);
        Self {
            scope,
            path,
            wiring: read.ok().and_then(Result::ok).unwrap_or_default(),
            text,
        }
    }

    fn runs_us(&self) -> bool {
        !self.wiring.entries.is_empty()
    }

    fn display(&self) -> String {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        path.display().to_string()
    }

    fn commands(&self) -> impl Iterator<Item = &str> {
        self.wiring.entries.iter().map(|entry| &*entry.command)
    }
}

/// A plugin that runs this program.
pub(super) struct WiredPlugin {
    plugin: Plugin,
    command: String,
}

impl WiredPlugin {
    pub(super) fn of(plugin: Plugin) -> Option<Self> {
        let hooks = read_client_text(&Path::new(&plugin.root).join("hooks/hooks.json")).ok();
        let wiring = Wiring::read(&hooks.flatten().unwrap_or_default());
        let wired = wiring.unwrap_or_default().entries.pop();
        let written = match &wired {
            Some(wired) => &wired.command,
            None if plugin.id.starts_with("statewarden@") => settings_json::PLUGIN_COMMAND,
            None => return None,
        };
        let command = written.replace("${CLAUDE_PLUGIN_ROOT}", &plugin.root);
        Some(Self { plugin, command })
    }
}

/// A command that runs the hook.
pub(super) struct Wired {
    pub command: String,
    /// Whose settings say so. Those of a project can come with a clone.
    pub scope: Scope,
}

/// The commands that run the hook, each once; a person's own settings go before a project's.
pub(super) fn commands(files: &[ScopeFile], plugins: &[WiredPlugin]) -> Vec<Wired> {
    let in_files = files.iter().flat_map(|file| {
        let entries = file.wiring.entries.iter();
        entries.map(|entry| Wired {
            command: entry.command.clone(),
            scope: file.scope,
        })
    });
    // A person installed a plugin, whatever enabled it here.
    let in_plugins = plugins.iter().map(|wired| Wired {
        command: wired.command.clone(),
        scope: Scope::User,
    });
    let mut commands: Vec<Wired> = in_files.chain(in_plugins).collect();
    commands.sort_by(|one, other| one.command.cmp(&other.command));
    commands.dedup_by(|next, kept| {
        let is_same = next.command == kept.command;
        if is_same && next.scope == Scope::User {
            kept.scope = Scope::User;
        }
        is_same
    });
    commands
}

pub(super) fn without_a_place(file: &ScopeFile) -> Option<Found> {
    let (scope, why) = (file.scope.as_str(), file.path.as_ref().err()?);
    Some(format!("scope {scope} is not looked at: {why}").into())
}

pub(super) fn unreadable(file: &ScopeFile) -> Option<Found> {
    let why = file.text.as_ref().err()?;
    Some(format!("could not read `{}`: {why}", file.display()).into())
}

pub(super) fn faulty(file: &ScopeFile) -> Option<Found> {
    let fault = Wiring::fault(file.text.as_ref().ok()?)?;
    Some(format!("`{}`: {fault}", file.display()).into())
}

pub(super) fn disabled(file: &ScopeFile) -> Option<Found> {
    let what = format!("`{}` says `disableAllHooks`: no hook runs", file.display());
    file.wiring.hooks_are_disabled.then(|| what.into())
}

pub(super) fn wired(file: &ScopeFile) -> Option<Found> {
    let (scope, path) = (file.scope.as_str(), file.display());
    let what = format!("wired in scope {scope}: `{path}`");
    (file.runs_us() && is_ours(&file.wiring)).then(|| what.into())
}

/// Whether the entries are those of this version.
fn is_ours(wiring: &Wiring) -> bool {
    let mut entries = wiring.entries.iter();
    wiring.missing().is_empty() && entries.all(|entry| entry.exact.is_some())
}

pub(super) fn wired_otherwise(file: &ScopeFile) -> Option<Found> {
    if !file.runs_us() || is_ours(&file.wiring) {
        return None;
    }
    let path = file.display();
    let what = match file.wiring.missing().as_slice() {
        [] => format!("`{path}` has further entries of another form"),
        entries => {
            let mut events: Vec<_> = entries.iter().map(|entry| entry.event).collect();
            events.dedup();
            let named = events.join(", ");
            format!("`{path}` lacks entries of this version for {named}")
        }
    };
    Some(Found::about(what, file.scope.as_str()))
}

/// A program that may be gone tomorrow.
pub(super) fn in_a_cache(file: &ScopeFile) -> Option<Found> {
    let mut commands = file.commands();
    let (path, command) = (file.display(), commands.find(|it| is_in_package_cache(it))?);
    let what = format!(
        "`{path}` runs `{command}`, which is in a package cache: when that is emptied, every \
         matched call is denied"
    );
    Some(what.into())
}

/// A path that the next upgrade takes away.
pub(super) fn versioned(file: &ScopeFile) -> Option<Found> {
    let mut commands = file.commands();
    let (command, part) = commands.find_map(|it| Some((it, passing_part(it)?)))?;
    let path = file.display();
    let what = format!(
        "`{path}` runs `{command}`: an upgrade of the program renames `{part}`, and then every \
         matched call is denied"
    );
    Some(what.into())
}

/// Settings of one person's machine that everyone gets.
pub(super) fn tracked(file: &ScopeFile) -> Option<Found> {
    let path = file.path.as_ref().ok()?;
    let is_own = file.scope == Scope::Local && file.runs_us();
    if !is_own || TrackedFiles::default().find(path) != Tracked::Yes {
        return None;
    }
    let shown = path.display();
    let what = format!(
        "git tracks `{shown}`: where the path of the program in it leads nowhere, every matched \
         call of a colleague is denied"
    );
    Some(Found::about(what, shown))
}

pub(super) fn plugin(WiredPlugin { plugin, command }: &WiredPlugin) -> Option<Found> {
    let id = &plugin.id;
    Some(format!("wired by the plugin `{id}`, runs `{command}`").into())
}

pub(super) fn of_another_version(wired: &WiredPlugin) -> Option<Found> {
    let Plugin { id, version, .. } = &wired.plugin;
    let ours = env!("CARGO_PKG_VERSION");
    if !id.starts_with("statewarden@") || [ours, ""].contains(&version.as_str()) {
        return None;
    }
    let what = format!("the plugin `{id}` has version {version}; this program is {ours}");
    Some(Found::about(what, id))
}

/// What no file that can be read runs may still be run by another.
fn nothing_is_wired(facts: &Facts<'_>) -> Option<Found> {
    const WHAT: &str =
        "no settings file of this project runs statewarden, and no plugin that it enables";
    let is_known = facts
        .files
        .iter()
        .all(|file| file.path.is_ok() && file.text.is_ok());
    (facts.commands.is_empty() && is_known).then(|| WHAT.to_owned().into())
}

pub(super) fn not_wired(facts: &Facts<'_>) -> Option<Found> {
    match facts.subject.place.work_tree {
        None => nothing_is_wired(facts),
        Some(_) => None,
    }
}

pub(super) fn not_wired_in_a_work_tree(facts: &Facts<'_>) -> Option<Found> {
    facts.subject.place.work_tree.as_ref()?;
    nothing_is_wired(facts)
}

fn is_wired_by(facts: &Facts<'_>, scopes: &[Scope]) -> bool {
    let mut files = facts.files.iter();
    files.any(|file| scopes.contains(&file.scope) && file.runs_us())
}

/// Claude Code looks for a project's settings in the directory it starts in alone.
pub(super) fn starts_below(facts: &Facts<'_>) -> Option<Found> {
    let dir = facts.subject.below?;
    let is_everywhere = is_wired_by(facts, &[Scope::User]);
    let is_here = facts.commands.len() == 1 && is_wired_by(facts, &Scope::ALL) && !is_everywhere;
    let what = format!("a session that starts in `{dir}` does not read these settings");
    is_here.then(|| what.into())
}

fn runs_twice(facts: &Facts<'_>) -> Option<Found> {
    let n = facts.commands.len();
    let what = format!("{n} different programs are wired; each event runs them all");
    (n > 1).then(|| what.into())
}

pub(super) fn wired_twice(facts: &Facts<'_>) -> Option<Found> {
    if is_wired_by(facts, &Scope::ALL) {
        return runs_twice(facts);
    }
    None
}

pub(super) fn two_plugins(facts: &Facts<'_>) -> Option<Found> {
    if is_wired_by(facts, &Scope::ALL) {
        return None;
    }
    runs_twice(facts)
}
