//! What must hold for any bytes. The fuzz targets run these functions over what
//! libFuzzer makes up, `tests/integration/fuzz_corpus.rs` over what it found. A
//! property that does not hold panics.

mod disk;
mod event;
mod front_matter;
mod log;
mod shell;

pub use event::event;
pub use front_matter::front_matter;
pub use log::log;
pub use shell::shell;
