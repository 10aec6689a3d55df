//! The project around an event: roots, state directories, enabled systems, and what handlers get.

pub mod context;
pub mod contracts;
pub mod entries;
pub mod files;
pub mod plugins;
pub mod registry;
pub mod roots;
pub mod settings;
pub mod sites;
