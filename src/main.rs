#![cfg_attr(all(target_env = "musl", not(test)), no_main)]

use std::ffi::OsString;
use std::io::{IsTerminal as _, stdin};

use chrono::Utc;
use statewarden::{cmd, hook};

#[cfg(any(target_env = "musl", test))]
mod heap;
#[cfg(any(target_env = "musl", test))]
mod memory;
#[cfg(all(target_env = "musl", not(test)))]
mod start;

/// musl's own allocator asks the kernel for nearly every piece of memory and
/// gives it back at once; dlmalloc does not.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: heap::Heap<dlmalloc::GlobalDlmalloc> = heap::Heap(dlmalloc::GlobalDlmalloc);

#[cfg(any(not(target_env = "musl"), test))]
fn main() -> std::process::ExitCode {
    run(std::env::args_os().collect()).into()
}

/// `hook` alone does not go through the command line parser: it runs around
/// every tool call, and parsing would be the most of its cost. Hosts that pass
/// no arguments get it as well: a usage error would refuse every call there.
#[expect(clippy::disallowed_methods, reason = "the one clock")]
fn run(args: Vec<OsString>) -> u8 {
    match args.as_slice() {
        [_, verb] if verb == "hook" => hook::main(None, Utc::now),
        [_] if !stdin().is_terminal() => {
            hook::main_unless_empty(Utc::now).unwrap_or_else(|| cmd::main(args, Utc::now))
        }
        _ => cmd::main(args, Utc::now),
    }
}
