//! The families of state files: one file or folder for each, with its one contract table.

pub mod agent_flow;
pub mod agentmux;
pub mod declared;
pub mod devt;
pub mod files;
pub mod gate_record;
pub mod groups;
pub mod own;
pub mod session;
pub mod system;
pub mod tested;
pub mod workflow;
