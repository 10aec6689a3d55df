//! devt's state directory.

pub mod artifact;
pub mod gate;
pub mod sidecar;
pub mod update;
pub mod workflow_yaml;
