//! `update`: sets keys of devt's `workflow.yaml` under its locks.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, bail};
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::archiving::with_site_lock;
use super::change;
use super::output::{Page, Show, writeln};
use super::permit::{self, Approval};
use super::{Answer, CliContext};
use crate::base::disk::bounded_read::{self, read_text};
use crate::base::text::is_in;
use crate::base::{clock, path, warn};
use crate::contract::edition::Edition;
use crate::lifecycle::gates::write_through;
use crate::log::append::LogFile;
use crate::store::lock::IN_COMMAND;
use crate::store::replace;
use crate::systems::devt::update::{Surroundings, Updated, update};
use crate::systems::devt::workflow_yaml::{self, Fields};
use crate::systems::devt::{self, gate};
use crate::systems::gate_record::{GateRecord, Move};
use crate::systems::workflow::GateStatus;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Changes the file of the state directory around the current directory, else the \
    project's own. `null` clears a key other than `task`; any other value reads back as it was given. Keys that \
    neither devt nor the file has, and values that devt would not understand, are an error."
)]
pub struct Args {
    /// Such as `phase=implement`; the first `=` ends the key
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = pair)]
    pairs: Vec<(String, String)>,
    /// Write what devt would not understand, too
    #[arg(long)]
    force: bool,
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err("a pair is KEY=VALUE, such as `phase=implement`"),
    }
}

#[derive(Serialize)]
struct UpdatedKeys {
    ok: bool,
    file: String,
    /// Every key that has another value now, the ones kept in step included.
    changed: serde_json::Map<String, serde_json::Value>,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let given = args.pairs.iter();
    let pairs: Vec<(&str, &str)> = given.map(|(key, value)| (&**key, &**value)).collect();
    for (n, (key, _)) in pairs.iter().enumerate() {
        if pairs[..n].iter().any(|(other, _)| other == key) {
            bail!("`{key}` is given twice");
        }
    }
    if let Some(pair) = passing(&pairs)
        && let Some(why) = permit::refusal(context, Approval::of(args.force), &format!("`{pair}`"))
    {
        warn::warn(&why);
        return Ok(Answer::No);
    }
    let dir = site(context)?;
    let file = dir.join("workflow.yaml");
    let (document, rotation) =
        with_site_lock(devt::ID, &dir, |_| set(&file, args, &pairs, context))
            .with_context(|| format!("could not update `{}`", file.display()))?;
    record_phase(&file, &pairs, context)?;
    if let Some(rotation) = rotation
        && context.rules.settings.edition_of(devt::ID).edition == Edition::V0244
    {
        rotation.log(&dir, context)?;
    }
    for warning in &document.warnings {
        warn::warn(warning);
    }
    context.show(&document)
}

impl Show for UpdatedKeys {
    fn text(&self, page: &mut Page<'_>) {
        if self.changed.is_empty() {
            writeln!(page, "nothing changed");
        }
        for (key, value) in &self.changed {
            let text = value.as_str().map_or(value.to_string(), str::to_owned);
            page.verbatim(&format!("{key}: {text}"));
        }
    }
}

/// The value that says that a phase has passed, if one does.
fn passing(pairs: &[(&str, &str)]) -> Option<String> {
    const DONE: &str = "COMPLETE COMPLETED DONE DONE_WITH_CONCERNS";
    const GOOD: &str = "APPROVED APPROVED_WITH_NOTES PASS PASSED VERIFIED";
    let (key, value) = pairs.iter().find(|(key, value)| match *key {
        "status" => is_in(DONE, value),
        "verdict" => is_in(GOOD, value),
        _ => false,
    })?;
    Some(format!("{key}={value}"))
}

/// Notes in the gate log which phase begins, and whether its status was set with it: the
/// file cannot tell that from what the phase before left.
fn record_phase(file: &Path, pairs: &[(&str, &str)], context: &CliContext<'_>) -> Result<()> {
    let has = |wanted: &str| pairs.iter().any(|(key, _)| *key == wanted);
    if !has("phase") && !has("status") && !has("verdict") {
        return Ok(());
    }
    let text = read_text(file)?.unwrap_or_default();
    let run = gate::read_workflow(&text, "");
    let mut moves = Vec::new();
    if has("status") || has("verdict") {
        moves.extend(run.gates.iter().map(|gate| Move {
            gate: gate.name.clone(),
            from: GateStatus::Pending,
            to: gate.status,
        }));
    }
    let change = GateRecord {
        moves,
        phase: run.phase.clone(),
        iteration: run.iteration,
        ..GateRecord::default()
    };
    change::record(context, (devt::ID, "update"), file, &Ok(change));
    Ok(())
}

/// The site that holds the named project or the current directory, the innermost
/// one, or else that of the project itself.
fn site(context: &CliContext<'_>) -> Result<PathBuf> {
    let found = context.sites_of(devt::ID);
    let sites: Vec<String> = found.iter().map(|site| site.dir().to_owned()).collect();
    let here = context.here();
    let main = &context.project.session_root().dir;
    let own = format!("{main}/.devt/state");
    let around_here = sites.iter().filter(|site| {
        let project = site.strip_suffix("/.devt/state").unwrap_or(site);
        path::relative(&here, project).is_some()
    });
    let nearest = around_here.max_by_key(|site| site.len());
    if let Some(site) = nearest.or_else(|| sites.iter().find(|site| **site == own)) {
        return Ok(PathBuf::from(site));
    }
    // `~/.devt` holds devt's settings, not a project's state.
    let home = context.env.home.as_deref();
    let is_home = home.is_some_and(|home| path::absolute("/", home, None) == *main);
    if !is_home && Path::new(main).join(".devt").is_dir() {
        replace::make_dir(Path::new(&own)).with_context(|| format!("could not make `{own}`"))?;
        return Ok(PathBuf::from(own));
    }
    let others = match sites.as_slice() {
        [] => String::new(),
        sites => format!("; the state directories here are {}", sites.join(", ")),
    };
    bail!(
        "`{main}` is no project of devt{others}; go to one, name one with `--project DIR`, or make \
         this one with `mkdir .devt`"
    )
}

fn set(
    file: &Path,
    args: &Args,
    pairs: &[(&str, &str)],
    context: &CliContext<'_>,
) -> Result<(UpdatedKeys, Option<Rotation>)> {
    let text = read_text(file)?;
    let around = Surroundings {
        now: context.now,
        new_id: &uuid_v4(),
        trace: &trace(file)?,
        archive_runs: context.rules.settings.archive_runs,
    };
    let Updated {
        text: new,
        faults,
        mut warnings,
    } = update(text.as_deref(), pairs, around).map_err(Error::msg)?;
    if !faults.is_empty() && !args.force {
        bail!("{} (`--force` writes it anyway)", faults.join("; "));
    }
    warnings.extend(faults);
    let before = text.as_deref().map(workflow_yaml::read).unwrap_or_default();
    let after = workflow_yaml::read(&new);
    let changed = after
        .iter()
        .filter(|(key, value)| before.get(key) != Some(value))
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect();
    if text.as_deref() != Some(&new) {
        write_through(file, &new)?;
    }
    let document = UpdatedKeys {
        ok: true,
        file: path::from_os(file),
        changed,
        warnings,
    };
    let rotation = Rotation::between(&before, &after, context.now);
    Ok((document, rotation))
}

/// A change of the workflow's id, as devt 0.244 logs it.
#[derive(Serialize)]
struct Rotation {
    ts: String,
    prev_id: Option<String>,
    new_id: String,
    source: String,
    pid: u32,
    argv: Vec<String>,
}

impl Rotation {
    fn between(before: &Fields, after: &Fields, now: DateTime<Utc>) -> Option<Self> {
        let id = |fields: &Fields| fields.text("workflow_id").map(str::to_owned);
        let (prev_id, new_id) = (id(before), id(after)?);
        if prev_id.as_ref() == Some(&new_id) {
            return None;
        }
        let types = [before, after].map(|fields| fields.text("workflow_type"));
        let source = match (&prev_id, types) {
            (Some(_), [Some(old), Some(new)]) if old != new => {
                format!("updateState:type_transition({old}->{new})")
            }
            _ => "updateState:first_activation".to_owned(),
        };
        Some(Self {
            ts: clock::millis(now),
            prev_id,
            new_id,
            source,
            pid: std::process::id(),
            argv: vec![env!("CARGO_PKG_NAME").to_owned(), "update".to_owned()],
        })
    }

    /// Appends the record; where that fails, the update remains. A task may hold a
    /// secret, so no argument is in it.
    fn log(&self, site: &Path, context: &CliContext<'_>) -> Result<()> {
        let log = LogFile {
            dir: site.to_owned(),
            name: "workflow-id-rotations.jsonl",
            rotated: ".archive",
            kept: None,
        };
        let max_bytes = context.rules.settings.log_max_bytes;
        let line = serde_json::to_string(self)? + "\n";
        if let Err(error) = log.append(&line, max_bytes, &self.ts, IN_COMMAND) {
            let path = log.path();
            warn::warn(&format!(
                "could not append to `{}`: {error}",
                path.display()
            ));
        }
        Ok(())
    }
}

/// The end of `.devt/memory/_mcp-trace.jsonl`: more than the lines that count.
fn trace(workflow: &Path) -> io::Result<String> {
    const TAIL: u64 = 8 << 20;
    let devt = workflow.parent().and_then(Path::parent);
    let path = devt.map(|devt| devt.join("memory/_mcp-trace.jsonl"));
    let mut text = String::new();
    let Some(path) = path else { return Ok(text) };
    let read = bounded_read::tail(&path, TAIL, &mut |line| {
        text.push_str(line);
        text.push('\n');
    });
    bounded_read::if_there(read)?;
    Ok(text)
}

/// A random UUID. The hasher's keys come from the operating system's randomness.
fn uuid_v4() -> String {
    let random = RandomState::new();
    let high = random.hash_one(std::process::id()) & !0xf000 | 0x4000;
    let low = random.hash_one("low") & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
