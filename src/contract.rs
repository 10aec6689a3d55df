//! What a state directory may hold: rows, roles and patterns, deny codes, the nearest name.

pub mod denial;
pub mod edition;
pub mod glob;
pub mod ignored;
pub(crate) mod near_miss;
pub mod slug;
pub mod suggest;
pub mod table;
