//! Runs a hook command the way Claude Code does: no shell, one event on stdin.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longer than any healthy answer, shorter than a person's patience.
const WAIT: Duration = Duration::from_secs(10);

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
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let texts = (read(stdout), read(stderr));
        // The receiver is gone after a time-out, and nobody needs the text.
        let _ = send.send(texts);
    });
    let texts = receive.recv_timeout(WAIT);
    if texts.is_err() {
        child.kill()?;
    }
    let code = child.wait()?.code();
    let (stdout, stderr) = texts.map_err(|_| {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer in {} s", WAIT.as_secs()),
        )
    })?;
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
