//! A project on the disk, and calls around it as the hook sees them.

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
use crate::recorder::calls::{Call as Noted, CallText, Caller, Notes, Progress, Work};
use crate::recorder::changes::{ChangeRecord, Outcome};
use crate::recorder::entry::ChangeKind;
use crate::recorder::findings::{Finding, Recipient};
use crate::recorder::look::Scope;
use crate::recorder::mediate::{CallNote, Delivery, Recorder};
use crate::recorder::pipeline::Moment;
use crate::recorder::places::Around;
use crate::settings::merge::Layer;
use crate::settings::model::Settings;

pub(super) const WORKFLOW: &str = "active: true\nphase: plan\n";

/// A project with a devt run in it.
pub(super) struct Scene {
    pub(super) dir: PathBuf,
    settings: &'static str,
    calls: Cell<u32>,
    /// How far the clock was put forward.
    pub(super) ahead: Cell<TimeDelta>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A call that runs.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) caller: Caller,
    pub(super) work: Work,
}

pub(super) fn runs(command: &str) -> Work {
    let program = command.split(' ').next().unwrap();
    Work::RunsCode(CallText {
        text: command.to_owned(),
        programs: vec![program.to_owned()],
        ..CallText::default()
    })
}

impl Call {
    fn text(&self) -> Option<Work> {
        Some(self.work.clone())
    }
}

impl Scene {
    pub(super) fn new(name: &str, settings: &'static str) -> Self {
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

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(".devt/state").join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&Recorder<'_>) -> T) -> T {
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
    pub(super) fn begin(&self, agent: &str, command: &str) -> Call {
        self.begin_doing(agent, runs(command))
    }

    pub(super) fn begin_doing(&self, agent: &str, work: Work) -> Call {
        self.begin_of("s", agent, work)
    }

    /// A call of a session begins.
    pub(super) fn begin_of(&self, session: &str, agent: &str, work: Work) -> Call {
        self.calls.set(self.calls.get() + 1);
        let is_main = agent == "main";
        let call = Call {
            caller: Caller {
                session: session.to_owned(),
                agent_id: if is_main {
                    String::new()
                } else {
                    format!("id-{agent}")
                },
                actor: AgentName::parse(agent).as_str().to_owned(),
                tool: "Bash".to_owned(),
                tool_use_id: format!("toolu_{}", self.calls.get()),
            },
            work,
        };
        self.with(|recorder| {
            let (scope, note) = match &call.work {
                Work::RunsCode(_) => (Scope::All, CallNote::Always),
                Work::Writes { path, .. } => (Scope::Path(path), CallNote::BesideOthers),
            };
            let noted = Notes::of(recorder.project);
            let work = || call.work.clone();
            recorder.before(call.caller.clone(), scope, &work, note, &noted);
        });
        call
    }

    pub(super) fn end(&self, call: &Call) -> Vec<Finding> {
        self.with(|recorder| recorder.after(&call.caller, call.text(), Some(60_000), None))
    }

    pub(super) fn prompt(&self) -> Vec<Finding> {
        self.close(&|_| None)
    }

    /// The main thread's next event, and what it says of the calls.
    pub(super) fn close(&self, progress: &dyn Fn(&Noted) -> Option<Progress>) -> Vec<Finding> {
        self.close_of("s", progress)
    }

    pub(super) fn close_of(
        &self,
        session: &str,
        progress: &dyn Fn(&Noted) -> Option<Progress>,
    ) -> Vec<Finding> {
        let main = Recipient::main_of(session);
        self.with(|recorder| recorder.close(Moment::Later, session, Delivery::To(&main), progress))
    }

    /// A call of an agent with what it does.
    pub(super) fn run(&self, agent: &str, command: &str, act: impl FnOnce(&Self)) -> Vec<Finding> {
        let call = self.begin(agent, command);
        act(self);
        self.end(&call)
    }

    pub(super) fn memory(&self) -> PathBuf {
        self.with(|recorder| recorder.dir())
    }

    /// The recorded changes.
    pub(super) fn changes(&self) -> Vec<ChangeRecord> {
        let log = self.memory().join("changes.jsonl");
        let text = fs::read_to_string(log).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[track_caller]
    pub(super) fn is_recorded(
        &self,
        name: &str,
        act: ChangeKind,
        actor: Option<&str>,
        outcome: Outcome,
    ) {
        let path = self.path(name);
        let changes = self.changes();
        let found = changes
            .iter()
            .rev()
            .find(|one| one.path == path.to_str().unwrap());
        let found = found.map(|one| (one.act, one.actor.as_deref(), one.decision));
        assert_eq!(found, Some((act, actor, outcome)), "{name}");
    }

    pub(super) fn archived(&self) -> Vec<(String, String)> {
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
    pub(super) fn is_quiet(&self) {
        let before = self.changes().len();
        assert_eq!(self.prompt(), []);
        assert_eq!(self.changes().len(), before, "{:?}", self.changes());
    }
}
