#[expect(clippy::disallowed_methods, reason = "this is the store")]
pub mod append;
pub mod read;
pub mod record;
pub mod redact;
