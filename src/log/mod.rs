//! Records of what was denied or happened: made, redacted, appended and read.

#[expect(clippy::disallowed_methods, reason = "the logs are appended to here")]
pub mod append;
pub mod chain;
pub mod read;
pub mod record;
pub mod redact;
