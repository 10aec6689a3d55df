pub mod bounded_read;
pub mod cache;
pub mod list;
pub mod resolve;
