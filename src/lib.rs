//! statewarden: keeps workflow state files valid. It blocks AI coding agents from
//! writing the wrong file, name or content.
//!
//! The modules are layers, from the bottom up: each imports only those above it in this
//! file, and `hook` and `cli` do not import each other. `ARCHITECTURE.md` says what each
//! holds. This library exists for the binary and its tests; its interface is not stable.

pub mod base;
pub mod formats;
pub mod host;
pub mod store;

pub mod contract;
pub mod log;
pub mod settings;
pub mod systems;

pub mod project;
pub mod shell;

pub mod guard;

pub mod recorder;

pub mod lifecycle;

pub mod hook;

pub mod cli;
