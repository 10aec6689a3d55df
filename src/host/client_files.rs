//! Files of Claude Code outside of projects on which the guard depends.

use crate::base::env::Env;
use crate::base::path;

/// The file of managed settings, and the directory of more of them.
pub const MANAGED_FILE: &str = "managed-settings.json";
pub const MANAGED_DIR: &str = "managed-settings.d";

/// The directory of the settings that hold for everyone on this machine.
pub fn managed_dir(env: &Env) -> String {
    match &env.etc {
        None if cfg!(windows) => "C:/Program Files/ClaudeCode".to_owned(),
        None if cfg!(target_os = "macos") => "/Library/Application Support/ClaudeCode".to_owned(),
        _ => format!("{}/claude-code", env.etc_dir()),
    }
}

/// What the client runs before each command of a shell (`CLAUDE_ENV_FILE` is there), and
/// snapshots of the user's shell, in its directory of the user.
pub const BEFORE_COMMANDS: [&str; 2] = ["session-env", "shell-snapshots"];

/// What a call would change of such files: the directory that they are seen from, and the path
/// below it. `claude_dir` is the client's directory of the user.
pub fn locate<'p>(
    path: &'p str,
    managed_dir: &str,
    claude_dir: Option<&str>,
) -> Option<(&'p str, &'p str)> {
    let managed = path::relative(path, managed_dir);
    let own = claude_dir.and_then(|dir| path::relative(path, dir));
    let below = managed
        .filter(|below| is_managed(below))
        .or(own.filter(|below| is_of_commands(below)))
        .or_else(|| task_output(path))?;
    let dir = &path[..path.len() - below.len()];
    Some((dir.trim_end_matches('/'), below))
}

fn is_managed(below: &str) -> bool {
    let more = below.strip_prefix(MANAGED_DIR);
    below == MANAGED_FILE
        || more.is_some_and(|name| name.starts_with('/') && name.ends_with(".json"))
}

/// What is read before commands, and what the client kept of their outputs
/// (`projects/SLUG/SESSION/tool-results/ID.txt`).
fn is_of_commands(below: &str) -> bool {
    let parts: Vec<&str> = below.split('/').collect();
    match parts.as_slice() {
        ["projects", _, _, "tool-results", ..] => true,
        [first, _, ..] => BEFORE_COMMANDS.contains(first),
        _ => false,
    }
}

/// What a command in the background prints, in the client's own folder for temporary files:
/// `…/claude-0/SLUG/SESSION/tasks/ID.output`.
fn task_output(path: &str) -> Option<&str> {
    let (dir, name) = path.strip_suffix(".output").and(path::split_last(path))?;
    let above = dir.strip_suffix("/tasks")?;
    let is_of_client = above.split('/').any(|part| part.starts_with("claude"));
    is_of_client.then(|| &path[path.len() - "tasks/".len() - name.len()..])
}

#[cfg(test)]
mod tests {
    use super::locate;

    #[test]
    fn files_of_the_client_are_known_by_their_places() {
        for (path, expected) in [
            (
                "/etc/claude-code/managed-settings.json",
                Some(("/etc/claude-code", "managed-settings.json")),
            ),
            (
                "/etc/claude-code/managed-settings.d/a.json",
                Some(("/etc/claude-code", "managed-settings.d/a.json")),
            ),
            ("/etc/claude-code/CLAUDE.md", None),
            (
                "/h/.claude/session-env/s/hook-1.sh",
                Some(("/h/.claude", "session-env/s/hook-1.sh")),
            ),
            (
                "/h/.claude/shell-snapshots/a.sh",
                Some(("/h/.claude", "shell-snapshots/a.sh")),
            ),
            ("/h/.claude/shell-snapshots", None),
            (
                "/h/.claude/projects/p/s/tool-results/b.txt",
                Some(("/h/.claude", "projects/p/s/tool-results/b.txt")),
            ),
            ("/h/.claude/projects/p/s.jsonl", None),
            (
                "/tmp/claude-0/p/s/tasks/b.output",
                Some(("/tmp/claude-0/p/s", "tasks/b.output")),
            ),
            ("/tmp/build/tasks/b.output", None),
            ("/h/app/session-env/a", None),
        ] {
            let located = locate(path, "/etc/claude-code", Some("/h/.claude"));
            assert_eq!(located, expected, "{path}");
        }
    }
}
