//! `session`: the steps of a session's `state.json`.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, bail};
use clap::Subcommand;
use clap::builder::TypedValueParser;
use serde::Serialize;

use super::change::{self, AppliedChange};
use super::output::{Page, Show, writeln};
use super::permit::Approval;
use super::{Answer, CliContext, number, one_of, prose, status};
use crate::base::path;
use crate::lifecycle::gates;
use crate::project::files::InDir;
use crate::store::replace::make_new_dir;
use crate::systems::gate_record::{GateRecord, Move};
use crate::systems::session::create::{NewSession, Spec, new_session, session_id};
use crate::systems::session::state::{self, Phase, State};
use crate::systems::session::transition::{self, PhaseDecision};
use crate::systems::session::{ID as SYSTEM, SessionFile, newest_of, states};
use crate::systems::system::Files;
use crate::systems::workflow::{GateStatus, Proof, Workflow};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: SessionStep,
}

#[derive(Debug, Subcommand)]
enum SessionStep {
    /// Start a session
    Init(SessionInit),
    /// A phase begins
    Start(On),
    /// A phase is done
    Complete(Complete),
    /// A phase is left out, by the user's choice
    Skip(Ends),
    /// Which agents work for research or review, and at what
    Decide(Decide),
    /// Where the session is; where every one is finished, the newest
    Show(Which),
}

#[derive(Debug, clap::Args)]
struct SessionInit {
    /// What is to be done
    #[arg(value_name = "TASK")]
    task: String,
    /// The workflow code:fast
    #[arg(long)]
    fast: bool,
    /// The session asks no questions
    #[arg(long)]
    auto: bool,
    /// The approved specification
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The session's id [default: the newest that is unfinished]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, clap::Args)]
struct On {
    /// The phase
    #[arg(value_name = "PHASE", value_parser = phases())]
    phase: Phase,
    #[command(flatten)]
    which: Which,
}

/// A phase that is over by it.
#[derive(Debug, clap::Args)]
struct Ends {
    #[command(flatten)]
    on: On,
    /// Pass the phase without a proof, where the settings require one; at a terminal only
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct Complete {
    #[command(flatten)]
    ends: Ends,
    /// The phase's report in the session's directory
    #[arg(long, value_name = "FILE")]
    report: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Decide {
    #[command(flatten)]
    on: On,
    /// The type of the agents that work for the phase
    #[arg(long, value_name = "A")]
    agent: String,
    /// single or parallel
    #[arg(long, value_name = "M")]
    mode: String,
    /// What an instance works at; one for each
    #[arg(long, value_name = "TEXT", required = true, num_args = 1..)]
    input: Vec<String>,
    /// How many agents work: 1 with `single`, 2 to 5 with `parallel`
    #[arg(long, value_name = "N", value_parser = number::<usize>(1..=5))]
    instances: Option<usize>,
}

/// The phases but the first, which is over when the session starts.
fn phases() -> impl TypedValueParser<Value = Phase> {
    let phases = Phase::ALL.into_iter().filter(|phase| *phase != Phase::Init);
    one_of(phases.map(Phase::as_str), Phase::parse)
}

/// Gives each text of `--input` a flag of its own, `--input=TEXT`. A text may begin
/// with a dash, and behind a flag that takes several values the parser takes either
/// every such word for a flag or none.
pub(super) fn with_an_input_each(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const INPUT: &str = "--input";
    let (mut spelled, mut args) = (Vec::new(), args.peekable());
    while let Some(arg) = args.next() {
        let flags = spelled.len();
        if arg == INPUT {
            while let Some(text) = args.next_if(is_text) {
                let mut flag = OsString::from(format!("{INPUT}="));
                flag.push(text);
                spelled.push(flag);
            }
        }
        if spelled.len() == flags {
            spelled.push(arg);
        }
    }
    spelled
}

/// Whether a word is no flag.
fn is_text(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    prose(&text).is_ok() && !matches!(&*text, "--" | "-h")
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let change = match &args.step {
        SessionStep::Show(which) => return show(which, context),
        SessionStep::Init(args) => init(args, context)?,
        SessionStep::Start(on) => step(on, transition::Step::Start, Approval::NotAsked, context)?,
        SessionStep::Complete(Complete { ends, report }) => {
            let complete = transition::Step::Complete {
                report: report.as_deref(),
            };
            step(&ends.on, complete, Approval::of(ends.force), context)?
        }
        SessionStep::Skip(Ends { on, force }) => {
            step(on, transition::Step::Skip, Approval::of(*force), context)?
        }
        SessionStep::Decide(args) => {
            let decision = PhaseDecision {
                agent: &args.agent,
                mode: &args.mode,
                instances: args.instances.unwrap_or(args.input.len()),
                inputs: &args.input,
            };
            let decide = transition::Step::Decide(decision);
            step(&args.on, decide, Approval::NotAsked, context)?
        }
    };
    context.show(&change)
}

fn init(args: &SessionInit, context: &CliContext<'_>) -> Result<AppliedChange> {
    if args.task.trim().is_empty() {
        bail!("the task is empty; say what is to be done");
    }
    let spec = match &args.spec {
        Some(path) => Some(read_spec(path, context)?),
        None => None,
    };
    let docs = Path::new(&context.project.session_root().dir).join(".claude/.docs");
    let applied = change::apply(
        (SYSTEM, "session init"),
        &docs,
        context,
        Approval::NotAsked,
        |_| {
            let taken = InDir { dir: &docs }.dirs();
            let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
            let id = session_id(&args.task, context.now.date_naive(), &taken);
            let new = NewSession {
                task: &args.task,
                id: &id,
                fast: args.fast,
                auto: args.auto,
                spec: spec.as_ref(),
            };
            let dir = docs.join(&id);
            make_new_dir(&dir).with_context(|| format!("could not make `{}`", dir.display()))?;
            let file = dir.join("state.json");
            let began = GateRecord {
                text: new_session(&new, context.now),
                moves: vec![Move {
                    gate: Phase::Init.as_str().to_owned(),
                    from: GateStatus::Pending,
                    to: GateStatus::Passed,
                }],
                phase: Some(Phase::Init.as_str().to_owned()),
                proof: vec![Proof::Verdict {
                    line: "session init".to_owned(),
                    at: "command".to_owned(),
                }],
                ..GateRecord::default()
            };
            Ok((file, Ok(began)))
        },
    )?;
    Ok(applied.for_new_file())
}

/// A specification, by its path from the current directory or from the project.
fn read_spec<'a>(path: &'a str, context: &CliContext<'_>) -> Result<Spec<'a>> {
    let here = path::join(&context.cwd, path, context.env.home.as_deref());
    for file in [here, context.project.session_root().path(path)] {
        if let Some(text) = change::present(Path::new(&file))? {
            return Spec::read(path, &text).map_err(Error::msg);
        }
    }
    bail!("there is no specification `{path}`")
}

/// A step's name in the logs, and the gate it takes its phase to, with a word for it.
fn goal(step: transition::Step<'_>) -> (&'static str, Option<(GateStatus, &'static str)>) {
    match step {
        transition::Step::Start => {
            let end = (GateStatus::InProgress, "in progress");
            ("session start", Some(end))
        }
        transition::Step::Complete { .. } => {
            let end = (GateStatus::Passed, "completed");
            ("session complete", Some(end))
        }
        transition::Step::Skip => ("session skip", Some((GateStatus::Skipped, "skipped"))),
        transition::Step::Decide(_) => ("session decide", None),
    }
}

/// One update of a session's state. A report that it names must be there, and one that is
/// there counts without being named.
fn step(
    on: &On,
    step: transition::Step<'_>,
    approval: Approval,
    context: &CliContext<'_>,
) -> Result<AppliedChange> {
    let (verb, end) = goal(step);
    // A phase without a report leaves nothing that could prove it.
    let is_provable = on.phase.report().is_some();
    let approval = match step {
        transition::Step::Complete { .. } if !is_provable => Approval::NotNeeded,
        _ => approval,
    };
    let docs = change::nearest(context, SYSTEM, ".claude/.docs");
    change::apply((SYSTEM, verb), &docs, context, approval, |_| {
        let (name, text) = chosen(&docs, &on.which)?;
        let file = docs.join(&name);
        let (step, report) = match step {
            transition::Step::Complete { report } => {
                let report = report_of(on.phase, report, &file, context)?;
                (transition::Step::Complete { report }, report)
            }
            step => (step, None),
        };
        let mut outcome = transition::apply(&text, on.phase, step, verb, context.now);
        if let (Err(_), Some((status, word))) = (&outcome, end)
            // The hook may have seen the agent's start, or the report, before.
            && State::parse(&text).is_ok_and(|state| state.phase(on.phase).gate_status() == status)
        {
            let why = format!("phase `{}` is already {word}", on.phase.as_str());
            return Ok((file, Err(why)));
        }
        if let (Ok(change), Some(report)) = (&mut outcome, report) {
            let shown = filled_report(&file.with_file_name(report), context)?;
            change
                .proof
                .push(gates::artifact_of(&context.project, &shown));
        }
        match outcome {
            Err(why) => {
                bail!("`{}`: {why}", gates::display_path(&context.project, &file))
            }
            changed => Ok((file, changed)),
        }
    })
}

/// The report that is named, else the phase's own where it is there.
fn report_of(
    phase: Phase,
    named: Option<&str>,
    state: &Path,
    context: &CliContext<'_>,
) -> Result<Option<&'static str>> {
    match named {
        Some(report) => report_named(report, phase, state, context).map(Some),
        None => Ok(phase
            .report()
            .filter(|own| state.with_file_name(own).exists())),
    }
}

/// A report by its path as people name it; it holds something.
fn filled_report(report: &Path, context: &CliContext<'_>) -> Result<String> {
    let text = change::present(report)?;
    let shown = gates::display_path(&context.project, report);
    match text {
        None => bail!("there is no report `{shown}`; write it first, or leave `--report` out"),
        Some(text) if text.trim().is_empty() => bail!("empty report `{shown}`; write it first"),
        Some(_) => Ok(shown),
    }
}

/// The name of the phase's own report, which may be given by a path.
fn report_named(
    report: &str,
    phase: Phase,
    state: &Path,
    context: &CliContext<'_>,
) -> Result<&'static str> {
    let phase_name = phase.as_str();
    let Some(own) = phase.report() else {
        bail!("phase `{phase_name}` has no report");
    };
    if report != own && Path::new(&context.absolute(report)) != state.with_file_name(own) {
        bail!("the report of phase `{phase_name}` is `{own}`");
    }
    Ok(own)
}

/// The directory of a session, which is its id, by its file.
fn directory_of(file: &str) -> &str {
    file.trim_end_matches("/state.json")
}

/// The named session, else the newest unfinished one; its file and text.
fn chosen(docs: &Path, which: &Which) -> Result<(String, String)> {
    let sessions = states(&InDir { dir: docs });
    let Some(id) = &which.session else {
        let (name, text) = newest_of(&sessions).map_err(|why| {
            let mut states = sessions.iter().map(SessionFile::state);
            let is_open = states.any(|state| state.is_ok_and(|it| it.unfinished().is_some()));
            let advice = if is_open {
                "name one with `--session ID`"
            } else {
                "start one with `statewarden session init`, or name one with `--session ID`"
            };
            anyhow!("{}; {advice}", why.with_names(directory_of))
        })?;
        return Ok((name.to_owned(), text.to_owned()));
    };
    let wanted = format!("{}/state.json", directory_of(id));
    let ids = sessions.iter().map(|session| directory_of(&session.name));
    let known = ids.collect::<Vec<_>>().join(", ");
    let Some(found) = sessions.iter().find(|session| session.name == wanted) else {
        let known = if known.is_empty() { "none" } else { &known };
        bail!("no session `{id}`; the sessions here are {known}");
    };
    match &found.text {
        Ok(text) => Ok((wanted, text.clone())),
        Err(why) => bail!("could not read `{wanted}`: {why}"),
    }
}

#[derive(Debug, Serialize)]
struct Sessions {
    sessions: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    task: String,
    #[serde(flatten)]
    workflow: Workflow,
    /// Oddities that do not make the file unreadable.
    notes: Vec<String>,
}

/// The newest session where every one is finished.
fn newest_finished(docs: &Path) -> Option<(String, String)> {
    let mut newest = None;
    for SessionFile { name, text } in states(&InDir { dir: docs }) {
        let read = text.and_then(|text| Ok((State::parse(&text)?, text)));
        let Ok((state, text)) = read else {
            continue;
        };
        if state.unfinished().is_some() {
            return None;
        }
        let updated_at = state.updated_at.at;
        if newest.as_ref().is_none_or(|(at, _)| *at <= updated_at) {
            newest = Some((updated_at, (name, text)));
        }
    }
    newest.map(|(_, found)| found)
}

fn show(which: &Which, context: &CliContext<'_>) -> Result<Answer> {
    let docs = change::nearest(context, SYSTEM, ".claude/.docs");
    let (name, text) = match chosen(&docs, which) {
        Err(why) if which.session.is_none() => newest_finished(&docs).ok_or(why)?,
        found => found?,
    };
    let file = gates::display_path(&context.project, &docs.join(name));
    let workflow = state::read_workflow(&text, &file)?;
    let State {
        id, task, notes, ..
    } = State::parse(&text).map_err(Error::msg)?;
    let document = Sessions {
        sessions: vec![Shown {
            id,
            task,
            workflow,
            notes,
        }],
    };
    context.show(&document)
}

impl Show for Sessions {
    fn text(&self, page: &mut Page<'_>) {
        for shown in &self.sessions {
            status::say_run(&shown.workflow, page);
            writeln!(page, "  task: {}", shown.task);
            for note in &shown.notes {
                writeln!(page, "  note: {note}");
            }
        }
    }
}
