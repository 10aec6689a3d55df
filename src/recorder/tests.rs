//! Calls around a project on the disk, as the hook sees them.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use chrono::{TimeDelta, Utc};

use crate::base::actor::AgentName;
use crate::base::env::Env;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::recorder::changes::{ChangeRecord, Outcome};
use crate::recorder::entry::ChangeKind::{self, Create};
use crate::recorder::mediate::Recorder;
use crate::recorder::places::Around;
use crate::recorder::telling::{Done, Finding, Hearer, MadeBy};
use crate::recorder::windows::{CallText, Caller, Doing};
use crate::settings::merge::Layer;
use crate::settings::model::Settings;

const WORKFLOW: &str = "active: true\nphase: plan\n";

/// A project with a devt run in it.
struct Scene {
    dir: PathBuf,
    settings: &'static str,
    calls: Cell<u32>,
    /// How far the clock was put forward.
    ahead: Cell<TimeDelta>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A call that runs.
struct Call {
    caller: Caller,
    doing: Doing,
}

fn runs(command: &str) -> Doing {
    let program = command.split(' ').next().unwrap();
    Doing::RunsCode(CallText {
        text: command.to_owned(),
        programs: vec![program.to_owned()],
        ..CallText::default()
    })
}

impl Call {
    fn text(&self) -> Option<Doing> {
        Some(self.doing.clone())
    }
}

impl Scene {
    fn new(name: &str, settings: &'static str) -> Self {
        let dir = std::env::temp_dir().canonicalize().unwrap();
        let dir = dir.join(format!(
            "statewarden-recorder-{name}-{}",
            std::process::id()
        ));
        fs::create_dir_all(dir.join(".devt/state")).unwrap();
        let scene = Self {
            dir,
            settings,
            calls: Cell::new(0),
            ahead: Cell::default(),
        };
        for (name, text) in [
            ("workflow.yaml", WORKFLOW),
            ("plan.md", "# Plan\n"),
            ("spec.md", "# Spec\n"),
            ("decisions.md", "# Decisions\n"),
            ("probe-failures.jsonl", "{}\n"),
        ] {
            scene.write(name, text);
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(".devt/state").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    fn with<T>(&self, act: impl FnOnce(&Recorder<'_>) -> T) -> T {
        let dir = self.dir.to_str().unwrap();
        let project = Project::discover(Some(dir), &Env::default(), dir);
        let layer = (Layer::Project, "p", Ok(self.settings));
        let rules = Settings::resolve(&[layer], &crate::systems::system::known());
        assert!(rules.problems.is_empty(), "{:?}", rules.problems);
        let registry = Registry::new(&rules.settings, &[]);
        act(&Recorder {
            project: &project,
            registry: &registry,
            settings: &rules.settings,
            env: &Env::default(),
            around: Around {
                cwd: dir,
                home: None,
                text: "",
                targets: &[],
            },
            now: Utc::now() + self.ahead.get(),
        })
    }

    /// The call begins.
    fn begin(&self, agent: &str, command: &str) -> Call {
        self.begin_doing(agent, runs(command))
    }

    fn begin_doing(&self, agent: &str, doing: Doing) -> Call {
        self.calls.set(self.calls.get() + 1);
        let is_main = agent == "main";
        let call = Call {
            caller: Caller {
                session: "s".to_owned(),
                agent_id: if is_main {
                    String::new()
                } else {
                    format!("id-{agent}")
                },
                actor: AgentName::parse(agent).as_str().to_owned(),
                tool: "Bash".to_owned(),
                tool_use_id: format!("toolu_{}", self.calls.get()),
            },
            doing,
        };
        self.with(|recorder| match call.doing.clone() {
            Doing::RunsCode(text) => recorder.before(call.caller.clone(), text),
            doing => recorder.open(call.caller.clone(), doing),
        });
        call
    }

    fn end(&self, call: &Call) -> Vec<Finding> {
        self.with(|recorder| recorder.after(&call.caller, call.text(), Some(60_000), None))
    }

    fn prompt(&self) -> Vec<Finding> {
        let main = Hearer {
            session: "s".to_owned(),
            agent_id: String::new(),
        };
        self.with(|recorder| recorder.close(&main, true, &|_| None))
    }

    /// A call of an agent with what it does.
    fn run(&self, agent: &str, command: &str, act: impl FnOnce(&Self)) -> Vec<Finding> {
        let call = self.begin(agent, command);
        act(self);
        self.end(&call)
    }

    /// The recorded changes.
    fn changes(&self) -> Vec<ChangeRecord> {
        let log = self.dir.join(".claude/statewarden/recorder/changes.jsonl");
        let text = fs::read_to_string(log).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[track_caller]
    fn is_recorded(&self, name: &str, act: ChangeKind, actor: Option<&str>, outcome: Outcome) {
        let path = self.path(name);
        let changes = self.changes();
        let found = changes
            .iter()
            .rev()
            .find(|one| one.path == path.to_str().unwrap());
        let found = found.map(|one| (one.act, one.actor.as_deref(), one.decision));
        assert_eq!(found, Some((act, actor, outcome)), "{name}");
    }

    fn archived(&self) -> Vec<(String, String)> {
        let Ok(archive) = fs::read_dir(self.path(".archive")) else {
            return Vec::new();
        };
        let runs = archive.map(|run| run.unwrap().path());
        let files = runs.flat_map(|run| fs::read_dir(run).unwrap());
        let files = files.map(|file| file.unwrap().path());
        let files = files.filter(|file| !file.ends_with("manifest.json"));
        let mut files: Vec<_> = files
            .map(|file| {
                let name = file.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(&file).unwrap_or_default())
            })
            .collect();
        files.sort();
        files
    }

    /// Nothing is left that a further look would find.
    #[track_caller]
    fn is_quiet(&self) {
        let before = self.changes().len();
        assert_eq!(self.prompt(), []);
        assert_eq!(self.changes().len(), before, "{:?}", self.changes());
    }
}

#[test]
fn a_stray_is_moved_away_and_told() {
    let scene = Scene::new("stray", "");
    let told = scene.run("main", "python3 x.py", |scene| {
        scene.write("notes.md", "mine")
    });
    let [finding] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(
        (finding.path.as_str(), finding.code.as_str()),
        (".devt/state/notes.md", "ad-hoc-name")
    );
    assert_eq!(finding.made_by, MadeBy::ThisCall);
    assert!(
        finding
            .instead
            .as_deref()
            .is_some_and(|name| name.ends_with("scratchpad.md"))
    );
    assert_eq!(scene.read("notes.md"), None);
    assert_eq!(
        scene.archived(),
        [("notes.md".to_owned(), "mine".to_owned())]
    );
    scene.is_recorded("notes.md", Create, Some("main"), Outcome::Undone);
    scene.is_quiet();
    // The next one of the session lies beside it.
    scene.run("main", "python3 x.py", |scene| {
        scene.write("notes.md", "again")
    });
    assert_eq!(scene.archived().len(), 2);
    assert_eq!(fs::read_dir(scene.path(".archive")).unwrap().count(), 1);
    scene.is_quiet();
}

#[test]
fn legal_changes_are_recorded_and_stay() {
    let scene = Scene::new("legal", "undo: exclusive\n");
    let told = scene.run("main", "make", |scene| {
        scene.write("plan.md", "# Another\n");
        scene.remove("spec.md");
        scene.write("scratchpad.md", "x");
        fs::write(scene.path("probe-failures.jsonl"), "{}\n{}\n").unwrap();
    });
    assert_eq!(told, []);
    for (name, act) in [
        ("plan.md", ChangeKind::Change),
        ("spec.md", ChangeKind::Remove),
        ("scratchpad.md", Create),
        ("probe-failures.jsonl", ChangeKind::Change),
    ] {
        scene.is_recorded(name, act, Some("main"), Outcome::Allowed);
    }
    let plan = scene
        .changes()
        .into_iter()
        .find(|one| one.path.ends_with("plan.md"))
        .unwrap();
    assert!(plan.before.is_some() && plan.before != plan.after);
    scene.is_quiet();
}

#[test]
fn what_leaves_the_bytes_alone_is_no_change() {
    let scene = Scene::new("bytes", "");
    let told = scene.run("main", "make", |scene| {
        scene.write("plan.md", "# Plan\n");
        fs::rename(scene.path("spec.md"), scene.path("x")).unwrap();
        fs::rename(scene.path("x"), scene.path("spec.md")).unwrap();
    });
    assert_eq!((told, scene.changes()), (vec![], vec![]));
}

#[test]
fn one_call_alone_is_taken_back_under_exclusive() {
    for (settings, is_undone) in [
        ("undo: exclusive\n", true),
        ("", false),
        ("undo: exclusive\nmode: warn\n", false),
    ] {
        let scene = Scene::new(&format!("alone-{}", settings.len()), settings);
        let plan = scene.path("workflow.yaml");
        let old = fs::metadata(&plan).unwrap();
        let told = scene.run("programmer", "python3 x.py", |scene| {
            scene.write("workflow.yaml", "active: false\nphase: plan\n");
        });
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].code, "wrong-writer");
        assert_eq!(told[0].is_enforced, !settings.contains("warn"));
        let text = scene.read("workflow.yaml").unwrap();
        if is_undone {
            assert!(matches!(&told[0].done, Done::PutBack(Some(_))), "{told:?}");
            let new = fs::metadata(&plan).unwrap();
            assert_eq!(new.modified().unwrap(), old.modified().unwrap());
            assert_eq!(new.permissions(), old.permissions());
            assert_eq!(text, WORKFLOW);
            let archived = (
                "workflow.yaml".to_owned(),
                "active: false\nphase: plan\n".to_owned(),
            );
            assert_eq!(scene.archived(), [archived]);
        } else {
            assert!(matches!(told[0].done, Done::Left(_)), "{told:?}");
            assert_eq!(text, "active: false\nphase: plan\n");
        }
        scene.is_quiet();
    }
}

#[test]
fn a_truncated_log_and_removals_come_back() {
    let scene = Scene::new("removed", "undo: exclusive\n");
    let told = scene.run("main", "python3 x.py", |scene| {
        scene.write("probe-failures.jsonl", "");
        for name in ["plan.md", "spec.md", "decisions.md"] {
            scene.remove(name);
        }
    });
    let mut codes: Vec<&str> = told.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            "bulk-removal",
            "bulk-removal",
            "bulk-removal",
            "program-owned"
        ]
    );
    assert!(told.iter().all(Finding::was_undone), "{told:?}");
    assert_eq!(scene.read("probe-failures.jsonl").as_deref(), Some("{}\n"));
    assert_eq!(scene.read("plan.md").as_deref(), Some("# Plan\n"));
    scene.is_quiet();
    // A whole site as well.
    let told = scene.run("main", "python3 x.py", |scene| {
        fs::remove_dir_all(scene.path("")).unwrap();
    });
    assert!(
        told.iter().filter(|one| one.was_undone()).count() >= 4,
        "{told:?}"
    );
    assert_eq!(scene.read("workflow.yaml").as_deref(), Some(WORKFLOW));
    scene.is_quiet();
}

#[test]
fn a_legal_file_under_a_bad_name_is_renamed_back() {
    let scene = Scene::new("renamed", "");
    let told = scene.run("main", "python3 x.py", |scene| {
        fs::rename(scene.path("plan.md"), scene.path("old-plan.txt")).unwrap();
    });
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        told[0].done,
        Done::RenamedTo(".devt/state/plan.md".to_owned())
    );
    assert_eq!(scene.read("plan.md").as_deref(), Some("# Plan\n"));
    assert_eq!(scene.read("old-plan.txt"), None);
    scene.is_recorded("plan.md", ChangeKind::Remove, Some("main"), Outcome::Undone);
    scene.is_quiet();
}

#[test]
fn directories_and_links_out_are_moved_away() {
    let scene = Scene::new("dirs", "");
    let told = scene.run("main", "python3 x.py", |scene| {
        fs::create_dir(scene.path("mine")).unwrap();
        scene.write("mine/a", "a");
        std::os::unix::fs::symlink("/etc/hostname", scene.path("research.md")).unwrap();
        fs::set_permissions(
            scene.path("plan.md"),
            fs::metadata(scene.path("spec.md")).unwrap().permissions(),
        )
        .unwrap();
    });
    let codes: Vec<&str> = told.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["undeclared-directory", "path-escape"]);
    assert!(told.iter().all(Finding::was_undone), "{told:?}");
    assert!(
        !scene.path("mine").exists() && fs::symlink_metadata(scene.path("research.md")).is_err()
    );
    scene.is_quiet();
}

#[test]
fn a_change_waits_for_the_end_of_its_call() {
    let scene = Scene::new("waits", "undo: exclusive\n");
    let one = scene.begin("programmer", "python3 a.py");
    scene.write("workflow.yaml", "active: false\nphase: plan\n");
    let other = scene.begin("tester", "python3 b.py");
    assert_eq!(scene.end(&other), []);
    assert_eq!(scene.changes(), []);
    let told = scene.end(&one);
    assert!(told.len() == 1 && told[0].was_undone(), "{told:?}");
    assert_eq!(scene.read("workflow.yaml").as_deref(), Some(WORKFLOW));
    scene.is_recorded(
        "workflow.yaml",
        ChangeKind::Change,
        Some("programmer"),
        Outcome::Undone,
    );
    scene.is_quiet();
}

/// A session that was killed tells no end of its calls, and goes on under another id.
#[test]
fn a_change_waits_ten_minutes_at_most() {
    let scene = Scene::new("killed", "");
    scene.begin("main", "python3 a.py");
    scene.write("stray.md", "x");
    for (minutes, is_there) in [(0, true), (10, true), (11, false)] {
        scene.ahead.set(TimeDelta::minutes(minutes));
        scene.run("tester", "make", |_| {});
        assert_eq!(scene.read("stray.md").is_some(), is_there, "{minutes}");
    }
}

#[test]
fn a_clock_that_is_put_back_hides_no_change() {
    let scene = Scene::new("clock", "undo: exclusive\n");
    scene.ahead.set(TimeDelta::hours(1));
    let call = scene.begin("programmer", "python3 a.py");
    scene.ahead.set(TimeDelta::zero());
    scene.write("workflow.yaml", "active: false\nphase: plan\n");
    scene.write("stray.md", "x");
    scene.remove("plan.md");
    assert!(scene.end(&call).iter().all(Finding::was_undone));
    assert_eq!(scene.read("workflow.yaml").as_deref(), Some(WORKFLOW));
    assert_eq!(scene.read("plan.md").as_deref(), Some("# Plan\n"));
}

#[test]
fn the_first_look_and_calls_without_a_window_accuse_nobody() {
    let scene = Scene::new("first", "");
    scene.write("stray.md", "x");
    assert_eq!(scene.run("main", "make", |_| {}), []);
    assert!(scene.read("stray.md").is_some());
    // Nobody announced this call.
    scene.write("other.md", "x");
    let call = Call {
        caller: Caller {
            session: "s".to_owned(),
            agent_id: String::new(),
            actor: "main".to_owned(),
            tool: "Bash".to_owned(),
            tool_use_id: "unknown".to_owned(),
        },
        doing: runs("make"),
    };
    assert_eq!(scene.end(&call), []);
    scene.is_recorded("other.md", Create, None, Outcome::Allowed);
    // A second end of one call finds the work done.
    let call = scene.begin("main", "make");
    scene.write("third.md", "x");
    assert_eq!(scene.end(&call).len(), 1);
    assert_eq!(scene.end(&call), []);
}

#[test]
fn what_the_program_writes_itself_is_its_own() {
    let scene = Scene::new("own", "undo: exclusive\n");
    let call = scene.begin("programmer", "python3 a.py");
    scene.with(|recorder| {
        let wait = std::time::Duration::from_secs(1);
        recorder.own_writes("update", wait, &mut || {
            scene.write("workflow.yaml", "active: false\nphase: plan\n")
        });
    });
    assert_eq!(scene.end(&call), []);
    scene.is_recorded(
        "workflow.yaml",
        ChangeKind::Change,
        Some("statewarden"),
        Outcome::Allowed,
    );
}
