//! `contract test`: expectations about calls, kept in a file of the project.

use std::fs::File;
use std::io;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueHint;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::own;
use super::stage::{Already, Stage, already};
use crate::base::disk::bounded_read;
use crate::base::{path, text};
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::contract::denial::DenyCode;
use crate::formats::yaml;
use crate::guard::decision::Ruling;
use crate::guard::message;
use crate::host::event::{Event, Tool};
use crate::lifecycle::judge;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::systems::declared::DeclaredSystem;
use crate::systems::workflow::GateStatus;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// YAML: a list of `{path, agent?, tool?, content?, expect}` or `{command, agent?, expect}`;
    /// `expect` is allow, warn, deny or a deny code; paths are relative to the project. Of gates
    /// `{end: AGENT, stage?, expect}`, where `expect` is passed, failed or pending, or
    /// `{dispatch: AGENT, stage?, expect}`; `stage` is
    /// `{site?, files?, passed?, ran?, report?}`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "already")]
    file: Option<String>,
    /// Name the gates that pass before any work, on what is in their directories now
    #[arg(long)]
    already: bool,
}

/// One expectation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    path: Option<String>,
    command: Option<String>,
    agent: Option<String>,
    tool: Option<String>,
    content: Option<String>,
    /// The agent that ends or is dispatched, and what is there then.
    end: Option<String>,
    dispatch: Option<String>,
    stage: Option<Stage>,
    expect: Expect,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
enum Expect {
    Ruling(Ruling),
    Code(DenyCode),
    /// Of a gate after its agent's end: passed, failed, or pending as before.
    Gate(GateStatus),
}

impl TryFrom<String> for Expect {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if let Some(ruling) = Ruling::parse(&text) {
            return Ok(Self::Ruling(ruling));
        }
        if let Some(status) = GateStatus::parse(&text) {
            return Ok(Self::Gate(status));
        }
        let code = DenyCode::expect(&text);
        code.map(Self::Code).map_err(|codes| {
            format!(
                "`expect: {text}` is none of allow, warn, deny, passed, failed, pending; {codes}"
            )
        })
    }
}

impl Expect {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ruling(ruling) => ruling.as_str(),
            Self::Code(code) => code.as_str(),
            Self::Gate(status) => status.as_str(),
        }
    }
}

/// One answer of the JSON document.
#[derive(Debug, Serialize)]
struct TestRow {
    ok: bool,
    /// The path, the command, or what the agent does.
    subject: String,
    agent: String,
    expect: &'static str,
    decision: &'static str,
    code: Option<DenyCode>,
    /// The same, as logs call it.
    rule: Option<DenyCode>,
    reason: Option<String>,
}

/// What is larger was not written by hand.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, Serialize)]
struct TestResults {
    ok: bool,
    failed: usize,
    tests: Vec<TestRow>,
    /// The gates that pass before any work, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    already: Vec<Already>,
}

/// Tests by the contracts in force, and by the one beside the table or above it.
pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let tests = args
        .file
        .as_deref()
        .map(read)
        .transpose()?
        .unwrap_or_default();
    let file = args.file.as_deref().map(|file| context.absolute(file));
    let dir = match file.as_deref().and_then(path::split_last) {
        Some((dir, _)) => dir.to_owned(),
        None => context.here(),
    };
    let own: Vec<String> = own::around(&dir, context).into_iter().collect();
    let rules = own::settings_with(&own, context);
    own::check(&own, &rules)?;
    let declared = DeclaredSystem::all(&rules.settings);
    let registry = Registry::new(&rules.settings, &declared);
    let main = &context.project.main.dir;
    let tested = Context {
        project: Project::discover(Some(main), context.env, &context.cwd),
        cwd: main.clone(),
        rules: &rules,
        registry: &registry,
        ..context.hook_context()
    };
    let rows: Vec<TestRow> = tests
        .iter()
        .enumerate()
        .map(|(at, test)| judge(test, &tested).with_context(|| format!("test {}", at + 1)))
        .collect::<Result<_>>()?;
    let failed = rows.iter().filter(|row| !row.ok).count();
    let already = if args.already {
        already(&tested)
    } else {
        Vec::new()
    };
    context.show(&TestResults {
        ok: failed == 0 && already.is_empty(),
        failed,
        tests: rows,
        already,
    })
}

fn read(file: &str) -> Result<Vec<Test>> {
    let text = File::open(file)
        .and_then(|file| bounded_read::read_any(file, MAX_BYTES))
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
        .with_context(|| format!("could not read `{file}`"))?;
    let tests = yaml::parse_as::<Vec<Test>>(&text)
        .with_context(|| format!("`{file}` is no table of tests"))?;
    if tests.is_empty() {
        bail!("`{file}` holds no tests");
    }
    Ok(tests)
}

/// The tool, its input, and the path or the command.
fn call(test: &Test) -> Result<(&str, Value, &str)> {
    let path = match (&test.path, &test.command) {
        (Some(path), None) => path,
        (None, Some(_)) if test.tool.is_some() || test.content.is_some() => {
            bail!("`tool` and `content` go with `path`, not with `command`")
        }
        (None, Some(command)) => return Ok(("Bash", json!({ "command": command }), command)),
        _ => bail!("it needs one of `path`, `command`, `end`, `dispatch`"),
    };
    let tool = test.tool.as_deref().unwrap_or("Write");
    let key = match Tool::parse(tool) {
        Tool::Write | Tool::Edit | Tool::MultiEdit => "file_path",
        Tool::NotebookEdit => "notebook_path",
        Tool::Mcp(_) => "path",
        Tool::Shell(_) | Tool::Skill | Tool::Agent | Tool::Handback | Tool::Other => {
            bail!("`tool: {tool}` writes no file by its path")
        }
    };
    let mut input = json!({ key: path });
    if let Some(content) = &test.content {
        input["content"] = content.as_str().into();
    }
    Ok((tool, input, path))
}

fn judge(test: &Test, context: &Context<'_>) -> Result<TestRow> {
    match (&test.end, &test.dispatch) {
        (None, None) if test.stage.is_some() => bail!("`stage` goes with `end` or `dispatch`"),
        (None, None) => judge_call(test, context),
        _ if [
            &test.path,
            &test.command,
            &test.agent,
            &test.tool,
            &test.content,
        ]
        .into_iter()
        .any(Option::is_some) =>
        {
            bail!("`end` and `dispatch` go with `stage` and `expect` alone")
        }
        (Some(agent), None) => {
            let (status, why) = stage(test).end(agent, context)?;
            Ok(TestRow {
                ok: matches!(test.expect, Expect::Gate(expected) if expected == status),
                decision: status.as_str(),
                reason: Some(why),
                ..test.ruled("end", agent, Ruling::Allow, None)
            })
        }
        (None, Some(agent)) => {
            let closed = stage(test).dispatch(agent, context)?;
            let (ruling, code) = match closed {
                Some(_) => (Ruling::Deny, Some(DenyCode::GateClosed)),
                None => (Ruling::Allow, None),
            };
            Ok(TestRow {
                reason: closed.map(|gate| gate.why),
                ..test.ruled("dispatch", agent, ruling, code)
            })
        }
        (Some(_), Some(_)) => bail!("it needs either `end` or `dispatch`"),
    }
}

fn stage(test: &Test) -> Stage {
    test.stage.clone().unwrap_or_default()
}

impl Test {
    fn ruled(&self, subject: &str, agent: &str, ruling: Ruling, code: Option<DenyCode>) -> TestRow {
        TestRow {
            ok: match self.expect {
                Expect::Code(expected) => ruling == Ruling::Deny && code == Some(expected),
                Expect::Ruling(expected) => ruling == expected,
                Expect::Gate(_) => false,
            },
            subject: subject.to_owned(),
            agent: agent.to_owned(),
            expect: self.expect.as_str(),
            decision: ruling.as_str(),
            code,
            rule: code,
            reason: None,
        }
    }
}

fn judge_call(test: &Test, context: &Context<'_>) -> Result<TestRow> {
    let (tool, input, subject) = call(test)?;
    let agent = test.agent.as_deref().filter(|agent| *agent != "main");
    let event = json!({
        "hook_event_name": "PreToolUse", "cwd": context.cwd, "agent_type": agent, "agent_id": agent,
        "tool_name": tool, "tool_input": input,
    });
    let bytes = event.to_string();
    let event = Event::parse(bytes.as_bytes()).map_err(|error| anyhow!("{error:?}"))?;
    let (decision, _) = judge::judge(context, &event)?;
    let (ruling, denials) = (decision.ruling(), decision.denials());
    let rule = denials.first().map(|denial| denial.code);
    Ok(TestRow {
        reason: rule.map(|_| message::reason(denials, &[])),
        ..test.ruled(subject, agent.unwrap_or("main"), ruling, rule)
    })
}

/// A diff of what was expected and what was found, for each test that failed.
impl Show for TestResults {
    fn text(&self, page: &mut Page<'_>) {
        let tests = self.tests.iter().enumerate();
        for (at, row) in tests.filter(|(_, row)| !row.ok) {
            let found = match row.rule {
                Some(rule) => format!("{} ({})", row.decision, rule.as_str()),
                None => row.decision.to_owned(),
            };
            writeln!(page, "test {}: `{}` by {}", at + 1, row.subject, row.agent);
            writeln!(page, "{}", page.paint.red(&format!("- {}", row.expect)));
            writeln!(page, "{}", page.paint.green(&format!("+ {found}")));
            if let Some(reason) = &row.reason {
                writeln!(page, "  {reason}");
            }
        }
        for gate in &self.already {
            writeln!(page, "{}", page.paint.red(&gate.sentence()));
        }
        if !self.tests.is_empty() {
            let tests = text::count(self.tests.len(), "test", "tests");
            writeln!(page, "{tests}, {} failed", self.failed);
        } else if self.already.is_empty() {
            writeln!(page, "no gate passes before any work");
        }
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}
