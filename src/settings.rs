//! The settings files, merged into one value.

pub mod content;
pub mod contracts;
pub mod file;
pub mod gates;
pub mod load;
pub mod merge;
pub mod model;
pub mod names;
#[cfg(test)]
pub mod tests;
pub mod typed;
