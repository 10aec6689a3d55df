//! Measures the hook beside a process that only reads its stdin, in one run.
//!
//! Wall time on a shared machine is noise around a truth, so the programs take
//! turns, in another order each round, and the ratios of the tenth percentile and the median
//! are shown; system calls, page faults and instructions are exact.

mod case;
mod cases;
mod events;
mod probe;
mod report;
mod scaling;
mod site;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use case::Program;
use report::Row;

struct Options {
    programs: PathBuf,
    rounds: usize,
    only: String,
    beside: Option<PathBuf>,
    append: bool,
}

fn options() -> Result<Options> {
    let mut args = std::env::args().skip(1);
    let mut options = Options {
        programs: args
            .next()
            .context("name the directory of the programs")?
            .into(),
        rounds: 400,
        only: String::new(),
        beside: None,
        append: false,
    };
    while let Some(arg) = args.next() {
        let mut value = || {
            args.next()
                .with_context(|| format!("`{arg}` needs a value"))
        };
        match arg.as_str() {
            "--rounds" => options.rounds = value()?.parse()?,
            "--only" => options.only = value()?,
            "--beside" => options.beside = Some(value()?.into()),
            "--append" => options.append = true,
            _ => bail!("unknown option `{arg}`"),
        }
    }
    Ok(options)
}

/// What runs before a program leaves its caches behind, so the order changes.
fn shuffle(order: &mut [usize], seed: u64) {
    let mut state = seed;
    for last in (1..order.len()).rev() {
        // The generator of Knuth's MMIX.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
}

fn main() -> Result<()> {
    let options = options()?;
    let site = site::Site::new(options.programs.canonicalize()?)?;
    let mut cases = cases::all(&site);
    cases.extend(scaling::all(&site)?);
    cases.retain(|case| case.program == Program::Floor || case.name.contains(&options.only));
    if let Some(build) = &options.beside {
        let hooks = cases.iter().filter(|case| case.program == Program::Hook);
        let others: Vec<_> = hooks.map(|case| case.by(build)).collect();
        cases.extend(others);
    }
    for case in &cases {
        case.check(&site)?;
    }
    let mut walls: Vec<Vec<probe::Sample>> = cases.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    for round in 0..options.rounds {
        shuffle(&mut order, round as u64);
        for &at in &order {
            if round % cases[at].every() == 0 {
                walls[at].push(probe::run(&cases[at], &site)?);
            }
        }
    }
    let mut rows = Vec::new();
    for (case, samples) in cases.iter().zip(walls) {
        rows.push(Row {
            // Counting a slow program is slower still; one size tells.
            counts: match case.program {
                Program::Peer(..) if case.event.len() > case::KIB => probe::Counts::default(),
                _ => probe::counts(case, &site)?,
            },
            name: case.name.clone(),
            size: case.event.len(),
            floor: case.program == Program::Floor,
            samples,
        });
    }
    let text = report::table(&rows);
    println!("{text}");
    if options.append {
        report::append(&text, &site)?;
    }
    Ok(())
}
