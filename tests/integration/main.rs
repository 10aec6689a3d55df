//! One binary for all tests that need the public interface, a process or a disk.

#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used
)]

/// Who may write what.
mod actors;
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
/// What the hook costs.
#[cfg(target_os = "linux")]
mod budget;
/// Every name and pattern of the contracts.
mod contract;
/// Bad input.
mod malformed;
/// Deny codes about names, and the settings.
mod names;
/// Which paths are governed.
mod places;
/// The real Claude Code client; network namespaces keep it offline.
#[cfg(target_os = "linux")]
mod real_client;
/// The shell analyser beside the real Bash.
#[cfg(unix)]
mod shell_differential;
/// The sandbox that tests run the program in.
mod support;
