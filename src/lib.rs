//! statewarden: keeps what AI coding agents write in workflow state directories true.
//!
//! One event takes one straight line (`hook`):
//! stdin → event → targets → claims → decision → effects → reply.
//!
//! The modules stand in groups: the events, what an event goes through, the rules,
//! the formats of files, the commands and the disk, and what all of them use. This
//! library exists for the binary and its tests; its interface is not stable.

pub mod after;
pub mod detect;
pub mod hook;
pub mod moments;

pub mod background;
pub mod claim;
pub mod completion;
pub mod decision;
pub mod event;
pub mod gates;
pub mod ground;
pub mod landing;
pub mod layers;
pub mod nearest;
pub mod project;
pub mod record;
pub mod redact;
pub mod reply;
pub mod restored;
pub mod runs;
pub mod shell;
pub mod stdin;
pub mod target;

pub mod catalog;
pub mod contract;
pub mod settings;
pub mod systems;
pub mod workflow;

pub mod formats;

pub mod cmd;
pub mod inventory;
pub mod sites;
pub mod store;
pub mod wiring;

pub mod actor;
pub mod env;
pub mod listing;
pub mod path;
pub mod regular;
pub mod time;
mod words;
