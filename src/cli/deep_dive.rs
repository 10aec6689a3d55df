//! `deep-dive`: Agent Flow's context file.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Subcommand;

use super::change::{self, AppliedChange};
use super::flow::SYSTEM;
use super::{Answer, CliContext, prose};
use crate::store::replace::copy_to_free;
use crate::systems::agent_flow::deep_dive::{self, Origin, Part, Stage};
use crate::systems::agent_flow::state::FileKind;
use crate::systems::gate_record::GateRecord;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: DeepDiveStep,
}

#[derive(Debug, Subcommand)]
enum DeepDiveStep {
    /// Start a deep dive
    Init(DeepDiveInit),
    /// Write sections of the context; what is not given stays
    Compile(Compile),
}

#[derive(Debug, clap::Args)]
struct DeepDiveInit {
    /// What is explored
    #[arg(long, value_name = "SCOPE", default_value = "full", value_parser = ["full", "focused"])]
    scope: String,
    /// The path to explore
    #[arg(long, value_name = "PATH")]
    focus_path: Option<String>,
    /// Start over; a copy of the present file is kept
    #[arg(long)]
    refresh: bool,
}

#[derive(Debug, clap::Args)]
struct Compile {
    /// Languages, frameworks and tools
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    tech_stack: Option<String>,
    /// Where the programs start
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    entry_points: Option<String>,
    /// Patterns that the code follows
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    key_patterns: Option<String>,
    /// What the project is
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    overview: Option<String>,
    /// How its parts fit together
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    architecture: Option<String>,
    /// What the code keeps to
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    conventions: Option<String>,
    /// What to stay away from
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    antipatterns: Option<String>,
    /// Commands and places looked up often
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    quick_reference: Option<String>,
    /// Notes for single agents
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = prose)]
    agent_notes: Option<String>,
    /// The context is ready for use
    #[arg(long)]
    mark_complete: bool,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let dir = Path::new(&context.project.session_root().dir).join(".claude");
    let file = dir.join(FileKind::DeepDive.as_str());
    let is_new = !file.exists();
    let written = change::locked(&dir, SYSTEM, |_| {
        let text = match &args.step {
            DeepDiveStep::Init(args) => init(args, &file, context)?,
            DeepDiveStep::Compile(args) => compile(args, &file, context)?,
        };
        change::replace(&file, &text)?;
        Ok(GateRecord {
            text,
            ..GateRecord::default()
        })
    })?;
    let mut change = AppliedChange::new(context, &file, &Ok(written));
    if is_new {
        change = change.for_new_file();
    }
    context.show(&change)
}

fn init(args: &DeepDiveInit, file: &Path, context: &CliContext<'_>) -> Result<String> {
    let given = args.focus_path.as_deref().map(str::trim);
    let focus = given.filter(|path| !path.is_empty());
    if (args.scope == "focused") != focus.is_some() {
        bail!("`--scope focused` and `--focus-path PATH` go together; pass both or none");
    }
    let is_there = file.exists();
    if is_there && !args.refresh {
        bail!(
            "`{}` is there already; pass `--refresh` to start over and keep a copy of it",
            file.display()
        );
    }
    if is_there {
        let names = deep_dive::backup_names(context.now);
        let copy = names
            .map(|name| file.with_file_name(name))
            .find(|copy| !copy.exists())
            .context("no free name")?;
        copy_to_free(file, &copy).with_context(|| {
            format!(
                "could not copy `{}` to `{}`",
                file.display(),
                copy.display()
            )
        })?;
    }
    let origin = if is_there {
        Origin::Refresh
    } else {
        Origin::New
    };
    Ok(deep_dive::init(focus, origin, context.now))
}

fn compile(args: &Compile, file: &Path, context: &CliContext<'_>) -> Result<String> {
    let Some(text) = change::present(file)? else {
        bail!(
            "there is no `{}`; start with `statewarden deep-dive init`",
            file.display()
        );
    };
    let texts = [
        (Part::TechStack, &args.tech_stack),
        (Part::EntryPoints, &args.entry_points),
        (Part::KeyPatterns, &args.key_patterns),
        (Part::Overview, &args.overview),
        (Part::Architecture, &args.architecture),
        (Part::Conventions, &args.conventions),
        (Part::Antipatterns, &args.antipatterns),
        (Part::QuickReference, &args.quick_reference),
        (Part::AgentNotes, &args.agent_notes),
    ];
    let given: Vec<_> = texts
        .iter()
        .filter_map(|(part, text)| Some((*part, text.as_deref()?)))
        .collect();
    let stage = if args.mark_complete {
        Stage::Complete
    } else {
        Stage::InProgress
    };
    deep_dive::compile(&text, &given, stage, context.now)
        .map_err(|why| anyhow!("`{}`: {why}", file.display()))
}
