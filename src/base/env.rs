//! Every environment variable the program reads, in one place.

use std::env;
use std::path::{Path, PathBuf};

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
    /// `CLAUDE_CONFIG_DIR`: where Claude Code keeps the user's settings.
    pub claude_config_dir: Option<String>,
    /// `FEATURE_DIR`: the session directory of AgentMux.
    pub feature_dir: Option<String>,
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
        let of_home = || Some([self.home.as_deref()?, "/.claude"].concat());
        self.claude_config_dir.clone().or_else(of_home)
    }

    /// The directory of the user's settings of programs.
    pub fn config_dir(&self) -> Option<String> {
        let of_home = || Some([self.home.as_deref()?, "/.config"].concat());
        self.config_home.clone().or_else(of_home)
    }

    pub fn read() -> Self {
        Self {
            project_dir: dir("CLAUDE_PROJECT_DIR"),
            home: dir(HOME),
            config_home: dir("XDG_CONFIG_HOME"),
            claude_config_dir: dir("CLAUDE_CONFIG_DIR"),
            feature_dir: dir("FEATURE_DIR"),
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

/// Whether a directory is one in which programs are looked for.
pub fn is_on_path(dir: &Path) -> bool {
    let path = text("PATH").unwrap_or_default();
    env::split_paths(&path).any(|on_path| on_path == dir)
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
    use super::client;

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
}
