//! The state-file families.

pub mod agentmux;
pub mod devt;
pub mod groups;
pub mod session;
