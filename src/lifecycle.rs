//! Around agents and after tool calls: gates, session start, what a call left behind.

pub mod agents;
pub mod calls;

pub mod config_change;
pub mod counted_runs;
pub mod early_exit;
pub mod evidence;
pub mod freshness;
pub mod judge;

pub mod gates;
pub mod nested;
pub mod post_tool_use;

pub mod session_start;
pub mod settings_review;
pub mod standing;
pub mod strict;
