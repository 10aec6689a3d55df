//! The questions of `doctor`, one table: what is asked, how much it matters, and what to do.

use Probe::{All, Lock, Log, Plugin, Program, Project, Settings};

use super::disk::{ReadLog, SiteLock};
use super::program::Trial;
use super::wiring::{ScopeFile, WiredPlugin};
use super::{Facts, Finding, Level, client, disk, guard, program, recorder, strict, wiring};

/// A row of the table.
pub(super) struct Question {
    /// Of its findings; stable, for scripts.
    id: &'static str,
    level: Level,
    /// Finds what there is to say.
    probe: Probe,
    /// What to do about it: `{}` is what a finding is about. Empty where there is nothing to do.
    remedy: &'static str,
}

/// What a probe is asked of: the project, or each of its files and programs.
pub(super) enum Probe {
    Project(fn(&Facts<'_>) -> Option<Found>),
    All(fn(&Facts<'_>) -> Vec<Found>),
    Settings(fn(&ScopeFile) -> Option<Found>),
    Plugin(fn(&WiredPlugin) -> Option<Found>),
    Program(fn(&Trial) -> Option<Found>),
    Log(fn(&ReadLog) -> Option<Found>),
    Lock(fn(&SiteLock) -> Option<Found>),
}

impl Probe {
    fn ask(&self, facts: &Facts<'_>) -> Vec<Found> {
        match self {
            Self::Project(probe) => probe(facts).into_iter().collect(),
            Self::All(probe) => probe(facts),
            Self::Settings(probe) => facts.files.iter().filter_map(probe).collect(),
            Self::Plugin(probe) => facts.plugins.iter().filter_map(probe).collect(),
            Self::Program(probe) => facts.trials.iter().filter_map(probe).collect(),
            Self::Log(probe) => facts.logs.iter().filter_map(probe).collect(),
            Self::Lock(probe) => facts.locks.iter().filter_map(probe).collect(),
        }
    }
}

/// What a probe has found.
pub(super) struct Found {
    what: String,
    /// What the remedy names.
    about: String,
}

impl Found {
    pub(super) fn about(what: String, about: impl ToString) -> Self {
        Self {
            what,
            about: about.to_string(),
        }
    }
}

impl From<String> for Found {
    fn from(what: String) -> Self {
        Self::about(what, "")
    }
}

impl Question {
    pub(super) fn ask(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let found = self.probe.ask(facts).into_iter();
        found.map(|found| self.finding(found)).collect()
    }

    fn finding(&self, found: Found) -> Finding {
        Finding {
            id: self.id,
            level: self.level,
            what: found.what,
            fix: self.remedy.replacen("{}", &found.about, 1),
        }
    }
}

const fn row(id: &'static str, level: Level, probe: Probe, remedy: &'static str) -> Question {
    Question {
        id,
        level,
        probe,
        remedy,
    }
}

/// What is as it should be.
const fn ok(id: &'static str, probe: Probe) -> Question {
    row(id, Level::Info, probe, "")
}

/// What is worth to know, and may be changed.
const fn note(id: &'static str, probe: Probe, remedy: &'static str) -> Question {
    row(id, Level::Info, probe, remedy)
}

const fn warning(id: &'static str, probe: Probe, remedy: &'static str) -> Question {
    row(id, Level::Warning, probe, remedy)
}

const fn error(id: &'static str, probe: Probe, remedy: &'static str) -> Question {
    row(id, Level::Error, probe, remedy)
}

const AGAIN: &str = "run `statewarden install` with the program you want";
const UPDATE: &str = "update it to 2.1.295 or newer";
const STALE_LOCK: &str = "stale-lock";

/// In the order in which a person would ask.
#[rustfmt::skip]
pub(super) const QUESTIONS: &[Question] = &[
    // Which program is wired?
    ok("program", Project(program::this)),
    warning("no-home", Settings(wiring::without_a_place),
        "then run `statewarden doctor` again"),
    error("settings-file", Settings(wiring::unreadable),
        "make it readable; whether it runs statewarden is not known"),
    error("settings-file", Settings(wiring::faulty),
        "correct it; until then Claude Code ignores the whole file"),
    error("hooks-disabled", Settings(wiring::disabled),
        "take `disableAllHooks` out"),
    ok("wired", Settings(wiring::wired)),
    error("wired-otherwise", Settings(wiring::wired_otherwise),
        "run `statewarden install --scope {}`"),
    warning("program-in-cache", Settings(wiring::in_a_cache),
        "install it, such as by `npm install --global statewarden`, and run its `install`"),
    warning("program-versioned", Settings(wiring::versioned),
        "put a link to the program into a directory of your `PATH`, and run `statewarden install`"),
    warning("settings-tracked", Settings(wiring::tracked),
        "run `git rm --cached '{}'`, and commit that"),
    ok("plugin", Plugin(wiring::plugin)),
    warning("version-differs", Plugin(wiring::of_another_version),
        "update the older: `claude plugin update {}`, or the program"),
    error("not-wired", Project(wiring::not_wired),
        "run `statewarden install`, unless Claude Code is started with `--plugin-dir`"),
    error("not-wired", Project(wiring::not_wired_in_a_work_tree),
        "run `statewarden install --scope local`, which holds in every work tree"),
    note("starts-below", Project(wiring::starts_below),
        "start it in the project's directory, or wire with `--scope user`"),
    warning("wired-twice", Project(wiring::wired_twice),
        "keep one: `statewarden uninstall` takes it out of the project's settings, \
         `--scope user` and `--scope local` out of the others"),
    warning("wired-twice", Project(wiring::two_plugins),
        "keep one plugin"),

    // Does it do its work?
    warning("program-not-run", Program(program::not_run),
        "if you know it: `statewarden doctor --run`; else run `statewarden install`"),
    error("program-missing", Program(program::missing), AGAIN),
    error("program-not-executable", Program(program::not_executable), AGAIN),
    error("program-fails", Program(program::failing), AGAIN),
    warning("version-differs", Program(program::of_another_version), AGAIN),
    ok("live-test", Program(program::guards)),
    error("live-test", Program(program::untried),
        "see that it runs and that `{}`, the temporary directory, can be written"),
    error("live-test", Program(program::complains),
        "do what it says; until then allowed work may be blocked"),
    error("live-test", Program(program::lets_all_pass),
        "install this version again; nothing is guarded now"),
    error("live-test", Program(program::blocks),
        "install this version again; allowed work is blocked now"),

    // What do the settings say?
    ok("contract", Project(guard::edition)),
    warning("settings", All(guard::ignored_files),
        "correct the file; until then all of it is ignored"),
    warning("left-out", Project(guard::surplus_contracts),
        "put the systems of several files of `.claude/statewarden.d/` into one"),
    warning("left-out", All(guard::left_out),
        "correct it there; until then it is ignored"),
    ok("overruled", All(guard::overruled)),
    ok("mode", All(guard::only_warned_about)),
    warning("mode", Project(guard::all_switched_off),
        "take `mode: off` out of it to be guarded"),
    ok("mode", All(guard::switched_off)),

    // What is guarded, and can it be read?
    ok("guarded", Project(guard::guarded)),
    note("guarded", Project(guard::nothing_yet),
        "nothing to do: the first file that a workflow makes there is guarded; \
         `statewarden help contract` says how to declare directories of your own"),
    warning("state-file", All(guard::unreadable_state),
        "repair the file, or bring an earlier content back: `statewarden log` lists them"),

    // Are logs, locks and folders as they should be?
    error("log", Log(disk::unusable_log),
        "make it a file that you can read and write"),
    ok("log", Log(disk::log)),
    warning("log-line", Log(disk::broken_lines),
        "readers skip them; take them out by hand if they matter"),
    ok("log-torn", Log(disk::torn_line)),
    warning("log-size", All(disk::large_logs),
        "see that its directory can be written: the log does not rotate"),
    warning("log-mode", Log(disk::open_log),
        "run `chmod 600 '{}'`"),
    warning("gate-log", Project(disk::broken_chain),
        "`statewarden verify` says which gates are still proved"),
    warning("log-lines", All(disk::lines_of_others),
        "the next event of a session puts it back; `statewarden config accept` takes it as it is"),
    ok("lock", Lock(disk::locked)),
    ok("lock", Lock(disk::locked_by_devt)),
    warning(STALE_LOCK, Lock(disk::lock_of_ended_process),
        "remove it, or let the next writer do so"),
    warning(STALE_LOCK, Lock(disk::lock_of_nobody),
        "remove it"),
    warning(STALE_LOCK, Lock(disk::unreadable_lock),
        "remove it if devt is not at work"),
    error("log", All(disk::unwritable_folders),
        "make it a directory that you can write"),
    warning("orphan-temp", All(disk::leftovers),
        "remove them, or run `statewarden cleanup --apply` for a site"),

    // Does the recorder see and keep all of it?
    warning("recorder", Project(recorder::unreadable),
        "remove it: it is made anew, and the changes before now are not known"),
    warning("recorder", Project(recorder::unkept),
        "move large files out of the state directories; what is there is kept anew when a session \
         starts"),
    warning("recorder", All(recorder::too_large),
        "move away what no workflow needs, such as with `statewarden cleanup --apply`"),

    // Did sessions run the hook?
    ok("settings-files", Project(client::settings_in_force)),
    error("managed-hooks-only", Project(client::only_managed_hooks),
        "have statewarden's entries put into that file"),
    note("heartbeat", Project(client::no_session),
        "start a session in this project, and trust the folder if Claude Code asks: only that \
         proves that it takes the settings"),
    ok("heartbeat", Project(client::last_session)),
    note("heartbeat", Project(client::unproved_session),
        "start a session of Claude Code in this project: other hosts are not guarded"),
    error("client-too-old", Project(client::passes_no_arguments), UPDATE),
    warning("client-old", Project(client::does_not_stop_blocking), UPDATE),
    warning("fails-open", Project(client::fails_open), UPDATE),
    warning("unseen-run", Project(client::unseen_run),
        "start Claude Code anew, and trust the folder if it asks; what wrote it was not guarded"),
    warning("other-host", Project(client::other_host),
        "work on state files in Claude Code; a week after the last run this is not said again"),

    // Is strict mode in force?
    ok("strict", Project(strict::in_force)),
    warning("strict", Project(strict::not_in_force), "{}"),
    warning("strict", Project(strict::not_kept),
        "run a command in that directory, or write a state file there: what was looked at once is \
         kept"),
    warning("strict-sandbox", Project(strict::in_a_sandbox),
        "list the state directories in `sandbox.filesystem.denyWrite` of Claude Code's settings"),
];
