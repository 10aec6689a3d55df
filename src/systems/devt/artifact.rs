//! What an agent of devt owes at its end, and whether what lies there is it.

use super::sidecar::{self, Routing};
use crate::base::actor::AgentName;

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
/// first in the order missing, stub, invalid is told.
///
/// # Errors
/// The fault.
pub fn judge(artifact: &Artifact, file: Option<&str>, sidecar: Option<&str>) -> Judged {
    let is_there = |text: &&str| !text.is_empty();
    let sidecar = sidecar.filter(is_there);
    let Some(text) = file.filter(is_there) else {
        return Err(match artifact.sidecar.filter(|_| sidecar.is_some()) {
            None => Fault::Missing(artifact.file),
            // A verdict without the text that tells of it is none.
            Some(name) => {
                let file = artifact.file;
                Fault::Invalid(format!("`{file}` is missing beside `{name}`"))
            }
        });
    };
    let routing = match (artifact.sidecar, sidecar) {
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
    if text.len() > STUB_BYTES_MAX {
        return None;
    }
    let n_words = text.split_whitespace().count();
    if n_words < WORDS_MIN {
        return Some(format!("{n_words} words, fewer than {WORDS_MIN}"));
    }
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.starts_with('#'))
    {
        return Some("headings only".to_owned());
    }
    let phrase = stub_phrase(text).filter(|_| n_words < PHRASE_WORDS_MAX)?;
    Some(format!("it says \"{phrase}\""))
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
    let spoken = || {
        let found = words.windows(3).find(|words| {
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
        found.or(written).map(|words| words.join(" "))
    };
    marked
        .or_else(spoken)
        .or_else(|| lower.contains("(stub)").then(|| "(stub)".to_owned()))
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
        let words = "word ".repeat(60);
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
        let words = "word ".repeat(60);
        check_stub(&"w ".repeat(49), Some("49 words"));
        check_stub(&words, None);
        check_stub(&"# w w w w w w w\n".repeat(10), Some("headings only"));
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
            check_stub(&format!("{}\n{phrase}", "words ".repeat(200)), None);
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
