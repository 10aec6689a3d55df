//! Where what a call printed is: in its event, or in the file that the client keeps of it.

use std::path::Path;

use crate::base::disk::bounded_read;
use crate::host::event::{Event, Kind, strings};

/// How many characters of an output the client hands over.
const HANDED_OVER: usize = 30_000;

/// How much of a longer one is read: closing lines are at its end.
const TAIL: u64 = 64 * 1024;

/// All that a call printed, or its end; `None` where the end is not there.
pub(crate) fn of(event: &Event<'_>) -> Option<String> {
    if event.kind() != Kind::PostToolUse {
        return Some(event.error.as_str().to_owned());
    }
    let response = &event.response;
    if let Some(file) = response.persisted_output_path.get() {
        let size = response.persisted_output_size.value().as_u64();
        return is_of_session(event, file).then(|| end_of(Path::new(file), size))?;
    }
    let printed = match response.stdout.get() {
        Some(stdout) => format!("{stdout}\n{}", response.stderr.as_str()),
        None => {
            let values = event.result();
            let texts = strings(&values).into_iter().map(|(_, text)| text);
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    let is_cut = response.stdout.as_str().chars().count() >= HANDED_OVER;
    (!is_cut).then_some(printed)
}

/// Whether a file is in the folder of the session's long outputs.
fn is_of_session(event: &Event<'_>, file: &str) -> bool {
    let transcript = event.transcript_path.as_str().strip_suffix(".jsonl");
    let below = transcript.and_then(|session| file.strip_prefix(session));
    let name = below.and_then(|below| below.strip_prefix("/tool-results/"));
    name.is_some_and(|name| !name.contains("/.."))
}

/// The end of a regular file, which has the size that was said.
pub(super) fn end_of(file: &Path, size: Option<u64>) -> Option<String> {
    let meta = std::fs::symlink_metadata(file).ok()?;
    if !meta.is_file() || size.is_some_and(|size| size != meta.len()) {
        return None;
    }
    let mut text = String::new();
    let read = bounded_read::tail(file, TAIL, &mut |line| {
        text.push_str(line);
        text.push('\n');
    });
    read.is_ok().then_some(text)
}
