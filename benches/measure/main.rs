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

use case::{Case, Program};
use report::Row;
use site::Site;

struct Options {
    programs: PathBuf,
    rounds: usize,
    only: String,
    beside: Option<PathBuf>,
    /// Hooks of others: a name and a command line each.
    peers: Vec<(String, String)>,
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
        peers: Vec::new(),
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
            "--peer" => options.peers.push({
                let peer = value()?;
                let (name, line) = peer
                    .split_once('=')
                    .context("`--peer` takes NAME=COMMAND")?;
                (name.to_owned(), line.to_owned())
            }),
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

fn is_floor(case: &Case) -> bool {
    case.program == Program::Floor
}

fn main() -> Result<()> {
    let options = options()?;
    let [hook, floor] = ["statewarden", "floor"].map(|name| options.programs.join(name));
    let builds: Vec<&PathBuf> = std::iter::once(&hook).chain(&options.beside).collect();
    let sites = builds
        .iter()
        .enumerate()
        .map(|(n, build)| Site::new(n, build, &floor))
        .collect::<Result<Vec<_>>>()?;
    let mut cases = Vec::new();
    for (n, site) in sites.iter().enumerate() {
        let all = cases::all(site, &options.peers)
            .into_iter()
            .chain(scaling::all(site)?);
        for case in all.filter(|case| case.name.contains(&options.only) || is_floor(case)) {
            if n == 0 {
                cases.push((site, case));
            } else if case.program == Program::Hook {
                cases.push((site, case.of_other_build()));
            }
        }
    }
    for (site, case) in &cases {
        case.check(site)?;
    }
    let mut walls: Vec<Vec<probe::Sample>> = cases.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    for round in 0..options.rounds {
        shuffle(&mut order, round as u64);
        for &at in &order {
            let (site, case) = &cases[at];
            if round % case.every() == 0 {
                walls[at].push(probe::run(case, site)?);
            }
        }
    }
    let mut rows = Vec::new();
    for ((site, case), samples) in cases.iter().zip(walls) {
        rows.push(Row {
            // Counting a slow program is slower still; one size tells.
            counts: match case.program {
                Program::Peer(..) if case.event.len() > case::KIB => probe::Counts::default(),
                _ => probe::counts(case, site)?,
            },
            name: case.name.clone(),
            size: case.event.len(),
            floor: is_floor(case),
            samples,
        });
    }
    let text = report::table(&rows);
    println!("{text}");
    if options.append {
        report::append(&text, &sites[0])?;
    }
    Ok(())
}
