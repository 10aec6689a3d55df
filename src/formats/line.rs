//! One value as one line of JSON.

use std::io::{self, Write};

use serde::Serialize;

/// A value of strings and numbers, which always serializes, and the end of the line.
pub fn line(value: &impl Serialize) -> String {
    let mut line = Line(Vec::with_capacity(1024));
    let written = serde_json::to_writer(&mut line, value);
    line.0.push(b'\n');
    let text = written.ok().and_then(|()| String::from_utf8(line.0).ok());
    text.unwrap_or_else(|| "\n".to_owned())
}

/// `serde_json` writes many single bytes, and a call that copies costs more than one.
struct Line(Vec<u8>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes {
            [byte] => self.0.push(*byte),
            _ => self.0.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
