//! `verify`: what proves every gate that passed, and whether the gate log's chain
//! is whole.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::disk::list;
use crate::base::text;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::authorship::{self, Mover};
use crate::lifecycle::gates::{SiteRuns, artifact_of};
use crate::log::chain;
use crate::project::sites;

use crate::systems::workflow::{Gate, GateStanding, GateStatus, Proof, Workflow};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit 1: the chain is broken or not as statewarden wrote it, an artifact was changed since it \
    proved a gate, or a state file says passed where the gate log says failed, or is of an earlier run.\n\n\
    The chain has no key: it shows accidents and what agents did, not an owner who writes \
    everything anew. Keep its head elsewhere, such as in a commit, to show that too."
)]
pub struct Args {
    /// Print the hash of the last line alone
    #[arg(long)]
    head: bool,
}

#[derive(Serialize)]
struct Verification {
    gates: Vec<Passed>,
    chain: Chain,
}

/// A gate that passed.
#[derive(Serialize)]
struct Passed {
    system: String,
    file: String,
    /// The state directory, where the file holds the runs of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    gate: String,
    status: GateStatus,
    standing: Option<GateStanding>,
    proof: Vec<Proof>,
    /// Who moved the gate last, as far as that is recorded.
    changed_by: Option<String>,
    /// What does not agree with the log or the disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// The hash of the last line.
#[derive(Serialize)]
struct Head {
    head: String,
}

#[derive(Serialize)]
struct Chain {
    ok: bool,
    lines: usize,
    problems: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let log = context.project.logs().gates();
    let could_not = || format!("could not read `{}`", log.path().display());
    if args.head {
        let head = chain::head(&log).with_context(could_not)?;
        return context.show(&Head { head });
    }
    let verified = chain::verify(&log).with_context(could_not)?;
    let document = Verification {
        gates: passed(context)?,
        chain: Chain {
            ok: verified.faults.is_empty(),
            lines: verified.lines,
            problems: verified.faults.into_iter().chain(verified.notes).collect(),
        },
    };
    context.show(&document)
}

impl Show for Head {
    fn text(&self, page: &mut Page<'_>) {
        writeln!(page, "{}", self.head);
    }
}

impl Show for Verification {
    fn text(&self, page: &mut Page<'_>) {
        if self.gates.is_empty() {
            writeln!(page, "{}", page.context.empty("no gate has passed"));
        }
        self.gates.iter().for_each(|gate| say_gate(gate, page));
        let word = if self.chain.ok {
            page.paint.green("whole")
        } else {
            page.paint.red("broken")
        };
        let lines = text::count(self.chain.lines, "line", "lines");
        writeln!(page, "gate log: {word}, {lines}");
        for problem in &self.chain.problems {
            writeln!(page, "  {problem}");
        }
    }

    fn answer(&self) -> Answer {
        let mut gates = self.gates.iter();
        Answer::yes_if(self.chain.ok && gates.all(|gate| gate.problems.is_empty()))
    }
}

fn passed(context: &CliContext<'_>) -> Result<Vec<Passed>> {
    let project = &context.project;
    let log = GateLog::read(project, u64::MAX);
    let registry = context.wanted_systems()?;
    let sites = sites::all(project, &registry);
    let runs: Vec<Workflow> = SiteRuns::of(&sites, &registry, &log).readable;
    let mut found = Vec::new();
    for run in &runs {
        let movers = authorship::movers(project, run);
        let gates = run.gates.iter();
        let passed = gates.filter(|gate| gate.status == GateStatus::Passed);
        found.extend(passed.map(|gate| {
            let by = movers.get(&gate.name).map(|mover| match mover {
                Mover::Known(actor) | Mover::Wrong(actor) => actor.clone(),
                Mover::Nobody => "unknown".to_owned(),
            });
            judged(&log, context, run, gate, by)
        }));
    }
    Ok(found)
}

fn judged(
    log: &GateLog<'_>,
    context: &CliContext<'_>,
    run: &Workflow,
    gate: &Gate,
    changed_by: Option<String>,
) -> Passed {
    let mut problems = Vec::new();
    if log.is_of_earlier_run(run) {
        problems.push("the file is of an earlier run; a later one began in it".to_owned());
    }
    let mut proof = gate.proof.clone();
    match log.latest(run, gate) {
        Some((record, GateStatus::Passed)) => {
            for proof in &record.proof {
                if let Proof::Artifact { path, .. } = proof
                    && artifact_of(&context.project, path) != *proof
                    && !is_archived_by_us(context, path)
                {
                    problems.push(format!("`{path}` was changed since it proved the gate"));
                }
            }
            proof.clone_from(&record.proof);
        }
        Some((record, GateStatus::Failed)) => problems.push(format!(
            "the file says passed, and the last record of the gate ({}) says failed",
            record.ts
        )),
        _ => {}
    }
    Passed {
        system: run.system.clone(),
        file: run.file.clone(),
        directory: run.directory.clone(),
        gate: gate.name.clone(),
        status: gate.status,
        standing: gate.standing,
        proof,
        changed_by,
        problems,
    }
}

/// Whether a file that is gone is in the archive beside it: a verb moved it there.
fn is_archived_by_us(context: &CliContext<'_>, file: &str) -> bool {
    let file = Path::new(&context.project.main.dir).join(file);
    let (Some(dir), Some(name)) = (file.parent(), file.file_name()) else {
        return false;
    };
    let archive = dir.join(".archive");
    let mut runs = list::readable(&archive);
    !file.exists() && runs.any(|run| archive.join(&run.name).join(name).exists())
}

fn say_gate(gate: &Passed, page: &mut Page<'_>) {
    let standing = gate.standing.map_or("passed", GateStanding::as_str);
    let by = match (gate.standing, &gate.changed_by) {
        (Some(GateStanding::OnlyInFile), Some(by)) => format!(" (last changed by {by})"),
        _ => String::new(),
    };
    let word = match gate.standing {
        Some(GateStanding::Proved) => page.paint.green(standing),
        _ => page.paint.bold(standing),
    };
    let place = gate.directory.as_deref().unwrap_or(&gate.file);
    writeln!(page, "{place}  {}: {word}{by}", gate.gate);
    for problem in &gate.problems {
        writeln!(page, "  {}", page.paint.red(problem));
    }
}
