//! Runs a hook command the way Claude Code does: no shell, one event on stdin.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any healthy answer, shorter than a person's patience.
const WAIT: Duration = Duration::from_secs(10);

const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// No answer of ours is longer, so the rest of a babbling program is not read.
const MAX_OUTPUT: u64 = 1 << 20;

/// What a command answered.
pub(super) struct Answer {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) code: Option<i32>,
}

/// Runs a command to its end, or kills it when that takes too long.
pub(super) fn run(command: &mut Command, input: &str) -> io::Result<Answer> {
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = pipes.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    if let Some(mut stdin) = stdin {
        // A program that does not read its input has an answer all the same.
        let _ = stdin.write_all(input.as_bytes());
    }
    // A channel would not ask, but its thread-locals are more than musl has room for in
    // any process of this program, a hook's included, without a mapping.
    let reader = thread::spawn(move || (read(stdout), read(stderr)));
    let started = Instant::now();
    while !reader.is_finished() && started.elapsed() < WAIT {
        thread::sleep(BETWEEN_LOOKS);
    }
    if !reader.is_finished() {
        child.kill()?;
        child.wait()?;
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer in {} s", WAIT.as_secs()),
        ));
    }
    let code = child.wait()?.code();
    let (stdout, stderr) = reader
        .join()
        .map_err(|_| io::Error::other("the thread that reads the answer panicked"))?;
    Ok(Answer {
        stdout,
        stderr,
        code,
    })
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What came before an error still tells something.
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
