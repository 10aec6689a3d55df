//! What the commands cost that go through many files: an audit beside `find -ls`,
//! counts of a long log, past sessions through the guard. `benches/commands` runs it.

mod transcripts;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;

const ENTRIES: usize = 100_000;
const RECORDS: usize = 1_000_000;
/// Bytes of each of the files of past sessions, of which there are as many as cores.
const SESSION: usize = 128 << 20;

struct Setup {
    program: PathBuf,
    base: PathBuf,
}

impl Drop for Setup {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary directory.
        let _ = fs::remove_dir_all(&self.base);
    }
}

impl Setup {
    /// A project with an empty state directory.
    fn project(&self, name: &str) -> Result<PathBuf> {
        let project = self.base.join(name);
        fs::create_dir_all(project.join(".git"))?;
        fs::create_dir_all(project.join(".devt/state"))?;
        Ok(project)
    }

    fn command(&self, project: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(project).env_clear();
        command.env("HOME", self.base.join("home"));
        command
    }

    /// What the hook writes into the log when it refuses `name`.
    fn record(&self, project: &Path, name: &str) -> Result<String> {
        let event = serde_json::json!({
            "session_id": "bc83e348-1bc3-4b96-b8d7-cfd64ae7889d",
            "cwd": project,
            "hook_event_name": "PreToolUse",
            "agent_id": "a1",
            "agent_type": "devt:programmer",
            "tool_name": "Write",
            "tool_input": { "file_path": project.join(".devt/state").join(name), "content": "" },
            "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        });
        let mut hook = self
            .command(project, &["hook"])
            .stdin(Stdio::piped())
            // Where its answer is lost the hook ends with 2.
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = hook.stdin.take().context("no stdin")?;
        stdin.write_all(event.to_string().as_bytes())?;
        drop(stdin);
        ensure!(hook.wait_with_output()?.status.success(), "the hook failed");
        let log = fs::read_to_string(log(project))?;
        Ok(log.lines().last().context("nothing was denied")?.to_owned())
    }
}

fn log(project: &Path) -> PathBuf {
    project.join(".devt/state/preflight-denies.jsonl")
}

/// State files as agents leave them: the contract's, and others.
fn entries(setup: &Setup) -> Result<PathBuf> {
    let project = setup.project("entries")?;
    let names = ["impl-summary.md", "notes.md", "review.json", "plan-v2.md"];
    for at in 0..ENTRIES {
        let name = names[at % names.len()];
        let text = format!("{at}\n");
        fs::write(
            project.join(format!(".devt/state/{:05}-{name}", at / 2)),
            text,
        )?;
    }
    Ok(project)
}

/// A log of what the hook wrote itself, over and over at other times.
fn records(setup: &Setup) -> Result<PathBuf> {
    let project = setup.project("records")?;
    let mut parts = Vec::new();
    for name in ["notes.md", "todo.txt", "scratch.md", "foo/bar.md"] {
        let line = setup.record(&project, name)?;
        let key = line.find("\"ts\":\"").context("a record without a time")? + 6;
        parts.push((line[..key].to_owned(), line[key + 24..].to_owned()));
    }
    let mut file = BufWriter::new(File::create(log(&project))?);
    for at in 0..RECORDS {
        let (before, after) = &parts[at % parts.len()];
        let (day, minute) = (at * 28 / RECORDS + 1, at % 60);
        writeln!(
            file,
            "{before}2026-02-{day:02}T10:{minute:02}:00.000Z{after}"
        )?;
    }
    file.flush()?;
    Ok(project)
}

/// What a command took.
struct Took {
    wall: Duration,
    cpu: Duration,
}

fn run(mut command: Command) -> Result<Took> {
    let cpu = |usage: Usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(micros.unsigned_abs())
    };
    let before = cpu(getrusage(UsageWho::RUSAGE_CHILDREN)?);
    let begun = Instant::now();
    // An audit that finds something ends with 1.
    let ended = command.stdout(Stdio::null()).status()?;
    let wall = begun.elapsed();
    ensure!(matches!(ended.code(), Some(0 | 1)), "{command:?} failed");
    Ok(Took {
        wall,
        cpu: cpu(getrusage(UsageWho::RUSAGE_CHILDREN)?) - before,
    })
}

fn median(took: &[Took], of: impl Fn(&Took) -> Duration) -> f64 {
    let mut all: Vec<f64> = took.iter().map(|took| of(took).as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut next = |what: &'static str| args.next().context(what);
    let programs = Path::new(&next("name the directory of the programs")?).canonicalize()?;
    let rounds: usize = next("give the number of rounds")?.parse()?;
    let temporary = std::env::temp_dir().canonicalize()?;
    let setup = Setup {
        program: programs.join("statewarden"),
        base: temporary.join(format!("statewarden-commands-{}", std::process::id())),
    };
    let (entries, records) = (entries(&setup)?, records(&setup)?);
    let sessions = setup.project("sessions")?;
    let cores = std::thread::available_parallelism()?.get();
    for at in 0..cores {
        transcripts::write(&sessions, &format!("{at}.jsonl"), SESSION)?;
    }
    let find = || {
        let mut find = Command::new("find");
        find.arg(entries.join(".devt")).arg("-ls");
        find
    };
    let replayed = sessions.join("transcripts").to_string_lossy().into_owned();
    let mut took: [Vec<Took>; 4] = Default::default();
    for _ in 0..rounds {
        took[0].push(run(find())?);
        took[1].push(run(setup.command(&entries, &["audit"]))?);
        took[2].push(run(setup.command(&records, &["denies", "stats"]))?);
        took[3].push(run(setup.command(&sessions, &["replay", &replayed]))?);
    }
    println!("| command | of | wall s | CPU s | |\n|---|---|--:|--:|--:|");
    let row = |name: &str, of: String, took: &[Took], what: String| {
        let (wall, cpu) = (
            median(took, |took| took.wall),
            median(took, |took| took.cpu),
        );
        println!("| {name} | {of} | {wall:.2} | {cpu:.2} | {what} |");
    };
    let [find, audit, stats, replay] = &took;
    let wall = |took: &[Took]| median(took, |took| took.wall);
    let n_entries = format!("{ENTRIES} entries");
    row("`find -ls`", n_entries.clone(), find, String::new());
    let ratio = format!("{:.2} × `find -ls`", wall(audit) / wall(find));
    row("`audit`", n_entries, audit, ratio);
    let mb = |bytes: f64, took: &[Took]| {
        format!(
            "{:.0} MB/s a core",
            bytes / 1e6 / median(took, |took| took.cpu)
        )
    };
    let bytes = fs::metadata(log(&records))?.len() as f64;
    let of = format!("{RECORDS} records, {:.0} MB", bytes / 1e6);
    row("`denies stats`", of, stats, mb(bytes, stats));
    let bytes = (SESSION * cores) as f64;
    let of = format!("{cores} transcripts, {:.0} MB", bytes / 1e6);
    row("`replay`", of, replay, mb(bytes, replay));
    Ok(())
}
