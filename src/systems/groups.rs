//! Task groups whose state is derived from their files.

pub mod report;
pub mod state;
pub mod stuck;
pub mod tasks;
