//! Strict mode: shells that start again behind the fence, as a client starts them.

mod everyday;
mod places;
mod text;
mod told;
mod without;
mod writes;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Ran, Sandbox, feed, skip};

/// Who runs the shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    /// Whoever runs the tests.
    This,
    /// A user that no system has, by its number; only root can become it.
    Made(u32),
}

const MADE_UP: User = User::Made(54_321);

/// What every line begins with that the guard cannot read to its end.
const OPAQUE: &str = "python3 -c pass; ";

/// A project in a session of strict mode.
struct Strict {
    sandbox: Sandbox,
    user: User,
    env_file: PathBuf,
}

impl Strict {
    /// A project with a plan in its state directory. `None` where the kernel lets this user have
    /// no namespaces: a test is skipped then.
    fn new(user: User) -> Option<Self> {
        if let Err(why) = can_unshare(user) {
            skip(&why);
            return None;
        }
        let strict = Self::unstarted(user);
        strict.start().is_silent();
        Some(strict)
    }

    /// The same before its session.
    fn unstarted(user: User) -> Self {
        let sandbox = Sandbox::new();
        let env_file = sandbox
            .home()
            .join(".claude/session-env/s-1/sessionstart-hook-0.sh");
        for dir in [
            env_file.parent().unwrap(),
            &sandbox.home().join(".claude/shell-snapshots"),
        ] {
            fs::create_dir_all(dir).unwrap();
        }
        let snapshot = sandbox.home().join(".claude/shell-snapshots/snapshot-1.sh");
        fs::write(snapshot, "shopt -s expand_aliases\n").unwrap();
        sandbox.write("../home/.config/statewarden/config.yaml", "strict: true\n");
        sandbox.write(".devt/state/plan.md", "# Plan\n");
        sandbox.script("git init -q; git add -A; git commit -qm one");
        Self {
            sandbox,
            user,
            env_file,
        }
    }

    /// Starts the session, and gives what the hook answers.
    fn start(&self) -> Ran {
        self.give_to_user();
        let mut event = self.sandbox.event_of("SessionStart");
        event["source"] = json!("startup");
        let mut hook = self.command(env!("CARGO_BIN_EXE_statewarden"));
        hook.arg("hook")
            .env("CLAUDE_PROJECT_DIR", self.sandbox.project());
        hook.env("CLAUDE_ENV_FILE", &self.env_file)
            .env("AI_AGENT", "claude-code_2-1-332_harness");
        hook.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = feed(&mut hook, event.to_string().as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// All that a test made so far becomes the user's.
    fn give_to_user(&self) {
        if let User::Made(id) = self.user {
            let given = Command::new("chown")
                .args(["-Rh", &format!("{id}:{id}")])
                .arg(self.sandbox.base())
                .status();
            assert!(given.unwrap().success());
        }
    }

    /// A program as the user, in the project.
    fn command(&self, program: &str) -> Command {
        let mut command = as_user(self.user, program);
        command.current_dir(self.sandbox.project()).env_clear();
        command
            .envs(self.sandbox.surroundings())
            .stdin(Stdio::null());
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Ann")
                .env(format!("GIT_{role}_EMAIL"), "ann@example.org");
        }
        command
    }

    /// The script in which the client runs a command.
    fn script(&self, command: &str) -> String {
        let snapshot = self
            .sandbox
            .home()
            .join(".claude/shell-snapshots/snapshot-1.sh");
        let line = fs::read_to_string(&self.env_file).unwrap_or_default();
        format!(
            "source {} 2>/dev/null || true && {line}: && \\builtin shopt -u extglob 2>/dev/null || true && \
             eval '{}' < /dev/null && pwd -P >| {}",
            snapshot.display(),
            command.replace('\'', "'\"'\"'"),
            self.sandbox.base().join("tmp/claude-1-cwd").display()
        )
    }

    /// A script that the user runs outside of the session.
    #[track_caller]
    fn outside(&self, script: &str) {
        let mut bash = self.command("bash");
        let ran: Ran = bash.args(["-ec", script]).output().unwrap().into();
        ran.ends(0);
    }

    /// A command in a shell of the session.
    fn bash(&self, command: &str) -> Ran {
        self.bash_in(&self.sandbox.project(), command)
    }

    fn bash_in(&self, dir: &Path, command: &str) -> Ran {
        let mut bash = self.command("bash");
        bash.current_dir(dir).args(["-c", &self.script(command)]);
        bash.output().unwrap().into()
    }

    /// Every entry of the project's state directory: kind, mode, time and content.
    fn state(&self) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
        let mut entries = BTreeMap::new();
        let mut dirs = vec![self.sandbox.project().join(".devt/state")];
        while let Some(path) = dirs.pop() {
            let Ok(meta) = fs::symlink_metadata(&path) else {
                continue;
            };
            if meta.is_dir() {
                let below = fs::read_dir(&path).unwrap();
                dirs.extend(below.map(|entry| entry.unwrap().path()));
            }
            let bytes = fs::read(&path).unwrap_or_default();
            entries.insert(path, (meta.mode(), meta.mtime(), bytes));
        }
        entries
    }

    /// A command changes nothing in the state directory.
    #[track_caller]
    fn holds(&self, command: &str) -> Ran {
        let before = self.state();
        let ran = self.bash(command);
        assert_eq!(self.state(), before, "{command}: {}", ran.said());
        ran
    }

    /// A command writes a file of the state directory.
    #[track_caller]
    fn writes(&self, name: &str, command: &str) {
        let path = format!(".devt/state/{name}");
        let ran = self.bash(command);
        assert!(self.sandbox.exists(&path), "{command}: {}", ran.said());
        fs::remove_file(self.sandbox.project().join(path)).unwrap();
    }
}

fn as_user(user: User, program: &str) -> Command {
    match user {
        User::This => Command::new(program),
        User::Made(id) => {
            let id = id.to_string();
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups", program]);
            command
        }
    }
}

/// Whether the kernel lets a user have namespaces, by a program that is not ours.
fn can_unshare(user: User) -> Result<(), String> {
    let mut unshare = as_user(user, "unshare");
    unshare.args(["--user", "--map-current-user", "--mount", "true"]);
    match unshare.output() {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(format!(
            "no namespaces for {user:?}: {}",
            String::from_utf8_lossy(&out.stderr).trim()
        )),
        Err(error) => Err(format!("no `unshare`: {error}")),
    }
}
