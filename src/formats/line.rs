//! One value as one line of JSON.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

/// A value of strings and numbers, which always serializes, and the end of the line.
pub fn line(value: &impl Serialize) -> String {
    let mut line = Line(Vec::with_capacity(1024));
    let written = serde_json::to_writer(&mut line, value);
    line.0.push(b'\n');
    let text = written.ok().and_then(|()| String::from_utf8(line.0).ok());
    text.map_or_else(|| "\n".to_owned(), escape_breaks)
}

/// JSON may hold these as they are, but readers that split a text by Unicode's
/// rules would find several lines in one.
fn escape_breaks(line: String) -> String {
    const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    if line.is_ascii() || !line.contains(BREAKS) {
        return line;
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    for part in line.split_inclusive(BREAKS) {
        let text = part.trim_end_matches(BREAKS);
        escaped += text;
        for c in part[text.len()..].chars() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        }
    }
    escaped
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_line_to_every_reader() {
        let value = ["a\u{2028}b\u{85}", "\u{2029}\u{2029}\r\n", "é"];
        let line = line(&value);
        assert_eq!(
            line,
            "[\"a\\u2028b\\u0085\",\"\\u2029\\u2029\\r\\n\",\"é\"]\n"
        );
        let read: Vec<String> = serde_json::from_str(&line).unwrap();
        assert_eq!(read, value);
    }
}
