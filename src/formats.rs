//! Foreign file formats: read leniently, changed line by line, never dumped anew.

pub mod front_matter;
pub mod yaml;
