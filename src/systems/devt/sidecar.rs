//! What devt's readers accept in the files that route its workflow: the JSON
//! sidecars and the `## Status` of artifacts that have none.

use std::sync::LazyLock;

use crate::base::text::is_in;
use crate::formats::brief;
use crate::formats::json::Document;
use crate::formats::schema::{Fault, Schema};

/// By the stem of a sidecar, or by the name of an artifact without one, of which the
/// `## Status` routes. `PARTIAL` is of the later edition and accepted in both, since agents
/// are asked to write it.
static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::built_in(include_str!("artifacts.schema.json")));

/// The definition for a name like `review.json` or its variant `review-auth.json`.
/// devt matches the values exactly.
fn definition(name: &str) -> Option<&'static str> {
    let stem = name.strip_suffix(".json")?;
    let stems = ["impl-summary", "test-summary", "verification", "review"].into_iter();
    let mut fitting = stems.filter(|own| {
        stem.strip_prefix(own)
            .is_some_and(|rest| rest.is_empty() || (rest.len() > 1 && rest.starts_with('-')))
    });
    fitting.next()
}

pub fn is_sidecar(name: &str) -> bool {
    definition(name).is_some()
}

/// What a valid sidecar says to the workflow.
#[derive(Clone, Debug, Default)]
pub struct Routing {
    pub status: Option<String>,
    pub verdict: Option<String>,
    /// The routing fields that the sidecar leaves out.
    pub missing: Vec<Fault<'static>>,
}

/// Reads a sidecar. A name that is none's says nothing.
///
/// # Errors
/// It is no JSON object that devt can parse, or a field has none of its allowed
/// values, which the error names.
pub fn read(name: &str, text: &str) -> Result<Routing, String> {
    let Some(definition) = definition(name) else {
        return Ok(Routing::default());
    };
    if text.starts_with('\u{feff}') {
        return Err(format!(
            "`{name}` starts with a byte-order mark, which devt cannot parse"
        ));
    }
    let document = Document::outline(text)
        .map_err(|why| format!("`{name}` has to be one JSON object: {why}"))?;
    let checked = SCHEMA.check(definition, document.root()).into_result();
    let missing = checked.map_err(|fault| fault.in_file(name))?;
    let word = |key| Some(document.get(&[key])?.as_str()?.to_owned());
    Ok(Routing {
        status: word("status"),
        verdict: word("verdict"),
        missing,
    })
}

/// Whether a text may be written under a sidecar's name, with notes on missing
/// fields. A name that is no sidecar's is not judged.
///
/// # Errors
/// It may not, for the reasons of [`read`].
pub fn check_sidecar(name: &str, text: &str) -> Result<Vec<String>, String> {
    let missing = read(name, text)?.missing.into_iter();
    let notes = missing.map(|fault| {
        let (path, wanted) = (&fault.path, fault.schema.wanted());
        format!("`{name}` has no `{path}` ({wanted})")
    });
    Ok(notes.collect())
}

/// The artifacts without a sidecar whose `## Status` routes.
const HEADERS: &str = "arch-review.md curation-summary.md debug-summary.md docs-summary.md \
                       preflight-brief.md research.md";

/// The values a Markdown artifact's `## Status` may have, where it routes. Most names do not,
/// and for those the schema is not even read.
pub fn status_enum(name: &str) -> Option<Vec<String>> {
    let schema = is_in(HEADERS, name).then(|| SCHEMA.def(name))?;
    schema.map(Schema::words)
}

/// Whether a text may be written under the name of a Markdown artifact. A text
/// without a `## Status` may.
///
/// # Errors
/// The status is none of the values that its readers know; the error names them.
pub fn check_status_header(name: &str, text: &str) -> Result<(), String> {
    let (Some(allowed), Some(status)) = (status_enum(name), status_header(text)) else {
        return Ok(());
    };
    if allowed.iter().any(|word| word == status) {
        return Ok(());
    }
    Err(format!(
        "`## Status` in `{name}` is \"{}\"; write `## Status: VALUE` with one of {}",
        brief(status),
        allowed.join(", ")
    ))
}

/// How far down devt looks for the header, and for the value below it.
const HEADER_LINES_MAX: usize = 100;
const VALUE_LINES_MAX: usize = 4;

/// The first `## Status` as devt finds it: `## Status: VALUE`, or the header
/// alone and the value in one of the next four lines. Code fences are not
/// skipped, emphasis stays in the value.
pub fn status_header(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text
        .split('\n')
        .take(HEADER_LINES_MAX)
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'))
        .collect();
    lines.iter().enumerate().find_map(|(idx, line)| {
        let behind = after_status(line)?;
        let value = match behind.strip_prefix(':') {
            Some(value) => value,
            None if behind.is_empty() => lines[idx + 1..]
                .iter()
                .take(VALUE_LINES_MAX)
                .find(|line| !line.is_empty() && !line.starts_with('#'))?,
            None => return None,
        };
        value.split_whitespace().next()
    })
}

fn after_status(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("##")?;
    let word = rest.trim_start();
    let (head, tail) = word.split_at_checked("status".len())?;
    (word.len() < rest.len() && head.eq_ignore_ascii_case("status")).then(|| tail.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected`: the number of notes, or a part of the refusal.
    #[track_caller]
    fn check(name: &str, text: &str, expected: Result<usize, &str>) {
        match (check_sidecar(name, text), expected) {
            (Ok(notes), Ok(n_notes)) => assert_eq!(notes.len(), n_notes, "{notes:?}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn routing_fields_are_checked_where_they_stand() {
        let full = r#"{"status":"DONE","verdict":"PASS","agent":"programmer","x":[1]}"#;
        check("impl-summary.json", full, Ok(0));
        check("impl-summary-x.json", full, Ok(0));
        check(
            "test-summary.json",
            full,
            Err("`agent` in `test-summary.json` is \"programmer\", not tester"),
        );
        check("impl-summary.json", "{}", Ok(3));
        check(
            "impl-summary.json",
            r#"{"status":"done"}"#,
            Err("DONE, DONE_WITH_CONCERNS, PARTIAL"),
        );
        check(
            "impl-summary.json",
            r#"{"status":null}"#,
            Err("`status` in `impl-summary.json` is null"),
        );
        check(
            "review.json",
            r#"{"verdict":"PASS"}"#,
            Err("APPROVED, APPROVED_WITH_NOTES, NEEDS_WORK"),
        );
        check("review-lib.json", r#"{"status":"DONE"}"#, Ok(2));
        check(
            "verification.json",
            r#"{"status":"VERIFIED","verdict":"satisfied"}"#,
            Ok(1),
        );
        check(
            "verification.json",
            r#"{"status":"VERIFIED","status":"OK"}"#,
            Err("\"OK\""),
        );
        check("review.json", "[]", Err("an array, not an object"));
        check("review.json", "", Err("not valid JSON"));
        check("review.json", "\u{feff}{}", Err("byte-order mark"));
        check("reviews.json", "[]", Ok(0));
        check("review-.json", "[]", Ok(0));
        check("handoff.json", "[]", Ok(0));
    }

    #[track_caller]
    fn check_header(text: &str, expected: Option<&str>) {
        assert_eq!(status_header(text), expected, "{text:?}");
    }

    #[test]
    fn status_headers_are_found_as_devt_finds_them() {
        check_header("# T\n## Status: DONE (x)\n", Some("DONE"));
        check_header("\u{feff}##   STATUS :DONE\r\n", Some("DONE"));
        check_header("## Status\n\n\n\nDONE now\n", Some("DONE"));
        check_header("## Status\n\n\n\n\nDONE", None);
        check_header("## Status\n### Sub\nDONE", Some("DONE"));
        check_header("## Status: **DONE**", Some("**DONE**"));
        check_header("## Status\n- DONE", Some("-"));
        check_header("## Status:\nDONE", None);
        check_header(
            "# Status: DONE\n### Status: DONE\n##Status: DONE\n## Verdict\nDONE",
            None,
        );
        check_header("## Status report\nDONE", None);
        check_header("```\n## Status: A\n```\n## Status: B", Some("A"));
        check_header(&format!("{}## Status: A", "\n".repeat(99)), Some("A"));
        check_header(&format!("{}## Status: A", "\n".repeat(100)), None);
        check_header("## Stätus: A", None);
    }

    #[test]
    fn a_present_header_must_be_in_the_enum() {
        for (name, text, allowed) in [
            ("research.md", "## Status: DONE", true),
            ("research.md", "no header", true),
            ("research.md", "## Status: done", false),
            ("debug-summary.md", "## Status\nFIXED", true),
            ("debug-summary.md", "## Status\nDONE", false),
            ("preflight-brief.md", "## Status: STALE", true),
            ("plan.md", "## Status: whatever", true),
        ] {
            assert_eq!(
                check_status_header(name, text).is_ok(),
                allowed,
                "{name}: {text}"
            );
        }
    }
}
