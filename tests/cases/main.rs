//! The tests that are text, one trial for each case: `cargo test --test cases NAME` runs those
//! whose name holds NAME.

#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used
)]

/// A corpus of shell commands: `tests/commands`.
#[cfg(unix)]
mod commands;
/// What the hook answers to events: `tests/hook`.
#[cfg(unix)]
mod hook;
#[allow(dead_code)]
#[path = "../integration/support.rs"]
mod support;
/// What the verbs print: `tests/cli`, `README.md` and `docs`.
#[cfg(unix)]
mod verbs;

use libtest_mimic::{Arguments, run};

fn main() {
    let mut trials = Vec::new();
    #[cfg(unix)]
    trials.extend(
        [verbs::trials(), hook::trials(), commands::trials()]
            .into_iter()
            .flatten(),
    );
    run(&Arguments::from_args(), trials).exit();
}
