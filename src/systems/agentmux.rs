//! Sessions of AgentMux, read only.

pub mod event;
pub mod state;
