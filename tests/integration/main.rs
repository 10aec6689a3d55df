//! One binary for all tests that need the public interface, a process or a disk.

#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used
)]

/// Every name and pattern of the contracts.
mod contract;
/// Bad input.
mod malformed;
/// The sandbox that tests run the program in.
mod support;
//! One binary for all tests that need a process or a disk.

// Network namespaces are what keeps the client offline.
#[cfg(target_os = "linux")]
mod real_client;
