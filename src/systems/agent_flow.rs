//! Agent Flow: the three `.claude/*.local.md` files of its orchestrator.

pub mod content;
pub mod deep_dive;
mod draft;
pub mod gates;
pub mod log;
pub mod script;
pub mod state;
pub mod verdict;
