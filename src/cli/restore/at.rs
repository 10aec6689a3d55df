//! `restore PATH --at ID`: what a file held before a change, or after it.

use anyhow::{Context as _, Error, Result, anyhow, bail};
use serde::Serialize;

use super::refuse_other_repository;
use crate::base::disk::resolve::is_missing;
use crate::base::disk::stat::Stat;
use crate::base::path;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::guard::claims;
use crate::recorder::changes::{self, ChangeRecord};
use crate::recorder::contents::Contents;
use crate::recorder::entry::{BlobId, Kind, State};
use crate::recorder::undo::{Former, Place, Refused};
use crate::store::lock::IN_COMMAND;

/// A content of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

#[derive(Serialize)]
struct RestoredContent {
    ok: bool,
    path: String,
    /// The id of the content that the file has now.
    content: BlobId,
    /// Where the content is that was replaced.
    replaced_to: Option<String>,
    #[serde(skip)]
    point: String,
}

pub(super) fn run(path: &str, id: &str, side: Side, context: &CliContext<'_>) -> Result<Answer> {
    let path = context.in_project(path);
    let recorder = context.recorder_dir();
    let record = find(&path, id, &recorder)?;
    let contents = Contents::of(&recorder);
    let (kept, kind, when) = match side {
        Side::Before => (record.before, record.before_kind, "before"),
        Side::After => (record.after, record.after_kind, "after"),
    };
    let blob =
        kept.with_context(|| format!("`{path}` held nothing that is kept {when} change {id}"))?;
    let site = claims::site_of(&path, &context.project, &context.registry)
        .with_context(|| format!("`{path}` is in no state directory"))?;
    let dir = site.dir();
    refuse_other_repository(dir, context)?;
    let found = match Stat::of(path.as_ref()) {
        Ok(stat) => Some(State::of(&stat)),
        Err(error) if is_missing(&error) => None,
        Err(error) => bail!("could not read `{path}`: {error}"),
    };
    let former = Former {
        kind: kind.unwrap_or(Kind::File),
        mode: found.map_or(0o644, |found| found.mode),
        mtime: context.now.timestamp_nanos_opt().unwrap_or_default(),
    };
    let place = Place {
        archive: site.archive(&context.project, context.rules.settings.archive_runs),
        session: "restore",
        now: context.now,
        wait: IN_COMMAND,
        site: &site,
    };
    let name = path::relative(&path, dir).unwrap_or_default();
    let entry = (name, std::path::Path::new(&path));
    let bytes = contents.get(blob);
    let put_back =
        place.locked(|locked| place.put_back(locked, entry, &former, found.as_ref(), bytes));
    let point = format!("{when} change {id}");
    let replaced = put_back.map_err(|refused| explain(refused, &path, &point))?;
    let document = RestoredContent {
        ok: true,
        path,
        content: blob,
        replaced_to: replaced.map(|replaced| path::from_os(&replaced)),
        point: format!("{when} change {}", record.id),
    };
    context.show(&document)
}

fn explain(refused: Refused, path: &str, point: &str) -> Error {
    match refused {
        Refused::NotKept => anyhow!("the content of `{path}` {point} is no longer kept"),
        Refused::Later | Refused::Superseded => anyhow!("`{path}` was changed just now; try again"),
        Refused::Failed(error) => Error::new(error).context(format!("could not restore `{path}`")),
    }
}

/// The newest change of a file whose id begins so.
fn find(path: &str, id: &str, recorder: &std::path::Path) -> Result<ChangeRecord> {
    let (mut found, mut of_others) = (None::<ChangeRecord>, None);
    let mut is_ambiguous = false;
    changes::each(recorder, &mut |record| {
        if !record.id.starts_with(id) {
            return;
        }
        if record.path != path {
            of_others = Some(record.path);
            return;
        }
        is_ambiguous |= found.as_ref().is_some_and(|found| found.id != record.id);
        found = Some(record);
    });
    match (found, of_others) {
        (Some(_), _) if is_ambiguous => {
            bail!("several changes of `{path}` begin with {id}; write more of the id")
        }
        (Some(record), _) => Ok(record),
        (None, Some(other)) => bail!("change {id} is of `{other}`, not of `{path}`"),
        (None, None) => {
            bail!("no change {id}; `statewarden log {path}` lists the changes of the file")
        }
    }
}

impl Show for RestoredContent {
    fn text(&self, page: &mut Page<'_>) {
        writeln!(page, "`{}` is as it was {}", self.path, self.point);
        if let Some(replaced) = &self.replaced_to {
            writeln!(page, "what was replaced is in `{replaced}`");
        }
    }
}
