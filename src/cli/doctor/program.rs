//! The wiring, and the program it leads to: is it there, is it this version,
//! does it refuse what it must?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::process::{self, Answer};
use super::{Finding, Level, MayRun, Subject};
use crate::base::git::TrackedFiles;
use crate::base::git_index::Tracked;
use crate::base::path::{is_in_package_cache, passing_part};
use crate::cli::install::{Place, Scope};
use crate::contract::denial::Mode;
use crate::host::settings_json::{self, Wiring};
use crate::project::plugins::Plugin;
use crate::project::roots::read_client_text;
use crate::store::{could_not, replace};
use crate::systems::devt;

pub(super) fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let place = subject.place;
    let version = env!("CARGO_PKG_VERSION");
    let what = format!("statewarden {version} at `{}`", place.program.display());
    let mut findings = vec![Finding::info("program", what)];
    let mut commands = Vec::new();
    let (mut everywhere, mut is_known) = (false, true);
    for scope in Scope::ALL {
        match check_scope(place, scope, &mut findings) {
            Some(wired) => {
                everywhere |= scope == Scope::User && !wired.is_empty();
                commands.extend(wired.into_iter().map(|command| Wired { command, scope }));
            }
            None => is_known = false,
        }
    }
    let is_in_settings = !commands.is_empty();
    add_plugins(place, &mut findings, &mut commands);
    keep_one_each(&mut commands);
    match commands.len() {
        0 if !is_known => {}
        0 => findings.push(not_wired(place)),
        1 if everywhere || !is_in_settings => {}
        1 => findings.extend(subject.below.map(check_start_below)),
        n => findings.push(wired_twice(n, is_in_settings)),
    }
    for command in commands {
        findings.extend(check_command(&command, subject));
    }
    findings
}

/// A command that runs the hook.
struct Wired {
    command: String,
    /// Whose settings say so. Those of a project can come with a clone.
    scope: Scope,
}

/// One of those that run the same; a person's own settings go before a project's.
fn keep_one_each(commands: &mut Vec<Wired>) {
    commands.sort_by(|one, other| one.command.cmp(&other.command));
    commands.dedup_by(|next, kept| {
        let is_same = next.command == kept.command;
        if is_same && next.scope == Scope::User {
            kept.scope = Scope::User;
        }
        is_same
    });
}

fn not_wired(place: &Place) -> Finding {
    let what = "no settings file of this project runs statewarden, and no plugin that it enables";
    let fix = match place.work_tree {
        None => "run `statewarden install`, unless Claude Code is started with `--plugin-dir`",
        Some(_) => "run `statewarden install --scope local`, which holds in every work tree",
    };
    Finding::error("not-wired", what, fix)
}

fn wired_twice(n: usize, is_in_settings: bool) -> Finding {
    let what = format!("{n} different programs are wired; each event runs them all");
    let fix = if is_in_settings {
        "keep one: `statewarden uninstall` takes it out of the project's settings, \
         `--scope user` and `--scope local` out of the others"
    } else {
        "keep one plugin"
    };
    Finding::warning("wired-twice", what, fix)
}

/// Claude Code looks for a project's settings in the directory it starts in alone.
fn check_start_below(dir: &str) -> Finding {
    let what = format!("a session that starts in `{dir}` does not read these settings");
    let fix = "start it in the project's directory, or wire with `--scope user`";
    Finding::new("starts-below", Level::Info, what, fix)
}

/// The commands that one settings file runs, with what it says; `None` where that is not known.
fn check_scope(place: &Place, scope: Scope, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    let path = match place.settings_here(scope) {
        Ok(path) => path,
        Err(e) => {
            let what = format!("scope {} is not looked at: {e}", scope.as_str());
            let fix = "then run `statewarden doctor` again";
            findings.push(Finding::warning("no-home", what, fix));
            return Some(Vec::new());
        }
    };
    let shown = path.display();
    let text = match read_client_text(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Some(Vec::new()),
        Err(e) => {
            let what = format!("could not read `{shown}`: {e}");
            let fix = "make it readable; whether it runs statewarden is not known";
            findings.push(Finding::error("settings-file", what, fix));
            return None;
        }
    };
    if let Some(fault) = Wiring::fault(&text) {
        let fix = "correct it; until then Claude Code ignores the whole file";
        let what = format!("`{shown}`: {fault}");
        findings.push(Finding::error("settings-file", what, fix));
    }
    let wiring = Wiring::read(&text).unwrap_or_default();
    if wiring.hooks_are_disabled {
        let what = format!("`{shown}` says `disableAllHooks`: no hook runs");
        let fix = "take `disableAllHooks` out";
        findings.push(Finding::error("hooks-disabled", what, fix));
    }
    findings.extend(check_entries(&wiring, scope, &path));
    findings.extend(check_cache(&wiring, &path));
    findings.extend(check_passing(&wiring, &path));
    if scope == Scope::Local && !wiring.entries.is_empty() {
        findings.extend(check_tracked(&path));
    }
    let commands = wiring.entries.into_iter().map(|wired| wired.command);
    Some(commands.collect())
}

/// A program that may be gone tomorrow.
fn check_cache(wiring: &Wiring, path: &Path) -> Option<Finding> {
    let mut commands = wiring.entries.iter().map(|entry| &entry.command);
    let command = commands.find(|command| is_in_package_cache(command))?;
    let what = format!(
        "`{}` runs `{command}`, which is in a package cache: when that is emptied, every matched \
         call is denied",
        path.display()
    );
    let fix = "install it, such as by `npm install --global statewarden`, and run its `install`";
    Some(Finding::warning("program-in-cache", what, fix))
}

/// Settings of one person's machine that everyone gets.
fn check_tracked(path: &Path) -> Option<Finding> {
    if TrackedFiles::default().find(path) != Tracked::Yes {
        return None;
    }
    let shown = path.display();
    let what = format!(
        "git tracks `{shown}`: where the path of the program in it leads nowhere, every matched \
         call of a colleague is denied"
    );
    let fix = format!("run `git rm --cached '{shown}'`, and commit that");
    Some(Finding::warning("settings-tracked", what, fix))
}

/// A path that the next upgrade takes away.
fn check_passing(wiring: &Wiring, path: &Path) -> Option<Finding> {
    let mut commands = wiring.entries.iter().map(|entry| &entry.command);
    let (command, part) = commands.find_map(|command| Some((command, passing_part(command)?)))?;
    let what = format!(
        "`{}` runs `{command}`: an upgrade of the program renames `{part}`, and then every matched \
         call is denied",
        path.display()
    );
    let fix =
        "put a link to the program into a directory of your `PATH`, and run `statewarden install`";
    Some(Finding::warning("program-versioned", what, fix))
}

fn check_entries(wiring: &Wiring, scope: Scope, path: &Path) -> Option<Finding> {
    wiring.entries.first()?;
    let (scope, path) = (scope.as_str(), path.display());
    let missing = wiring.missing();
    let others = wiring.entries.iter().filter(|entry| entry.exact.is_none());
    if missing.is_empty() && others.count() == 0 {
        let what = format!("wired in scope {scope}: `{path}`");
        return Some(Finding::info("wired", what));
    }
    let what = match missing.as_slice() {
        [] => format!("`{path}` has further entries of another form"),
        entries => {
            let mut events: Vec<_> = entries.iter().map(|entry| entry.event).collect();
            events.dedup();
            format!(
                "`{path}` lacks entries of this version for {}",
                events.join(", ")
            )
        }
    };
    let fix = format!("run `statewarden install --scope {scope}`");
    Some(Finding::error("wired-otherwise", what, fix))
}

/// Adds the plugins that run this program, where they are installed and the settings
/// enable them.
fn add_plugins(place: &Place, findings: &mut Vec<Finding>, commands: &mut Vec<Wired>) {
    for plugin in place.plugins() {
        let Some(command) = plugin_command(&plugin) else {
            continue;
        };
        let what = format!("wired by the plugin `{}`, runs `{command}`", plugin.id);
        findings.push(Finding::info("plugin", what));
        let ours = env!("CARGO_PKG_VERSION");
        let is_other = ![ours, ""].contains(&plugin.version.as_str());
        if is_other && plugin.id.starts_with("statewarden@") {
            let (id, theirs) = (&plugin.id, &plugin.version);
            let what = format!("the plugin `{id}` has version {theirs}; this program is {ours}");
            let fix = format!("update the older: `claude plugin update {id}`, or the program");
            findings.push(Finding::warning("version-differs", what, fix));
        }
        // A person installed it, whatever enabled it here.
        let scope = Scope::User;
        commands.push(Wired { command, scope });
    }
}

fn plugin_command(plugin: &Plugin) -> Option<String> {
    let hooks = read_client_text(&Path::new(&plugin.root).join("hooks/hooks.json")).ok();
    let wiring = Wiring::read(&hooks.flatten().unwrap_or_default());
    let wired = wiring.unwrap_or_default().entries.pop();
    let command = match &wired {
        Some(wired) => &wired.command,
        None if plugin.id.starts_with("statewarden@") => settings_json::PLUGIN_COMMAND,
        None => return None,
    };
    Some(command.replace("${CLAUDE_PLUGIN_ROOT}", &plugin.root))
}

/// Whether a wired command is there, is this version, and does its work.
fn check_command(wired: &Wired, subject: &Subject<'_>) -> Vec<Finding> {
    let project = &subject.place.project;
    let path = wired
        .command
        .replace("${CLAUDE_PROJECT_DIR}", &project.to_string_lossy());
    let again = "run `statewarden install` with the program you want";
    if !may_run(&path, wired.scope, subject) {
        let scope = wired.scope.as_str();
        let what = format!(
            "`{path}`, wired in scope {scope}, is not this program, and was not run: settings \
             of a project can be a stranger's"
        );
        let fix = "if you know it: `statewarden doctor --run`; else run `statewarden install`";
        return vec![Finding::warning("program-not-run", what, fix)];
    }
    let answer = match process::run(Command::new(&path).arg("--version"), "") {
        Ok(answer) => answer,
        Err(e) => {
            let fails = format!("fails: {e}");
            let (id, why) = match e.kind() {
                io::ErrorKind::NotFound => ("program-missing", "is not there"),
                io::ErrorKind::PermissionDenied => ("program-not-executable", "may not be run"),
                _ => ("program-fails", &*fails),
            };
            let what = format!(
                "`{path}` is wired, but {why}: every call of a tool in its matcher is denied"
            );
            return vec![Finding::error(id, what, again)];
        }
    };
    let mut findings = Vec::new();
    let (theirs, ours) = (
        answer.stdout.trim(),
        concat!("statewarden ", env!("CARGO_PKG_VERSION")),
    );
    // A script that does not find its program says so in the live test.
    if theirs != ours && !theirs.is_empty() {
        let what = format!("`{path}` is wired and says `{theirs}`; this program is `{ours}`");
        findings.push(Finding::warning("version-differs", what, again));
    }
    findings.push(live_test(&path, subject));
    findings
}

/// What is not there can be asked for.
fn may_run(path: &str, scope: Scope, subject: &Subject<'_>) -> bool {
    let Ok(wired) = fs::canonicalize(subject.place.project.join(path)) else {
        return true;
    };
    let is_this = fs::canonicalize(&subject.place.program).is_ok_and(|program| program == wired);
    is_this || scope == Scope::User || subject.may_run == MayRun::All
}

/// Sends one event that must be denied and one that must not through a wired
/// command.
fn live_test(path: &str, subject: &Subject<'_>) -> Finding {
    let id = "live-test";
    let tried = Sandbox::make(&subject.temp).and_then(|sandbox| {
        let denied = sandbox.write(path, "notes.md")?;
        Ok((denied, sandbox.write(path, "scratchpad.md")?))
    });
    let (denied, allowed) = match tried {
        Ok(answers) => answers,
        Err(e) => {
            let what = format!("`{path}` could not be tried: {e}");
            let temp = subject.temp.display();
            let fix = format!(
                "see that it runs and that `{temp}`, the temporary directory, can be written"
            );
            return Finding::error(id, what, fix);
        }
    };
    let is_silent = allowed.stdout.is_empty() && allowed.code == Some(0);
    let is_enforced = subject.settings.settings.mode_of(devt::ID) == Mode::Enforce;
    let (what, fix) = match (is_denial(&denied), is_silent) {
        (true, true) => {
            let what =
                format!("`{path}` denies `.devt/state/notes.md` and lets `scratchpad.md` pass");
            return Finding::info(id, what);
        }
        (false, _) if !is_enforced => {
            return Finding::info(id, format!("`{path}` denies nothing: the settings say so"));
        }
        (false, _) => {
            let what = format!("`{path}` did not deny `.devt/state/notes.md` as it should");
            let fix = match denied.code {
                Some(2) => "do what it says; until then allowed work may be blocked",
                _ => "install this version again; nothing is guarded now",
            };
            (format!("{what}: {}", describe(&denied)), fix)
        }
        (true, false) => {
            let what = format!("`{path}` does not let `.devt/state/scratchpad.md` pass");
            let fix = "install this version again; allowed work is blocked now";
            (format!("{what}: {}", describe(&allowed)), fix)
        }
    };
    Finding::error(id, what, fix)
}

/// The one shape that Claude Code takes for a denial, alone on stdout.
fn is_denial(answer: &Answer) -> bool {
    let output: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
    let specific = &output["hookSpecificOutput"];
    answer.code == Some(0)
        && specific["hookEventName"] == "PreToolUse"
        && specific["permissionDecision"] == "deny"
}

fn describe(answer: &Answer) -> String {
    let text = format!("{} {}", answer.stdout.trim(), answer.stderr.trim());
    let short: String = text.trim().chars().take(200).collect();
    let end = match answer.code {
        Some(code) => format!("exit {code}"),
        None => "a signal".to_owned(),
    };
    match &*short {
        "" => format!("{end}, no output"),
        text => format!("{end}, `{text}`"),
    }
}

/// A project that exists for the live test only.
struct Sandbox(PathBuf);

impl Sandbox {
    /// A directory that no `doctor` that was killed has left there.
    fn make(temp: &Path) -> io::Result<Self> {
        let pid = std::process::id();
        let mut names = (0..).map(|n| temp.join(format!("statewarden-doctor-{pid}-{n}")));
        let dir = names.find(|dir| !dir.exists()).unwrap_or_default();
        replace::make_new_dir(&dir).map_err(could_not("make", &dir))?;
        let sandbox = Self(dir);
        replace::make_dir(&sandbox.0.join(".devt/state"))?;
        Ok(sandbox)
    }

    /// Asks about a write to the state directory. The person's own settings and memories
    /// stay out of it; the home stays, where the plugin's script finds the program.
    fn write(&self, path: &str, name: &str) -> io::Result<Answer> {
        let file = self.0.join(".devt/state").join(name);
        let event = json!({
            "session_id": "statewarden-doctor",
            "transcript_path": "",
            "cwd": self.0,
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": { "file_path": file, "content": "Tried by `statewarden doctor`.\n" },
            "tool_use_id": "toolu_doctor",
        });
        let mut command = Command::new(path);
        command
            .arg("hook")
            .current_dir(&self.0)
            .env_remove("FEATURE_DIR");
        command.env("CLAUDE_PROJECT_DIR", &self.0);
        command.env("XDG_CONFIG_HOME", self.0.join("home"));
        command.env("XDG_STATE_HOME", self.0.join("home"));
        process::run(&mut command, &format!("{event}\n"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A leftover in the temporary directory does no harm.
        let _ = replace::remove_own_tree(&self.0);
    }
}
