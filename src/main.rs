use std::process::ExitCode;

use chrono::Utc;
use statewarden::{cmd, hook};

/// musl's own allocator asks the kernel for nearly every piece of memory and
/// gives it back at once.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// `hook` alone does not go through the command line parser: it runs around
/// every tool call, and parsing would be the most of its cost.
#[expect(clippy::disallowed_methods, reason = "the one clock")]
fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match (args.next(), args.next()) {
        (Some(verb), None) if verb == "hook" => hook::main(None, Utc::now),
        _ => cmd::main(Utc::now),
    }
}
