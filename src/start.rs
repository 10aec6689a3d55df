//! The start of the static binary, without what the standard library does before `main`: it
//! prepares a stack and handlers to tell of an overflow, which costs a hook a tenth of its
//! time. What a program relies on is done here.
#![expect(unsafe_code, reason = "the C library calls `main`, with pointers")]

use std::ffi::{CStr, OsString, c_char, c_int};
use std::os::fd::{BorrowedFd, IntoRawFd as _};
use std::os::unix::ffi::OsStringExt as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::stdio;

/// Called by the C library.
#[unsafe(no_mangle)]
extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: to ignore a signal runs no code of ours. Nobody else has a handler yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    open_standard_streams();
    let word = |n| {
        // SAFETY: the C library passes `argc` pointers to strings that end and stay.
        let word = unsafe { CStr::from_ptr(*argv.add(n)) };
        OsString::from_vec(word.to_bytes().to_vec())
    };
    let argc = usize::try_from(argc).unwrap_or(0);
    super::run((0..argc).map(word).collect()).into()
}

/// A file that is opened later must not get the number of a stream that was closed. What
/// cannot be answered on stdout is an error, so that a refusal goes the other way.
fn open_standard_streams() {
    const STAND_INS: [&str; 3] = ["/dev/null", "/dev/full", "/dev/null"];
    let streams = [stdio::stdin(), stdio::stdout(), stdio::stderr()];
    let ask = |fd: &BorrowedFd<'static>| PollFd::from_borrowed_fd(*fd, PollFlags::empty());
    let mut asked = [0, 1, 2].map(|n: usize| ask(&streams[n]));
    let now = Timespec::default();
    if poll(&mut asked, Some(&now)).is_ok_and(|n_closed| n_closed == 0) {
        return;
    }
    for (fd, stand_in) in asked.iter().zip(STAND_INS) {
        if fd.revents().contains(PollFlags::NVAL)
            && let Ok(opened) = open(stand_in, OFlags::RDWR, Mode::empty())
        {
            // It takes the lowest number that is free, and keeps it.
            let _ = opened.into_raw_fd();
        }
    }
}
