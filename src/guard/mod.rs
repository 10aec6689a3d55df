//! Before a tool call: targets, claims, the decision, and what the agent is told.

pub mod claims;
pub mod content;
pub mod decision;
pub mod descendants;
pub mod judge;
pub mod message;
pub mod outcome;
pub mod removal;
pub mod suggestion;
pub mod targets;
