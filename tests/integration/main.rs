//! One binary for all tests that need the public interface, a process or a disk.

#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used
)]

/// What happens after a tool call.
mod after;
/// The hook and the original update scripts agree, whoever comes first.
mod agent_flow_agreement;
/// Agent Flow's own readers over what this program writes.
#[cfg(unix)]
mod agent_flow_readers;
/// The original update script, as far as the facts describe it.
mod agent_flow_stand_in;
/// Form and content of a refusal.
mod answers;
/// The archive when something is in the way, or the process dies.
mod archive_faults;
/// What the hook costs.
#[cfg(target_os = "linux")]
mod budget;
/// What goes at any time, and what stays.
mod cleanup;
/// Edits of Claude Code's settings, and of this program's files, that would drop the guard.
mod client_settings;
/// The reading commands.
mod commands;
/// Every name and pattern of the contracts.
mod contract;
/// Kills at every system call, and a full disk.
#[cfg(target_os = "linux")]
mod crash;
/// Defects of devt that must not come back.
mod defects;
/// The morning after: lists and counts.
mod denies;
/// Sick installations, and what `doctor` says.
#[cfg(unix)]
mod doctor;
/// What an Edit would leave in a file.
mod edits;
/// Strict mode: what cannot be judged before it runs cannot write.
#[cfg(target_os = "linux")]
mod fence;
/// Runs by several commands at once.
mod flow_verbs;
/// Inputs of the fuzz targets.
mod fuzz_corpus;
/// Gates that agents move.
mod gates;
/// `git clean` in real repositories.
mod git_clean;
/// The reader of git's index against git itself.
mod git_index;
/// No test sees what is above its sandbox, or this machine's settings.
#[cfg(target_os = "linux")]
mod hermetic;
/// `install.sh` puts in and takes out.
#[cfg(unix)]
mod install_script;
/// The layers of `src`.
mod layers;
/// Logs stay within their bounds and lose nothing.
mod log_bounds;
/// What stands in the logs, and that nothing is lost.
mod logs;
/// Bad input.
mod malformed;
/// Tools of MCP servers.
mod mcp;
/// Names where the verbs and the hook must agree.
#[cfg(unix)]
mod npm;
/// Events that are odd JSON.
mod odd_json;
/// Who runs a verb: a person, or a call.
#[cfg(target_os = "linux")]
mod origin;
/// Commands in patterns of other shells.
mod other_shells;
/// Which paths are governed.
mod places;
/// The commands that README gives to be pasted.
mod readme;
/// The real Claude Code client; network namespaces keep it offline.
#[cfg(target_os = "linux")]
mod real_client;
/// What calls did, seen and taken back.
mod recorder;
/// Deny records in any number.
mod records;
/// Which denials are settled.
mod recoveries;
/// No credential of a command reaches a log.
mod redaction;
/// The guard over past sessions.
mod replay;
/// The page about the morning after.
mod report;
/// The end of a workflow, and the ring it leaves.
mod reset;
/// Settings that are broken, large or not there: the guard stays closed.
mod settings_hook;
/// The shell analyser beside the real Bash.
#[cfg(unix)]
mod shell_differential;
/// Shell commands end to end.
mod shell_guard;
/// Whether a workflow is stuck.
mod stuck;
/// Habits that no part of `src` may take up.
mod style;
/// The sandbox that tests run the program in.
mod support;
/// The start of a workflow.
mod sweep;
/// The documents beside the code.
mod tidy;
/// `workflow.yaml` and its locks.
mod update;
/// Work trees of the project.
mod work_trees;
