//! The disk, read only: bounded reads, listings, links, and what was asked before.

pub mod bounded_read;
pub mod cache;
pub mod list;
pub mod resolve;
pub mod stat;
