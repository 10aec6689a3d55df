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
    run_within(WAIT, command, input)
}

fn run_within(wait: Duration, command: &mut Command, input: &str) -> io::Result<Answer> {
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
    // A channel would tell when. But with one in the program its thread-locals outgrow the
    // room that musl sets aside, and every hook would begin with a mapping for them.
    let readers = (
        thread::spawn(move || read(stdout)),
        thread::spawn(move || read(stderr)),
    );
    let started = Instant::now();
    // A program may close its output and stay, or leave it to a child and go.
    let code = loop {
        match child.try_wait()? {
            Some(status) if readers.0.is_finished() && readers.1.is_finished() => {
                break status.code();
            }
            _ if started.elapsed() < wait => thread::sleep(BETWEEN_LOOKS),
            _ => {
                child.kill()?;
                child.wait()?;
                let why = format!("no answer in {wait:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    };
    let panicked = |_| io::Error::other("a thread that reads the answer panicked");
    Ok(Answer {
        stdout: readers.0.join().map_err(panicked)?,
        stderr: readers.1.join().map_err(panicked)?,
        code,
    })
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What came before an error still says something.
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn sh(wait: Duration, script: &str) -> io::Result<Answer> {
        run_within(wait, Command::new("sh").args(["-c", script]), "event")
    }

    #[test]
    fn what_a_command_says_and_how_it_ends_is_its_answer() {
        let answer = sh(WAIT, "cat; echo no >&2; exit 3").unwrap();
        let said = (answer.stdout.as_str(), answer.stderr.as_str(), answer.code);
        assert_eq!(said, ("event", "no\n", Some(3)));
    }

    #[test]
    fn what_fills_one_pipe_does_not_hold_up_the_other() {
        let answer = sh(WAIT, "yes | head -c 300000 >&2; echo done").unwrap();
        let said = (answer.stdout.as_str(), answer.stderr.len(), answer.code);
        assert_eq!(said, ("done\n", 300_000, Some(0)));
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        for script in ["exec sleep 60", "exec >&- 2>&-; exec sleep 60"] {
            let begun = Instant::now();
            let error = sh(Duration::from_millis(50), script).err();
            assert_eq!(error.unwrap().to_string(), "no answer in 50ms", "{script}");
            assert!(begun.elapsed() < WAIT, "{script}");
        }
    }
}
