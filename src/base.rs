//! What every layer uses: text, paths, the disk, the environment, time, actors and targets.

pub mod actor;
pub mod clock;
pub mod disk;
pub mod env;
pub mod git;
pub mod git_index;
pub mod path;
pub mod process;
pub mod string_enum;
pub mod target;
pub mod text;
pub mod warn;
