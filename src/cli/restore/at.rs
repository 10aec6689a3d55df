//! `restore PATH --at ID`: what a file held before a change, or after it.

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use crate::base::path;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::guard::claims;
use crate::recorder::changes::{self, ChangeRecord};
use crate::recorder::contents::Contents;
use crate::recorder::entry::{BlobId, Kind, State};
use crate::recorder::undo::{Refused, Undo};
use crate::store::lock::IN_COMMAND;

/// Which content of a change is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

#[derive(Serialize)]
struct Document {
    ok: bool,
    path: String,
    /// The id of the content that the file has now.
    content: BlobId,
    /// Where the content lies that was replaced.
    replaced_to: Option<String>,
    #[serde(skip)]
    point: String,
}

pub(super) fn run(path: &str, id: &str, side: Side, context: &CliContext<'_>) -> Result<Answer> {
    let path = context.in_project(path);
    let recorder = context.recorder_dir();
    let record = find(&path, id, &recorder)?;
    let contents = Contents::of(&recorder);
    let (blob, when) = match side {
        Side::Before => (record.before, "before"),
        Side::After => (record.after, "after"),
    };
    let blob =
        blob.with_context(|| format!("`{path}` held nothing that is kept {when} change {id}"))?;
    let site = claims::site_of(&path, &context.project, &context.registry)
        .with_context(|| format!("`{path}` is in no state directory"))?;
    let dir = site.dir();
    let found = std::fs::symlink_metadata(&path)
        .ok()
        .map(|meta| State::of(&meta));
    let mtime = context.now.timestamp_nanos_opt().unwrap_or_default();
    let former = State {
        kind: Kind::File,
        mode: found.map_or(0o644, |found| found.mode),
        dev: 0,
        ino: 0,
        size: 0,
        mtime,
        ctime: mtime,
        blob: Some(blob),
    };
    let undo = Undo {
        archive: site.ring(&context.project, context.rules.settings.archive_runs),
        name: path::relative(&path, &dir).unwrap_or_default(),
        path: path.as_ref(),
        session: "restore",
        reason: "replaced by restore",
        now: context.now,
        wait: IN_COMMAND,
        site: &site,
    };
    let replaced = undo.put_back(&former, found.as_ref(), &contents);
    let replaced = match replaced {
        Ok(replaced) => replaced,
        Err(Refused::NotKept) => {
            bail!("the content of `{path}` {when} change {id} is no longer kept")
        }
        Err(Refused::Touched | Refused::Superseded) => {
            bail!("`{path}` was changed just now; try again")
        }
        Err(Refused::Failed(error)) => {
            return Err(error).with_context(|| format!("could not restore `{path}`"));
        }
    };
    let document = Document {
        ok: true,
        path,
        content: blob,
        replaced_to: replaced.map(|replaced| path::from_os(&replaced)),
        point: format!("{when} change {id}"),
    };
    context.show(&document)
}

fn find(path: &str, id: &str, recorder: &std::path::Path) -> Result<ChangeRecord> {
    let mut found = None;
    changes::each(recorder, &mut |record| {
        if record.id == id {
            found = Some(record);
        }
    });
    match found {
        Some(record) if record.path == path => Ok(record),
        Some(record) => bail!("change {id} is of `{}`, not of `{path}`", record.path),
        None => bail!("no change {id}; `statewarden log {path}` lists the changes of the file"),
    }
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        writeln!(page, "`{}` is as it was {}", self.path, self.point);
        if let Some(replaced) = &self.replaced_to {
            writeln!(page, "what was replaced is in `{replaced}`");
        }
    }
}
