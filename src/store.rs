//! The only module that changes the disk.

pub mod replace;
