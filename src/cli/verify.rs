//! `verify`: what stands behind every gate that passed, and whether the gate log's chain
//! is whole.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::output::{Page, Show, writeln};
use super::{Answer, CliContext};
use crate::base::text;
use crate::lifecycle::evidence::GateLog;
use crate::lifecycle::gates::{SiteRuns, artifact_of};
use crate::log::chain;
use crate::project::sites;
use crate::recorder::changes;
use crate::systems::workflow::{Gate, GateStatus, Proof, Standing, Workflow};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit 1: the chain is broken, an artifact was changed since it proved a gate, \
    or a state file says passed where the gate log says failed.\n\n\
    The chain has no key: it shows accidents and what agents did, not an owner who writes \
    the whole log anew. Keep its head elsewhere, such as in a commit, to show that too."
)]
pub struct Args {
    /// Print the hash of the last line alone
    #[arg(long)]
    head: bool,
}

#[derive(Serialize)]
struct Document {
    gates: Vec<Passed>,
    chain: Chain,
}

/// A gate that passed.
#[derive(Serialize)]
struct Passed {
    system: String,
    file: String,
    gate: String,
    status: GateStatus,
    standing: Option<Standing>,
    proof: Vec<Proof>,
    /// Who changed the state file last, as far as that is recorded.
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
    let chain = chain::verify(&log).with_context(could_not)?;
    let document = Document {
        gates: passed(context)?,
        chain: Chain {
            ok: chain.faults.is_empty(),
            lines: chain.lines,
            problems: chain.faults.into_iter().chain(chain.notes).collect(),
        },
    };
    context.show(&document)
}

impl Show for Head {
    fn text(&self, page: &mut Page<'_>) {
        writeln!(page, "{}", self.head);
    }
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        if self.gates.is_empty() {
            writeln!(page, "{}", page.context.empty("no gate has passed"));
        }
        self.gates.iter().for_each(|gate| say_gate(gate, page));
        let word = match self.chain.ok {
            true => page.paint.green("whole"),
            false => page.paint.red("broken"),
        };
        let lines = text::count(self.chain.lines, "line", "lines");
        writeln!(page, "gate log: {word}, {lines}");
        for problem in &self.chain.problems {
            writeln!(page, "  {problem}");
        }
    }

    fn answer(&self) -> Answer {
        let is_fine = |gate: &Passed| gate.problems.is_empty();
        Answer::yes_if(self.chain.ok && self.gates.iter().all(is_fine))
    }
}

fn passed(context: &CliContext<'_>) -> Result<Vec<Passed>> {
    let project = &context.project;
    let log = GateLog::read(project, u64::MAX);
    let mut changed_by: BTreeMap<String, String> = BTreeMap::new();
    changes::each(&context.recorder_dir(), &mut |change| {
        let actor = change.actor.unwrap_or_else(|| "unknown".to_owned());
        changed_by.insert(change.path, actor);
    });
    let registry = context.wanted_systems()?;
    let sites = sites::all(project, &registry);
    let runs: Vec<Workflow> = SiteRuns::of(&sites, &log).readable;
    let mut found = Vec::new();
    for run in &runs {
        let by = changed_by.get(&project.main.path(&run.file));
        let passed = run.gates.iter();
        let passed = passed.filter(|gate| gate.status == GateStatus::Passed);
        found.extend(passed.map(|gate| judged(&log, context, run, gate, by.cloned())));
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
    let mut proof = gate.proof.clone();
    match log.latest(run, gate) {
        Some((record, GateStatus::Passed)) => {
            for proof in &record.proof {
                if let Proof::Artifact { path, .. } = proof
                    && artifact_of(&context.project, path) != *proof
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
        gate: gate.name.clone(),
        status: gate.status,
        standing: gate.standing,
        proof,
        changed_by,
        problems,
    }
}

fn say_gate(gate: &Passed, page: &mut Page<'_>) {
    let standing = gate.standing.map_or("passed", Standing::as_str);
    let by = match (gate.standing, &gate.changed_by) {
        (Some(Standing::OnlyInFile), Some(by)) => format!(" (last changed by {by})"),
        _ => String::new(),
    };
    let word = match gate.standing {
        Some(Standing::Proved) => page.paint.green(standing),
        _ => page.paint.bold(standing),
    };
    writeln!(page, "{}  {}: {word}{by}", gate.file, gate.gate);
    for problem in &gate.problems {
        writeln!(page, "  {}", page.paint.red(problem));
    }
}
