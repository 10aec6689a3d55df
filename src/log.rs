//! Records of what was denied or happened: made, appended and read.

#[expect(clippy::disallowed_methods, reason = "the logs are appended to here")]
pub mod append;
pub mod chain;
pub mod kept;
pub mod read;
pub mod record;
