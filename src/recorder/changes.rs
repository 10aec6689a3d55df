//! `changes.jsonl`: one line for every change, allowed ones too.

use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::formats::json;
use crate::log::append::LogFile;
use crate::log::record::LogLine;
use crate::recorder::calls::OURSELVES;
use crate::recorder::contents::Contents;
use crate::recorder::entry::{BlobId, ChangeKind, Kind};
use crate::recorder::index::Index;

/// What was decided about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Allowed,
    /// Against the rules, and reported.
    Detected,
    Undone,
}

/// One change, format version 1. A later version may add keys and changes none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    pub v: u8,
    /// Unique, and in the order of time.
    pub id: String,
    /// When it was recorded: UTC, RFC 3339, milliseconds.
    pub ts: String,
    /// Absolute.
    pub path: String,
    pub act: ChangeKind,
    /// An agent's name, `main`, or `statewarden`; none where no one can be named. What a verb
    /// wrote is the agent's whose call ran it.
    pub actor: Option<String>,
    pub tool: Option<String>,
    pub tool_use_id: Option<String>,
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent_id: Option<String>,
    /// The ids of the contents; none for no file, and for what is too large.
    pub before: Option<BlobId>,
    pub after: Option<BlobId>,
    /// What it was, and is, where that is no file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before_kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after_kind: Option<Kind>,
    /// Bytes afterwards.
    pub size: Option<u64>,
    pub decision: Outcome,
    /// Whether it is certain who made it and what to do.
    pub certain: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
}

impl LogLine for ChangeRecord {
    fn ts(&self) -> &str {
        &self.ts
    }

    /// What is not known is null.
    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The log in a recorder's folder.
pub fn log(recorder: &Path) -> LogFile {
    LogFile {
        dir: recorder.to_owned(),
        name: "changes.jsonl",
        rotated: "",
        kept: None,
    }
}

/// What a file held when it was last looked at, and before the last change that was not this
/// program's own.
pub fn last_contents(recorder: &Path, path: &str) -> Vec<Vec<u8>> {
    let last = last_of(recorder, path);
    let by_others = last.filter(|record| record.actor.as_deref() != Some(OURSELVES));
    let index = Index::open(recorder).ok().flatten();
    let state = index.as_ref().and_then(|index| index.get(path.as_ref()));
    let blobs = [
        by_others.and_then(|record| record.before),
        state.and_then(|state| state.blob),
    ];
    let contents = Contents::of(recorder);
    let kept = blobs.into_iter().flatten().map(|blob| contents.get(blob));
    kept.flatten().collect()
}

/// The last change of a file that is recorded.
pub fn last_of(recorder: &Path, path: &str) -> Option<ChangeRecord> {
    let mut last = None;
    let named = json::quoted(path);
    log(recorder).newest(u64::MAX, &named, &mut |record: ChangeRecord| {
        if record.path != path {
            return ControlFlow::Continue(());
        }
        last = Some(record);
        ControlFlow::Break(())
    });
    last
}

/// Hands on the changes that are recorded, the newest first, until `take` has seen enough.
pub fn newest(recorder: &Path, take: &mut dyn FnMut(ChangeRecord) -> ControlFlow<()>) {
    log(recorder).lines_from_end(u64::MAX, &mut |line| {
        let record = serde_json::from_str(line).ok();
        record.map_or(ControlFlow::Continue(()), &mut *take)
    });
}

/// Hands on every change that is recorded, oldest first.
pub fn each(recorder: &Path, take: &mut dyn FnMut(ChangeRecord)) {
    log(recorder).each(u64::MAX, take);
}
