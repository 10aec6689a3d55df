pub mod agent_result;
pub mod event;
pub mod reply;
pub mod settings_json;
pub mod stdin;
pub mod transcript;
