//! Leaves the unwind tables out of a static release binary: its panics abort, so that nothing
//! reads them, and they are a tenth of its size.

use std::path::Path;
use std::{env, fs, io};

/// Drops the tables, but for the two ends that the start-up code points to.
const SCRIPT: &str = "SECTIONS { /DISCARD/ : {
  *(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame)
  *(.gcc_except_table .gcc_except_table.*)
} } INSERT AFTER .text;
";

#[allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "Cargo and a build script speak by environment, files and stdout"
)]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var_os(name).is_some_and(|found| found == value);
    if is("CARGO_CFG_TARGET_ENV", "musl") && is("PROFILE", "release") {
        let dir = env::var_os("OUT_DIR").unwrap_or_default();
        let file = Path::new(&dir).join("no-unwind-tables.ld");
        fs::write(&file, SCRIPT)?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", file.display());
    }
    Ok(())
}
