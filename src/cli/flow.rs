//! `flow`: Agent Flow's run files, as its own scripts make and update them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow, bail};
use clap::Subcommand;
use clap::builder::TypedValueParser;

use super::change::{self, AppliedChange};
use super::permit::{self, Approval};
use super::{Answer, CliContext, number, one_of, prose};
use crate::base::path;
use crate::guard::claims;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::display_path;
use crate::store::archive::{Item, Run, SnapshotKind, Status, WhenChanged};
use crate::store::lock::Locked;
use crate::store::modified;
pub(super) use crate::systems::agent_flow::ID as SYSTEM;
use crate::systems::agent_flow::deep_dive;
use crate::systems::agent_flow::script::{self, DeepDive, GroupPart};
use crate::systems::agent_flow::state::{FileKind, FlowState, GROUP, Mode, Phase};
use crate::systems::gate_record::{GateRecord, Move};
use crate::systems::workflow::{GateStanding, GateStatus};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: FlowStep,
}

#[derive(Debug, Subcommand)]
enum FlowStep {
    /// Start a run
    Init(FlowInit),
    /// Set the gate of the present phase, then move on
    Update(Update),
}

#[derive(Debug, clap::Args)]
struct FlowInit {
    /// What is to be done
    #[arg(value_name = "TASK")]
    task: String,
    /// Review and verification side by side, where agent teams are switched on
    #[arg(long)]
    team: bool,
    /// A team run whose phases follow one another
    #[arg(long)]
    force_sequential: bool,
    /// Work with the finished deep dive
    #[arg(long)]
    use_deep_dive: bool,
    /// How often the run may go back to the implementation
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number::<u64>(1..=u64::MAX))]
    max_iterations: u64,
    /// Replace a run that is active
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct Update {
    /// The phase that comes now
    #[arg(long, value_name = "P", value_parser = phases())]
    phase: Option<Phase>,
    /// The result of the phase before
    #[arg(long, value_name = "R", value_parser = one_of(GateStatus::WORDS, GateStatus::parse))]
    gate_result: Option<GateStatus>,
    /// The agent whose result it is, for the gate and the log
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// A line for the run's log
    #[arg(long, value_name = "M", allow_hyphen_values = true, value_parser = prose)]
    message: Option<String>,
    /// The iteration that the run is in
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..=u64::MAX))]
    iteration: Option<u64>,
    /// The group that the result is for
    #[arg(long, value_name = "G", value_parser = [GROUP])]
    parallel_group: Option<String>,
    /// The member that the result is for
    #[arg(long, value_name = "T", value_parser = members(), requires = "parallel_group")]
    teammate: Option<Phase>,
    /// Find the group's result from its members'
    #[arg(long, conflicts_with = "teammate")]
    merge_parallel: bool,
    /// Close the run
    #[arg(long, conflicts_with_all = ["parallel_group", "merge_parallel"])]
    complete: bool,
    /// The team run, where both runs are active
    #[arg(long)]
    team: bool,
    /// Pass a gate without a proof, where the settings require one; at a terminal only
    #[arg(long)]
    force: bool,
}

/// The phases of both kinds of runs.
fn phases() -> impl TypedValueParser<Value = Phase> {
    one_of(Phase::WORDS, Phase::parse)
}

/// Those of the group.
fn members() -> impl TypedValueParser<Value = Phase> {
    one_of(
        [Phase::Review, Phase::Verification].map(Phase::as_str),
        Phase::parse,
    )
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let change = match &args.step {
        FlowStep::Init(args) => init(args, context)?,
        FlowStep::Update(args) => update(args, context)?,
    };
    context.show(&change)
}

const NO_DEEP_DIVE: &str =
    "there is no finished deep dive to use; `statewarden deep-dive init` starts one";

/// The file of a run that begins, and how its agents work.
fn kind_of(args: &FlowInit, context: &CliContext<'_>) -> (FileKind, Mode) {
    match (args.team, args.force_sequential) {
        (false, false) => (FileKind::Single, Mode::Single),
        (true, false) if context.env.agent_teams => (FileKind::Team, Mode::Team),
        _ => (FileKind::Team, Mode::Sequential),
    }
}

fn init(args: &FlowInit, context: &CliContext<'_>) -> Result<AppliedChange> {
    let dir = Path::new(&context.project.session_root().dir).join(".claude");
    let (kind, mode) = kind_of(args, context);
    let file = dir.join(kind.as_str());
    let is_new = !file.exists();
    let found_as = if args.use_deep_dive {
        DeepDive::Used
    } else {
        DeepDive::Available
    };
    let deep_dive = deep_dive(&dir, found_as)?;
    let unmet = (args.use_deep_dive && deep_dive == DeepDive::Missing).then_some(NO_DEEP_DIVE);
    let began = began(
        &script::NewRun {
            task: args.task.clone(),
            mode,
            max_iterations: args.max_iterations,
            deep_dive,
        },
        context,
    )?;
    let mut archived = None;
    let applied = change::apply(
        (SYSTEM, "flow init"),
        &dir,
        context,
        Approval::NotAsked,
        |locked| {
            if !args.force {
                check_may_replace(&file)?;
            }
            archived = archive(&file, locked, context)?;
            Ok((file, Ok(began)))
        },
    )?;
    let mut change = if is_new {
        applied.for_new_file()
    } else {
        applied
    };
    change.archive_path = archived;
    let notes: Vec<&str> = no_teams(args, mode)
        .into_iter()
        .chain(unmet)
        .chain(other_run(&dir, kind))
        .collect();
    change.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(change)
}

/// A file that cannot even be read as text is replaced by force only, too.
fn check_may_replace(file: &Path) -> Result<()> {
    match change::present(file)? {
        None => Ok(()),
        Some(present) => {
            script::may_replace(&present).map_err(|why| anyhow!("`{}`: {why}", file.display()))
        }
    }
}

/// The state of a run that begins.
fn began(new: &script::NewRun, context: &CliContext<'_>) -> Result<GateRecord> {
    Ok(GateRecord {
        text: script::init(new, context.now).map_err(Error::msg)?,
        moves: vec![Move {
            gate: Phase::Exploration.to_string(),
            from: GateStatus::Pending,
            to: GateStatus::InProgress,
        }],
        phase: Some(Phase::Exploration.to_string()),
        iteration: Some(1),
        ..GateRecord::default()
    })
}

/// Moves the file of the run before into the archive, if there is one.
fn archive(file: &Path, locked: &Locked<'_>, context: &CliContext<'_>) -> Result<Option<String>> {
    let Ok(meta) = fs::symlink_metadata(file) else {
        return Ok(None);
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let item = Item {
        name: &name,
        path: file,
        size: meta.len(),
        modified: modified(&meta),
        is_dir: meta.is_dir(),
        reason: "replaced by a new run",
        when_changed: WhenChanged::Move,
    };
    let run = Run {
        kind: SnapshotKind::Init,
        now: context.now,
    };
    let site = claims::site_of(&path::from_os(file), &context.project, &context.registry);
    let Some(site) = site else { return Ok(None) };
    let archive = site.archive(&context.project, context.rules.settings.archive_runs);
    let taken = archive.take(locked, run, &[item])?;
    match taken.statuses.as_slice() {
        [Status::Failed { error }] => {
            bail!(
                "could not archive `{}`: {error}; move it away",
                file.display()
            )
        }
        _ => Ok(taken.path.map(|path| path::from_os(&path))),
    }
}

/// What to know where a team run was asked for and cannot be had.
fn no_teams(args: &FlowInit, mode: Mode) -> Option<&'static str> {
    (mode == Mode::Sequential && !args.force_sequential).then_some(
        "agent teams are off, so this run is sequential; \
         `CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1` switches them on",
    )
}

/// What to know where the run of the other kind is active beside one.
fn other_run(dir: &Path, kind: FileKind) -> Option<&'static str> {
    let other = match kind {
        FileKind::Single => FileKind::Team,
        _ => FileKind::Single,
    };
    let text = change::present(&dir.join(other.as_str())).ok()??;
    FlowState::read(&text).ok()?.active.then_some(
        "the single run and the team run are now both active, and an agent that fits both \
         changes no gate; `statewarden flow update --team --complete` closes the team run",
    )
}

fn deep_dive(
    dir: &Path,
    found_as: impl FnOnce(deep_dive::Context) -> DeepDive,
) -> Result<DeepDive> {
    let text = change::present(&dir.join(FileKind::DeepDive.as_str()))?;
    let found = text.as_deref().and_then(deep_dive::Context::read);
    Ok(found.map_or(DeepDive::Missing, found_as))
}

fn update(args: &Update, context: &CliContext<'_>) -> Result<AppliedChange> {
    let group = match (&args.parallel_group, args.teammate, args.merge_parallel) {
        (_, Some(member), _) => Some(GroupPart::Member(member)),
        (_, None, true) => Some(GroupPart::Merge),
        (Some(_), None, false) => Some(GroupPart::Whole),
        (None, None, false) => None,
    };
    let wanted = script::Update {
        phase: args.phase,
        gate_result: args.gate_result,
        agent: args.agent.clone(),
        message: args.message.clone(),
        iteration: args.iteration,
        group,
        complete: args.complete,
    };
    let kinds: &[FileKind] = match (args.team, &group) {
        (false, None) => &[FileKind::Single, FileKind::Team],
        _ => &[FileKind::Team],
    };
    let dir = change::nearest(context, SYSTEM, ".claude");
    let approval = Approval::of(args.force);
    if args.complete
        && let (file, text) = chosen(&dir, kinds)?
        && let Ok(run) = FlowState::read(&text)
        && let Some(gate) = unproved(context, &file, &run)
        && let Some(why) = permit::refusal(context, approval, &format!("gate `{gate}`"))
    {
        return Ok(AppliedChange::refused(context, &file, why));
    }
    change::apply((SYSTEM, "flow update"), &dir, context, approval, |_| {
        let (file, text) = chosen(&dir, kinds)?;
        let outcome = script::update(&text, &wanted, context.now)
            .map_err(|why| anyhow!("`{}`: {why}", file.display()))?;
        Ok((file, outcome))
    })
}

/// The first gate of a run that has not passed, or of which nothing shows that.
fn unproved(context: &CliContext<'_>, file: &Path, state: &FlowState) -> Option<String> {
    if let Some(open) = state.first_open() {
        return Some(open.as_str().to_owned());
    }
    let mut run = state.workflow(&display_path(&context.project, file));
    GateLog::read(&context.project, u64::MAX).mark(&mut run);
    let mut gates = run.gates.into_iter();
    let gate = gates.find(|gate| {
        gate.standing
            .is_some_and(|standing| standing != GateStanding::Proved)
    });
    gate.map(|gate| gate.name)
}

/// The run that an update is for: the active one of those kinds.
fn chosen(dir: &Path, kinds: &[FileKind]) -> Result<(PathBuf, String)> {
    let mut runs = Vec::new();
    for kind in kinds {
        let file = dir.join(kind.as_str());
        if let Some(text) = change::present(&file)? {
            runs.push((file, text));
        }
    }
    let is_active = |text: &str| FlowState::read(text).map_or(true, |state| state.active);
    if runs.len() > 1 && runs.iter().any(|(_, text)| is_active(text)) {
        runs.retain(|(_, text)| is_active(text));
    }
    match (runs.len(), runs.pop()) {
        (0, _) => {
            let (team, flag) = match kinds {
                [FileKind::Team] => ("team ", " --team"),
                _ => ("", ""),
            };
            bail!(
                "there is no {team}run in `{}`; start one with `statewarden flow init{flag}`",
                dir.display()
            )
        }
        (1, Some(run)) => Ok(run),
        _ => bail!(
            "the single run and the team run are both active; pass `--team`, or close one of them"
        ),
    }
}
