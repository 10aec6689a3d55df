//! devt's state directory.

pub mod artifact;
pub mod sidecar;
pub mod workflow_yaml;
