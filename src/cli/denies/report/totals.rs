//! What the denials are out of: sessions, calls, agents.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use crate::base::disk::list;
use crate::cli::replay::each_line;
use crate::host::transcript::{self, Parsed};

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Totals {
    /// The sessions that the logs name.
    pub(super) sessions: u64,
    /// Their tool calls; `None` where Claude Code keeps no transcript of them any more.
    pub(super) calls: Option<u64>,
    /// Agents whose end was recorded.
    pub(super) agents: u64,
    /// Those of them that were denied nothing.
    pub(super) clean: u64,
}

impl Totals {
    /// `denied` are the ids of the agents that were denied, `gates` the records of the gate log.
    ///
    /// # Errors
    /// A transcript that is there cannot be read.
    pub(super) fn count(
        sessions: &BTreeSet<String>,
        denied: &HashSet<String>,
        gates: &[Value],
        claude_dir: Option<&str>,
    ) -> Result<Self> {
        let ended: HashSet<&str> = gates
            .iter()
            .filter_map(|gate| gate["agent_id"].as_str())
            .filter(|id| !id.is_empty())
            .collect();
        let clean = ended.iter().filter(|id| !denied.contains(**id)).count();
        Ok(Self {
            sessions: sessions.len() as u64,
            calls: calls_of(sessions, claude_dir)?,
            agents: ended.len() as u64,
            clean: clean as u64,
        })
    }
}

/// The calls of the sessions and their agents, each once.
fn calls_of(sessions: &BTreeSet<String>, claude_dir: Option<&str>) -> Result<Option<u64>> {
    let transcripts = transcripts(sessions, claude_dir);
    if transcripts.is_empty() {
        return Ok(None);
    }
    let mut ids = HashSet::new();
    for transcript in transcripts {
        each_line(&transcript, &mut |_, line| {
            if transcript::may_call(line)
                && let Parsed::Line(parsed) = transcript::parse(line)
            {
                ids.extend(parsed.calls().map(|call| call.id.as_str().to_owned()));
            }
            true
        })?;
    }
    Ok(Some(ids.len() as u64))
}

/// `projects/<project>/<session>.jsonl`, and those of its agents in `<session>/subagents/`.
fn transcripts(sessions: &BTreeSet<String>, claude_dir: Option<&str>) -> Vec<PathBuf> {
    let Some(projects) = claude_dir.map(|dir| Path::new(dir).join("projects")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for project in list::readable(&projects) {
        let dir = projects.join(&project.name);
        for session in sessions.iter().filter(|session| is_plain(session)) {
            let main = dir.join(format!("{session}.jsonl"));
            if fs::metadata(&main).is_ok_and(|meta| meta.is_file()) {
                let agents = dir.join(session).join("subagents");
                let of_agents = list::readable(&agents).map(|entry| agents.join(entry.name));
                found.extend(of_agents.filter(|path| is_transcript(path)));
                found.push(main);
            }
        }
    }
    found
}

/// Whether a session's id can be a part of a file's name: it comes from a log.
fn is_plain(session: &str) -> bool {
    session
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn is_transcript(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "jsonl")
}
