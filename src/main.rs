//! The program: the hook where that is asked for, else the command line.

use std::ffi::OsString;
use std::io::{IsTerminal as _, stdin};
use std::process::ExitCode;

use chrono::Utc;
use statewarden::{cli, hook};

/// musl's own allocator asks the kernel for nearly every piece of memory and
/// gives it back at once; dlmalloc does not.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// `hook` alone does not go through the command line parser: it runs around
/// every tool call, and parsing would be the most of its cost. Hosts that pass
/// no arguments get it as well: a usage error would refuse every call there.
#[expect(clippy::disallowed_methods, reason = "the one clock")]
fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let code = match args.as_slice() {
        [_, verb] if verb == "hook" => hook::main(None, Utc::now),
        [_] if !stdin().is_terminal() => hook::main_unless_empty(Utc::now)
            .unwrap_or_else(|| cli::main(args, Utc::now, hook::main)),
        _ => cli::main(args, Utc::now, hook::main),
    };
    code.into()
}
