//! The commands of `tests/commands`, through the whole program. What stands in
//! those files, and what is done with it, is in their `README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use libtest_mimic::{Completion, Failed, Trial};

use crate::support::{DENIES, DEVT, EVENTS, Ran, Sandbox, must_have_all};

/// What the program is expected to say, and so the folder of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Deny,
    Allow,
    Detected,
}

impl Channel {
    const ALL: [Self; 3] = [Self::Deny, Self::Allow, Self::Detected];

    fn folder(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Allow => "allow",
            Self::Detected => "detected",
        }
    }
}

#[derive(Clone)]
enum How {
    By(String),
    In(String),
    Tool(String),
    Has(String),
    Needs(String),
    Makes(String),
    Takes(String),
    Unrun(String),
    Idle(String),
    Listed,
}

impl How {
    fn parse(line: &str) -> Self {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest_of = |make: fn(String) -> Self| {
            assert!(!rest.is_empty(), "`{line}` says too little");
            make(rest.to_owned())
        };
        match word {
            "by" => rest_of(Self::By),
            "in" => rest_of(Self::In),
            "tool" => rest_of(Self::Tool),
            "has" => rest_of(Self::Has),
            "needs" => rest_of(Self::Needs),
            "makes" => rest_of(Self::Makes),
            "takes" => rest_of(Self::Takes),
            "unrun" => rest_of(Self::Unrun),
            "idle" => rest_of(Self::Idle),
            "listed" => Self::Listed,
            _ => panic!("`{word}` is no way to be: {line}"),
        }
    }
}

struct Case {
    place: String,
    command: String,
    hows: Vec<How>,
    /// What the `= ` lines say.
    expected: Vec<String>,
}

/// One file: entries of the project and cases.
#[derive(Default)]
struct File {
    entries: Vec<String>,
    cases: Vec<Case>,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands")
}

fn parse(name: &str, text: &str) -> File {
    let mut file = File::default();
    let (mut of_all, mut expected_of_all) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", at + 1);
        let Some((mark, rest)) = line.split_once(' ').or(Some((line, ""))) else {
            continue;
        };
        match (mark, file.cases.last_mut()) {
            ("@", _) => file.entries.push(rest.to_owned()),
            ("$", _) => file.cases.push(Case {
                place,
                command: rest.to_owned(),
                hows: of_all.clone(),
                expected: Vec::new(),
            }),
            ("~", None) => of_all.push(How::parse(rest)),
            ("=", None) => expected_of_all.push(rest.to_owned()),
            (">", Some(case)) => write!(case.command, "\n{rest}").unwrap(),
            ("~", Some(case)) => case.hows.push(How::parse(rest)),
            ("=", Some(case)) => case.expected.push(rest.to_owned()),
            (">", None) => panic!("{place}: no command stands before `{line}`"),
            _ => {}
        }
    }
    let silent = file
        .cases
        .iter_mut()
        .filter(|case| case.expected.is_empty());
    silent.for_each(|case| case.expected.clone_from(&expected_of_all));
    file
}

/// The files of a channel with their names, in order.
fn files(channel: Channel) -> Vec<(String, File)> {
    let folder = channel.folder();
    let dir = fs::read_dir(corpus().join(folder)).unwrap();
    let mut names: Vec<String> = dir
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let read = |name: String| {
        let name = format!("{folder}/{name}");
        let file = parse(&name, &fs::read_to_string(corpus().join(&name)).unwrap());
        (name, file)
    };
    names.into_iter().map(read).collect()
}

impl Case {
    fn get(&self, pick: fn(&How) -> Option<&String>) -> Option<&str> {
        self.hows.iter().rev().find_map(pick).map(String::as_str)
    }

    fn is(&self, pick: fn(&How) -> bool) -> bool {
        self.hows.iter().any(pick)
    }

    fn agent(&self) -> Option<&str> {
        self.get(|how| match how {
            How::By(agent) => Some(agent),
            _ => None,
        })
    }

    fn dir(&self) -> &str {
        let dir = self.get(|how| match how {
            How::In(dir) => Some(dir),
            _ => None,
        });
        dir.unwrap_or_default()
    }

    fn tool(&self) -> &str {
        let tool = self.get(|how| match how {
            How::Tool(tool) => Some(tool),
            _ => None,
        });
        tool.unwrap_or("Bash")
    }

    /// The project of the case: a new one, so that nothing of another case is left.
    fn sandbox(&self, base: &[String], entries: &[String]) -> Sandbox {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.base().join("tmp")).unwrap();
        let own = self.hows.iter().filter_map(|how| match how {
            How::Has(entry) => Some(entry),
            _ => None,
        });
        for entry in base.iter().chain(entries).chain(own) {
            let (path, text) = entry.split_once(' ').unwrap_or((entry, ""));
            match path.strip_suffix('/') {
                Some(dir) => fs::create_dir_all(sandbox.project().join(dir)).unwrap(),
                None => sandbox.write(path, &text.replace("\\n", "\n").replace("\\t", "\t")),
            }
        }
        sandbox
    }

    /// The event before the call.
    fn event(&self, sandbox: &Sandbox) -> Value {
        let mut event = sandbox.event(self.tool(), json!({ "command": self.command }));
        event["cwd"] = sandbox.path(self.dir()).into();
        match self.agent() {
            Some(agent) => sandbox.by(agent, event),
            None => event,
        }
    }

    /// The event after the call.
    fn after(&self, sandbox: &Sandbox) -> Value {
        let mut event = self.event(sandbox);
        event["hook_event_name"] = "PostToolUse".into();
        event["duration_ms"] = 60_000.into();
        event["tool_response"] = json!({ "stdout": "", "stderr": "", "interrupted": false });
        if self.is(|how| matches!(how, How::Listed)) {
            let files: Vec<_> = self
                .expected
                .iter()
                .map(|path| sandbox.path(path))
                .collect();
            event["tool_response"]["bashEditDiff"] = json!({ "changedFiles": files });
        }
        event
    }

    /// The events around the same of a call that tells nothing of itself.
    fn unseen(&self, sandbox: &Sandbox) -> [Value; 2] {
        let mut before = self.event(sandbox);
        before["tool_name"] = "Bash".into();
        before["tool_input"] = json!({ "command": "make" });
        before["tool_use_id"] = "toolu_unseen".into();
        let mut after = before.clone();
        after["hook_event_name"] = "PostToolUse".into();
        after["duration_ms"] = 60_000.into();
        after["tool_response"] = json!({ "stdout": "", "stderr": "", "interrupted": false });
        [before, after]
    }

    /// What the command needs, and this machine does not have.
    fn missing(&self) -> Option<&str> {
        self.get(|how| match how {
            How::Needs(needed) if !is_here(needed) => Some(needed),
            _ => None,
        })
    }

    /// Whether the command can be run here and now.
    fn runs(&self) -> bool {
        let may = !self.is(|how| matches!(how, How::Unrun(_))) && self.tool() != "PowerShell";
        may && self.missing().is_none()
    }

    /// What becomes of it although it was denied.
    fn fate(&self) -> String {
        let why = self.hows.iter().rev().find_map(|how| match how {
            How::Unrun(why) => Some(format!("not run: {why}")),
            How::Idle(why) => Some(format!("run, and it changes nothing: {why}")),
            _ => None,
        });
        let usual = match self.tool() {
            "PowerShell" => "not run: it is PowerShell",
            _ => "run, and told of or undone",
        };
        why.unwrap_or_else(|| usual.to_owned())
    }

    /// Runs the command in Bash; gives how it ended and what it complained about.
    fn run(&self, sandbox: &Sandbox) -> (i32, String) {
        let ran = Command::new("bash")
            .args(["-c", &self.command])
            .current_dir(sandbox.path(self.dir()))
            .env_clear()
            .envs(sandbox.surroundings())
            .envs([
                ("LC_ALL", "C"),
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@b.c"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@b.c"),
            ])
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("CLAUDE_PROJECT_DIR", sandbox.project())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.code().unwrap_or(-1), errors)
    }
}

/// Whether a program is installed, or the system is the one that a case needs.
fn is_here(needed: &str) -> bool {
    match needed {
        "linux" => cfg!(target_os = "linux"),
        program => ["/usr/local/bin", "/usr/bin", "/bin"]
            .iter()
            .any(|dir| Path::new(dir).join(program).exists()),
    }
}

/// What a run said: nothing, or the text of its only answer.
fn said(ran: &Ran, pointer: &str) -> Result<Option<String>, String> {
    if ran.code() != 0 || !ran.stderr().is_empty() {
        return Err(format!("it ended with {}: {}", ran.code(), ran.stderr()));
    }
    if ran.stdout().is_empty() {
        return Ok(None);
    }
    let answer = ran.json();
    let text = answer.pointer(pointer).and_then(Value::as_str);
    text.map(|text| Some(text.to_owned()))
        .ok_or_else(|| format!("another answer: {answer}"))
}

const REFUSAL: &str = "/hookSpecificOutput/permissionDecisionReason";

/// What the recorder does not look at: archives, locks that programs make and remove, our own
/// marks, and sites that no call has named.
const UNRECORDED: [&str; 4] = [
    ".devt/state/.archive",
    ".devt/state/.lock",
    ".claude/statewarden/wired",
    "packages/",
];

/// What the paths of governed places hold.
const PLACES: [&str; 4] = [".devt", ".claude", ".agentmux", "openspec/changes"];

/// Refused with the code and the name that the case expects, and logged. Run nevertheless,
/// it changes what the case says, or something, and the recorder tells of it.
fn denied(case: &Case, sandbox: &Sandbox) -> Result<(), String> {
    let ran = sandbox.hook(&case.event(sandbox));
    let reason = said(&ran, REFUSAL)?.ok_or("not refused")?;
    let [expected] = case.expected.as_slice() else {
        return Err("one `= ` line says the code".to_owned());
    };
    let (code, name) = expected.split_once(' ').unwrap_or((expected, ""));
    if !reason.contains(&format!("is denied ({code})")) || !reason.contains(name) {
        return Err(format!("wanted {expected}: {reason}"));
    }
    let logs = [DEVT, DENIES];
    let mut records = logs.iter().flat_map(|log| sandbox.records(log));
    if !records.any(|record| record["decision"] == "deny" && record["rule"] == code) {
        return Err("no log has the denial".to_owned());
    }
    if !case.runs() {
        return Ok(());
    }
    // As if the guard had overlooked it.
    let unseen = case.unseen(sandbox);
    sandbox.hook(&unseen[0]);
    let was = entries(sandbox);
    let (_, errors) = case.run(sandbox);
    // A call of the client takes longer than a tick of the file system's clock.
    thread::sleep(Duration::from_millis(12));
    let now = entries(sandbox);
    let after = case.hows.iter().rev().find_map(|how| match how {
        How::Makes(path) => Some((path, true)),
        How::Takes(path) => Some((path, false)),
        _ => None,
    });
    if let Some((path, there)) = after
        && (was.contains_key(path) == there || now.contains_key(path) != there)
    {
        return Err(format!("run, it does nothing to `{path}`: {errors}"));
    }
    let is_governed = |path: &str| PLACES.iter().any(|place| path.contains(place));
    let is_changed = |path: &&String| is_governed(path) && was.get(*path) != now.get(*path);
    let changed: BTreeSet<&String> = was.keys().chain(now.keys()).filter(is_changed).collect();
    let is_idle = case.is(|how| matches!(how, How::Idle(_)));
    match (is_idle, changed.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => return Err(format!("run, it changes {changed:?}")),
        (false, true) => return Err(format!("run, it changes nothing: {errors}")),
        (false, false) => {}
    }
    let is_unseen = |path: &&String| UNRECORDED.iter().any(|below| path.starts_with(below));
    if changed.iter().any(is_unseen) {
        return Ok(());
    }
    if said(&sandbox.hook(&unseen[1]), "/reason")?.is_none() {
        // A few removals are no bulk; they are on record.
        let changes = sandbox.changes();
        let is_recorded = changes.iter().any(|change| change["act"] == "remove");
        if code != "bulk-removal" || !is_recorded {
            return Err(format!("run, it is not told of {changed:?}"));
        }
    }
    Ok(())
}

/// What lies in the project: files with their contents, the rest by name.
fn entries(sandbox: &Sandbox) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![sandbox.project()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            // A pipe would be waited for.
            let bytes = kind.is_file().then(|| fs::read(&path).ok());
            let below = path.strip_prefix(sandbox.project()).unwrap();
            found.insert(below.to_string_lossy().into_owned(), bytes.flatten());
            if kind.is_dir() {
                dirs.push(path);
            }
        }
    }
    found
}

/// What only a program or the user may write, and the guard's own wiring.
const UNTOUCHED: [&str; 5] = [
    ".devt/state/.lock",
    ".devt/state/deferred.md",
    ".agentmux/.sessions/s/state.json",
    ".claude/settings.json",
    ".claude/statewarden/wired",
];

/// No objection, and none afterwards to what it did.
fn allowed(case: &Case, sandbox: &Sandbox) -> Result<(), String> {
    if let Some(reason) = said(&sandbox.hook(&case.event(sandbox)), REFUSAL)? {
        return Err(format!("refused: {reason}"));
    }
    if !case.expected.is_empty() {
        return Err("nothing is expected of what is allowed".to_owned());
    }
    if !case.runs() {
        return Ok(());
    }
    let before = UNTOUCHED.map(|path| sandbox.read(path));
    let (code, errors) = case.run(sandbox);
    if !(0..=1).contains(&code) || errors.contains("command not found") {
        return Err(format!("it ended with {code}: {errors}"));
    }
    if let Some(reason) = said(&sandbox.hook(&case.after(sandbox)), "/reason")? {
        return Err(format!("detected: {reason}"));
    }
    let is_as_before = |(path, text): (&str, &String)| {
        fs::read_to_string(sandbox.project().join(path)).is_ok_and(|now| now == *text)
    };
    match UNTOUCHED
        .into_iter()
        .zip(&before)
        .find(|pair| !is_as_before(*pair))
    {
        Some((path, _)) => Err(format!("it changed `{path}`")),
        None => Ok(()),
    }
}

/// No objection, and after the run every path of the case is told and recorded.
fn detected(case: &Case, sandbox: &Sandbox) -> Result<(), String> {
    if let Some(reason) = said(&sandbox.hook(&case.event(sandbox)), REFUSAL)? {
        return Err(format!("refused before it ran: {reason}"));
    }
    if case.expected.is_empty() {
        return Err("`= ` lines name what is detected".to_owned());
    }
    if !case.runs() {
        return Ok(());
    }
    let (_, errors) = case.run(sandbox);
    let ran = sandbox.hook(&case.after(sandbox));
    let reason = said(&ran, "/reason")?.ok_or_else(|| format!("not detected: {errors}"))?;
    if ran.json()["decision"] != "block" {
        return Err(format!("no block: {}", ran.stdout()));
    }
    let records = sandbox.records(EVENTS);
    let is_recorded = |path: &str| {
        let mut records = records
            .iter()
            .filter(|record| record["decision"] == "detected" || record["decision"] == "undone");
        records.any(|record| fits(path, record["file_path"].as_str().unwrap_or_default()))
    };
    match case.expected.iter().find(|path| !is_recorded(path)) {
        Some(path) => Err(format!("no record of `{path}`: {reason}")),
        None => Ok(()),
    }
}

/// Whether a path is the expected one; `*` stands for what the run made up.
fn fits(expected: &str, path: &str) -> bool {
    let (head, tail) = expected.split_once('*').unwrap_or((expected, ""));
    let found = path.split_once("/project/").map_or("", |(_, below)| below);
    let starts = found.strip_prefix(head);
    starts.is_some_and(|rest| {
        if expected.contains('*') {
            rest.ends_with(tail)
        } else {
            rest.is_empty()
        }
    })
}

/// Judges a case and, where it says so and can be, runs it.
fn check(channel: Channel, case: &Case, sandbox: &Sandbox) -> Result<Completion, Failed> {
    let check = match channel {
        Channel::Deny => denied,
        Channel::Allow => allowed,
        Channel::Detected => detected,
    };
    check(case, sandbox).map_err(|why| format!("{}\n  {why}", case.command))?;
    match case.missing() {
        Some(missing) if must_have_all() => {
            Err(format!("not here, although CI is set: {missing}").into())
        }
        Some(missing) => Ok(Completion::ignored_with(format!(
            "judged, but not run without {missing}"
        ))),
        None => Ok(Completion::Completed),
    }
}

pub fn trials() -> Vec<Trial> {
    let base = fs::read_to_string(corpus().join("project.txt")).unwrap();
    let base = Arc::new(parse("project.txt", &base).entries);
    let mut trials = vec![
        Trial::test(
            "commands::the readme counts them",
            the_readme_counts_the_commands,
        ),
        Trial::test(
            "commands::ci installs what they need",
            ci_installs_what_commands_need,
        ),
        Trial::test("commands::none stands twice", no_command_counts_twice),
    ];
    for channel in Channel::ALL {
        for (_, file) in files(channel) {
            let entries = Arc::new(file.entries);
            for case in file.cases {
                let (base, entries) = (base.clone(), entries.clone());
                let first = case.command.lines().next().unwrap_or_default();
                let name = format!(
                    "commands::{} {first}",
                    case.place.replace(".txt", "").replace('/', "::")
                );
                trials.push(Trial::ignorable_test(name, move || {
                    check(channel, &case, &case.sandbox(&base, &entries))
                }));
            }
        }
    }
    trials
}

fn none_of<T: Debug>(found: &[T], what: &str) -> Result<(), Failed> {
    match found {
        [] => Ok(()),
        found => Err(format!("{what}: {found:?}").into()),
    }
}

fn the_readme_counts_the_commands() -> Result<(), Failed> {
    let mut table = "| file | commands |\n|---|---|\n".to_owned();
    let mut n_all = 0;
    for channel in Channel::ALL {
        let files = files(channel);
        for (name, file) in &files {
            writeln!(table, "| `{name}` | {} |", file.cases.len()).unwrap();
        }
        let n: usize = files.iter().map(|(_, file)| file.cases.len()).sum();
        writeln!(table, "| **{}** | **{n}** |", channel.folder()).unwrap();
        n_all += n;
    }
    writeln!(table, "| **all** | **{n_all}** |").unwrap();
    writeln!(table, "\n| what is denied | commands |\n|---|---|").unwrap();
    let mut fates: BTreeMap<String, usize> = BTreeMap::new();
    let refused = files(Channel::Deny).into_iter();
    for case in refused.flat_map(|(_, file)| file.cases) {
        *fates.entry(case.fate()).or_default() += 1;
    }
    for (fate, n) in fates {
        writeln!(table, "| {fate} | {n} |").unwrap();
    }
    let readme = fs::read_to_string(corpus().join("README.md")).unwrap();
    if readme.contains(&table) {
        return Ok(());
    }
    Err(format!("the table of tests/commands/README.md should be\n{table}").into())
}

fn ci_installs_what_commands_need() -> Result<(), Failed> {
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/setup");
    let setup = fs::read_to_string(setup).unwrap();
    let installed: BTreeSet<&str> = setup.split_whitespace().chain(["linux"]).collect();
    let cases = Channel::ALL.into_iter().flat_map(files);
    let cases = cases.flat_map(|(_, file)| file.cases);
    let needed: BTreeSet<String> = cases
        .flat_map(|case| case.hows)
        .filter_map(|how| match how {
            How::Needs(needed) => Some(needed),
            _ => None,
        })
        .collect();
    let missing: Vec<&String> = needed
        .iter()
        .filter(|needed| !installed.contains(needed.as_str()))
        .collect();
    none_of(&missing, "not in .ci/setup")
}

fn no_command_counts_twice() -> Result<(), Failed> {
    let mut seen = BTreeSet::new();
    let mut twice = Vec::new();
    for (_, file) in Channel::ALL.into_iter().flat_map(files) {
        for case in file.cases {
            let how = format!("{:?} {} {}", case.agent(), case.dir(), case.tool());
            if !seen.insert((how, case.command.clone())) {
                twice.push(case.place);
            }
        }
    }
    none_of(&twice, "twice")
}
