//! Regular files, read within bounds. Other kinds of files can keep a reader
//! for ever, or never end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::str;

use crate::base::text::split_bom;

/// Opens a regular file for reading, and gives its length.
///
/// # Errors
/// The file cannot be opened, or is no regular one.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = open_at_once(path)?;
    let len = len(&file)?;
    Ok((file, len))
}

/// The length of an open file.
///
/// # Errors
/// It is no regular file.
pub fn len(file: &File) -> io::Result<u64> {
    let meta = file.metadata()?;
    if meta.is_file() {
        Ok(meta.len())
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// Opens a FIFO too without waiting for its writer. What the file is can only be
/// asked safely once it is open: another may have its name a moment later.
#[cfg(unix)]
fn open_at_once(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// What the disk answered; `None` where nothing has the name, or a file is on the way to it.
///
/// # Errors
/// Every other error.
pub fn if_there<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        answer => answer.map(Some),
    }
}

/// The bytes of a file of at most `max` of them.
///
/// # Errors
/// The file cannot be read, or is larger.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let (mut file, len) = open(path)?;
    if len > max {
        return Err(too_large(max));
    }
    // As a rule all of it comes at once.
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    let n_read = file.read(&mut bytes)?;
    // What `/proc` holds says that it is empty.
    if n_read == 0 || n_read < bytes.len() {
        bytes.truncate(n_read);
        file.take(max + 1 - n_read as u64).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > max {
        return Err(too_large(max));
    }
    Ok(bytes)
}

/// The bytes of whatever a person names, such as a pipe, and at most `max` of them.
///
/// # Errors
/// It cannot be read, or holds more.
pub fn read_any(stream: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(too_large(max));
    }
    Ok(bytes)
}

fn too_large(max: u64) -> io::Error {
    io::Error::other(format!("it is larger than {} MiB", max >> 20))
}

/// Hands on the lines in the last `max` bytes of a file, without their breaks and
/// a byte-order mark, and gives its length. A line of which only the end is in there is left out, and
/// one that is no UTF-8: a torn line must not hide those behind it.
///
/// # Errors
/// The file cannot be read.
pub fn tail(path: &Path, max: u64, take: &mut dyn FnMut(&str)) -> io::Result<u64> {
    let (mut file, len) = open(path)?;
    let start = len.saturating_sub(max);
    // From one byte before, so that a line which begins at the start is whole.
    file.seek(SeekFrom::Start(start.saturating_sub(1)))?;
    let mut reader = BufReader::new(file.take(max.saturating_add(1)));
    if start > 0 {
        reader.skip_until(b'\n')?;
    }
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Ok(line) = str::from_utf8(&line) {
            take(split_bom(line).1.trim_end_matches('\n'));
        }
        line.clear();
    }
    Ok(len)
}

/// How much [`from_end`] reads at once.
const PIECE: u64 = 32 * 1024;

/// The same from the last line on, until `take` has seen enough: what is read then does not
/// grow with the file. Gives its length, and whether all was handed on.
///
/// # Errors
/// The file cannot be read.
pub fn from_end(
    path: &Path,
    max: u64,
    take: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> io::Result<(u64, ControlFlow<()>)> {
    let (file, len) = open(path)?;
    Ok((len, from_end_of(&file, len, max, take)?))
}

/// The same of a file of that length that is open.
///
/// # Errors
/// The file cannot be read.
pub fn from_end_of(
    mut file: &File,
    len: u64,
    max: u64,
    take: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> io::Result<ControlFlow<()>> {
    let mut hand_on = |line: &[u8]| {
        let text = str::from_utf8(line);
        text.map_or(ControlFlow::Continue(()), |text| take(split_bom(text).1))
    };
    let first = len.saturating_sub(max).saturating_sub(1);
    // What was read of the line whose beginning was not.
    let (mut at, mut open_line) = (len, Vec::new());
    while at > first {
        let start = first.max(at.saturating_sub(PIECE));
        let mut piece = vec![0; usize::try_from(at - start).unwrap_or_default()];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece)?;
        if at == len && piece.last() == Some(&b'\n') {
            piece.pop();
        }
        piece.append(&mut open_line);
        while let Some(end) = memchr::memrchr(b'\n', &piece) {
            if hand_on(&piece[end + 1..]).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            piece.truncate(end);
        }
        (at, open_line) = (start, piece);
    }
    Ok(if first == 0 && len <= max && len > 0 {
        hand_on(&open_line)
    } else {
        ControlFlow::Continue(())
    })
}

/// A state file that a rule reads is small; what is larger is no state file.
pub(crate) const MAX_TEXT: u64 = 16 * 1024 * 1024;

/// The text of a regular file; `None` when nothing has its name.
///
/// # Errors
/// The file cannot be read, is no regular file, no UTF-8, or larger than a state
/// file may be.
pub fn read_text<P: AsRef<Path> + ?Sized>(path: &P) -> io::Result<Option<String>> {
    read_bytes(path.as_ref())?.map(utf8).transpose()
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

pub(crate) fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if_there(read(path, MAX_TEXT))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs;

    use super::*;

    #[test]
    fn a_tail_is_its_whole_lines_of_text() {
        let dir = std::env::temp_dir().join(format!("statewarden-tail-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let file = dir.join("a.jsonl");
        let check = |text: &[u8], max: u64, expected: &[&str]| {
            fs::write(&file, text).unwrap();
            let mut lines = Vec::new();
            let len = tail(&file, max, &mut |line| lines.push(line.to_owned())).unwrap();
            assert_eq!(lines, expected, "the last {max} of {text:?}");
            assert_eq!(len, text.len() as u64);
            let mut from_last = Vec::new();
            let all = from_end(&file, max, &mut |line| {
                from_last.insert(0, line.to_owned());
                ControlFlow::Continue(())
            });
            assert_eq!(all.unwrap(), (len, ControlFlow::Continue(())));
            assert_eq!(from_last, expected, "the last {max} of {text:?}");
        };
        check(b"", 9, &[]);
        check(b"a\n\nb", 9, &["a", "", "b"]);
        check("\u{feff}a\nb".as_bytes(), 9, &["a", "b"]);
        check(b"one\ntwo\n", 8, &["one", "two"]);
        check(b"one\ntwo\n", 7, &["two"]);
        check(b"one\ntwo\n", 4, &["two"]);
        check(b"one\ntwo\n", 3, &[]);
        check("éé\ntwo".as_bytes(), 7, &["two"]);
        check("éé\ntwo".as_bytes(), 6, &["two"]);
        check(b"one\n\xff\ntwo\n", u64::MAX, &["one", "two"]);
        assert!(tail(&dir, 9, &mut |_| ()).is_err());
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n}")).collect();
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let mut last = Vec::new();
        let (_, rest) = from_end(&file, u64::MAX, &mut |line| {
            last.push(line.to_owned());
            if last.len() < lines.len() - 1 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
        last.reverse();
        assert!(rest.is_break() && last == lines[1..]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
