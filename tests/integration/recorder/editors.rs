//! Programs and editors that save beside calls: no save fails, and no name is reported that is
//! gone by then.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::{after, begin, call, told};
use crate::support::{Sandbox, lacks};

/// Names as programs take them on the way: Node's, Python's `tempfile`, mktemp's, and one that
/// nothing tells from a stray but its age.
fn temporary_name(n: usize) -> String {
    let letters = |seed: usize, count: u32| -> String {
        let letter =
            |at: u32| char::from(b'a' + u8::try_from(seed / 26_usize.pow(at) % 26).unwrap());
        (0..count).map(letter).collect()
    };
    match n % 4 {
        0 => format!("scratchpad.md.{}", 1_000_000 + n),
        1 => format!("tmp{}{}", n % 10, letters(n, 7)),
        2 => format!("tmp{}", letters(n * 7_919, 8)),
        _ => format!("scratchpad.md.{}", letters(n * 7_919, 6)),
    }
}

/// Saves a legal file over and over; gives how many of the renames failed.
fn save(state: &Path, is_over: &AtomicBool) -> (usize, usize) {
    let (mut n_saves, mut n_failed) = (0, 0);
    while n_saves < 500 || !is_over.load(Ordering::Relaxed) {
        let temp = state.join(temporary_name(n_saves));
        fs::write(&temp, format!("text {n_saves}\n")).unwrap();
        n_saves += 1;
        n_failed += usize::from(fs::rename(&temp, state.join("scratchpad.md")).is_err());
    }
    (n_saves, n_failed)
}

#[test]
fn a_program_that_saves_by_renaming_beside_calls_is_in_nobodys_way() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(".devt/state");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let saving = scope.spawn(|| save(&state, &is_over));
        let mut said = Vec::new();
        for _ in 0..100 {
            said.push(told(&call(&sandbox, "main", "make", || ())));
        }
        is_over.store(true, Ordering::Relaxed);
        let (n_saves, n_failed) = saving.join().unwrap();
        assert!(n_saves >= 500 && n_failed == 0, "{n_failed} of {n_saves}");
        said.retain(|said| !said.is_empty());
        assert_eq!(said, [""; 0]);
    });
    let records = sandbox.changes();
    assert!(records.iter().all(|record| record["decision"] == "allowed"));
}

/// Vim in a terminal of its own, which reads what is typed.
struct Vim {
    terminal: Child,
}

impl Vim {
    fn open(state: &Path, name: &str, home: &Path) -> Option<Self> {
        let vim = format!("vim -N -u NONE -i NONE {name}");
        let mut terminal = Command::new("script");
        terminal.args(["-qfec", &vim, "/dev/null"]);
        terminal
            .current_dir(state)
            .env("HOME", home)
            .env("TERM", "xterm");
        let quiet = terminal.stdin(Stdio::piped()).stdout(Stdio::null());
        let terminal = quiet.stderr(Stdio::null()).spawn().ok()?;
        Some(Self { terminal })
    }

    fn type_in(&mut self, keys: &str) {
        let stdin = self.terminal.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }
}

impl Drop for Vim {
    fn drop(&mut self) {
        let _ = self.terminal.kill();
        let _ = self.terminal.wait();
    }
}

fn is_soon(what: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        if what() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

/// A person has a state file open, with text that is not saved, while calls come and go.
#[test]
fn vim_saves_and_recovers_beside_calls() {
    let sandbox = Sandbox::new();
    let state = sandbox.project().join(".devt/state");
    let (plan, swap) = (state.join("plan.md"), state.join(".plan.md.swp"));
    fs::write(&plan, "one\n").unwrap();
    call(&sandbox, "main", "make", || ());
    let running = begin(&sandbox, "main", "make");
    let has_vim = Command::new("vim").arg("--version").output().is_ok();
    let vim = has_vim.then(|| Vim::open(&state, "plan.md", &sandbox.home()));
    let Some(mut vim) = vim.flatten() else {
        return lacks("vim or script");
    };
    assert!(is_soon(|| swap.exists()), "vim has opened the file");
    assert_eq!(told(&sandbox.hook(&after(&running))), "");
    assert!(swap.exists());
    // What is saved while a call runs stays, and the program's own renames go well.
    let running = begin(&sandbox, "main", "make");
    vim.type_in("otwo\u{1b}:w\r");
    let has = |text: &str| fs::read_to_string(&plan).is_ok_and(|now| now == text);
    assert!(is_soon(|| has("one\ntwo\n")));
    assert_eq!(told(&sandbox.hook(&after(&running))), "");
    // Vim writes its swap file when it is told to, and is killed.
    vim.type_in("othree\u{1b}:preserve\r");
    assert!(is_soon(|| fs::read(&swap).is_ok_and(|bytes| {
        bytes.windows(5).any(|part| part == b"three")
    })));
    drop(vim);
    assert_eq!(told(&call(&sandbox, "main", "make", || ())), "");
    assert!(swap.exists(), "what was not saved can be recovered");
    let mut vim = Command::new("vim");
    vim.args([
        "-N",
        "-u",
        "NONE",
        "-i",
        "NONE",
        "-es",
        "-r",
        "plan.md",
        "-c",
        "w! ../back",
        "-c",
        "q!",
    ]);
    vim.current_dir(&state).env("HOME", sandbox.home());
    let _ = vim.stdin(Stdio::null()).output();
    let back = fs::read_to_string(state.join("../back")).unwrap_or_default();
    assert_eq!(back, "one\ntwo\nthree\n");
    assert!(has("one\ntwo\n"));
}
