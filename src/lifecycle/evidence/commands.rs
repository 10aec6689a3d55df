//! What test commands showed: while a run is active each leaves one record, by what it printed.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::output;
use crate::base::text::is_in;
use crate::base::{clock, path, text};
use crate::formats::test_output::{self, TestCounts};
use crate::guard::excerpt::Excerpts;
use crate::guard::targets::commands;
use crate::host::event::Event;
use crate::host::task_news::TaskNews;
use crate::lifecycle::calls::{self, Announcement};
use crate::lifecycle::freshness;
use crate::lifecycle::gates::authorship::is_made_by_call;
use crate::lifecycle::gates::{self, GateScope};
use crate::project::context::Context;
use crate::project::files::InDir;
use crate::recorder::entry::BlobId;
use crate::shell::test_line::{self, Intent, TestLine};
use crate::store::modified;
use crate::systems::gate_record::GateRecord;
use crate::systems::system::Files as _;
use crate::systems::workflow::{Proof, TestResult};
use crate::systems::{agent_flow, declared};

/// In the memory: the tests that run in the background, by the client's ids for them.
const BACKGROUND: &str = "background-tests.json";

type Background = BTreeMap<String, Ran>;

/// So many of them are kept; a session has far fewer.
const MAX_BACKGROUND: usize = 100;

/// A command that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ran {
    line: String,
    /// The directory in which it began, absolute.
    cwd: String,
    session: String,
    agent_type: Option<String>,
    agent_id: Option<String>,
    /// Why it proves nothing, whatever it printed.
    #[serde(default)]
    doubt: Option<String>,
}

/// How a command ended.
struct End {
    at: DateTime<Utc>,
    /// `None` where the host gives none, as of MCP tools.
    status: Option<i32>,
    /// What it printed, or the end of that; `None` where that is not there.
    output: Option<String>,
    is_interrupted: bool,
}

/// A run that a test is evidence for.
struct ActiveRun {
    system: String,
    file: String,
    gate: Option<String>,
    phase: Option<String>,
    kind: LineKind,
}

/// Why a line is a test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LineKind {
    /// By its runner: what it printed counts.
    Runner,
    /// By name, with the directories that it changes to: its status counts.
    Declared(Vec<String>),
}

/// What a test showed.
#[derive(Default)]
struct TestFinding {
    outcome: TestCounts,
    result: Option<TestResult>,
    doubt: Option<String>,
}

impl TestFinding {
    /// The same of a test that proves nothing; that it failed is believed.
    fn unless(self, doubt: Option<&str>) -> Self {
        match (self.result, doubt) {
            (Some(TestResult::Passed), Some(doubt)) => Self {
                result: Some(TestResult::Unproved),
                doubt: Some(doubt.to_owned()),
                ..self
            },
            _ => self,
        }
    }
}

/// `PostToolUse` and `PostToolUseFailure` of a command.
pub fn command_ended(context: &Context<'_>, event: &Event<'_>) {
    // What `Monitor` starts gives its lines one by one.
    if event.response.task_id.get().is_some() || !event.tool().runs_commands() {
        return;
    }
    let Some(mut ran) = ran(context, event) else {
        return;
    };
    let reading = test_line::read(&ran.line);
    let places = places(context, &ran, reading.as_ref());
    if places.is_empty() {
        return;
    }
    match calls::announcement(context, event) {
        Announcement::Seen => {}
        Announcement::Repeated => return,
        Announcement::Unseen => ran.doubt = Some(calls::why_unseen(context, event).to_owned()),
    }
    let in_background = event.response.background_task_id.get();
    if event.input.run_in_background.value() == true || in_background.is_some() {
        if let Some(task) = in_background {
            let noted = change_background(context, |tests| {
                tests.insert(task.to_owned(), ran.clone());
            });
            context.warn_about(BACKGROUND, noted);
        }
        return;
    }
    let end = End {
        at: context.now.get(),
        status: event.exit_status(),
        output: output::of(event),
        is_interrupted: event.response.interrupted.value() == true,
    };
    record(context, &ran, reading.as_ref(), &end, places);
}

/// `UserPromptSubmit`: the client's news of tests that ended in the background.
pub fn background_ended(context: &Context<'_>, event: &Event<'_>) {
    let mut all = TaskNews::all(event).peekable();
    if all.peek().is_none() {
        return;
    }
    let mut known: Background = context.project.recall(BACKGROUND).unwrap_or_default();
    for news in all {
        let task = news.task().unwrap_or_default();
        let Some(ran) = known
            .remove(task)
            .filter(|ran| ran.session == event.session())
        else {
            continue;
        };
        let noted = change_background(context, |tests| {
            tests.remove(task);
        });
        context.warn_about(BACKGROUND, noted);
        let file = news.output_file();
        let meta = file.and_then(|file| std::fs::symlink_metadata(file).ok());
        let end = End {
            // The news may come long after.
            at: meta.as_ref().map_or(context.now.get(), modified),
            status: news.exit_status(),
            output: file.and_then(|file| output::end_of(Path::new(file), None)),
            is_interrupted: news.status() == Some("killed"),
        };
        let reading = test_line::read(&ran.line);
        let places = places(context, &ran, reading.as_ref());
        record(context, &ran, reading.as_ref(), &end, places);
    }
}

/// Whether a command line runs a test of the project.
pub fn is_test(context: &Context<'_>, line: &str) -> bool {
    let mut declared = context.rules.settings.test_commands.iter();
    test_line::read(line).is_some_and(|line| line.intent == Intent::Test)
        || declared.any(|own| test_line::is_declared(line, own).is_some())
}

fn change_background(
    context: &Context<'_>,
    change: impl FnOnce(&mut Background),
) -> std::io::Result<()> {
    context
        .project
        .change(BACKGROUND, |tests: &mut Background| {
            change(tests);
            while tests.len() > MAX_BACKGROUND {
                tests.pop_first();
            }
        })
}

/// The commands of a call as one line.
fn ran(context: &Context<'_>, event: &Event<'_>) -> Option<Ran> {
    let found = commands::of(event).ok()?;
    let dir = found.iter().find_map(|command| command.cwd.as_deref());
    let home = context.env.home.as_deref();
    let cwd = dir.map(|dir| path::absolute(&context.cwd, dir, home));
    let lines: Vec<&str> = found.iter().map(|command| &*command.text).collect();
    (!lines.is_empty()).then(|| Ran {
        line: lines.join("\n"),
        cwd: cwd.unwrap_or_else(|| context.cwd.clone()),
        session: event.session().to_owned(),
        agent_type: event.agent_type().map(str::to_owned),
        agent_id: event.agent_id.get().map(str::to_owned),
        doubt: None,
    })
}

/// The active runs that a line is evidence for.
fn places(context: &Context<'_>, ran: &Ran, reading: Option<&TestLine>) -> Vec<ActiveRun> {
    let mut places = Vec::new();
    for scope in GateScope::at_roots(context.registry, &context.project) {
        for (gate, command) in scope.governed.system.commands(&scope) {
            if let Some(dirs) = test_line::is_declared(&ran.line, command) {
                places.push(ActiveRun {
                    system: scope.governed.id().to_owned(),
                    file: declared::gates::file_of(scope.governed.id()),
                    gate: Some(gate.to_owned()),
                    phase: None,
                    kind: LineKind::Declared(dirs),
                });
            }
        }
    }
    let Some(governed) = context.registry.get(agent_flow::ID) else {
        return places;
    };
    let Some(dir) = gates::nearest(&context.project, &context.cwd, governed) else {
        return places;
    };
    let files = InDir { dir: &dir };
    let active = agent_flow::active_runs(&files);
    let Some(kind) = active
        .first()
        .and_then(|_| kind_of(context, &dir, ran, reading))
    else {
        return places;
    };
    places.extend(active.into_iter().map(|(file, phase)| ActiveRun {
        system: agent_flow::ID.to_owned(),
        file: gates::display_path(&context.project, &dir.join(file)),
        gate: None,
        phase: phase.map(|phase| phase.to_string()),
        kind: kind.clone(),
    }));
    places
}

/// Whether a line is a test of Agent Flow's: one that the project declares, or a runner's.
fn kind_of(
    context: &Context<'_>,
    dir: &Path,
    ran: &Ran,
    reading: Option<&TestLine>,
) -> Option<LineKind> {
    let file = dir.join("test-command");
    let own = match (InDir { dir }).text("test-command") {
        Some(own) if !is_made_by_call(&context.project, &file) => Some(own),
        _ => None,
    };
    let declared = context.rules.settings.test_commands.iter().chain(&own);
    let mut dirs = declared.filter_map(|own| test_line::is_declared(&ran.line, own.trim()));
    let declared = dirs.next().map(LineKind::Declared);
    declared.or_else(|| reading.map(|_| LineKind::Runner))
}

fn record(
    context: &Context<'_>,
    ran: &Ran,
    reading: Option<&TestLine>,
    end: &End,
    places: Vec<ActiveRun>,
) {
    let (agent_type, agent_id) = (ran.agent_type.as_deref(), ran.agent_id.as_deref());
    let by = GateRecord::by(Some(&ran.session), agent_type, agent_id);
    for place in places {
        let (dirs, paths): (&[String], &[String]) = match (&place.kind, reading) {
            (LineKind::Declared(dirs), _) => (dirs, &[]),
            (LineKind::Runner, Some(line)) => (&line.dirs, &line.paths),
            (LineKind::Runner, None) => continue,
        };
        let where_it_ran = Dir::of(context, &ran.cwd, dirs, paths);
        let finding = judge(&place.kind, reading, end, &where_it_ran).unless(ran.doubt.as_deref());
        let Some(result) = finding.result else {
            continue;
        };
        let has_printed = finding.outcome.runner.is_some();
        let record = GateRecord {
            gate: place.gate,
            phase: place.phase,
            result: Some(result),
            doubt: finding.doubt,
            runner: finding.outcome.runner.map(|runner| runner.name.to_owned()),
            line_id: Some(line_id(&ran.line)),
            command: Some(Proof::Command {
                line: excerpt(context, ran, reading, &place.kind),
                cwd: where_it_ran.shown,
                status: end.status,
                passed: has_printed.then_some(finding.outcome.passed),
                failed: has_printed.then_some(finding.outcome.failed),
                at: clock::millis(end.at),
            }),
            ..GateRecord::default()
        };
        let stamped = record.stamped(&by, &place.system, place.file, end.at);
        context.append(&context.logs().gates(), &stamped);
        if result == TestResult::Passed {
            let noted = freshness::note_tested(&context.project, &clock::millis(end.at));
            context.warn_about(freshness::FILE, noted);
        }
    }
}

/// Distinguishes a line from others, blanks aside: too little of a hash to guess a line by.
fn line_id(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let id = BlobId::of(words.join(" ").as_bytes()).to_string();
    text::head(&id, 8).to_owned()
}

/// The line as the log keeps it: the words of its runners are whole.
fn excerpt(
    context: &Context<'_>,
    ran: &Ran,
    reading: Option<&TestLine>,
    kind: &LineKind,
) -> String {
    let words = ran.line.split_whitespace();
    let own = words.map(|word| word.rsplit('/').next().unwrap_or(word));
    let own: Vec<&str> = match kind {
        LineKind::Declared(_) => own.collect(),
        LineKind::Runner => Vec::new(),
    };
    Excerpts::around(context).of_test(&ran.line, &|name| {
        let mut programs = reading.into_iter().flat_map(|line| &line.programs);
        programs.any(|program| program == name) || own.contains(&name)
    })
}

/// Judges a test by what it printed; one that is declared by its status.
fn judge(kind: &LineKind, reading: Option<&TestLine>, end: &End, dir: &Dir) -> TestFinding {
    let rows = reading.map_or(&[][..], |line| &line.runners);
    let outcome = end
        .output
        .as_deref()
        .map(|text| test_output::read(text, rows));
    let finding = |result, doubt: Option<String>| TestFinding {
        outcome: outcome.unwrap_or_default(),
        result: Some(result),
        doubt,
    };
    let unproved = |doubt: String| finding(TestResult::Unproved, Some(doubt));
    let seen = outcome.unwrap_or_default();
    let is_declared = matches!(kind, LineKind::Declared(_));
    let says_nothing = seen.runner.is_none() && end.output.is_some();
    let is_test = reading.is_some_and(|line| line.intent == Intent::Test);
    if says_nothing && !is_declared && !is_test {
        // A task that tested nothing.
        return TestFinding::default();
    }
    if let Some(outside) = &dir.outside {
        return unproved(format!("it ran outside the project: {outside}"));
    }
    if end.is_interrupted {
        return unproved("it was interrupted".to_owned());
    }
    let fails_with_tests = is_declared || reading.is_some_and(TestLine::fails_with_its_tests);
    match end.status {
        Some(0) if is_declared => return finding(TestResult::Passed, None),
        Some(status) if status != 0 && fails_with_tests => {
            return finding(TestResult::Failed, None);
        }
        _ if seen.failed > 0 => return finding(TestResult::Failed, None),
        Some(status) if status != 0 => return unproved(format!("it ended with status {status}")),
        _ => {}
    }
    if let Some(word) = reading.and_then(|line| line.doubt.as_ref()) {
        return unproved(format!("`{word}` may have printed its last lines"));
    }
    if end.output.is_none() {
        return unproved("its output was cut, and the rest is not there".to_owned());
    }
    if let Some(why) = reading.and_then(|line| line.hides_failures(&seen)) {
        return unproved(why);
    }
    if seen.has_passed() {
        finding(TestResult::Passed, None)
    } else {
        unproved("it shows no test that passed".to_owned())
    }
}

/// Where a line ran.
struct Dir {
    /// Relative to the project, where it is in it.
    shown: String,
    /// The place outside the project that it leads to.
    outside: Option<String>,
}

impl Dir {
    fn of(context: &Context<'_>, cwd: &str, dirs: &[String], paths: &[String]) -> Self {
        let home = context.env.home.as_deref();
        let base = path::absolute("/", cwd, None);
        let (mut at, mut first) = (base.clone(), None);
        let mut outside = (!is_inside(context, &base)).then(|| base.clone());
        for dir in dirs {
            // A glob's directories are all in the one before it.
            let literal = dir.split(['*', '?', '[']).next().unwrap_or(dir);
            let places = [&at, &base].map(|from| path::absolute(from, literal, home));
            let next = places.iter().find(|next| Path::new(next.as_str()).is_dir());
            if let Some(next) = next {
                at.clone_from(next);
                first.get_or_insert_with(|| next.clone());
                if !is_inside(context, next) {
                    outside.get_or_insert_with(|| next.clone());
                }
            }
        }
        for file in paths {
            let file = path::absolute(&at, file, home);
            if leads_outside(context, &file) {
                outside.get_or_insert(file);
            }
        }
        let shown = gates::display_path(&context.project, Path::new(&first.unwrap_or(at)));
        let shown = if shown.is_empty() {
            ".".to_owned()
        } else {
            shown
        };
        Self { shown, outside }
    }
}

/// Whether an existing place is in the project, links followed.
fn is_inside(context: &Context<'_>, place: &str) -> bool {
    let real = match std::fs::canonicalize(place) {
        Ok(real) => path::from_os(&real),
        Err(_) => place.to_owned(),
    };
    let mut roots = context
        .project
        .checkouts()
        .chain([context.project.session_root()]);
    roots.any(|root| root.relative(&real).is_some())
}

/// Whether a place is there and is not in the project. A file that a test may write its report
/// to is no such place.
fn leads_outside(context: &Context<'_>, place: &str) -> bool {
    const REPORTS: &str = "html info json lcov log out tap txt xml";
    let Ok(meta) = std::fs::metadata(place) else {
        return false;
    };
    let extension = place
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    let is_report = meta.is_file() && is_in(REPORTS, extension);
    !is_report && !place.starts_with("/dev/") && !is_inside(context, place)
}

#[cfg(test)]
mod tests;
