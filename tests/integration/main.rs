//! One binary for all tests that need a process or a disk.

// Network namespaces are what keeps the client offline.
#[cfg(target_os = "linux")]
mod real_client;
