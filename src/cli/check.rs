//! `check`: the decision without its effects.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueHint;
use serde::Serialize;

use super::global::SwitchedOff;
use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::actor::Actor;
use crate::base::disk::bounded_read;
use crate::base::disk::cache::DirCache;
use crate::base::disk::resolve::exists;
use crate::base::target::{Act, Target};
use crate::base::warn;
use crate::contract::denial::DenyCode;
use crate::formats::surrogates;
use crate::guard::claims::{self, Claim, JudgeError};
use crate::guard::decision::{self, Call, Channel, Decision, Ruling};
use crate::guard::message;
use crate::guard::targets::mcp_act;
use crate::host::event::{Event, Text, Tool};
use crate::host::stdin::MAX_BYTES;
use crate::lifecycle::agents;
use crate::lifecycle::early_exit::{Exit, Reading};
use crate::lifecycle::judge;
use crate::project::context::Context;
use crate::shell::Scene;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --system, a path that belongs to another system is an error. Exit 1: a path \
    would be denied."
)]
pub struct Args {
    /// The agent that would write [default: the main thread]
    #[arg(long, value_name = "A", conflicts_with = "event")]
    agent: Option<String>,
    /// The tool that would write
    #[arg(
        long,
        value_name = "T",
        default_value = "Write",
        conflicts_with = "event"
    )]
    tool: String,
    /// A hook event as Claude Code sends it; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "paths", value_hint = ValueHint::FilePath)]
    event: Option<String>,
    /// Also say which step lets a call pass
    #[arg(short, long)]
    verbose: bool,
    /// The paths to be written
    #[arg(value_name = "PATH", required_unless_present = "event", value_parser = filled,
          value_hint = ValueHint::AnyPath)]
    paths: Vec<String>,
}

/// One answer of the JSON document.
#[derive(Debug, Serialize)]
struct PathRow {
    path: String,
    decision: Ruling,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<DenyCode>,
    /// The same, as logs call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<DenyCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    /// The step of the pipeline that lets the call pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<Exit>,
    /// The settings file that switches the path's system off.
    #[serde(skip_serializing_if = "Option::is_none")]
    switched_off_by: Option<String>,
}

#[derive(Debug, Serialize)]
struct CheckReport {
    decisions: Vec<PathRow>,
    /// What is wrong with the settings, which the hook says with every denial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

impl PathRow {
    fn new(path: String, decision: &Decision) -> Self {
        let denials = decision.denials();
        let first = denials.first();
        Self {
            path,
            decision: decision.ruling(),
            code: first.map(|denial| denial.code),
            rule: first.map(|denial| denial.code),
            system: first.map(|denial| denial.system.clone()),
            name: first.map(|denial| denial.entry.clone()),
            reason: first.map(|_| message::reason(denials, &[])),
            suggestion: first.and_then(|denial| denial.suggestion.clone()),
            exit: None,
            switched_off_by: None,
        }
    }

    /// Says of an allowed call which step lets it pass.
    fn passing_at(self, exit: Exit) -> Self {
        let exit = (self.decision != Ruling::Deny).then_some(exit);
        Self { exit, ..self }
    }

    /// A call that concerns a system and cannot be judged is denied as well.
    fn refused(path: String, error: &JudgeError) -> Self {
        let code = Some(error.code());
        Self {
            decision: Ruling::Deny,
            code,
            rule: code,
            system: error.system().map(str::to_owned),
            reason: Some(error.reason()),
            ..Self::new(path, &Decision::Allow { notes: Vec::new() })
        }
    }

    /// Says of an allowed path that its system is off.
    fn unless_off(self, off: Option<SwitchedOff>) -> Self {
        match off {
            Some(off) if self.decision == Ruling::Allow => Self {
                system: Some(off.system),
                switched_off_by: Some(off.by),
                ..self
            },
            _ => self,
        }
    }
}

/// Refuses claims of a system that `--system` does not name: whoever names one would
/// take the silence of another for an answer.
fn check_owners(claims: &[Claim<'_>], context: &CliContext<'_>) -> Result<()> {
    for claim in claims {
        let owner = claim.governed.id();
        if let Some(wanted) = context.system.filter(|wanted| *wanted != owner) {
            bail!(
                "`{}` belongs to {owner}, not to {wanted}; leave `--system` out, or pass \
                 `--system {owner}`",
                claim.display_path()
            );
        }
    }
    Ok(())
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let (mut decisions, problems) = match &args.event {
        Some(file) => {
            let (row, problems) = check_event(file, context)?;
            (vec![row], problems)
        }
        None => (check_paths(args, context)?, context.rules.problems.clone()),
    };
    if !args.verbose {
        for row in &mut decisions {
            row.exit = None;
        }
    }
    let document = CheckReport {
        decisions,
        problems,
    };
    context.show(&document)
}

impl Show for CheckReport {
    fn text(&self, page: &mut Page<'_>) {
        for row in &self.decisions {
            let ruling = row.decision.as_str();
            let ruling = match row.reason {
                None => page.paint.green(ruling),
                Some(_) => page.paint.red(ruling),
            };
            writeln!(page, "{}: {ruling}", row.path);
            if let Some(reason) = &row.reason {
                writeln!(page, "  {reason}");
            }
            if let Some(exit) = row.exit {
                writeln!(page, "  passes at step {}: {}", exit.as_str(), exit.why());
            }
            if let (Some(system), Some(by)) = (&row.system, &row.switched_off_by) {
                writeln!(page, "  not judged: {system} is switched off by `{by}`");
            }
        }
    }

    fn answer(&self) -> Answer {
        let mut rows = self.decisions.iter();
        Answer::yes_if(!rows.any(|row| row.decision == Ruling::Deny))
    }
}

/// Parses a path, which names something.
pub(super) fn filled(path: &str) -> Result<String, &'static str> {
    match path {
        "" => Err("a path is empty; name a file"),
        path => Ok(path.to_owned()),
    }
}

fn check_paths(args: &Args, context: &CliContext<'_>) -> Result<Vec<PathRow>> {
    let actor = (args.agent.as_deref()).map_or(Actor::Main, Actor::parse);
    let tool = Tool::parse(&args.tool);
    let act = match tool {
        Tool::Write | Tool::Shell(_) => Some(Act::Write),
        Tool::Edit | Tool::MultiEdit | Tool::NotebookEdit => Some(Act::Edit),
        Tool::Mcp(tool) => mcp_act(tool.name),
        Tool::Skill | Tool::Agent | Tool::Handback | Tool::Other => None,
    };
    let Some(act) = act else {
        bail!(
            "`--tool {}` writes no files; use Write, Edit, MultiEdit, NotebookEdit, Bash, PowerShell, \
             Monitor or an mcp__ tool that writes",
            args.tool
        );
    };
    let paths = args.paths.iter();
    paths
        .map(|path| {
            let targets = [Target::literal(context.in_project(path), act)];
            let call = Call::new(&actor, Channel::of(tool), &context.cwd, &targets, exists);
            check_path(path, &call, context)
        })
        .collect()
}

fn check_path(path: &str, call: &Call<'_>, context: &CliContext<'_>) -> Result<PathRow> {
    let all = context.complete_registry();
    // What cannot be known is said below, of the systems that are on.
    let claims = claims::of(call.targets, &context.project, &all).unwrap_or_default();
    check_owners(&claims, context)?;
    let off = context.switched_off_among(&claims);
    let decision = claims::of(call.targets, &context.project, &context.registry)
        .and_then(|claims| decision::decide(&claims, call, &|_| Ok(None)))?;
    let absolute = &call.targets[0].path;
    let is_astray = Path::new(path).is_relative() && context.project.locate(absolute).is_none();
    if is_astray && decision.ruling() == Ruling::Allow {
        let main = &context.project.main.dir;
        warn::warn(&format!(
            "`{absolute}` is outside the project `{main}`, where nothing is judged"
        ));
    }
    let exit = if claims.is_empty() {
        Exit::Claims
    } else {
        Exit::Rules
    };
    let row = PathRow::new(path.to_owned(), &decision).passing_at(exit);
    Ok(row.unless_off(off))
}

/// The answer about an event, and what is wrong with the settings of its project.
fn check_event(file: &str, context: &CliContext<'_>) -> Result<(PathRow, Vec<String>)> {
    let read = match file {
        "-" => bounded_read::read_any(io::stdin().lock(), MAX_BYTES as u64),
        file => File::open(file).and_then(|file| bounded_read::read_any(file, MAX_BYTES as u64)),
    };
    let mut bytes = read.with_context(|| format!("could not read `{file}`"))?;
    surrogates::repair(&mut bytes);
    let event =
        Event::parse(&bytes).map_err(|error| anyhow!("`{file}` is no hook event: {error}"))?;
    if let Some(host) = event.other_host(context.env) {
        bail!("`{file}` is an event of another host ({host}); statewarden ignores it");
    }
    context.at(event.cwd.get().unwrap_or(&context.cwd), |there| {
        for problem in &there.rules.problems {
            if !context.rules.problems.contains(problem) {
                warn::warn(problem);
            }
        }
        let row = match event.kind() {
            kind if kind.is_before_call() && event.tool() != Tool::Handback => {
                judged(&event, file, there)?
            }
            _ => {
                // Nothing is written before it, but an agent may be sent back.
                let name = event.hook_event_name.get().unwrap_or(file);
                let allowed = Decision::Allow { notes: Vec::new() };
                let row = PathRow::new(format!("{name} event"), &allowed);
                match agents::objection_to_end(&there.hook_context(), &event) {
                    Some(reason) => PathRow {
                        decision: Ruling::Deny,
                        reason: Some(reason),
                        ..row
                    },
                    None => row,
                }
            }
        };
        Ok((row, there.rules.problems.clone()))
    })
}

/// The answer about a call that comes.
fn judged(event: &Event<'_>, file: &str, context: &CliContext<'_>) -> Result<PathRow> {
    let subject = subject(event).unwrap_or(file).to_owned();
    let (hook_context, all) = (context.hook_context(), context.complete_registry());
    let complete = Context {
        registry: &all,
        ..context.hook_context()
    };
    let judged = judge::judge(&complete, event);
    let claims = judged.map(|(_, claims)| claims).unwrap_or_default();
    check_owners(&claims, context)?;
    let off = context.switched_off_among(&claims);
    if event.tool() == Tool::Agent {
        let objection = agents::objection_to_dispatch(&hook_context, event);
        let decision = Decision::of(objection.into_iter().collect());
        return Ok(PathRow::new(subject, &decision));
    }
    let row = match judge::judge(&hook_context, event) {
        Ok((decision, claims)) => {
            PathRow::new(subject, &decision).passing_at(exit(event, context, &claims))
        }
        Err(error) => PathRow::refused(subject, &error),
    };
    Ok(row.unless_off(off))
}

/// The step that lets a call pass, which no rule refuses.
fn exit(event: &Event<'_>, context: &CliContext<'_>, claims: &[Claim<'_>]) -> Exit {
    let scene = Scene {
        cwd: &context.cwd,
        env: context.env,
        disk: &DirCache::default(),
    };
    let reading = Reading::of(event, &scene);
    let early = reading.exit_by_text(event).or_else(|| {
        let exit = reading.exit_by_place(&context.project, context.env, &context.cwd);
        exit.break_value()
    });
    early.unwrap_or(if claims.is_empty() {
        Exit::Claims
    } else {
        Exit::Rules
    })
}

/// What a call is about.
fn subject<'e>(event: &'e Event<'_>) -> Option<&'e str> {
    let input = &event.input;
    let texts = [
        &input.file_path,
        &input.notebook_path,
        &input.command,
        &event.tool_name,
    ];
    texts.into_iter().find_map(Text::get)
}
