//! File formats that several systems share.

pub mod json;
pub mod markdown;
