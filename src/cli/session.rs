//! `session`: the steps of a session's `state.json`.

use std::ffi::OsString;
use std::iter;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, bail};
use clap::Subcommand;
use clap::builder::TypedValueParser;
use serde::Serialize;

use super::change::{self, Change};
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext, number, one_of, prose, status};
use crate::base::path;
use crate::lifecycle::gates;
use crate::project::files::InDir;
use crate::store::replace::make_new_dir;
use crate::systems::session::create::{NewSession, Spec, new_session, session_id};
use crate::systems::session::state::{self, Phase, State};
use crate::systems::session::transition::{self, Decision};
use crate::systems::session::{ID as SYSTEM, newest_of, states};
use crate::systems::system::Files;
use crate::systems::workflow::{GateStatus, Move, Proof, StateChange, Workflow};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Start a session
    Init(Init),
    /// A phase begins
    Start(On),
    /// A phase is done
    Complete(Complete),
    /// A phase is left out, by the user's choice
    Skip(On),
    /// Which agents work for research or review, and at what
    Decide(Decide),
    /// Where the session is; where every one is finished, the newest
    Show(Which),
}

#[derive(Debug, clap::Args)]
struct Init {
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

#[derive(Debug, clap::Args)]
struct Complete {
    #[command(flatten)]
    on: On,
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
    let is_text = |word: &OsString| {
        let word = word.to_string_lossy();
        prose(&word).is_ok() && !matches!(&*word, "--" | "-h")
    };
    let with_flag = |text: OsString| {
        let mut whole = OsString::from(format!("{INPUT}="));
        whole.push(text);
        whole
    };
    let (mut spelled, mut args) = (Vec::new(), args.peekable());
    while let Some(arg) = args.next() {
        let is_input = arg == INPUT;
        let texts = iter::from_fn(|| args.next_if(|next| is_input && is_text(next)));
        let texts: Vec<_> = texts.map(with_flag).collect();
        if texts.is_empty() {
            spelled.push(arg);
        }
        spelled.extend(texts);
    }
    spelled
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let change = match &args.step {
        Step::Show(which) => return show(which, context),
        Step::Init(args) => init(args, context)?,
        Step::Start(on) => step(on, transition::Step::Start, context)?,
        Step::Complete(Complete { on, report }) => {
            let report = report.as_deref();
            step(on, transition::Step::Complete { report }, context)?
        }
        Step::Skip(on) => step(on, transition::Step::Skip, context)?,
        Step::Decide(args) => {
            let decision = Decision {
                agent: &args.agent,
                mode: &args.mode,
                instances: args.instances.unwrap_or(args.input.len()),
                inputs: &args.input,
            };
            step(&args.on, transition::Step::Decide(decision), context)?
        }
    };
    context.show(&change)
}

fn init(args: &Init, context: &CliContext<'_>) -> Result<Change> {
    if args.task.trim().is_empty() {
        bail!("the task is empty; say what is to be done");
    }
    let spec = args.spec.as_deref().map(|path| read_spec(path, context));
    let spec = spec.transpose()?;
    let docs = Path::new(&context.project.session_root().dir).join(".claude/.docs");
    let change = change::apply((SYSTEM, "session init"), &docs, context, |_| {
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
        let began = StateChange {
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
            ..StateChange::default()
        };
        Ok((file, Ok(began)))
    })?;
    Ok(change.for_new_file())
}

/// A specification, by its path from where one stands or from the project.
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
fn step(on: &On, step: transition::Step<'_>, context: &CliContext<'_>) -> Result<Change> {
    let (verb, end) = goal(step);
    let docs = change::nearest(context, SYSTEM, ".claude/.docs");
    change::apply((SYSTEM, verb), &docs, context, |_| {
        let (name, text) = chosen(&docs, &on.which)?;
        let file = docs.join(&name);
        let own = on.phase.report();
        let (step, report) = match step {
            transition::Step::Complete { report } => {
                let there = own.filter(|own| file.with_file_name(own).exists());
                let report = match report {
                    Some(report) => Some(report_named(report, on.phase, &file, context)?),
                    None => there,
                };
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
        if let Some(report) = report.filter(|_| outcome.is_ok()) {
            let report = file.with_file_name(report);
            let text = change::present(&report)?;
            let report = gates::display_path(&context.project, &report);
            match text {
                None => {
                    bail!("there is no report `{report}`; write it first, or leave `--report` out")
                }
                Some(text) if text.trim().is_empty() => {
                    bail!("empty report `{report}`; write it first")
                }
                Some(_) => {}
            }
        }
        if let (Ok(change), Some(report)) = (&mut outcome, report) {
            let report = gates::display_path(&context.project, &file.with_file_name(report));
            change
                .proof
                .push(gates::artifact_of(&context.project, &report));
        }
        match outcome {
            Err(why) => {
                bail!("`{}`: {why}", gates::display_path(&context.project, &file))
            }
            changed => Ok((file, changed)),
        }
    })
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

/// The named session, else the newest unfinished one; its file and text.
fn chosen(docs: &Path, which: &Which) -> Result<(String, String)> {
    let sessions = states(&InDir { dir: docs });
    let Some(id) = &which.session else {
        let (name, text) = newest_of(&sessions).map_err(|why| {
            let is_open =
                |text: &str| State::parse(text).is_ok_and(|state| state.unfinished().is_some());
            let advice = if sessions.iter().any(|(_, text)| is_open(text)) {
                "name one with `--session ID`"
            } else {
                "start one with `statewarden session init`, or name one with `--session ID`"
            };
            // A session is named by its directory.
            anyhow!("{}; {advice}", why.replace("/state.json", ""))
        })?;
        return Ok((name.to_owned(), text.to_owned()));
    };
    let wanted = format!("{}/state.json", id.trim_end_matches("/state.json"));
    let known = sessions
        .iter()
        .filter_map(|(name, _)| name.strip_suffix("/state.json"));
    let known = known.collect::<Vec<_>>().join(", ");
    let found = sessions.into_iter().find(|(name, _)| *name == wanted);
    found.ok_or_else(|| {
        let known = if known.is_empty() { "none" } else { &known };
        anyhow!("no session `{id}`; the sessions here are {known}")
    })
}

#[derive(Debug, Serialize)]
struct Document {
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
    let sessions = states(&InDir { dir: docs }).into_iter();
    let parsed = sessions.filter_map(|found| Some((State::parse(&found.1).ok()?, found)));
    let parsed: Vec<_> = parsed.collect();
    let is_finished = |(state, _): &(State, _)| state.unfinished().is_none();
    let finished = parsed
        .iter()
        .all(is_finished)
        .then_some(parsed)?
        .into_iter();
    let newest = finished.max_by_key(|(state, _)| state.updated_at.at)?;
    Some(newest.1)
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
    let document = Document {
        sessions: vec![Shown {
            id,
            task,
            workflow,
            notes,
        }],
    };
    context.show(&document)
}

impl Show for Document {
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
