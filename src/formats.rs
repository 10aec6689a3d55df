//! Foreign file formats: read leniently, changed in place, never dumped anew.

pub mod front_matter;
pub mod json;
pub mod markdown;
pub mod yaml;
