//! The bytes of one event, read to their end, within a deadline and a bound.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;

use crate::formats::surrogates;
use crate::host::event::Kind;

/// A larger event is no event.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How long a writer may leave stdin open.
const DEADLINE: Duration = Duration::from_secs(2);

/// How long to wait for the end after what may be a whole event.
const AFTER_WHOLE: Duration = Duration::from_millis(100);

/// Nearly every event is smaller.
const USUAL_BYTES: usize = 16 * 1024;

/// Of an event that is too large the beginning is kept, and as many bytes of its end: a
/// path may follow the content.
const TAIL: usize = 64 * 1024;

/// What came in, and what was wrong with the way it came.
#[derive(Debug, Default)]
pub struct Input {
    pub bytes: Vec<u8>,
    pub trouble: Option<String>,
}

/// One look at stdin.
enum Got {
    /// Bytes, and there may be more.
    Some,
    /// Everything to the end.
    All,
    /// Nothing within the time given.
    Nothing,
}

/// Reads stdin to its end: closing it early can cost the verdict. Bytes past
/// [`MAX_BYTES`] are read and dropped.
pub fn read() -> Input {
    let mut input = read_from(source::read_some);
    surrogates::repair(&mut input.bytes);
    input
}

fn read_from(mut read_some: impl FnMut(&mut Vec<u8>, Duration) -> io::Result<Got>) -> Input {
    let mut input = Input {
        bytes: Vec::with_capacity(USUAL_BYTES),
        ..Input::default()
    };
    // Most events come whole at once, so the first look does not wait and the time
    // counts from there.
    let mut begun = None;
    // So many bytes were looked at, and are a part of an event.
    let mut n_partial = 0;
    let mut is_too_large = false;
    loop {
        let left = begun.map_or(Duration::ZERO, |begun: Instant| {
            DEADLINE.saturating_sub(begun.elapsed())
        });
        let may_be_whole =
            input.bytes.len() != n_partial && input.bytes.trim_ascii_end().ends_with(b"}");
        make_room(&mut input.bytes);
        let patience = if may_be_whole { AFTER_WHOLE } else { left };
        let got = read_some(&mut input.bytes, patience.min(left));
        is_too_large |= input.drop_excess();
        match got {
            Ok(Got::All) => break,
            // A writer that never ends is one that never closes.
            Ok(Got::Some) if is_too_large && begun.is_some() && left.is_zero() => break,
            Ok(Got::Some | Got::Nothing) if begun.is_none() => begun = Some(Instant::now()),
            Ok(Got::Some) => {}
            Ok(Got::Nothing) if may_be_whole && input.is_whole() => break,
            Ok(Got::Nothing) if !left.is_zero() && may_be_whole => n_partial = input.bytes.len(),
            Ok(Got::Nothing) => {
                input.trouble = Some("stdin was not closed within 2 s".to_owned());
                break;
            }
            Err(error) => {
                input.trouble = Some(format!("stdin cannot be read: {error}"));
                break;
            }
        }
    }
    if is_too_large {
        input.trouble = Some("the event is larger than 64 MiB".to_owned());
        // What is kept must not parse as an event of its own.
        input.bytes.push(b'\0');
    } else if input.bytes.is_empty() && input.trouble.is_none() {
        input.trouble = Some("stdin is empty".to_owned());
    }
    input
}

impl Input {
    /// Whether the bytes are an event and not the beginning of one, which may
    /// end in a brace as well: the code in it has many.
    fn is_whole(&self) -> bool {
        serde_json::from_slice::<IgnoredAny>(&self.bytes).is_ok()
    }

    /// Drops what is too much from before the last bytes; says whether it did.
    fn drop_excess(&mut self) -> bool {
        let len = self.bytes.len();
        if len > MAX_BYTES {
            self.bytes.drain(MAX_BYTES - TAIL..len - TAIL);
        }
        len > MAX_BYTES
    }
}

/// An event that is larger than usual gets room for the largest: pages that are not touched
/// cost nothing, and a buffer that grows is copied each time.
fn make_room(bytes: &mut Vec<u8>) {
    let most = MAX_BYTES + USUAL_BYTES - bytes.len();
    if bytes.len() == bytes.capacity() && bytes.try_reserve_exact(most).is_err() {
        bytes.reserve(USUAL_BYTES);
    }
}

#[cfg(unix)]
mod source {
    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    use super::Got;

    /// The writer has closed its end; of a socket it may be half of it.
    #[cfg(target_os = "linux")]
    const CLOSED: PollFlags = PollFlags::HUP.union(PollFlags::RDHUP);
    #[cfg(not(target_os = "linux"))]
    const CLOSED: PollFlags = PollFlags::HUP;

    /// Appends what is there, as far as there is room. Where the writer is
    /// gone, a read that leaves room has taken everything.
    pub(crate) fn read_some(bytes: &mut Vec<u8>, patience: Duration) -> io::Result<Got> {
        let stdin = rustix::stdio::stdin();
        let timeout = Timespec {
            tv_sec: patience.as_secs().try_into().unwrap_or(2),
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut ready = [PollFd::new(&stdin, PollFlags::IN | CLOSED)];
        match poll(&mut ready, Some(&timeout)) {
            Ok(0) => return Ok(Got::Nothing),
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Got::Some),
            Err(error) => return Err(error.into()),
        }
        let closed = ready[0].revents().intersects(CLOSED);
        match rustix::io::read(stdin, rustix::buffer::spare_capacity(bytes)) {
            Ok(0) => Ok(Got::All),
            Ok(_) if closed && bytes.len() < bytes.capacity() => Ok(Got::All),
            Ok(_) | Err(Errno::INTR) => Ok(Got::Some),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod source {
    use std::io::{self, Read};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
    use std::sync::{Mutex, OnceLock};
    use std::thread;
    use std::time::Duration;

    use super::Got;

    type Chunks = Mutex<Receiver<io::Result<Vec<u8>>>>;

    /// A thread reads, since a blocked read has no deadline here.
    fn chunks() -> &'static Chunks {
        static CHUNKS: OnceLock<Chunks> = OnceLock::new();
        CHUNKS.get_or_init(|| {
            let (sender, receiver) = channel();
            thread::spawn(move || {
                let mut buffer = vec![0; 64 * 1024];
                loop {
                    let read = io::stdin()
                        .lock()
                        .read(&mut buffer)
                        .map(|n| buffer[..n].to_vec());
                    let last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                    if sender.send(read).is_err() || last {
                        return;
                    }
                }
            });
            Mutex::new(receiver)
        })
    }

    pub(crate) fn read_some(bytes: &mut Vec<u8>, patience: Duration) -> io::Result<Got> {
        let receiver = chunks()
            .lock()
            .map_err(|_| io::Error::other("the reader failed"))?;
        match receiver.recv_timeout(patience) {
            Ok(Ok(chunk)) if chunk.is_empty() => Ok(Got::All),
            Ok(Ok(chunk)) => {
                bytes.extend_from_slice(&chunk);
                Ok(Got::Some)
            }
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Timeout) => Ok(Got::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Got::All),
        }
    }
}

/// Whether refusing makes sense: a garbled `Stop` or `SubagentStop` must not
/// keep a session from ending.
pub fn may_be_before_call(bytes: &[u8]) -> bool {
    names_event_before_call(bytes).unwrap_or(true)
}

/// Whether the event's name, where it is given, is that of a call that has not run yet.
fn names_event_before_call(bytes: &[u8]) -> Option<bool> {
    let text = String::from_utf8_lossy(bytes);
    let kind = Kind::parse(value_of("hook_event_name", &text)?);
    Some(kind.is_some_and(Kind::is_before_call))
}

/// Whether the bytes are, or may be, the end of a turn or of an agent that a hook has
/// made go on.
pub fn was_held_before(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let event = value_of("hook_event_name", &text);
    matches!(event, None | Some("Stop" | "SubagentStop"))
        && after_key("stop_hook_active", &text).is_some_and(|value| value.starts_with("true"))
}

/// Whether stdin holds a hook's event, of whatever host. It waits for what comes.
pub fn holds_event() -> bool {
    if io::stdin().is_terminal() {
        return false;
    }
    let bytes = read().bytes;
    let text = String::from_utf8_lossy(&bytes);
    let mut names = ["hook_event_name", "hookEventName"].iter();
    names.any(|name| after_key(name, &text).is_some())
}

/// The plain value of a key, wherever that is; `None` of one that is cut off.
fn value_of<'t>(key: &str, text: &'t str) -> Option<&'t str> {
    let value = after_key(key, text)?.strip_prefix('"')?;
    Some(value.split_once('"')?.0)
}

fn after_key<'t>(key: &str, text: &'t str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("\"{key}\""))?;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads what a writer sends; `None` is a look at which nothing came in
    /// time, and the end for more of them. Gives how long each look was to wait.
    fn read_script(script: &[Option<&str>]) -> (Input, Vec<Duration>) {
        let (mut script, mut waits) = (script.iter(), Vec::new());
        let input = read_from(|bytes, patience| {
            waits.push(patience);
            Ok(match script.next() {
                Some(Some("")) => Got::All,
                Some(Some(text)) => {
                    bytes.extend_from_slice(text.as_bytes());
                    Got::Some
                }
                Some(None) | None => Got::Nothing,
            })
        });
        (input, waits)
    }

    const EVENT: &str = r#"{"cwd":"/p","tool_input":{"command":"f() { :; }"}}"#;

    #[test]
    fn a_pause_after_a_brace_does_not_end_an_event() {
        for at in EVENT.match_indices('}').map(|(at, _)| at + 1) {
            let (first, rest) = EVENT.split_at(at);
            let pause = [Some(first), None, Some(rest), Some("")];
            let (input, waits) = read_script(&pause);
            assert_eq!(input.trouble, None, "{first}");
            assert_eq!(waits[1], AFTER_WHOLE, "{first}");
            if !rest.is_empty() {
                assert_eq!(input.bytes, EVENT.as_bytes(), "{first}");
                assert!(waits[2] > AFTER_WHOLE, "{first}");
            }
        }
        let (input, waits) = read_script(&[None, Some(EVENT)]);
        assert_eq!(
            (input.bytes.as_slice(), input.trouble),
            (EVENT.as_bytes(), None)
        );
        assert_eq!(waits.len(), 3);
        let (input, _) = read_script(&[Some(&EVENT[..EVENT.len() - 1])]);
        assert_eq!(
            input.trouble.as_deref(),
            Some("stdin was not closed within 2 s")
        );
    }

    #[test]
    fn the_time_counts_from_the_first_look() {
        let (_, waits) = read_script(&[None, Some("{"), Some("\"a\""), None]);
        assert_eq!(waits[0], Duration::ZERO);
        assert!(waits[1] <= DEADLINE);
        assert!(waits[1..].is_sorted_by(|a, b| a >= b), "{waits:?}");
    }
}
