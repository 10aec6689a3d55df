//! `restore`: brings archived entries back to where they were.

mod at;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueHint;
use serde::Serialize;

use super::archiving::{with_place, with_site_lock};
use super::history::{Archived, archived};
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::path::from_os;
use crate::store::archive::{Held, Newer, Return, Run, SnapshotKind};
use crate::store::replace;
use at::Side;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A file that is newer than the archived one stays, and the exit code is 1. What \
    is replaced goes into a snapshot of its own, restore-<time>."
)]
pub struct Args {
    /// The snapshot: its name, as `history` shows it, or its path; with --at, the file
    #[arg(value_name = "ARCHIVE", value_hint = ValueHint::AnyPath)]
    archive: String,
    /// Only these entries [default: all]
    #[arg(value_name = "NAME", conflicts_with = "at")]
    names: Vec<String>,
    /// Replace newer files as well
    #[arg(long, conflicts_with = "at")]
    force: bool,
    /// Give the file the content from before this change, by its id in `log`
    #[arg(long, value_name = "ID")]
    at: Option<String>,
    /// The content that the change left
    #[arg(long, requires = "at")]
    after: bool,
}

#[derive(Serialize)]
struct Restored {
    ok: bool,
    archive: String,
    state_dir: String,
    restored: Vec<RestoredEntry>,
    /// Where the replaced files are.
    replaced_to: Option<String>,
    /// Nothing was left in it.
    #[serde(skip)]
    is_gone: bool,
}

#[derive(Serialize)]
struct RestoredEntry {
    name: String,
    size: u64,
    #[serde(flatten)]
    returned: Return,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    if let Some(id) = &args.at {
        let side = if args.after {
            Side::After
        } else {
            Side::Before
        };
        return at::run(&args.archive, id, side, context);
    }
    let from = find(args, context)?;
    let newer = if args.force {
        Newer::GivesWay
    } else {
        Newer::Stays
    };
    refuse_other_repository(&from_os(&from.state_dir), context)?;
    let run = Run {
        kind: SnapshotKind::Restore,
        now: context.now,
    };
    let dir = &from.state_dir;
    replace::make_dir(dir).with_context(|| format!("could not make `{}`", dir.display()))?;
    let (restored, replaced_to) = with_site_lock(&from.archive.system, dir, |locked| {
        let wanted = wanted(args, &from)?;
        let (returns, replaced_to) =
            from.archive
                .bring_back(locked, run, &from.snapshot, &wanted, newer)?;
        let returned = wanted.into_iter().zip(returns);
        let rows = returned.map(|(entry, returned)| RestoredEntry {
            name: entry.name,
            size: entry.size,
            returned,
        });
        Ok((rows.collect::<Vec<_>>(), replaced_to))
    })
    .map_err(|error| with_place(error, "restore into", &from_os(dir)))?;
    let document = Restored {
        ok: restored.iter().all(|row| row.returned == Return::Restored),
        archive: from_os(&from.snapshot.path),
        state_dir: from_os(dir),
        restored,
        replaced_to: replaced_to.map(|path| from_os(&path)),
        is_gone: !from.snapshot.path.exists(),
    };
    context.show(&document)
}

/// What is in another git repository is moved only by a verb whose project it is.
pub(super) fn refuse_other_repository(state_dir: &str, context: &CliContext<'_>) -> Result<()> {
    if let Some(other) = context.project.other_repository(state_dir) {
        bail!("`{state_dir}` is in another git repository; run this with `--project {other}`");
    }
    Ok(())
}

/// The one snapshot that is named.
fn find(args: &Args, context: &CliContext<'_>) -> Result<Archived> {
    let given = context.absolute(&args.archive);
    let all = archived(context)?;
    let names: Vec<String> = all
        .iter()
        .map(|archived| archived.snapshot.name.clone())
        .collect();
    let mut named: Vec<Archived> = all
        .into_iter()
        .filter(|archived| {
            archived.snapshot.name == args.archive || from_os(&archived.snapshot.path) == given
        })
        .collect();
    match (named.pop(), named.len()) {
        (Some(one), 0) => Ok(one),
        (Some(one), _) => {
            let several = named.iter().chain([&one]);
            let paths = several.map(|it| format!("`{}`", it.snapshot.path.display()));
            bail!(
                "several sites have an archive `{}`; name one by its path: {}",
                args.archive,
                paths.collect::<Vec<_>>().join(", ")
            )
        }
        (None, _) if names.is_empty() => {
            bail!("no archive `{}`: nothing is archived", args.archive)
        }
        (None, _) => bail!(
            "no archive `{}`; there are {}",
            args.archive,
            names.join(", ")
        ),
    }
}

fn wanted(args: &Args, from: &Archived) -> Result<Vec<Held>> {
    // It was found before the lock was free.
    let archive = &from.snapshot.name;
    let mut entries = from.snapshot.holds().map_err(|error| {
        anyhow!("could not list `{archive}`: {error}; `statewarden history` shows what is archived")
    })?;
    // `history` and a shell's completion put a `/` behind the name of a directory.
    let given = args.names.iter();
    let names: Vec<&str> = given.map(|name| name.trim_end_matches('/')).collect();
    let mut unknown = names
        .iter()
        .filter(|name| !entries.iter().any(|entry| entry.name == **name));
    if let Some(name) = unknown.next() {
        let there: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        bail!("no `{name}` in `{archive}`; it holds {}", there.join(", "));
    }
    if !names.is_empty() {
        entries.retain(|entry| names.contains(&entry.name.as_str()));
    }
    Ok(entries)
}

impl Show for Restored {
    fn text(&self, page: &mut Page<'_>) {
        for row in &self.restored {
            match &row.returned {
                Return::Restored => writeln!(page, "{}  restored", row.name),
                Return::Vanished => writeln!(page, "{}  vanished", row.name),
                Return::Skipped => {
                    let why = "a newer one is there; `--force` replaces it";
                    writeln!(page, "{}  {} {why}", row.name, page.paint.red("skipped:"));
                }
                Return::Failed { error } => {
                    writeln!(page, "{}  {} {error}", row.name, page.paint.red("error"));
                }
            }
        }
        if let Some(path) = &self.replaced_to {
            writeln!(page, "what was replaced is in `{path}`");
        }
        if self.is_gone {
            writeln!(
                page,
                "nothing is left in `{}`; it was removed",
                self.archive
            );
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}
