//! One module per family of state files.

pub mod agent_flow;
