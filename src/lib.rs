//! statewarden: keeps what AI coding agents write in workflow state directories true.
//!
//! One event takes one straight line (`hook`):
//! stdin → event → targets → claims → decision → effects → reply.
//!
//! The modules stand in groups: the events, what an event goes through, the rules,
//! the formats of files, the commands and the disk, and what all of them use. This
//! library exists for the binary and its tests; its interface is not stable.

pub mod cli;

pub mod hook;

pub mod shell;

pub mod formats;

pub mod base;
pub mod contract;
pub mod guard;
pub mod host;
pub mod lifecycle;
pub mod log;
pub mod project;
pub mod settings;
pub mod store;
pub mod systems;
