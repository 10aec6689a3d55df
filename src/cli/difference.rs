//! The lines in which two texts differ.

use std::time::{Duration, Instant};

use similar::ChangeTag;
use similar::algorithms::{Capture, Compact, Replace, myers};

use crate::recorder::contents::Contents;
use crate::recorder::entry::BlobId;

/// How many equal lines are shown before and behind a change.
const CONTEXT: usize = 1;

/// What takes longer is shown as removed and added whole.
const PATIENCE: Duration = Duration::from_millis(200);

/// The changed lines and their neighbors, each behind `+`, `-` or a blank; `…` where there are
/// others between.
pub(super) fn of_texts(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    // One algorithm alone: a text diff brings every one that the crate has into the program.
    let mut diff = Compact::new(Replace::new(Capture::new()), &before[..], &after[..]);
    let deadline = Instant::now().checked_add(PATIENCE);
    let (all, of_all) = (0..before.len(), 0..after.len());
    // Capturing cannot fail.
    let _ = myers::diff_deadline(&mut diff, &before[..], all, &after[..], of_all, deadline);
    let ops = diff.into_inner().into_inner();
    let (mut lines, mut next) = (Vec::new(), 0);
    for group in ops.into_grouped_ops(CONTEXT) {
        for op in group {
            if op.old_range().start > next {
                lines.push("  …".to_owned());
            }
            next = op.old_range().end;
            lines.extend(op.iter_changes(&before[..], &after[..]).map(|change| {
                let mark = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                format!("{mark} {}", change.value().replace('\t', "    "))
            }));
        }
    }
    lines
}

/// The same of two contents that the recorder kept.
///
/// # Errors
/// Why they cannot be compared.
pub(super) fn of_contents(
    contents: &Contents,
    before: Option<BlobId>,
    after: Option<BlobId>,
) -> Result<Vec<String>, &'static str> {
    let (before, after) = (text_of(contents, before)?, text_of(contents, after)?);
    Ok(of_texts(&before, &after))
}

fn text_of(contents: &Contents, id: Option<BlobId>) -> Result<String, &'static str> {
    let Some(id) = id else {
        return Ok(String::new());
    };
    let bytes = contents.get(id).ok_or("the content is not kept")?;
    String::from_utf8(bytes).map_err(|_| "the content is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let split = |text: &str| text.replace(' ', "\n");
        let lines = of_texts(&split(before), &split(after)).join(";");
        assert_eq!(lines, expected);
    }

    #[test]
    fn changed_lines_are_shown_with_a_little_around_them() {
        check("a b", "a b", "");
        check("", "a b", "+ a;+ b");
        check("a b", "", "- a;- b");
        check(
            "1 2 3 old 4 5 6",
            "1 2 3 new 4 5 6",
            "  …;  3;- old;+ new;  4",
        );
        check(
            "a 1 2 3 4 5 b",
            "A 1 2 3 4 5 B",
            "- a;+ A;  1;  …;  5;- b;+ B",
        );
    }
}
