//! One binary for all tests that need a process or a disk.

#![allow(clippy::unwrap_used)]

mod agent_flow_agreement;
#[cfg(unix)]
mod agent_flow_readers;
mod agent_flow_stand_in;
