//! Claude Code: its events, answers, transcripts and settings files. No other layer knows them.

pub mod agent_result;
pub mod event;
pub mod reply;
pub mod settings_json;
pub mod stdin;
pub mod transcript;
