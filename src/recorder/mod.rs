//! What calls did to the state directories: looked at before and after, judged
//! as if the call's actor had used a file tool, kept, and taken back where that
//! is certain.

pub mod attribution;
pub mod changes;
pub mod contents;
pub mod entry;
pub mod index;
pub mod judge;
pub mod look;
pub mod mediate;
pub mod places;
mod plan;
mod records;
mod step;
pub mod telling;
pub mod undo;
pub mod windows;

#[cfg(test)]
mod tests;
