use std::process::ExitCode;

use chrono::Utc;
use statewarden::env::Env;

fn main() -> ExitCode {
    statewarden::hook::main(&Env::read(), None, Utc::now())
}
