//! The line by which each shell of a session starts again behind the fence. Claude Code runs the
//! file in `CLAUDE_ENV_FILE` before each command, in the shell that runs the command: `bash -c` or
//! `zsh -c`, whose whole text is in a variable.

use crate::base::text::shell_quote;

/// Holds the id of a process that starts behind the fence: `exec` keeps it, and no other process
/// has it, so that a client within a command gets a fence of its own.
const MARK: &str = "STATEWARDEN_FENCED";

/// The line for a project, with its end. Without the program a command runs as it would without
/// the line.
pub fn line(program: &str, project: &str, env_file: &str) -> String {
    let quoted = |text| shell_quote(text).into_owned();
    let (program, project, env_file) = (quoted(program), quoted(project), quoted(env_file));
    let fence = format!("exec {program} fence --project {project} --env-file {env_file} --");
    format!(
        "[ \"${{{MARK}-}}\" = \"$$\" ] || [ ! -x {program} ] || {{ export {MARK}=$$; \
         if [ -n \"${{BASH_EXECUTION_STRING-}}\" ]; then {fence} \"$BASH\" -c \"$BASH_EXECUTION_STRING\"; \
         elif [ -n \"${{ZSH_EXECUTION_STRING-}}\" ]; then {fence} \"${{ZSH_ARGZERO:-zsh}}\" -c \"$ZSH_EXECUTION_STRING\"; \
         fi; }}\n"
    )
}
