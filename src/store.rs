//! The only module that changes the disk.

pub mod lock;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod log;
#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod replace;
