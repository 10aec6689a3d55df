//! What an agent of devt owes at its end, and whether what is there is it.

use super::sidecar::{self, Routing};
use crate::base::actor::AgentName;
use crate::base::text;
use crate::formats::markdown;

/// The files that one agent writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Artifact {
    pub agent: &'static str,
    pub file: &'static str,
    /// The JSON beside it, which routes the workflow.
    pub sidecar: Option<&'static str>,
}

const ARTIFACTS: [(&str, &str, Option<&str>); 10] = [
    ("programmer", "impl-summary.md", Some("impl-summary.json")),
    ("tester", "test-summary.md", Some("test-summary.json")),
    ("code-reviewer", "review.md", Some("review.json")),
    ("verifier", "verification.md", Some("verification.json")),
    ("docs-writer", "docs-summary.md", None),
    ("architect", "arch-review.md", None),
    ("retro", "lessons.yaml", None),
    ("researcher", "research.md", None),
    ("debugger", "debug-summary.md", None),
    ("curator", "curation-summary.md", None),
];

impl Artifact {
    /// Its file, and the JSON beside it.
    pub fn files(&self) -> impl Iterator<Item = &'static str> + use<> {
        [Some(self.file), self.sidecar].into_iter().flatten()
    }

    /// None for the main thread's helpers, which owe nothing.
    pub fn for_agent(agent: &AgentName) -> Option<Self> {
        let mut rows = ARTIFACTS.into_iter();
        let (agent, file, sidecar) = rows.find(|(name, ..)| *name == agent.as_str())?;
        Some(Self {
            agent,
            file,
            sidecar,
        })
    }
}

impl Artifact {
    /// Whether a file is a variant of the artifact's, for one of several lanes or passes:
    /// `review-lane-api.md` of `review.md`.
    pub fn has_variant(&self, name: &str) -> bool {
        let stem = self.file.strip_suffix(".md").unwrap_or(self.file);
        let slug = name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix('-'));
        slug.is_some_and(|slug| {
            !slug.contains('/') && slug.len() > ".md".len() && slug.ends_with(".md")
        })
    }
}

/// Why a variant of an artifact is not what it should be.
pub fn fault_of_variant(text: &str) -> Option<String> {
    let conflict = markdown::merge_conflict(text);
    let undone = conflict.map(|line| format!("a merge was left undone (`{line}`)"));
    undone.or_else(|| stub(text))
}

/// Why an artifact is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The named file is not there or empty.
    Missing(&'static str),
    /// There, but not written by the agent in this workflow, and why.
    Stale(String),
    /// There, but a placeholder.
    Stub(String),
    /// Written, but devt's readers cannot use it.
    Invalid(String),
}

impl Fault {
    pub fn why(&self) -> String {
        match self {
            Self::Missing(name) => format!("`{name}` is missing"),
            Self::Stub(why) => format!("it is a stub: {why}"),
            Self::Stale(why) | Self::Invalid(why) => why.clone(),
        }
    }
}

/// What the routing file of an artifact says to `workflow.yaml`, where it is as it should be.
pub type Judged = Result<Routing, Fault>;

/// Judges the texts of an artifact's file and sidecar. Of several faults the
/// first in the order missing, stub, invalid is given.
///
/// # Errors
/// The fault.
pub fn judge(artifact: &Artifact, file: Option<&str>, sidecar: Option<&str>) -> Judged {
    let is_there = |text: &&str| !text.is_empty();
    let json = sidecar.filter(is_there);
    let Some(text) = file.filter(is_there) else {
        return Err(match (artifact.sidecar, json) {
            // A verdict without its text is none.
            (Some(name), Some(_)) => {
                let file = artifact.file;
                Fault::Invalid(format!("`{file}` is missing beside `{name}`"))
            }
            _ => Fault::Missing(artifact.file),
        });
    };
    if let Some(line) = markdown::merge_conflict(text) {
        let file = artifact.file;
        return Err(Fault::Invalid(format!(
            "a merge was left undone in `{file}` (`{line}`)"
        )));
    }
    let routing = match (artifact.sidecar, json) {
        (Some(name), None) => return Err(Fault::Missing(name)),
        (Some(name), Some(json)) => route_by_sidecar(name, json),
        (None, _) => route_by_header(artifact.file, text),
    };
    match stub(text) {
        Some(why) => Err(Fault::Stub(why)),
        None => routing.map_err(Fault::Invalid),
    }
}

/// A field that is left out makes a sidecar invalid here, as for devt's own
/// `read-sidecar`: without it the workflow cannot be routed.
fn route_by_sidecar(name: &str, text: &str) -> Result<Routing, String> {
    let routing = sidecar::read(name, text)?;
    let missing: Vec<&str> = routing.missing.iter().map(|fault| &*fault.path).collect();
    match missing.as_slice() {
        [] => Ok(routing),
        missing => Err(format!("`{name}` has no `{}`", missing.join("`, `"))),
    }
}

fn route_by_header(name: &str, text: &str) -> Result<Routing, String> {
    if sidecar::status_enum(name).is_none() {
        return Ok(Routing::default());
    }
    sidecar::check_status_header(name, text)?;
    let status = sidecar::status_header(text)
        .ok_or_else(|| format!("`{name}` has no `## Status: VALUE` in its first 100 lines"))?;
    Ok(Routing {
        status: Some(status.to_owned()),
        ..Default::default()
    })
}

/// Above this many bytes a file is taken as written.
const STUB_BYTES_MAX: usize = 1000;
const WORDS_MIN: usize = 50;
/// In a longer text a stub's phrase is a quotation.
const PHRASE_WORDS_MAX: usize = 300;

/// Why a text is only a placeholder, by devt's own measures.
fn stub(text: &str) -> Option<String> {
    let mut words = text::words(text);
    let (n_words, first) = (words.clone().count(), words.next().unwrap_or_default());
    if n_words == 0 || n_words > 1 && words.all(|word| word.eq_ignore_ascii_case(first)) {
        return Some("it says nothing, or one word again and again".to_owned());
    }
    // Blanks are no text.
    let n_bytes: usize = text::words(text).map(|word| word.len() + 1).sum();
    if n_bytes > STUB_BYTES_MAX {
        return None;
    }
    if n_words < WORDS_MIN {
        return Some(format!("{n_words} words, fewer than {WORDS_MIN}"));
    }
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.starts_with('#'))
    {
        return Some("headings only".to_owned());
    }
    if n_words >= PHRASE_WORDS_MAX {
        return None;
    }
    Some(format!("it says \"{}\"", stub_phrase(text)?))
}

fn stub_phrase(text: &str) -> Option<String> {
    let marked = text.lines().map(str::trim_start).find_map(|line| {
        let lower = line.get(..5).unwrap_or_default().to_ascii_lowercase();
        let found = line.starts_with("TODO:")
            || line.starts_with("WIP:")
            || matches!(lower.as_str(), "stub:" | "stub.");
        found.then(|| line.split([':', '.']).next().unwrap_or(line).to_owned())
    });
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    marked
        .or_else(|| stub_words(&words))
        .or_else(|| lower.contains("(stub)").then(|| "(stub)".to_owned()))
}

/// `work in progress`, `not yet written`, `stub written`
fn stub_words(words: &[&str]) -> Option<String> {
    let unfinished = words.windows(3).find(|words| {
        matches!(
            words,
            [
                "analysis" | "implementation" | "review" | "work" | "writing" | "investigation",
                "in",
                "progress"
            ] | ["not", "yet", "written" | "complete" | "done"]
        )
    });
    let written = words.windows(2).find(|words| *words == ["stub", "written"]);
    unfinished.or(written).map(|words| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(agent: &str) -> Artifact {
        Artifact::for_agent(&AgentName::parse(agent)).unwrap()
    }

    #[track_caller]
    fn check(agent: &str, file: Option<&str>, sidecar: Option<&str>, expected: &str) {
        let found = match judge(&artifact(agent), file, sidecar) {
            Err(Fault::Missing(name)) => format!("missing {name}"),
            Err(Fault::Stale(why)) => format!("stale {why}"),
            Err(Fault::Stub(why)) => format!("stub {why}"),
            Err(Fault::Invalid(why)) => format!("invalid {why}"),
            Ok(Routing {
                status, verdict, ..
            }) => format!(
                "substantive; {} {}",
                status.as_deref().unwrap_or("-"),
                verdict.as_deref().unwrap_or("-")
            ),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn every_agent_has_its_artifact() {
        for (agent, file) in [
            ("devt:programmer", "impl-summary.md"),
            ("Code_Reviewer", "review.md"),
            ("retro", "lessons.yaml"),
            ("curator", "curation-summary.md"),
        ] {
            assert_eq!(artifact(agent).file, file);
        }
        assert_eq!(
            Artifact::for_agent(&AgentName::parse("devt-coordinator")),
            None
        );
        for (.., name) in ARTIFACTS {
            assert!(name.is_none_or(sidecar::is_sidecar));
        }
    }

    #[test]
    fn the_first_fault_is_told() {
        let words = "some words ".repeat(30);
        let long = Some(words.as_str());
        let json = r#"{"status":"DONE","verdict":"PASS","agent":"programmer"}"#;
        check(
            "programmer",
            None,
            Some(json),
            "invalid `impl-summary.md` is missing beside `impl-summary.json`",
        );
        check(
            "programmer",
            Some(""),
            Some(json),
            "`impl-summary.md` is missing",
        );
        check("programmer", long, None, "missing impl-summary.json");
        check(
            "programmer",
            Some("soon"),
            Some(json),
            "stub 1 words, fewer than 50",
        );
        check(
            "programmer",
            long,
            Some("{}"),
            "invalid `impl-summary.json` has no `status`",
        );
        check(
            "programmer",
            long,
            Some(r#"{"status":"OK"}"#),
            "invalid `status`",
        );
        check("programmer", long, Some(json), "substantive; DONE PASS");
        check("retro", long, None, "substantive; - -");
        check(
            "researcher",
            long,
            None,
            "invalid `research.md` has no `## Status",
        );
        let merged = format!("<<<<<<< HEAD\n{words}\n=======\n{words}\n>>>>>>> x\n");
        let undone = "invalid a merge was left undone in `impl-summary.md` (`<<<<<<< HEAD`)";
        check("programmer", Some(&merged), Some(json), undone);
        let research = format!("## Status: DONE\n{words}");
        check("researcher", Some(&research), None, "substantive; DONE -");
        check(
            "debugger",
            Some(&research),
            None,
            "invalid `## Status` in `debug-summary.md`",
        );
    }

    #[track_caller]
    fn check_stub(text: &str, expected: Option<&str>) {
        let found = stub(text);
        assert_eq!(found.is_some(), expected.is_some(), "{text:?}: {found:?}");
        assert!(
            found
                .unwrap_or_default()
                .contains(expected.unwrap_or_default())
        );
    }

    #[test]
    fn stubs_are_told_by_devts_measures() {
        let words = "some words ".repeat(30);
        check_stub(&format!("a {}", "w ".repeat(48)), Some("49 words"));
        check_stub(&"w ".repeat(2000), Some("one word again and again"));
        check_stub(&format!("a{}b", " ".repeat(2000)), Some("2 words"));
        check_stub(&" ".repeat(2000), Some("it says nothing"));
        check_stub(&words, None);
        check_stub(&"# w x w x w x w\n".repeat(10), Some("headings only"));
        for phrase in [
            "Stub written",
            "analysis in\n progress",
            "stub: later",
            "Stub.",
            "TODO: all",
            "WIP: all",
            "(Stub)",
            "Not yet done",
        ] {
            check_stub(&format!("{words}\n{phrase}"), Some("it says"));
            check_stub(&format!("{}\n{phrase}", "more words ".repeat(150)), None);
        }
        for prose in [
            "todo: x",
            "a TODO: x",
            "workshop in progress",
            "not yet started",
        ] {
            check_stub(&format!("{words}\n{prose}"), None);
        }
    }
}
