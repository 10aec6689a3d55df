//! statewarden: keeps what AI coding agents write in workflow state directories true.
//!
//! One event takes one straight line (`hook`):
//! stdin → event → targets → claims → decision → effects → reply.
//!
//! The modules stand in reading order. This library exists for the binary and
//! its tests; its interface is not stable.

pub mod actor;
pub mod formats;
pub mod systems;
pub mod target;
pub mod workflow;
