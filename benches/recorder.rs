//! What the recorder adds to a Bash call: both hooks of a call that it looks around, beside
//! both of one that it need not look at. `benches/recorder` runs it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

struct Project {
    program: PathBuf,
    dir: PathBuf,
}

impl Drop for Project {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary directory.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Project {
    fn new(program: &Path, files: usize) -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("statewarden-bench-{}", std::process::id()));
        let project = Self {
            program: program.to_owned(),
            dir,
        };
        fs::create_dir_all(project.dir.join(".git"))?;
        fs::create_dir_all(project.dir.join(".devt/state"))?;
        for n in 0..files {
            project.write(
                &format!("review-part-{n}.md"),
                &format!("# Part {n}\n").repeat(800),
            )?;
        }
        Ok(project)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.dir.join(".devt/state").join(name), text)?)
    }

    /// One hook of a Bash call; how long it took.
    fn hook(&self, kind: &str, command: &str) -> Result<Duration> {
        let event = serde_json::json!({
            "session_id": "bc83e348-1bc3-4b96-b8d7-cfd64ae7889d",
            "cwd": self.dir,
            "hook_event_name": kind,
            "tool_name": "Bash",
            "tool_input": { "command": command },
            "tool_response": { "stdout": "", "stderr": "" },
            "duration_ms": 5,
            "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        });
        let event = event.to_string();
        let begun = Instant::now();
        let mut hook = Command::new(&self.program)
            .arg("hook")
            .current_dir(&self.dir)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut stdin = hook.stdin.take().context("no stdin")?;
        stdin.write_all(event.as_bytes())?;
        drop(stdin);
        ensure!(hook.wait()?.success(), "the hook failed");
        Ok(begun.elapsed())
    }

    /// Both hooks around what a call does.
    fn call(&self, command: &str, act: impl FnOnce() -> Result<()>) -> Result<[Duration; 2]> {
        let before = self.hook("PreToolUse", command)?;
        act()?;
        Ok([before, self.hook("PostToolUse", command)?])
    }
}

/// The tenth percentile, which a busy machine moves least.
fn millis(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 10].as_secs_f64() * 1_000.0
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, dir, rounds] = arguments.as_slice() else {
        anyhow::bail!("recorder DIR ROUNDS");
    };
    let program = fs::canonicalize(dir)?.join("statewarden");
    let rounds: usize = rounds.parse()?;
    println!(
        "| files | first look | not looked at | Pre | Post | added | ratio | one change: added | ratio |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for files in [10, 60, 300] {
        let mut first = Vec::new();
        for _ in 0..10 {
            first.push(Project::new(&program, files)?.hook("PreToolUse", "make")?);
        }
        let project = Project::new(&program, files)?;
        project.call("make", || Ok(()))?;
        // Until no file is of the look's time.
        std::thread::sleep(Duration::from_millis(50));
        project.call("make", || Ok(()))?;
        let [mut base, mut pre, mut post, mut changed] = [(); 4].map(|()| Vec::new());
        for round in 0..rounds {
            base.push(project.call("git status", || Ok(()))?.iter().sum());
            let [before, after] = project.call("make", || Ok(()))?;
            pre.push(before);
            post.push(after);
            let text = format!("# Round {round}\n").repeat(800);
            let both = project.call("make", || project.write("scratchpad.md", &text))?;
            changed.push(both.iter().sum());
            std::thread::sleep(Duration::from_millis(25));
            project.call("make", || Ok(()))?;
        }
        let mut both: Vec<Duration> = pre.iter().zip(&post).map(|(a, b)| *a + *b).collect();
        let [first, base, pre, post, both, changed] = [
            &mut first,
            &mut base,
            &mut pre,
            &mut post,
            &mut both,
            &mut changed,
        ]
        .map(|times| millis(times));
        println!(
            "| {files} | {first:.2} ms | {base:.2} ms | {pre:.2} ms | {post:.2} ms | {:.2} ms | {:.2} | {:.2} ms | {:.2} |",
            both - base,
            both / base,
            changed - base,
            changed / base
        );
    }
    Ok(())
}
