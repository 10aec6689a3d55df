//! The commands.

pub mod doctor;
pub mod install;
