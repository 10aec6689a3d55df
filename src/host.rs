//! Claude Code: its events, answers, transcripts and settings files. No other layer knows them.

pub mod agent_result;
pub mod client_files;
pub mod env_file;
pub mod event;
pub mod reply;
pub mod settings_json;
pub mod stdin;
pub mod task_news;
pub mod transcript;
