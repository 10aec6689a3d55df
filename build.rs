//! Hands the linker the order of what the hook touches. Of a static program musl protects
//! no RELRO, and without it the variables take a page less.

use std::env::var;

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells build scripts through the environment"
)]
fn main() {
    println!("cargo::rerun-if-changed=.cargo/hook.ld");
    let of = |name| var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_ENV") == "musl" && of("PROFILE") == "release" {
        let dir = of("CARGO_MANIFEST_DIR");
        println!(
            "cargo::rustc-link-arg-bins=-Wl,-T,{dir}/.cargo/hook.ld,-z,noseparate-code,-z,norelro"
        );
    }
}
