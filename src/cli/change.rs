//! What the verbs that change a state share: one locked read-modify-write, and
//! the same records as the hook's.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::archiving::with_site_lock;
use super::origin::{Origin, no_person};
use super::output::{Page, Show, writeln};
use super::permit::{self, Approval};
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::read_text;
use crate::lifecycle::gates;
use crate::store::lock::Locked;
use crate::store::replace::{make_dir, remove_if_empty};
use crate::systems::gate_record::{GateRecord, Move, Outcome};
use crate::systems::workflow::Proof;

/// What a verb did to a state file.
#[derive(Debug, Serialize)]
pub(super) struct AppliedChange {
    ok: bool,
    /// Relative to the project.
    file: String,
    changed: bool,
    /// What the change did to the file.
    #[serde(skip)]
    word: &'static str,
    gates: Vec<Move>,
    /// Where the file is that stood there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) archive_path: Option<String>,
    /// Why nothing changed, or what else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// Runs `f` while this process alone holds a system's directory, which is made
/// where it is missing. What `f` then fails to fill goes again: a directory
/// such as `.claude` marks a project.
pub(super) fn locked<T>(
    dir: &Path,
    system: &str,
    f: impl FnOnce(&Locked<'_>) -> Result<T>,
) -> Result<T> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    let made = make_dir(dir).with_context(|| format!("could not make `{}`", dir.display()));
    let result = made.and_then(|()| with_site_lock(system, dir, f));
    if result.is_err() {
        missing.into_iter().for_each(|dir| {
            remove_if_empty(dir);
        });
    }
    result
}

/// The directory of a system that the hook would take, else `below` the project.
pub(super) fn nearest(context: &CliContext<'_>, system: &str, below: &str) -> PathBuf {
    let system = context.registry.get(system);
    let nearest = system.and_then(|system| gates::nearest(&context.project, &context.cwd, system));
    nearest.unwrap_or_else(|| context.project.session_root().path(below).into())
}

/// The present text of a state file.
pub(super) fn present(file: &Path) -> Result<Option<String>> {
    read_text(file).with_context(|| format!("could not read `{}`", file.display()))
}

pub(super) fn replace(file: &Path, text: &str) -> Result<()> {
    gates::write_through(file, text)
        .with_context(|| format!("could not write `{}`", file.display()))
}

/// Writes what `f` makes of a state file of the system in `dir`, and records it in the gate log.
pub(super) fn apply(
    (system, verb): (&str, &str),
    dir: &Path,
    context: &CliContext<'_>,
    approval: Approval,
    f: impl FnOnce(&Locked<'_>) -> Result<(PathBuf, Outcome)>,
) -> Result<AppliedChange> {
    let (file, outcome, refused) = locked(dir, system, |locked| {
        let (file, outcome) = f(locked)?;
        let refused = permit::missing_proof(context, approval, &outcome);
        if let (Ok(change), None) = (&outcome, &refused) {
            replace(&file, &change.text).inspect_err(|_| {
                // The directory of a session is made for its file.
                file.parent().map(remove_if_empty);
            })?;
        }
        Ok((file, outcome, refused))
    })?;
    if let Some(why) = refused {
        return Ok(AppliedChange::refused(context, &file, why));
    }
    record(context, (system, verb), &file, &outcome);
    Ok(AppliedChange::new(context, &file, &outcome))
}

impl AppliedChange {
    /// Describes an outcome that is on the disk.
    pub(super) fn new(context: &CliContext<'_>, file: &Path, outcome: &Outcome) -> Self {
        let file = gates::display_path(&context.project, file);
        let (changed, gates, note) = match outcome {
            Err(why) => (false, Vec::new(), Some(why.clone())),
            Ok(change) => (true, change.moves.clone(), None),
        };
        Self {
            ok: true,
            file,
            changed,
            word: if changed { "changed" } else { "unchanged" },
            gates,
            archive_path: None,
            note,
        }
    }

    /// Describes a change that was not made, as the rules want it.
    pub(super) fn refused(context: &CliContext<'_>, file: &Path, why: String) -> Self {
        Self {
            ok: false,
            ..Self::new(context, file, &Err(why))
        }
    }

    /// The same where the file was not there before.
    pub(super) fn for_new_file(self) -> Self {
        Self {
            word: "created",
            ..self
        }
    }
}

impl Show for AppliedChange {
    fn text(&self, page: &mut Page<'_>) {
        writeln!(page, "{}: {}", self.file, self.word);
        for moved in self.gates.iter().filter(|moved| moved.from != moved.to) {
            let (from, to) = (moved.from.as_str(), moved.to.as_str());
            writeln!(page, "  {}: {from} -> {to}", moved.gate);
        }
        if let Some(archive) = &self.archive_path {
            writeln!(page, "  archived the old one in `{archive}`");
        }
        if let Some(note) = &self.note {
            writeln!(page, "  {note}");
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}

/// Appends the record of what a verb changed to the gate log. Where that fails, the change
/// remains.
pub(super) fn record(
    context: &CliContext<'_>,
    (system, verb): (&str, &str),
    file: &Path,
    outcome: &Outcome,
) {
    if let Ok(change) = outcome {
        let file = gates::display_path(&context.project, file);
        let caller = Origin::of(context).caller(&context.project);
        let by = GateRecord::by(
            None,
            caller.as_ref().map(|caller| caller.actor.as_str()),
            caller.as_ref().map(|caller| caller.agent_id.as_str()),
        );
        let mut record = change.clone().stamped(&by, system, file, context.now);
        record.evidence = Some(verb.to_owned());
        if no_person(context).is_none() {
            let by = "a person at a terminal".to_owned();
            record.proof.push(Proof::Approval { by });
        }
        context
            .hook_context()
            .append(&context.project.logs().gates(), &record);
    }
}
