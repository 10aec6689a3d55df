//! Before a tool call: targets, claims, the decision, and the message to the agent.

pub mod claims;
pub mod content;
pub mod decision;
pub mod descendants;
pub mod excerpt;
pub mod fence;
pub mod git_keeps;
pub mod judge;
pub mod judge_error;
pub mod message;
pub mod outcome;
mod own_verbs;
pub mod removal;
pub mod suggestion;
pub mod targets;
