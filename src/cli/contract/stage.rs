//! `contract test` of gates: the files of a site that only the test has.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::mention::example_of;
use crate::base::actor::AgentName;
use crate::base::disk::bounded_read::read_text;
use crate::base::path;
use crate::contract::denial::DenyCode;
use crate::host::event::Event;
use crate::lifecycle::judge;
use crate::project::context::Context;
use crate::project::registry::EnabledSystem;
use crate::project::sites::{self, Site};
use crate::settings::gates::{GateRule, Need};
use crate::settings::model::{EvidenceMode, Settings};
use crate::shell::test_line::is_declared;
use crate::systems::declared;
use crate::systems::system::{AgentEvent, ClosedGate, Files, System};
use crate::systems::tested::{Freshness, TestNeed, Tested};
use crate::systems::workflow::{GateStatus, Proof};

/// What is there when an agent ends or is dispatched.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Stage {
    /// The state directory, relative to the project; else an example of the contract's site.
    site: Option<String>,
    /// Of the site, by name, as the agent left them.
    files: BTreeMap<String, String>,
    /// The gates that have passed.
    passed: Vec<String>,
    /// Commands that ended with status 0 in this run.
    ran: Vec<String>,
    report: String,
}

/// A stage in the site of one system.
struct OnStage<'a> {
    stage: &'a Stage,
    id: &'a str,
    rules: &'a [GateRule],
    site: &'a str,
}

impl Files for OnStage<'_> {
    fn read(&self, name: &str) -> Result<Option<String>, String> {
        if name == declared::gates::file_of(self.id) {
            let passed = self.stage.passed.iter();
            let gates: Vec<_> = passed
                .map(|name| json!({ "name": name, "status": GateStatus::Passed }))
                .collect();
            // Of a run that is under way.
            let state = json!({ "started_at": "2000-01-01T00:00:00Z", "gates": gates });
            return Ok(Some(state.to_string()));
        }
        let below = name.strip_prefix(self.site).unwrap_or(name);
        Ok(self.stage.files.get(below.trim_start_matches('/')).cloned())
    }

    fn dirs(&self) -> Vec<String> {
        Vec::new()
    }

    fn sites(&self) -> Vec<String> {
        vec![self.site.to_owned()]
    }

    fn tested(&self, _: &str, need: &TestNeed<'_>) -> Tested {
        let rule = self
            .rules
            .iter()
            .find(|rule| Some(&*rule.name) == need.gate);
        let needs = rule.map_or(&[][..], |rule| &rule.needs);
        let needed = needs.iter().find_map(|need| match need {
            Need::Command(line) => Some(line),
            _ => None,
        });
        let mut ran = self.stage.ran.iter();
        let found = needed.and_then(|needed| ran.find(|line| is_declared(line, needed).is_some()));
        let Some(line) = found else {
            return Tested::Unseen(None);
        };
        let proof = Proof::Command {
            line: line.clone(),
            cwd: String::new(),
            status: Some(0),
            passed: None,
            failed: None,
            at: String::new(),
        };
        Tested::Passed {
            proof,
            freshness: Freshness::Asked,
        }
    }

    /// What was not seen proves nothing.
    fn evidence(&self) -> EvidenceMode {
        EvidenceMode::Require
    }
}

impl Stage {
    /// The status of an agent's gate after its end, and why.
    pub(super) fn end(&self, agent: &str, context: &Context<'_>) -> Result<(GateStatus, String)> {
        self.on(agent, context, |governed, files, agent| {
            if let Some(why) = files.refused(agent, context) {
                return (GateStatus::Pending, why);
            }
            files.end(governed.system, agent, context)
        })
    }

    /// The gate that keeps an agent from being dispatched.
    pub(super) fn dispatch(
        &self,
        agent: &str,
        context: &Context<'_>,
    ) -> Result<Option<ClosedGate>> {
        self.on(agent, context, |governed, files, agent| {
            governed.system.closed_gate(agent, "", files)
        })
    }

    /// In the first system with a gate of the agent.
    fn on<T>(
        &self,
        agent: &str,
        context: &Context<'_>,
        then: impl Fn(&EnabledSystem<'_>, &OnStage<'_>, &AgentName) -> T,
    ) -> Result<T> {
        let agent = AgentName::parse(agent);
        let mut systems = context.rules.settings.declared();
        let found = systems.find_map(|(id, declared)| {
            let mut rules = declared.gates.iter();
            let is_its = rules.any(|rule| is_passed_by(rule, &agent));
            is_its.then_some((context.registry.get(id)?, declared))
        });
        let (governed, declared) =
            found.with_context(|| without_gate(&agent, &context.rules.settings))?;
        let site = declared.sites[0].as_str();
        let files = OnStage {
            stage: self,
            id: governed.id(),
            rules: &declared.gates,
            site: &self.site.clone().unwrap_or_else(|| example_of(site)),
        };
        Ok(then(governed, &files, &agent))
    }
}

/// Why there is nothing to judge of an agent.
fn without_gate(agent: &AgentName, settings: &Settings) -> String {
    let rules = settings
        .declared()
        .flat_map(|(_, declared)| &declared.gate_agents);
    let agents: BTreeSet<String> = rules.map(|agent| format!("`{agent}`")).collect();
    let there = match agents.into_iter().collect::<Vec<_>>().join(", ") {
        agents if agents.is_empty() => {
            "no contract in force has gates; put the table beside its `statewarden.yaml`, or below it"
                .to_owned()
        }
        agents => format!("there are gates of {agents}"),
    };
    format!("no gate of a contract is agent `{agent}`'s: {there}")
}

impl OnStage<'_> {
    fn end(
        &self,
        system: &dyn System,
        agent: &AgentName,
        context: &Context<'_>,
    ) -> (GateStatus, String) {
        let reply = &self.stage.report;
        let end = if is_main(agent) {
            let running = &[];
            AgentEvent::TurnEnd { running, reply }
        } else {
            let task = "";
            AgentEvent::End { agent, reply, task }
        };
        let records = system.at(end, self, context.now.get()).records;
        let Some(record) = records.into_iter().next() else {
            return (GateStatus::Pending, String::new());
        };
        let moved = record.moves.first();
        let status = moved.map_or(GateStatus::Pending, |moved| moved.to);
        let why = record.skipped.or(record.evidence);
        (status, why.unwrap_or_default())
    }

    /// Why the hook would have denied a file of the stage: one that a gate of the agent needs, as
    /// its own; the others by what they hold.
    fn refused(&self, agent: &AgentName, context: &Context<'_>) -> Option<String> {
        let own = self.rules.iter().filter(|rule| is_passed_by(rule, agent));
        let needs: Vec<&str> = own
            .flat_map(|rule| &rule.needs)
            .filter_map(file_of)
            .collect();
        self.stage.files.iter().find_map(|(name, text)| {
            let is_needed = needs.contains(&name.as_str());
            let writer = (is_needed && !is_main(agent)).then_some(agent.as_str());
            let path = path::below(self.site, name);
            let event = json!({
                "hook_event_name": "PreToolUse", "cwd": context.cwd, "agent_type": writer,
                "agent_id": writer, "tool_name": "Write",
                "tool_input": { "file_path": context.project.main.path(&path), "content": text },
            });
            let text = event.to_string();
            let (decision, _) = judge::judge(context, &Event::parse(text.as_bytes()).ok()?).ok()?;
            let mut denials = decision.denials().iter();
            let denial = denials.find(|it| is_needed || it.code == DenyCode::MalformedContent)?;
            Some(format!(
                "`{path}` is denied ({}): {}",
                denial.code.as_str(),
                denial.why
            ))
        })
    }
}

/// `@main` in the place of an agent.
fn is_main(agent: &AgentName) -> bool {
    matches!(agent.as_str(), "@main" | "main")
}

fn is_passed_by(rule: &GateRule, agent: &AgentName) -> bool {
    rule.agents.contains(agent) || rule.main && is_main(agent)
}

/// The file that the agent has to leave for a need.
fn file_of(need: &Need) -> Option<&str> {
    match need {
        Need::File { name, .. } => Some(name),
        Need::Verdict { place, .. } => place.as_deref(),
        Need::Command(_) | Need::Boxes(_) => None,
    }
}

/// A gate that passes on what is in its state directory before anything is done.
#[derive(Debug, Serialize)]
pub(super) struct Already {
    system: String,
    gate: String,
    /// Relative to the project.
    site: String,
    /// What shows it.
    pub(super) why: String,
}

impl Already {
    pub(super) fn sentence(&self) -> String {
        let (gate, system, site, why) = (&self.gate, &self.system, &self.site, &self.why);
        format!("gate `{gate}` of {system} passes before any work in `{site}`: {why}")
    }
}

/// The gates of contracts that pass already, in each state directory that is there.
pub(super) fn already(context: &Context<'_>) -> Vec<Already> {
    let mut found = Vec::new();
    for site in sites::all(&context.project, context.registry) {
        let id = site.governed.id();
        let Some(declared) = &context.rules.settings.system(id).declared else {
            continue;
        };
        for (at, rule) in declared.gates.iter().enumerate() {
            let main = AgentName::parse("@main");
            let agent = rule.agents.first().unwrap_or(&main);
            let stage = Stage {
                site: Some(site.site.clone()),
                files: texts_of(rule, &site),
                passed: declared.gates[..at]
                    .iter()
                    .map(|rule| rule.name.clone())
                    .collect(),
                ..Stage::default()
            };
            let files = OnStage {
                stage: &stage,
                id,
                rules: &declared.gates[at..=at],
                site: &site.site,
            };
            if let (GateStatus::Passed, why) = files.end(site.governed.system, agent, context) {
                found.push(Already {
                    system: id.to_owned(),
                    gate: rule.name.clone(),
                    site: site.site.clone(),
                    why,
                });
            }
        }
    }
    found
}

/// What the files that a gate needs hold now.
fn texts_of(rule: &GateRule, site: &Site<'_>) -> BTreeMap<String, String> {
    let names = rule.needs.iter().filter_map(|need| match need {
        Need::Boxes(name) => Some(name.as_str()),
        need => file_of(need),
    });
    let texts = names.filter_map(|name| {
        let text = read_text(&path::below(site.dir(), name)).ok()??;
        Some((name.to_owned(), text))
    });
    texts.collect()
}
