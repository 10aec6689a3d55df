//! What calls did to the state directories: looked at before and after, judged as if the call's
//! actor had used a file tool, and kept. A name that no one may use is moved whoever made it; other
//! changes are undone where one call alone can have made them.

pub mod agents;
mod archives;
mod bulk;
pub mod calls;
pub mod changes;
pub mod contents;
mod custody;
pub mod entry;
mod facts;
pub mod findings;
pub mod health;
pub mod index;
pub mod judge;
mod last_look;
pub mod look;
pub mod mediate;
pub mod pipeline;
pub mod places;
mod records;
pub mod undo;
pub mod verdict;

#[cfg(test)]
mod people_tests;
#[cfg(test)]
mod test_scene;
#[cfg(test)]
mod tests;
