//! One event for one program, and what should be said to it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::probe;
use crate::site::Site;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    Floor,
    /// The build of the hook that the site is for.
    Hook,
    /// A script that knows the devt names only, or a hook of others, as its program and arguments.
    Peer(String, Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Silence,
    Deny,
    Context,
    Any,
}

pub struct Case {
    pub program: Program,
    pub name: String,
    pub event: Vec<u8>,
    pub answer: Answer,
    /// Files set anew before each run; `None` takes the file away.
    pub files: Vec<(&'static str, Option<String>)>,
    /// An event that comes before each run: a call begins before it ends.
    pub before: Option<Box<Case>>,
    /// Another project than the usual one.
    pub project: Option<PathBuf>,
}

impl Case {
    pub fn hook(name: &str, event: &Value, answer: Answer) -> Self {
        Self {
            program: Program::Hook,
            name: name.to_owned(),
            event: event.to_string().into_bytes(),
            answer,
            files: Vec::new(),
            before: None,
            project: None,
        }
    }

    /// The same, as that of another build.
    pub fn of_other_build(self) -> Self {
        Self {
            name: format!("{}, other build", self.name),
            ..self
        }
    }

    pub fn with(mut self, file: &'static str, text: Option<&str>) -> Self {
        self.files.push((file, text.map(str::to_owned)));
        self
    }

    /// The same after another event, which belongs to it.
    pub fn after(mut self, event: &Value) -> Self {
        let before = Self::hook("before it", event, Answer::Silence);
        self.before = Some(Box::new(before));
        self
    }

    /// The same in another project.
    pub fn moved(mut self, site: &Site, name: &str) -> Self {
        let text = String::from_utf8_lossy(&self.event);
        let project = site.beside(name);
        let (from, to) = (site.project(), &project);
        let text = text.replace(&*from.to_string_lossy(), &to.to_string_lossy());
        self.event = text.into_bytes();
        self.project = Some(project);
        self.before = self.before.map(|before| Box::new(before.moved(site, name)));
        self
    }

    /// Large events and slow programs are sampled less.
    pub fn every(&self) -> usize {
        match (&self.program, self.event.len()) {
            (Program::Peer(..), _) => 5,
            (_, len) if len >= KIB * KIB => 8,
            _ => 1,
        }
    }

    pub fn command(&self, site: &Site) -> Command {
        let mut command = match &self.program {
            Program::Floor => Command::new(site.program("floor")),
            Program::Hook => Command::new(site.program("statewarden")),
            Program::Peer(program, _) => Command::new(program),
        };
        match &self.program {
            Program::Floor => &mut command,
            Program::Hook => command.arg("hook"),
            Program::Peer(_, args) => command.args(args),
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("AI_AGENT", "claude-code_2-1-330_agent");
        command.env("HOME", site.home()).env(
            "CLAUDE_PROJECT_DIR",
            self.project.clone().unwrap_or(site.project()),
        );
        command
    }

    /// Makes everything as it is before the event: no call runs but the one that it ends.
    pub fn restore(&self, site: &Site) -> Result<()> {
        for (file, text) in &self.files {
            site.write(file, text.as_deref())?;
        }
        let project = self.project.clone().unwrap_or(site.project());
        let notes = fs::read_dir(project.join(".git/statewarden/open"));
        for note in notes.into_iter().flatten() {
            fs::remove_file(note?.path())?;
        }
        if let Some(before) = &self.before {
            probe::output(before, site)?;
        }
        Ok(())
    }

    /// A benchmark of a wrong answer measures nothing.
    pub fn check(&self, site: &Site) -> Result<()> {
        self.restore(site)?;
        let said = probe::output(self, site)?;
        let right = match self.answer {
            Answer::Silence => said.is_empty(),
            Answer::Deny => said.contains("\"deny\""),
            Answer::Context => said.contains("additionalContext"),
            Answer::Any => true,
        };
        ensure!(right, "`{}` was answered with `{said}`", self.name);
        for (file, before) in self
            .files
            .iter()
            .filter(|(file, _)| file.ends_with("orchestration.local.md"))
        {
            let after = std::fs::read_to_string(site.project().join(file)).ok();
            let changes = self.name.contains("gate change");
            ensure!((*before != after) == changes, "`{}`: `{file}`", self.name);
        }
        Ok(())
    }
}

pub const KIB: usize = 1024;

/// In the unit that a reader would choose.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KiB", (bytes + KIB / 2) / KIB),
        _ => format!("{:.1} MiB", bytes as f64 / (KIB * KIB) as f64),
    }
}
