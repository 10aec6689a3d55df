//! Random runs with a person among the actors: a model that knows who made each change.
//!
//! Nothing of a person's is touched unless a call that ran at that very moment may have made
//! it; nothing illegal of an agent is both left and unreported; no content is lost.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod checks;
mod editors;
mod git;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chrono::TimeDelta;

use self::editors::Save;
use super::test_scene::{Call, Scene, runs};
use crate::recorder::calls::{CallText, Progress, Work};
use crate::recorder::findings::Finding;

/// A small generator of random numbers, so that a run can be repeated by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The actors, by their sessions; the client of the second one may be killed.
const AGENTS: &[(&str, &str)] = &[
    ("s", "main"),
    ("s", "programmer"),
    ("s", "tester"),
    ("s", "code-reviewer"),
    ("t", "main"),
    ("t", "tester"),
];
/// Names that everybody may write.
const COMMON: &[&str] = &["spec.md", "decisions.md", "scratchpad.md"];
/// Names with the agent that may.
const OWNED: &[(&str, &str)] = &[
    ("impl-summary.md", "programmer"),
    ("test-summary.md", "tester"),
    ("review.md", "code-reviewer"),
];
const STRAYS: &[&str] = &["notes.txt", "todo.md", "result.out", "plan2.md", "drafts/"];
/// The settings of a run.
const UNDO: &[&str] = &["", "undo: exclusive\n", "undo: off\n"];

/// A call that runs, by whom, since when its tool does, and whether it may write anything.
struct Open {
    call: Call,
    agent: &'static str,
    since: Instant,
    is_opaque: bool,
    in_background: bool,
}

impl Open {
    fn is_of(&self, (session, agent): (&str, &str)) -> bool {
        self.call.caller.session == session && self.agent == agent
    }
}

/// A run.
struct Run {
    seed: u64,
    random: Random,
    scene: Scene,
    has_git: bool,
    open: Vec<Open>,
    /// Whose programs ran when their client was killed, or for longer than a command may: what
    /// became of them is not known.
    lost: Vec<&'static str>,
    saves: Vec<Save>,
    /// A bad name that an agent made, and whether it was reported or taken back.
    strays: BTreeMap<PathBuf, bool>,
    /// Forgeries: made while no call that was allowed to can have made them.
    forged: BTreeMap<PathBuf, bool>,
    /// What a person made while no call could have.
    persons: BTreeSet<PathBuf>,
    /// What a person removed while no call could have, and that nobody made anew.
    removed: BTreeSet<PathBuf>,
    /// What legal files hold, by the last one who wrote.
    legal: BTreeMap<&'static str, String>,
    log: Vec<String>,
    texts: u32,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(1);
        let scene = Scene::new(&format!("people-{seed}"), random.of(UNDO));
        let mut run = Self {
            seed,
            random,
            scene,
            has_git: false,
            open: Vec::new(),
            lost: Vec::new(),
            saves: Vec::new(),
            strays: BTreeMap::new(),
            forged: BTreeMap::new(),
            persons: BTreeSet::new(),
            removed: BTreeSet::new(),
            legal: BTreeMap::new(),
            log: Vec::new(),
            texts: 0,
        };
        if run.random.below(2) == 0 {
            run.set_up_git();
        }
        let first = run.scene.begin("main", "make");
        run.scene.end(&first);
        run
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!(
            "## Status\n\nDONE\n\ntext {} of run {}\n",
            self.texts, self.seed
        )
    }

    fn say(&mut self, what: String) {
        self.log.push(what);
    }

    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        let log = self.log.join("\n  ");
        let changes: Vec<String> = self
            .scene
            .changes()
            .iter()
            .map(|one| format!("{one:?}"))
            .collect();
        panic!("seed {}: {why}\n  {log}\n{}", self.seed, changes.join("\n"));
    }

    /// Whether a call may have made what happens now.
    fn is_anything_opaque(&self) -> bool {
        self.open.iter().any(|open| open.is_opaque)
    }

    fn step(&mut self) {
        // Within one tick of the file system's clock nothing is earlier.
        std::thread::sleep(Duration::from_millis(6));
        match self.random.below(24) {
            0..=4 => self.begin(),
            5..=9 => self.act(),
            10..=12 => self.end(),
            13 | 14 => self.edit(),
            15 => self.finish_edit(),
            16 => self.person_leaves_a_stray(),
            17 => self.prompt(),
            18 => self.person_writes(),
            19 => self.person_uses_git(),
            21 | 22 => self.person_removes(),
            20 if self.random.below(3) == 0 => self.kill_client(),
            _ => self.wait(),
        }
    }

    fn begin(&mut self) {
        let (session, agent) = self.random.of(AGENTS);
        if self.open.iter().any(|open| open.is_of((session, agent))) {
            return;
        }
        let kind = self.random.below(4);
        let work = match kind {
            0 => {
                let target = self.scene.path(self.random.of(COMMON));
                Work::RunsCode(CallText {
                    text: format!("cat {}", target.display()),
                    targets: vec![target.to_str().unwrap().to_owned()].into(),
                    ..CallText::default()
                })
            }
            _ => runs("python3 x.py"),
        };
        let call = self.scene.begin_of(session, agent, work);
        // The permission prompt: what happens now is not the tool's.
        if self.random.below(8) == 0 {
            std::thread::sleep(Duration::from_millis(5));
            self.person_leaves_a_stray_unless(true);
            std::thread::sleep(Duration::from_millis(125));
        }
        self.say(format!("{session}:{agent} begins ({kind})"));
        self.open.push(Open {
            call,
            agent,
            since: Instant::now(),
            is_opaque: kind != 0,
            in_background: false,
        });
    }

    /// An agent's program writes something.
    fn act(&mut self) {
        let opaque: Vec<usize> = (0..self.open.len())
            .filter(|at| self.open[*at].is_opaque)
            .collect();
        if opaque.is_empty() {
            return;
        }
        let at = self.random.of(&opaque);
        let agent = self.open[at].agent;
        let text = self.text();
        match self.random.below(5) {
            0 => {
                let name = self.random.of(STRAYS);
                let path = self.scene.path(name.trim_end_matches('/'));
                if path.exists() {
                    return;
                }
                self.say(format!("{agent} leaves {name}"));
                match name.ends_with('/') {
                    true => fs::create_dir(&path).unwrap(),
                    false => self.scene.write(name, &text),
                }
                self.strays.insert(path, false);
            }
            1 => {
                let (name, owner) = self.random.of(OWNED);
                self.say(format!("{agent} writes {name}"));
                self.scene.write(name, &text);
                self.removed.remove(&self.scene.path(name));
                let running = self.open.iter().filter(|open| open.is_opaque);
                let mut agents = running.map(|open| open.agent).chain(self.lost.clone());
                if !agents.any(|agent| [owner, "main"].contains(&agent)) {
                    self.forged.insert(self.scene.path(name), false);
                }
            }
            2 => {
                // A program saves by a temporary name.
                let name = self.random.of(COMMON);
                let temp = self.scene.path(&format!("{name}.{}", 10_000 + self.texts));
                self.say(format!("{agent} saves {name} by {}", temp.display()));
                fs::write(&temp, &text).unwrap();
                fs::rename(&temp, self.scene.path(name)).unwrap();
                self.legal.insert(name, text);
            }
            3 => {
                // A legal name is given up for one that nobody may use.
                let name = self.random.of(COMMON);
                let path = self
                    .scene
                    .path(&format!("old-{}", name.replace(".md", ".txt")));
                if path.exists() || fs::rename(self.scene.path(name), &path).is_err() {
                    return;
                }
                self.say(format!("{agent} renames {name} to {}", path.display()));
                self.legal.remove(name);
                self.strays.insert(path, false);
            }
            _ => {
                let name = self.random.of(COMMON);
                self.say(format!("{agent} writes {name}"));
                self.scene.write(name, &text);
                self.legal.insert(name, text);
            }
        }
    }

    /// A call ends, or goes on in the background.
    fn end(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let at = self.random.below(self.open.len());
        if self.open[at].in_background {
            return self.background_ends(at);
        }
        let ran = i64::try_from(self.open[at].since.elapsed().as_millis()).unwrap();
        let (agent, call) = (self.open[at].agent, self.open[at].call.clone());
        let goes_on = self.open[at].is_opaque && self.random.below(8) == 0;
        self.say(format!("{agent} ends after {ran} ms, goes on: {goes_on}"));
        let task = goes_on.then(|| agent.to_owned());
        let work = Some(call.work.clone());
        let before = self.kept();
        let found = self
            .scene
            .with(|recorder| recorder.after(&call.caller, work, Some(ran), task));
        self.check_kept(&before);
        if goes_on {
            self.open[at].in_background = true;
        } else {
            self.open.remove(at);
        }
        self.hear(&found);
    }

    fn background_ends(&mut self, at: usize) {
        let open = self.open.remove(at);
        self.say(format!(
            "the command of {} in the background ends",
            open.agent
        ));
        let id = &open.call.caller.tool_use_id;
        let found = self.scene.close_of(&open.call.caller.session, &|call| {
            let is_it = call.caller.tool_use_id == *id;
            is_it.then(|| Progress::BackgroundEnded {
                begun: call.began(),
            })
        });
        self.hear(&found);
    }

    /// The user interrupts.
    fn prompt(&mut self) {
        let session = self.random.of(&["s", "t"]);
        self.say(format!("the user of {session} interrupts"));
        let before = self.kept();
        let found = self.scene.close_of(session, &|call| {
            let is_its = call.caller.session == session && call.progress == Progress::Running;
            is_its.then_some(Progress::Interrupted)
        });
        self.check_kept(&before);
        self.open
            .retain(|open| open.in_background || open.call.caller.session != session);
        self.hear(&found);
    }

    /// Nobody says anything of its calls any more.
    fn kill_client(&mut self) {
        self.say("the client of t is killed".to_owned());
        self.lose(|open| open.call.caller.session == "t");
        self.open.retain(|open| open.call.caller.session != "t");
    }

    fn lose(&mut self, is_lost: impl Fn(&Open) -> bool) {
        let lost = self
            .open
            .iter()
            .filter(|open| open.is_opaque && is_lost(open));
        self.lost.extend(lost.map(|open| open.agent));
    }

    /// A person removes what an agent owns; no call did it.
    fn person_removes(&mut self) {
        let (name, _) = self.random.of(OWNED);
        let path = self.scene.path(name);
        if self.is_anything_opaque() || !self.lost.is_empty() || fs::remove_file(&path).is_err() {
            return;
        }
        self.say(format!("a person removes {name}"));
        self.forged.remove(&path);
        self.removed.insert(path);
    }

    fn person_writes(&mut self) {
        let name = self.random.of(COMMON);
        let text = self.text();
        self.say(format!("a person writes {name}"));
        self.scene.write(name, &text);
        self.legal.insert(name, text);
    }

    fn person_leaves_a_stray(&mut self) {
        let may_be_a_calls = self.is_anything_opaque();
        self.person_leaves_a_stray_unless(!may_be_a_calls);
    }

    fn person_leaves_a_stray_unless(&mut self, is_surely_theirs: bool) {
        let name = format!("meeting-{}.txt", self.texts);
        let path = self.scene.path(&name);
        let is_theirs = is_surely_theirs && !self.is_anything_opaque();
        let text = self.text();
        self.say(format!(
            "a person leaves {name}, surely theirs: {is_theirs}"
        ));
        self.scene.write(&name, &text);
        if is_theirs {
            self.persons.insert(path);
        }
    }

    /// Time passes; sometimes more than a command may take.
    fn wait(&mut self) {
        let minutes = if self.random.below(6) == 0 { 11 } else { 0 };
        self.say(format!("{minutes} minutes and 3 seconds pass"));
        if minutes > 0 {
            self.lose(|open| !open.in_background);
        }
        let ahead = self.scene.ahead.get();
        self.scene
            .ahead
            .set(ahead + TimeDelta::minutes(minutes) + TimeDelta::seconds(3));
    }

    /// What was reported, or taken back.
    fn hear(&mut self, found: &[Finding]) {
        for finding in found {
            let path = self.scene.dir.join(&finding.path);
            self.say(format!("  heard: {}", finding.to_item()));
            if let Some(heard) = self.strays.get_mut(&path) {
                *heard = true;
            }
            if let Some(heard) = self.forged.get_mut(&path) {
                *heard = true;
            }
        }
    }
}

fn go(seed: u64) {
    let mut run = Run::new(seed);
    for _ in 0..24 {
        run.step();
    }
    run.settle();
}

/// `STATEWARDEN_CASES=3000` for a long run, `STATEWARDEN_SEED` to repeat one.
#[test]
fn what_is_a_persons_stays_a_persons() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    match number("STATEWARDEN_SEED") {
        Some(seed) => go(seed),
        None => (1..=number("STATEWARDEN_CASES").unwrap_or(60)).for_each(go),
    }
}
