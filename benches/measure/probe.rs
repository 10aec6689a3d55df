//! One run of a program, timed or counted.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::case::Case;
use crate::site::Site;

/// What one run took.
pub struct Sample {
    pub wall: Duration,
    pub cpu: Duration,
    pub faults: i64,
}

/// What is the same in every run; `None` where the tool is not installed.
#[derive(Default)]
pub struct Counts {
    pub calls: Option<usize>,
    /// KiB.
    pub peak: Option<u64>,
    pub instructions: Option<u64>,
}

pub fn run(case: &Case, site: &Site) -> Result<Sample> {
    case.restore(site)?;
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let begun = Instant::now();
    let mut child = spawn(&mut case.command(site))?;
    feed(&mut child, case)?;
    child.wait()?;
    let wall = begun.elapsed();
    let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = |usage: &nix::sys::resource::Usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(micros.unsigned_abs())
    };
    Ok(Sample {
        wall,
        cpu: time(&after).saturating_sub(time(&before)),
        faults: after.minor_page_faults() - before.minor_page_faults(),
    })
}

pub fn output(case: &Case, site: &Site) -> Result<String> {
    let mut child = spawn(&mut case.command(site))?;
    let said = feed(&mut child, case)?;
    ensure!(child.wait()?.success(), "`{}` failed", case.name);
    Ok(said)
}

fn spawn(command: &mut Command) -> Result<Child> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().context("could not start a program")
}

/// Writes the event and reads the answer to its end, as the client does.
fn feed(child: &mut Child, case: &Case) -> Result<String> {
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(&case.event)?;
    drop(stdin);
    let mut said = String::new();
    child
        .stdout
        .take()
        .context("no stdout")?
        .read_to_string(&mut said)?;
    Ok(said)
}

pub fn counts(case: &Case, site: &Site) -> Result<Counts> {
    let (calls, peak) = traced(case, site)?.unzip();
    Ok(Counts {
        calls,
        peak,
        instructions: instructions(case, site)?,
    })
}

/// The same command under another program.
fn under(tool: &[&str], case: &Case, site: &Site) -> Command {
    let inner = case.command(site);
    let mut command = Command::new(tool[0]);
    command
        .args(&tool[1..])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear();
    command.envs(
        inner
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
}

/// The number of system calls, and the peak of resident memory, which is read
/// while `strace` holds the process back at its exit.
fn traced(case: &Case, site: &Site) -> Result<Option<(usize, u64)>> {
    case.restore(site)?;
    let log = site.scratch();
    let file = log.to_string_lossy();
    let tool = [
        "strace",
        "-f",
        "-qq",
        "-o",
        &file,
        "-e",
        "inject=exit_group:delay_enter=50000",
    ];
    let Ok(mut child) = spawn(&mut under(&tool, case, site)) else {
        return Ok(None);
    };
    feed_quietly(&mut child, case);
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = peak.max(peak_of_child(child.id()).unwrap_or(0));
    }
    let calls = fs::read_to_string(&log)?;
    Ok(Some((
        calls
            .lines()
            .filter(|line| !line.contains("resumed>") && line.contains('('))
            .count(),
        peak,
    )))
}

/// The answer stays in the pipe, which is larger than any answer.
fn feed_quietly(child: &mut Child, case: &Case) {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early shows in its answer, which was checked.
        let _ = stdin.write_all(&case.event);
    }
}

fn peak_of_child(parent: u32) -> Option<u64> {
    let child = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let status =
        fs::read_to_string(format!("/proc/{}/status", child.split_whitespace().next()?)).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn instructions(case: &Case, site: &Site) -> Result<Option<u64>> {
    case.restore(site)?;
    let tool = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
    ];
    let Ok(mut child) = spawn(under(&tool, case, site).stderr(Stdio::piped())) else {
        return Ok(None);
    };
    feed_quietly(&mut child, case);
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    Ok(count.and_then(|(_, count)| count.trim().parse().ok()))
}
