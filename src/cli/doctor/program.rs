//! The programs that the wiring leads to: are they there, are they this version, do they deny
//! what they must?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::process::{self, Answer};
use super::wiring::Wired;
use super::{Facts, Found, MayRun, Subject};
use crate::base::disk::resolve::is_missing;
use crate::base::env;
use crate::cli::install::Scope;
use crate::store::{could_not, replace};

/// A program that is wired, tried.
pub(super) struct Trial {
    path: String,
    scope: Scope,
    outcome: Outcome,
}

enum Outcome {
    /// It may be a stranger's.
    NotRun,
    Failed(io::Error),
    Ran {
        version: String,
        live: LiveTest,
    },
}

/// What became of two writes, one of which must be denied.
enum LiveTest {
    Guards,
    Untried {
        temp: PathBuf,
        why: io::Error,
    },
    /// It ended with 2, and what it said.
    Complains(String),
    LetsAllPass(String),
    Blocks(String),
}

impl Trial {
    pub(super) fn of(wired: &Wired, subject: &Subject<'_>) -> Self {
        let project = subject.place.project.to_string_lossy();
        let path = wired.command.replace("${CLAUDE_PROJECT_DIR}", &project);
        let program = program_of(&path, subject);
        let outcome = if may_run(&program, wired.scope, subject) {
            Outcome::of(&program, subject)
        } else {
            Outcome::NotRun
        };
        Self {
            path,
            scope: wired.scope,
            outcome,
        }
    }

    fn failure(&self) -> Option<&io::Error> {
        match &self.outcome {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    fn live(&self) -> Option<&LiveTest> {
        match &self.outcome {
            Outcome::Ran { live, .. } => Some(live),
            _ => None,
        }
    }
}

impl Outcome {
    fn of(program: &Path, subject: &Subject<'_>) -> Self {
        match process::run(Command::new(program).arg("--version"), "") {
            Ok(answer) => Self::Ran {
                version: answer.stdout.trim().to_owned(),
                live: LiveTest::of(program, subject),
            },
            Err(error) => Self::Failed(error),
        }
    }
}

impl LiveTest {
    /// Sends one event that must be denied and one that must not through a wired command.
    fn of(program: &Path, subject: &Subject<'_>) -> Self {
        let tried = Sandbox::make(&subject.temp).and_then(|sandbox| {
            let denied = sandbox.write(program, "notes.md")?;
            Ok((denied, sandbox.write(program, "scratchpad.md")?))
        });
        let (denied, allowed) = match tried {
            Ok(answers) => answers,
            Err(why) => {
                let temp = subject.temp.clone();
                return Self::Untried { temp, why };
            }
        };
        let is_silent = allowed.stdout.is_empty() && allowed.code == Some(0);
        match (is_denial(&denied), is_silent) {
            (true, true) => Self::Guards,
            (true, false) => Self::Blocks(describe(&allowed)),
            (false, _) if denied.code == Some(2) => Self::Complains(describe(&denied)),
            (false, _) => Self::LetsAllPass(describe(&denied)),
        }
    }
}

/// The file that a command runs: a path is the project's, a name is looked for as a shell does.
fn program_of(command: &str, subject: &Subject<'_>) -> PathBuf {
    if command.contains(std::path::is_separator) {
        return subject.place.project.join(command);
    }
    let found = env::on_path(command.as_ref()).into_iter().next();
    found.unwrap_or_else(|| command.into())
}

/// Whether it is this program, or a person's own choice; or is not there, which is found by trying.
fn may_run(program: &Path, scope: Scope, subject: &Subject<'_>) -> bool {
    if scope == Scope::User || subject.may_run == MayRun::All {
        return true;
    }
    match fs::canonicalize(program) {
        Ok(found) => fs::canonicalize(&subject.place.program).is_ok_and(|this| this == found),
        Err(error) => is_missing(&error),
    }
}

pub(super) fn this(facts: &Facts<'_>) -> Option<Found> {
    let (version, path) = (
        env!("CARGO_PKG_VERSION"),
        facts.subject.place.program.display(),
    );
    Some(format!("statewarden {version} at `{path}`").into())
}

pub(super) fn not_run(
    Trial {
        path,
        scope,
        outcome,
    }: &Trial,
) -> Option<Found> {
    let what = format!(
        "`{path}`, wired in scope {}, is not this program, and was not run: settings of a project \
         can be a stranger's",
        scope.as_str()
    );
    matches!(outcome, Outcome::NotRun).then(|| what.into())
}

/// A program that is wired and cannot be run.
fn cannot_run(path: &str, why: &str) -> Option<Found> {
    let what =
        format!("`{path}` is wired, but {why}: every call of a tool in its matcher is denied");
    Some(what.into())
}

pub(super) fn missing(trial: &Trial) -> Option<Found> {
    match trial.failure()?.kind() {
        io::ErrorKind::NotFound => cannot_run(&trial.path, "is not there"),
        _ => None,
    }
}

pub(super) fn not_executable(trial: &Trial) -> Option<Found> {
    match trial.failure()?.kind() {
        io::ErrorKind::PermissionDenied => cannot_run(&trial.path, "may not be run"),
        _ => None,
    }
}

pub(super) fn failing(trial: &Trial) -> Option<Found> {
    let error = trial.failure()?;
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => None,
        _ => cannot_run(&trial.path, &format!("fails: {error}")),
    }
}

pub(super) fn of_another_version(Trial { path, outcome, .. }: &Trial) -> Option<Found> {
    const OURS: &str = concat!("statewarden ", env!("CARGO_PKG_VERSION"));
    match outcome {
        // A script that does not find its program says so in the live test.
        Outcome::Ran { version, .. } if version != OURS && !version.is_empty() => {
            let what = format!("`{path}` is wired and says `{version}`; this program is `{OURS}`");
            Some(what.into())
        }
        _ => None,
    }
}

pub(super) fn guards(trial: &Trial) -> Option<Found> {
    let path = &trial.path;
    match trial.live()? {
        LiveTest::Guards => {
            let what =
                format!("`{path}` denies `.devt/state/notes.md` and lets `scratchpad.md` pass");
            Some(what.into())
        }
        _ => None,
    }
}

pub(super) fn untried(trial: &Trial) -> Option<Found> {
    match trial.live()? {
        LiveTest::Untried { temp, why } => {
            let what = format!("`{}` could not be tried: {why}", trial.path);
            Some(Found::about(what, temp.display()))
        }
        _ => None,
    }
}

fn did_not_deny(path: &str, said: &str) -> Option<Found> {
    let what = format!("`{path}` did not deny `.devt/state/notes.md` as it should: {said}");
    Some(what.into())
}

pub(super) fn complains(trial: &Trial) -> Option<Found> {
    match trial.live()? {
        LiveTest::Complains(said) => did_not_deny(&trial.path, said),
        _ => None,
    }
}

pub(super) fn lets_all_pass(trial: &Trial) -> Option<Found> {
    match trial.live()? {
        LiveTest::LetsAllPass(said) => did_not_deny(&trial.path, said),
        _ => None,
    }
}

pub(super) fn blocks(trial: &Trial) -> Option<Found> {
    match trial.live()? {
        LiveTest::Blocks(said) => {
            let path = &trial.path;
            Some(format!("`{path}` does not let `.devt/state/scratchpad.md` pass: {said}").into())
        }
        _ => None,
    }
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
        replace::make_dir(&sandbox.0.join(".claude"))?;
        // Whatever holds for all projects of this machine, the program has to deny here.
        let settings = sandbox.0.join(".claude/statewarden.yaml");
        replace::replace(
            &settings,
            b"systems: {devt: {enabled: true, mode: enforce}}\n",
        )?;
        Ok(sandbox)
    }

    /// Asks about a write to the state directory. The person's own settings and memories
    /// stay out of it; the home stays, where the plugin's script finds the program.
    fn write(&self, program: &Path, name: &str) -> io::Result<Answer> {
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
        let mut command = Command::new(program);
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
