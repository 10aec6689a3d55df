//! One binary for all tests that need the public interface, a process or a disk.

#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used
)]

/// The hook and the original update scripts agree, whoever comes first.
mod agent_flow_agreement;
/// Agent Flow's own readers over what this program writes.
#[cfg(unix)]
mod agent_flow_readers;
/// The archive when something is in the way, or the process dies.
mod archive_faults;
/// What goes at any time, and what stays.
mod cleanup;
/// Every name and pattern of the contracts.
mod contract;
/// Bad input.
mod malformed;
/// The real Claude Code client; network namespaces keep it offline.
#[cfg(target_os = "linux")]
mod real_client;
/// The end of a workflow, and the ring it leaves.
mod reset;
/// What was archived comes back.
mod restore;
/// The sandbox that tests run the program in.
mod support;
/// The start of a workflow.
mod sweep;
/// `workflow.yaml` and its locks.
mod update;
