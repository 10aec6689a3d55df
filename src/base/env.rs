//! Every environment variable the program reads, in one place.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use crate::base::path;

/// The variable that names the person's own directory.
pub const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// The environment as the stages see it; tests make their own.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// `CLAUDE_PROJECT_DIR`: the project of the Claude Code session.
    pub project_dir: Option<String>,
    /// `HOME`, or `USERPROFILE` on Windows.
    pub home: Option<String>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<String>,
    /// `XDG_STATE_HOME`.
    pub state_home: Option<String>,
    /// `CLAUDE_CONFIG_DIR`: where Claude Code keeps the user's settings.
    pub claude_config_dir: Option<String>,
    /// `FEATURE_DIR`: the session directory of AgentMux.
    pub feature_dir: Option<String>,
    /// `CLAUDE_ENV_FILE`: what Claude Code runs before each command of the session.
    pub env_file: Option<String>,
    /// `TMPDIR`: the directory of temporary files.
    pub temp_dir: Option<String>,
    /// `STATEWARDEN_CEILING`: no project root is looked for above this directory.
    pub ceiling: Option<String>,
    /// `STATEWARDEN_ETC`, see [`Self::etc_dir`].
    pub etc: Option<String>,
    /// `CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS` is `1`.
    pub agent_teams: bool,
    /// `CLAUDE_PLUGIN_ROOT`: the plugin that runs the hook, whatever the settings' hooks are.
    pub plugin_root: Option<String>,
    /// The version of the Claude Code that runs this process, from `AI_AGENT`; the whole
    /// value where that names none.
    pub client: Option<String>,
}

impl Env {
    /// Claude Code's directory of the user.
    pub fn claude_dir(&self) -> Option<String> {
        let configured = self.claude_config_dir.clone();
        configured.or_else(|| self.below_home("/.claude"))
    }

    /// The directory of the user's settings of programs.
    pub fn config_dir(&self) -> Option<String> {
        let configured = self.config_home.clone();
        configured.or_else(|| self.below_home("/.config"))
    }

    fn below_home(&self, path: &str) -> Option<String> {
        Some([self.home.as_deref()?, path].concat())
    }

    /// The directory of what programs keep for the user.
    pub fn state_dir(&self) -> Option<String> {
        let configured = self.state_home.clone();
        configured.or_else(|| self.below_home("/.local/state"))
    }

    /// The directory with the settings that hold for everyone on this machine. Tests have one of
    /// their own; a release goes by no variable here, since a project may set variables.
    pub fn etc_dir(&self) -> &str {
        self.etc.as_deref().unwrap_or("/etc")
    }

    pub fn read() -> Self {
        Self {
            project_dir: dir("CLAUDE_PROJECT_DIR"),
            home: dir(HOME),
            config_home: dir("XDG_CONFIG_HOME"),
            state_home: dir("XDG_STATE_HOME"),
            claude_config_dir: dir("CLAUDE_CONFIG_DIR"),
            feature_dir: dir("FEATURE_DIR"),
            env_file: dir("CLAUDE_ENV_FILE"),
            temp_dir: dir(if cfg!(windows) { "TEMP" } else { "TMPDIR" }),
            ceiling: dir("STATEWARDEN_CEILING"),
            etc: if cfg!(debug_assertions) {
                dir(ETC)
            } else {
                None
            },
            agent_teams: text("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS").as_deref() == Some("1"),
            plugin_root: text("CLAUDE_PLUGIN_ROOT"),
            client: text("AI_AGENT").and_then(|agent| client(&agent)),
        }
    }
}

/// `claude-code_2-1-331_harness` is version `2.1.331`.
fn client(agent: &str) -> Option<String> {
    let rest = agent.strip_prefix("claude-code")?;
    let version = rest
        .split('_')
        .nth(1)
        .filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    Some(version.map_or(agent.to_owned(), |version| version.replace('-', ".")))
}

/// The paths of the program that runs: as it was started, and with links followed.
pub fn own_program() -> impl Iterator<Item = String> {
    let started = env::args_os().next().map(PathBuf::from);
    let paths = [started, env::current_exe().ok()].into_iter().flatten();
    paths
        .filter(|path| path.is_absolute())
        .map(|path| path::from_os(&path))
}

/// The files of a name in the directories in which programs are looked for, in order.
pub fn on_path(name: &OsStr) -> Vec<PathBuf> {
    let path = text("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).filter(|dir| dir.is_absolute());
    let files = dirs.map(|dir| dir.join(name));
    files.filter(|file| file.is_file()).collect()
}

/// The columns that a line may take, where `COLUMNS` says so.
pub fn columns() -> Option<usize> {
    text("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// What the program was given behind its name.
pub fn arguments() -> impl Iterator<Item = String> {
    env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
}

/// What a client sets for each process that it runs.
const OF_CLIENT: [&str; 2] = ["AI_AGENT", "CLAUDECODE"];

/// What tests set in place of the machine's settings; builds with debug assertions alone read it.
const ETC: &str = "STATEWARDEN_ETC";

/// Whether a client's variables are here, which it sets in a call and in a hook.
pub fn is_in_client() -> bool {
    OF_CLIENT.into_iter().any(|name| text(name).is_some())
}

/// Whether a client's variables are in the environment that another process was started with.
pub fn is_of_client(environment: &[u8]) -> bool {
    OF_CLIENT.into_iter().any(|name| is_set(environment, name))
}

/// Whether that process runs the tests which run this one: it is no part of their world.
pub fn is_beyond_a_test(environment: &[u8]) -> bool {
    cfg!(debug_assertions) && text(ETC).is_some() && !is_set(environment, ETC)
}

/// Whether an environment, as `NAME=VALUE` with a NUL behind each, gives a variable a value.
fn is_set(environment: &[u8], name: &str) -> bool {
    environment.split(|byte| *byte == 0).any(|entry| {
        let value = entry.strip_prefix(name.as_bytes());
        value.is_some_and(|value| value.len() > 1 && value[0] == b'=')
    })
}

/// Whether a person can see what this process writes, and type what it reads.
pub fn is_at_terminal() -> bool {
    use std::io::{IsTerminal as _, stdin, stdout};
    stdin().is_terminal() && stdout().is_terminal()
}

/// Whether a terminal may be sent colors: by `NO_COLOR`, and by `TERM`, where `dumb` knows none.
pub fn allows_colors() -> bool {
    text("NO_COLOR").is_none() && text("TERM").is_none_or(|term| term != "dumb")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The path of a directory in a variable, with `/` between its parts.
fn dir(name: &str) -> Option<String> {
    match text(name) {
        Some(dir) if dir.contains('\\') => Some(path::slashed(&dir).into_owned()),
        dir => dir,
    }
}

#[cfg(test)]
mod tests {
    use super::{client, is_of_client};

    #[test]
    fn the_client_is_read_from_what_it_says_of_itself() {
        for (agent, expected) in [
            ("claude-code_2-1-331_harness", Some("2.1.331")),
            ("claude-code_2-1-138_agent", Some("2.1.138")),
            ("claude-code", Some("claude-code")),
            ("claude-code_harness", Some("claude-code_harness")),
            ("codex_1-2-3", None),
        ] {
            assert_eq!(client(agent).as_deref(), expected, "{agent}");
        }
    }

    #[test]
    fn another_process_is_a_clients_by_its_variables() {
        for (environment, expected) in [
            ("a=1\0CLAUDECODE=1\0b=2\0", true),
            ("a=1\0AI_AGENT=claude-code_2-1-331_agent\0", true),
            (
                "a=1\0CLAUDECODE=\0NOT_CLAUDECODE=1\0CLAUDECODE_X=1\0A=CLAUDECODE=1\0",
                false,
            ),
            ("", false),
        ] {
            let found = is_of_client(environment.as_bytes());
            assert_eq!(found, expected, "{environment:?}");
        }
    }
}
