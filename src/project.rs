//! The project around an event: roots, state directories, enabled systems, and what handlers get.

pub mod accepted;
pub mod context;
pub mod entries;
pub mod files;
pub mod memory;
pub mod plugins;
pub mod registry;
pub mod resolved;
pub mod roots;
pub mod settings;
pub mod sites;
mod stamps;
pub mod state;
