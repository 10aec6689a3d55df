//! One transcript through the guard.

use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::tally::{DeniedCall, Example, FirstUse, Then, TranscriptReport};
use crate::base::actor::{Actor, UNKNOWN_AGENT};
use crate::base::disk::bounded_read::{self, read_text};
use crate::base::disk::cache::DirCache;
use crate::base::env::Env;
use crate::base::path;
use crate::base::target::{Act, Target, Text};
use crate::base::text::truncate;
use crate::cli::CliContext;
use crate::contract::denial::Denial;
use crate::formats::json;
use crate::formats::surrogates;
use crate::guard::claims::{self, Claim};
use crate::guard::content::Content;
use crate::guard::decision::{self, Call, Channel, Decision};
use crate::guard::excerpt::Excerpts;
use crate::guard::judge::leave_own_tools_alone;
use crate::guard::targets;
use crate::host::event::{Event, Tool};
use crate::host::transcript::{self, Block, Input, Line, Parsed};
use crate::log::read::Lines;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::settings::model::Settings;
use crate::shell::Scene;
use crate::systems::declared::DeclaredSystem;

/// The most characters of a path in an example.
const MAX_EXAMPLE: usize = 200;

/// What every file is read with.
pub(super) struct Surroundings {
    env: Env,
    /// What `--project` said, absolute: the lines have directories of their own.
    given_project: Option<String>,
    system: Option<String>,
    cwd: String,
}

impl Surroundings {
    /// The project of the session that replays is not the one of the transcripts.
    pub(super) fn of(context: &CliContext<'_>) -> Self {
        Self {
            env: Env {
                project_dir: None,
                feature_dir: None,
                ..context.env.clone()
            },
            given_project: (context.given_project).map(|_| context.project.main.dir.clone()),
            system: context.system.map(str::to_owned),
            cwd: context.cwd.clone(),
        }
    }
}

/// Reads one transcript. Lines that are no JSON are counted, not errors.
pub(super) fn read(file: &Path, around: &Surroundings) -> Result<TranscriptReport> {
    let cwd = first_cwd(file)?.unwrap_or_else(|| around.cwd.clone());
    let project = Project::discover(around.given_project.as_deref(), &around.env, &cwd);
    let rules = project.settings(&around.env);
    let declared = DeclaredSystem::all(&rules.settings);
    let registry = Registry::new(&rules.settings, &declared);
    let mut reader = Reader {
        file,
        around,
        main: project.main.dir.clone(),
        registry: &registry,
        settings: &rules.settings,
        projects: HashMap::from([(cwd.clone(), project)]),
        cwd,
        beside: agent_beside(file),
        in_sites: HashMap::new(),
        waiting: HashMap::new(),
        report: TranscriptReport::default(),
    };
    let mut n_lines = 0;
    each_line(file, &mut |number, line| {
        n_lines = number;
        reader.line(number, line);
        true
    })?;
    // A session that has just begun has said nothing yet.
    reader.report.is_transcript |= n_lines == 0;
    Ok(reader.report)
}

/// Hands the lines to `take` until it has enough; what is no UTF-8 comes out empty.
pub(in crate::cli) fn each_line(
    file: &Path,
    take: &mut dyn FnMut(u64, &str) -> bool,
) -> Result<()> {
    let (open, _) =
        bounded_read::open(file).with_context(|| format!("could not open `{}`", file.display()))?;
    let mut lines = Lines::long(BufReader::with_capacity(1 << 20, open));
    let mut number = 0;
    while let Some(line) = lines
        .next_line()
        .with_context(|| format!("could not read `{}`", file.display()))?
    {
        number += 1;
        if !take(number, crate::log::read::text(line).unwrap_or_default()) {
            break;
        }
    }
    Ok(())
}

/// Where the session began: that is its project, wherever it went later.
fn first_cwd(file: &Path) -> Result<Option<String>> {
    let mut found = None;
    each_line(file, &mut |_, line| {
        found = transcript::cwd(line);
        found.is_none()
    })?;
    Ok(found)
}

struct Reader<'r> {
    file: &'r Path,
    around: &'r Surroundings,
    /// The main checkout of the session's project.
    main: String,
    registry: &'r Registry<'r>,
    settings: &'r Settings,
    /// The session's directories and the roots that govern each.
    projects: HashMap<String, Project>,
    /// The last directory that a line gave.
    cwd: String,
    /// The agent's type in the file beside the transcript, if there is one.
    beside: Option<String>,
    /// Whether a path falls to a system; the disk is asked once for each.
    in_sites: HashMap<String, bool>,
    /// Denied calls whose result is still to come, by id: a place in the report.
    waiting: HashMap<String, usize>,
    report: TranscriptReport,
}

impl Reader<'_> {
    fn line(&mut self, number: u64, line: &str) {
        let of_client = &mut self.report.is_transcript;
        *of_client = *of_client || transcript::is_record(line);
        let calls = transcript::may_call(line);
        if !calls && (self.waiting.is_empty() || !transcript::may_refuse(line)) {
            return;
        }
        match transcript::parse(line) {
            Parsed::Line(parsed) if calls => self.calls(number, &parsed),
            Parsed::Line(parsed) => self.results(&parsed),
            Parsed::Other => {}
            Parsed::Unreadable => self.report.unreadable_lines += 1,
        }
    }

    /// A call that was denied then has a result that says so.
    fn results(&mut self, line: &Line<'_>) {
        for id in line.failed() {
            let Some(at) = self.waiting.remove(id) else {
                continue;
            };
            let TranscriptReport { denied, used, .. } = &mut self.report;
            let call = &mut denied[at];
            call.then = Then::Refused;
            for denial in &call.denials {
                // An edit that was denied was no use of the file.
                let key = (call.session.clone(), denial.path.clone());
                if used
                    .get(&key)
                    .is_some_and(|it| it.line == call.example.at.line)
                {
                    used.remove(&key);
                }
            }
        }
    }

    fn calls(&mut self, number: u64, line: &Line<'_>) {
        self.enter(&path::slashed(line.cwd.as_str()));
        for block in line.calls() {
            self.report.calls += 1;
            let call = Made {
                line,
                number,
                block,
                input: block.arguments(),
            };
            let Some((use_of_it, file)) = named(block.name.as_str(), &call.input) else {
                continue;
            };
            if let Some(file) = file {
                let path = absolute(file, &self.cwd, &self.around.env);
                if file.is_empty() || !self.is_in_site(&path) {
                    continue;
                }
                if use_of_it != Use::Writes {
                    self.note_use(&call, &path);
                }
            }
            if use_of_it != Use::Reads {
                self.judge(&call);
            }
        }
    }

    fn enter(&mut self, cwd: &str) {
        if cwd.is_empty() || self.cwd == cwd {
            return;
        }
        self.cwd = cwd.to_owned();
        if !self.projects.contains_key(cwd) {
            let named = self.around.given_project.as_deref().unwrap_or(&self.main);
            let project = Project::discover(Some(named), &self.around.env, cwd);
            self.projects.insert(cwd.to_owned(), project);
        }
    }

    /// The type of the line's agent; `None` for the main thread.
    fn agent(&self, line: &Line<'_>) -> Option<String> {
        let beside = &self.beside;
        let is_main = !line.is_sidechain && line.agent_id.as_str().is_empty();
        match line.agent.as_str() {
            _ if is_main && beside.is_none() => None,
            "" => Some(beside.clone().unwrap_or(UNKNOWN_AGENT.to_owned())),
            agent => Some(agent.to_owned()),
        }
    }

    fn is_in_site(&mut self, path: &str) -> bool {
        let Some(project) = self.projects.get(&self.cwd) else {
            return false;
        };
        if let Some(known) = self.in_sites.get(path) {
            return *known;
        }
        let target = Target::literal(path.to_owned(), Act::Write);
        // Where the disk does not say, the path may be in a site.
        let found = claims::of(&[target], project, self.registry).map_or(true, |c| !c.is_empty());
        self.in_sites.insert(path.to_owned(), found);
        found
    }

    fn note_use(&mut self, call: &Made<'_, '_>, path: &str) {
        let key = (call.line.session.as_str().to_owned(), path.to_owned());
        self.report.used.insert(key, call.place(self.file));
    }

    /// The state files that a command names without changing them.
    fn note_words(&mut self, call: &Made<'_, '_>, changed: &[Target]) {
        for word in words(call.input.command.as_str()) {
            let path = absolute(word, &self.cwd, &self.around.env);
            let mut paths = changed.iter().map(|target| path::collapse(&target.path));
            if !paths.any(|changed| changed == path) && self.is_in_site(&path) {
                self.note_use(call, &path);
            }
        }
    }

    fn judge(&mut self, call: &Made<'_, '_>) {
        let agent_type = self.agent(call.line);
        let mut event = json::line(&Wire {
            session_id: call.line.session.as_str(),
            cwd: &self.cwd,
            // Which agent of its type it was makes no difference.
            agent_id: agent_type.as_deref(),
            agent_type: agent_type.as_deref(),
            hook_event_name: "PreToolUse",
            tool_name: call.block.name.as_str(),
            tool_input: call.block.input(),
        })
        .into_bytes();
        surrogates::repair(&mut event);
        let Ok(event) = Event::parse(&event) else {
            return;
        };
        let Some((targets, decision)) = self.decide(&event) else {
            return;
        };
        if let Tool::Shell(_) = event.tool() {
            self.note_words(call, &targets);
        }
        let wanted = |denial: &Denial| {
            let system = self.around.system.as_ref();
            system.is_none_or(|system| *system == denial.system)
        };
        match decision {
            Decision::Allow { .. } => {}
            Decision::Warn(denials) => {
                self.report.warned += u64::from(denials.iter().any(wanted));
            }
            Decision::Deny(denials) => {
                let denials: Vec<Denial> = denials.into_iter().filter(wanted).collect();
                let what = self.excerpt(&event);
                self.note_denied(denials, &event.actor(), call, what);
            }
        }
    }

    /// The file or the command, for an example.
    fn excerpt(&self, event: &Event<'_>) -> String {
        let input = &event.input;
        let paths = [&input.file_path, &input.notebook_path];
        let command = self.projects.get(&self.cwd).and_then(|project| {
            let excerpts = Excerpts {
                project,
                registry: self.registry,
                cwd: &self.cwd,
                home: self.around.env.home.as_deref(),
            };
            excerpts.of_call(event)
        });
        command.unwrap_or_else(|| {
            let file = paths.into_iter().find_map(|path| path.get());
            truncate(file.unwrap_or_default(), MAX_EXAMPLE)
        })
    }

    fn note_denied(
        &mut self,
        denials: Vec<Denial>,
        actor: &Actor,
        call: &Made<'_, '_>,
        what: String,
    ) {
        let id = call.block.id.as_str().to_owned();
        if denials.is_empty() {
            return;
        }
        if !id.is_empty() {
            self.waiting.insert(id.clone(), self.report.denied.len());
        }
        self.report.denied.push(DeniedCall {
            session: call.line.session.as_str().to_owned(),
            id,
            example: Example {
                at: call.place(self.file),
                agent: actor.as_str().to_owned(),
                what,
            },
            then: Then::Ran,
            denials,
        });
    }

    /// The guard's decision; `None` where today's disk keeps it from one. Only a
    /// text that the call brings whole is judged: what an edit changed is gone.
    fn decide(&self, event: &Event<'_>) -> Option<(Vec<Target>, Decision)> {
        let project = self.projects.get(&self.cwd)?;
        let env = Env {
            project_dir: Some(project.main.dir.clone()),
            ..self.around.env.clone()
        };
        let scene = Scene {
            cwd: &self.cwd,
            env: &env,
            disk: &DirCache::default(),
        };
        let found = targets::of(event, &scene).ok()?;
        let targets = found.targets;
        let mut claimed = claims::of(&targets, project, self.registry).ok()?;
        leave_own_tools_alone(&mut claimed, event, self.settings);
        let actor = event.actor();
        let call = Call::new(
            &actor,
            Channel::of(event.tool()),
            &self.cwd,
            &targets,
            |_| false,
        );
        let content = |claim: &Claim<'_>| {
            let after = match (&claim.target.text, event.tool()) {
                (Some(Text::Whole(text)), _) => Some(text.to_string()),
                (None, Tool::Write) => event.input.texts().unwrap_or_default().content,
                (None | Some(Text::Added(_)), _) => None,
            };
            let present = None;
            Ok(after.map(|after| Content { after, present }))
        };
        let decided = decision::decide(&claimed, &call, &content).ok()?;
        Some((targets, decided))
    }
}

/// What a call does with a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    /// To change what it holds, so that it was of use.
    Edits,
    Writes,
}

/// What a tool does, and the argument that names the file; those of commands and servers are
/// named by none. `None`: the tool leaves files alone.
fn named<'i>(tool: &str, input: &'i Input<'_>) -> Option<(Use, Option<&'i str>)> {
    let (use_of_it, file) = match (Tool::parse(tool), tool) {
        (Tool::Shell(_) | Tool::Mcp(_), _) => return Some((Use::Writes, None)),
        (Tool::Write, _) => (Use::Writes, &input.file_path),
        (Tool::Edit | Tool::MultiEdit, _) => (Use::Edits, &input.file_path),
        (Tool::NotebookEdit, _) => (Use::Edits, &input.notebook_path),
        (Tool::Other, "Read") => (Use::Reads, &input.file_path),
        (Tool::Other, "Grep") => (Use::Reads, &input.path),
        (Tool::Skill | Tool::Agent | Tool::Handback | Tool::Other, _) => return None,
    };
    Some((use_of_it, Some(file.as_str())))
}

/// A call as its line records it.
struct Made<'c, 'l> {
    line: &'c Line<'l>,
    number: u64,
    block: &'c Block<'l>,
    input: Input<'l>,
}

impl Made<'_, '_> {
    fn place(&self, file: &Path) -> FirstUse {
        FirstUse {
            file: file.to_string_lossy().into_owned(),
            line: self.number,
            timestamp: self.line.timestamp.as_str().to_owned(),
            tool: self.block.name.as_str().to_owned(),
        }
    }
}

/// A call as the hook would get it.
#[derive(Serialize)]
struct Wire<'c> {
    session_id: &'c str,
    cwd: &'c str,
    agent_id: Option<&'c str>,
    agent_type: Option<&'c str>,
    hook_event_name: &'static str,
    tool_name: &'c str,
    tool_input: &'c RawValue,
}

/// The words of a command that look like paths.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command
        .split(is_between_words)
        .filter(|word| word.contains('/'))
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&<>()=,".contains(c)
}

fn absolute(written: &str, cwd: &str, env: &Env) -> String {
    path::absolute(cwd, written, env.home.as_deref())
}

/// The client keeps a subagent's type in `agent-<id>.meta.json` beside its transcript.
fn agent_beside(file: &Path) -> Option<String> {
    let meta = read_text(&file.with_extension("meta.json")).ok()??;
    let meta: Value = serde_json::from_str(&meta).ok()?;
    Some(meta["agentType"].as_str()?.to_owned())
}
