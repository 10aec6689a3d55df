//! What the hook answers to events, one after another in a project of the case's own. The format
//! stands in `tests/hook/README.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use serde_json::{Map, Value, json};

use crate::support::{Ran, Sandbox, keys};

/// A marked line with the lines that go on with it.
#[derive(Clone)]
struct Line {
    place: String,
    mark: char,
    text: String,
    more: Vec<String>,
}

impl Line {
    /// The lines after it, each with its end; `none` without any.
    fn body(&self, none: &str) -> String {
        match self.more.as_slice() {
            [] => none.to_owned(),
            lines => lines.iter().map(|line| format!("{line}\n")).collect(),
        }
    }
}

struct Case {
    name: String,
    lines: Vec<Line>,
}

/// The cases of a file; what stands before the first belongs to all of them.
fn parse(stem: &str, text: &str) -> Vec<Case> {
    let (mut shared, mut cases) = (Vec::new(), Vec::<Case>::new());
    for (at, line) in text.lines().enumerate() {
        let Some(mark) = line.chars().next().filter(|mark| "#@$~!=>".contains(*mark)) else {
            continue;
        };
        let text = line[1..].strip_prefix(' ').unwrap_or(&line[1..]).to_owned();
        let place = format!("tests/hook/{stem}.txt:{}", at + 1);
        if mark == '#' {
            let name = format!("hook::{stem}:{} {text}", at + 1);
            cases.push(Case {
                name,
                lines: shared.clone(),
            });
            continue;
        }
        let lines = cases.last_mut().map_or(&mut shared, |case| &mut case.lines);
        if mark == '>' {
            let line = lines
                .last_mut()
                .unwrap_or_else(|| panic!("{place}: nothing goes on"));
            line.more.push(text);
        } else {
            lines.push(Line {
                place,
                mark,
                text,
                more: Vec::new(),
            });
        }
    }
    cases
}

/// Every reading of a text with alternatives, `{a,b}`, as a shell has them.
fn expand(text: &str) -> Vec<String> {
    let braces = text
        .find('{')
        .and_then(|start| Some((start, start + text[start..].find('}')?)));
    let Some((start, end)) = braces.filter(|(start, end)| text[*start..*end].contains(',')) else {
        return vec![text.to_owned()];
    };
    let one = |choice: &str| expand(&format!("{}{choice}{}", &text[..start], &text[end + 1..]));
    text[start + 1..end].split(',').flat_map(one).collect()
}

/// A member of an event whose call is announced just before it.
const ANNOUNCED: &str = "announced";

/// The events of a `!` line; those of a tool come before its call, unless they say otherwise.
fn events(sandbox: &Sandbox, line: &Line) -> Result<Vec<Value>, String> {
    let (kind, rest) = line.text.split_once(' ').unwrap_or((&line.text, ""));
    let of_tool = |kind: &str, text: &str| {
        let (tool, rest) = text.split_once(' ').unwrap_or((text, ""));
        let found = calls(sandbox, tool, rest, line)?.into_iter();
        let found = found.map(|mut event| {
            event["hook_event_name"] = kind.into();
            if kind.starts_with("Post") {
                event["duration_ms"] = 60_000.into();
                event["tool_response"] = json!({});
            }
            event
        });
        Ok(found.collect())
    };
    match kind {
        "PostToolUse" | "PostToolUseFailure" | "PreSkillShellCommand" => of_tool(kind, rest),
        "Ran" | "Failed" => {
            let kind = if kind == "Ran" {
                "PostToolUse"
            } else {
                "PostToolUseFailure"
            };
            let mut ended: Vec<Value> = of_tool(kind, rest)?;
            ended
                .iter_mut()
                .for_each(|event| event[ANNOUNCED] = true.into());
            Ok(ended)
        }
        "SubagentStart" | "SubagentStop" => Ok(expand(rest)
            .iter()
            .map(|agent| {
                let mut event = sandbox.by(agent, sandbox.event_of(kind));
                event["agent_id"] = agent.as_str().into();
                if kind == "SubagentStop" {
                    event["stop_hook_active"] = false.into();
                    event["last_assistant_message"] = line.body("").trim_end().into();
                }
                event
            })
            .collect()),
        "Stop" | "SessionStart" | "SessionEnd" | "UserPromptSubmit" => {
            Ok(vec![sandbox.event_of(kind)])
        }
        "ConfigChange" => {
            let mut event = sandbox.event_of(kind);
            event["file_path"] = sandbox.path(rest).into();
            Ok(vec![event])
        }
        _ => of_tool("PreToolUse", &line.text),
    }
}

/// The calls of a tool: with a command, with JSON, or with each of the paths by each of the agents.
fn calls(sandbox: &Sandbox, tool: &str, rest: &str, line: &Line) -> Result<Vec<Value>, String> {
    if let "Bash" | "PowerShell" | "Monitor" = tool {
        let command = [&[rest.to_owned()], line.more.as_slice()]
            .concat()
            .join("\n");
        return Ok(vec![sandbox.event(tool, json!({ "command": command }))]);
    }
    if rest.is_empty() || rest.starts_with("{\"") || rest.starts_with("{}") {
        let input = format!("{rest}{}", line.body(""));
        let input: Value =
            serde_json::from_str(&input).map_err(|error| format!("{error}: {input}"))?;
        return Ok(vec![sandbox.event(tool, input)]);
    }
    let call = |text: &String| {
        let (path, agent) = text.rsplit_once(" by ").unwrap_or((text, "main"));
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            sandbox.path(path)
        };
        let mut input = json!({ "file_path": path });
        match tool {
            "Write" => input["content"] = line.body("x\n").into(),
            "Edit" => {
                let side = |mark| {
                    let lines = line.more.iter().filter_map(|line| line.strip_prefix(mark));
                    lines.collect::<Vec<_>>().join("\n")
                };
                (input["old_string"], input["new_string"]) = (side('-').into(), side('+').into());
            }
            "NotebookEdit" => input = json!({ "notebook_path": path }),
            tool if tool.starts_with("mcp__") => input = json!({ "path": path }),
            _ => {}
        }
        sandbox.by_actor(agent, sandbox.event(tool, input))
    };
    Ok(expand(rest).iter().map(call).collect())
}

/// A case under way.
struct Stage {
    sandbox: Sandbox,
    /// Events that no `=` line has asked about yet.
    waiting: Vec<Value>,
    /// Of what was asked about last: each answer, with what it answers.
    answers: Vec<(String, Ran)>,
}

impl Stage {
    /// Takes a line; gives what is wrong with it or with the answers.
    fn take(&mut self, line: &Line) -> Result<(), String> {
        let line = &self.filled(line);
        if line.mark != '=' && line.mark != '~' && !self.waiting.is_empty() && line.mark != '!' {
            return Err("no `= ` line says what the event before it is answered".to_owned());
        }
        match line.mark {
            '@' => self.make(line),
            '~' => self.bend(&line.text),
            '$' => self.run(line),
            '!' => {
                self.waiting.extend(events(&self.sandbox, line)?);
                Ok(())
            }
            _ => self.expect(&line.text),
        }
    }

    /// The line with the paths of this run.
    fn filled(&self, line: &Line) -> Line {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_statewarden"));
        let programs = program.parent().unwrap().to_owned();
        let places = [
            ("[PROJECT]", self.sandbox.project()),
            ("[HOME]", self.sandbox.home()),
            ("[ETC]", self.sandbox.base().join("etc")),
            ("[PROGRAM]", program),
            ("[PROGRAMS]", programs),
        ];
        let fill = |text: &String| {
            places.iter().fold(text.clone(), |text, (name, path)| {
                text.replace(name, path.to_str().unwrap())
            })
        };
        Line {
            text: fill(&line.text),
            more: line.more.iter().map(fill).collect(),
            ..line.clone()
        }
    }

    fn make(&self, line: &Line) -> Result<(), String> {
        let (path, text) = line.text.split_once(' ').unwrap_or((&line.text, ""));
        match path.strip_suffix('/') {
            Some(dir) => fs::create_dir_all(self.sandbox.project().join(dir))
                .map_err(|error| error.to_string())?,
            None if text.is_empty() => self.sandbox.write(path, &line.body("")),
            None => self
                .sandbox
                .write(path, &text.replace("\\n", "\n").replace("\\r", "\r")),
        }
        Ok(())
    }

    /// What is special: the environment, or something of the waiting events.
    fn bend(&mut self, text: &str) -> Result<(), String> {
        let (word, rest) = text.split_once(' ').ok_or("it says too little")?;
        if word == "env" {
            let (name, value) = rest.split_once(' ').ok_or("no value")?;
            self.sandbox.env.retain(|(known, _)| *known != name);
            self.sandbox
                .env
                .push((name.to_owned().leak(), value.to_owned()));
            return Ok(());
        }
        let event = self.waiting.last_mut().ok_or("no event stands before it")?;
        match word {
            "by" => *event = self.sandbox.by(rest, event.take()),
            "in" => event["cwd"] = self.sandbox.path(rest).into(),
            "prints" => {
                let text = format!("{}\n", rest.replace("\\n", "\n"));
                match event["hook_event_name"].as_str() {
                    Some("PostToolUseFailure") => event["error"] = text.into(),
                    _ => event["tool_response"]["stdout"] = text.into(),
                }
            }
            "with" => {
                let more: Map<String, Value> =
                    serde_json::from_str(rest).map_err(|error| error.to_string())?;
                event.as_object_mut().unwrap().extend(more);
            }
            _ => return Err(format!("`{word}` is not known")),
        }
        Ok(())
    }

    /// A command of the user's, which finds the program.
    fn run(&mut self, line: &Line) -> Result<(), String> {
        let program = Path::new(env!("CARGO_BIN_EXE_statewarden"))
            .parent()
            .unwrap();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-ec", &format!("{}\n{}", line.text, line.body(""))])
            .current_dir(self.sandbox.project())
            .env_clear()
            .envs(self.sandbox.surroundings());
        command.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
        command.envs(self.sandbox.env.iter().map(|(name, value)| (*name, value)));
        let ran = Ran::from(command.output().unwrap());
        if ran.code() != 0 {
            return Err(format!("it ended with {}: {}", ran.code(), ran.said()));
        }
        self.answers = vec![(line.text.clone(), ran)];
        Ok(())
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if !self.waiting.is_empty() {
            let serve = |event: Value| (event.to_string(), serve(&self.sandbox, &event));
            self.answers = self.waiting.drain(..).map(serve).collect();
        }
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        if let "file" | "no" | "record" | "records" = word {
            return self.expect_on_disk(word, rest);
        }
        if self.answers.is_empty() {
            return Err("no event stands before it".to_owned());
        }
        let wrong = |(event, ran): &(String, Ran)| {
            let why = expect(word, rest, ran).err()?;
            Some(format!(
                "{why}\n  to {event}\n  it said ({}) {}",
                ran.code(),
                ran.said()
            ))
        };
        self.answers.iter().find_map(wrong).map_or(Ok(()), Err)
    }

    fn expect_on_disk(&self, word: &str, rest: &str) -> Result<(), String> {
        let (path, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let records = || self.sandbox.records(path);
        match word {
            "records" if rest.parse() == Ok(records().len()) => Ok(()),
            "records" => Err(format!("it has {:?}", records())),
            "record" => {
                let wanted: Value =
                    serde_json::from_str(rest).map_err(|error| error.to_string())?;
                let is_it = records().last().is_some_and(|last| holds(last, &wanted));
                is_it
                    .then_some(())
                    .ok_or_else(|| format!("its last is {:?}", records().last()))
            }
            "no" => self
                .sandbox
                .exists(rest)
                .then(|| format!("there is `{rest}`"))
                .map_or(Ok(()), Err),
            _ if !self.sandbox.exists(path) => Err(format!("there is no `{path}`")),
            _ if rest.is_empty() => Ok(()),
            _ => {
                let text = self.sandbox.read(path);
                let (how, part) = rest.split_once(' ').unwrap_or((rest, ""));
                let part = part.replace("\\n", "\n");
                let fits = match how {
                    "has" => text.contains(&part),
                    "lacks" => !text.contains(&part),
                    "is" => text.trim_end() == part,
                    _ => return Err(format!("`{how}` is not known")),
                };
                fits.then_some(())
                    .ok_or_else(|| format!("it holds\n{text}"))
            }
        }
    }
}

/// Serves an event, after the start of its call where that belongs to it; a case may name another
/// project, or by an empty text none.
fn serve(sandbox: &Sandbox, event: &Value) -> Ran {
    if event[ANNOUNCED] == true {
        let mut start = event.clone();
        start["hook_event_name"] = "PreToolUse".into();
        start[ANNOUNCED] = false.into();
        serve(sandbox, &start);
    }
    let mut command = sandbox.hook_command();
    command.envs(sandbox.env.iter().map(|(name, value)| (*name, value)));
    crate::support::serve(command, event.to_string().as_bytes())
}

/// Whether an object has the members of another.
fn holds(found: &Value, wanted: &Value) -> bool {
    wanted
        .as_object()
        .is_some_and(|wanted| wanted.iter().all(|(key, value)| found[key] == *value))
}

/// The keys of an answer, but for what is said to the user.
fn for_model(answer: &Value) -> Vec<String> {
    let mut keys: Vec<String> = keys(answer).iter().map(ToString::to_string).collect();
    keys.retain(|key| key != "systemMessage");
    keys
}

/// What is wrong with an answer.
fn expect(word: &str, rest: &str, ran: &Ran) -> Result<(), String> {
    let all = ran.said();
    let (code, is_quiet, has_no_words) =
        (ran.code(), ran.stdout().is_empty(), ran.stderr().is_empty());
    let answer = || ran.json();
    let in_specific = |key: &str| {
        answer()["hookSpecificOutput"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let part = |text: &str| text.contains(rest);
    let fits = match word {
        "allow" => code == 0 && all.is_empty(),
        "deny" => {
            let (deny_code, part) = rest.split_once(" → ").unwrap_or((rest, ""));
            let reason = if is_quiet || code != 0 || !has_no_words {
                String::new()
            } else {
                ran.reason()
            };
            reason.contains(&format!("is denied ({deny_code})")) && reason.contains(part)
        }
        "context" => {
            code == 0
                && !is_quiet
                && for_model(&answer()) == ["hookSpecificOutput"]
                && part(&in_specific("additionalContext"))
        }
        "block" => {
            code == 0
                && !is_quiet
                && for_model(&answer()) == ["decision", "reason"]
                && answer()["decision"] == "block"
                && part(answer()["reason"].as_str().unwrap_or_default())
        }
        "stderr" => {
            code == 0 && is_quiet && ran.stderr().lines().count() == 1 && part(&ran.stderr())
        }
        "exit" => code.to_string() == rest,
        "says" => part(&all),
        "omits" => !part(&all),
        _ => return Err(format!("`{word}` is not known")),
    };
    fits.then_some(())
        .ok_or_else(|| "another answer".to_owned())
}

fn run(case: &Case) -> Result<(), Failed> {
    let mut stage = Stage {
        sandbox: Sandbox::new(),
        waiting: Vec::new(),
        answers: Vec::new(),
    };
    for line in &case.lines {
        stage
            .take(line)
            .map_err(|why| format!("{}: {} {}\n  {why}", line.place, line.mark, line.text))?;
    }
    match stage.waiting.is_empty() {
        true => Ok(()),
        false => Err("no `= ` line says what the last event is answered".into()),
    }
}

pub fn trials() -> Vec<Trial> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hook");
    let files = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    files.sort();
    let cases = files.iter().flat_map(|file| {
        parse(
            file.file_stem().unwrap().to_str().unwrap(),
            &fs::read_to_string(file).unwrap(),
        )
    });
    cases
        .map(|case| Trial::test(case.name.clone(), move || run(&case)))
        .collect()
}
