//! What an agent of devt owes at its end, and whether what lies there is it.

use super::sidecar;
use crate::base::actor::AgentName;

/// The files that one agent writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Artifact {
    pub agent: &'static str,
    pub file: &'static str,
    /// The JSON beside it, which routes the workflow.
    pub sidecar: Option<&'static str>,
}

const fn paired(agent: &'static str, file: &'static str, sidecar: &'static str) -> Artifact {
    Artifact {
        agent,
        file,
        sidecar: Some(sidecar),
    }
}

const fn single(agent: &'static str, file: &'static str) -> Artifact {
    Artifact {
        agent,
        file,
        sidecar: None,
    }
}

static ARTIFACTS: [Artifact; 10] = [
    paired("programmer", "impl-summary.md", "impl-summary.json"),
    paired("tester", "test-summary.md", "test-summary.json"),
    paired("code-reviewer", "review.md", "review.json"),
    paired("verifier", "verification.md", "verification.json"),
    single("docs-writer", "docs-summary.md"),
    single("architect", "arch-review.md"),
    single("retro", "lessons.yaml"),
    single("researcher", "research.md"),
    single("debugger", "debug-summary.md"),
    single("curator", "curation-summary.md"),
];

impl Artifact {
    /// Its file, and the JSON beside it.
    pub fn files(&self) -> impl Iterator<Item = &'static str> + use<> {
        [Some(self.file), self.sidecar].into_iter().flatten()
    }

    /// None for the main thread's helpers, which owe nothing.
    pub fn of_agent(agent: &AgentName) -> Option<&'static Self> {
        ARTIFACTS
            .iter()
            .find(|artifact| artifact.agent == agent.as_str())
    }
}

/// How far an artifact is what it claims to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Substance {
    /// The named file is not there or empty.
    Missing(&'static str),
    /// There, but not written by the agent in this workflow, and why.
    Stale(String),
    /// There, but a placeholder.
    Stub(String),
    /// Written, but devt's readers cannot use it.
    Invalid(String),
    Substantive,
}

/// A judged artifact with what its routing file says to `workflow.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub substance: Substance,
    /// Only from an artifact that is as it should be.
    pub status: Option<String>,
    pub verdict: Option<String>,
}

impl Judged {
    /// What is no work of the agent says nothing.
    pub fn stale(why: String) -> Self {
        Self {
            substance: Substance::Stale(why),
            status: None,
            verdict: None,
        }
    }

    /// What is wrong with the artifact; `None` when it is as it should be.
    pub fn fault(&self) -> Option<String> {
        match &self.substance {
            Substance::Missing(name) => Some(format!("`{name}` is missing")),
            Substance::Stub(why) => Some(format!("it is a stub: {why}")),
            Substance::Stale(why) | Substance::Invalid(why) => Some(why.clone()),
            Substance::Substantive => None,
        }
    }
}

/// Judges the texts of an artifact's file and sidecar. Of several faults the
/// first in the order missing, stub, invalid is told.
pub fn judge(artifact: &Artifact, file: Option<&str>, sidecar: Option<&str>) -> Judged {
    let present = |text: Option<&str>, name| match text {
        Some(text) if !text.is_empty() => Ok(()),
        _ => Err(Substance::Missing(name)),
    };
    let routed = match artifact.sidecar {
        Some(name) => route_by_sidecar(name, sidecar.unwrap_or_default()),
        None => route_by_header(artifact.file, file.unwrap_or_default()),
    };
    let substance = beside(artifact, file, sidecar)
        .and_then(|()| present(file, artifact.file))
        .and_then(|()| {
            artifact
                .sidecar
                .map_or(Ok(()), |name| present(sidecar, name))
        })
        .and_then(|()| {
            stub(file.unwrap_or_default()).map_or(Ok(()), |why| Err(Substance::Stub(why)))
        })
        .and_then(|()| routed.map_err(Substance::Invalid));
    match substance {
        Ok(routing) => Judged {
            substance: Substance::Substantive,
            status: routing.status,
            verdict: routing.verdict,
        },
        Err(substance) => Judged {
            substance,
            status: None,
            verdict: None,
        },
    }
}

/// A verdict without the text that tells of it is none.
fn beside(artifact: &Artifact, file: Option<&str>, sidecar: Option<&str>) -> Result<(), Substance> {
    let is_there = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    match artifact
        .sidecar
        .filter(|_| is_there(sidecar) && !is_there(file))
    {
        None => Ok(()),
        Some(name) => {
            let file = artifact.file;
            Err(Substance::Invalid(format!(
                "`{file}` is missing beside `{name}`"
            )))
        }
    }
}

/// A field that is left out makes a sidecar invalid here, as for devt's own
/// `read-sidecar`: without it the workflow cannot be routed.
fn route_by_sidecar(name: &str, text: &str) -> Result<sidecar::Routing, String> {
    let routing = sidecar::read(name, text)?;
    let missing: Vec<&str> = routing.missing.iter().map(|fault| &*fault.path).collect();
    match missing.as_slice() {
        [] => Ok(routing),
        missing => Err(format!("`{name}` has no `{}`", missing.join("`, `"))),
    }
}

fn route_by_header(name: &str, text: &str) -> Result<sidecar::Routing, String> {
    if sidecar::status_enum(name).is_none() {
        return Ok(sidecar::Routing::default());
    }
    sidecar::check_status_header(name, text)?;
    let status = sidecar::status_header(text)
        .ok_or_else(|| format!("`{name}` has no `## Status: VALUE` in its first 100 lines"))?;
    Ok(sidecar::Routing {
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

    fn artifact(agent: &str) -> &'static Artifact {
        Artifact::of_agent(&AgentName::parse(agent)).unwrap()
    }

    #[track_caller]
    fn check(agent: &str, file: Option<&str>, sidecar: Option<&str>, expected: &str) {
        let judged = judge(artifact(agent), file, sidecar);
        let substance = match &judged.substance {
            Substance::Missing(name) => format!("missing {name}"),
            Substance::Stale(why) => format!("stale {why}"),
            Substance::Stub(why) => format!("stub {why}"),
            Substance::Invalid(why) => format!("invalid {why}"),
            Substance::Substantive => "substantive".to_owned(),
        };
        let found = format!(
            "{substance}; {} {}",
            judged.status.as_deref().unwrap_or("-"),
            judged.verdict.as_deref().unwrap_or("-")
        );
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
            Artifact::of_agent(&AgentName::parse("devt-coordinator")),
            None
        );
        for artifact in &ARTIFACTS {
            assert!(artifact.sidecar.is_none_or(sidecar::is_sidecar));
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
            "invalid `impl-summary.md` is missing beside `impl-summary.json`; - -",
        );
        check(
            "programmer",
            Some(""),
            Some(json),
            "`impl-summary.md` is missing",
        );
        check("programmer", long, None, "missing impl-summary.json; - -");
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
