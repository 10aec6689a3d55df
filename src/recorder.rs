//! What calls did to the state directories: looked at before and after, judged
//! as if the call's actor had used a file tool, kept, and taken back where that
//! is certain.

pub mod agents;
pub mod attribution;
mod bulk;
pub mod calls;
pub mod changes;
pub mod contents;
mod custody;
mod decide;
pub mod entry;
pub mod findings;
pub mod health;
pub mod index;
pub mod judge;
pub mod look;
pub mod mediate;
pub mod pipeline;
pub mod places;
mod records;
pub mod undo;

#[cfg(test)]
mod people_tests;
#[cfg(test)]
mod test_scene;
#[cfg(test)]
mod tests;
