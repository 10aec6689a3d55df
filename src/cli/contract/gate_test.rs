//! `contract test` of gates: the files of a site that only the test has.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::json;

use crate::base::actor::AgentName;
use crate::lifecycle::test_command;
use crate::project::context::Context;
use crate::project::registry::EnabledSystem;
use crate::settings::gates::{GateRule, Need};
use crate::settings::model::EvidenceMode;
use crate::shell::decisive;
use crate::systems::declared;
use crate::systems::system::{AgentEvent, ClosedGate, Files};
use crate::systems::workflow::{GateStatus, Proof};

/// What is there when an agent ends or is dispatched.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Stage {
    /// Of the site, by name.
    files: BTreeMap<String, String>,
    /// The gates that have passed.
    passed: Vec<String>,
    /// Commands that ended with status 0 since the gate began.
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
            return Ok(Some(json!({ "gates": gates }).to_string()));
        }
        let name = name.strip_prefix(self.site).unwrap_or(name);
        Ok(self.stage.files.get(name.trim_start_matches('/')).cloned())
    }

    fn dirs(&self) -> Vec<String> {
        Vec::new()
    }

    fn sites(&self) -> Vec<String> {
        vec![self.site.to_owned()]
    }

    fn last_command(&self, _: &str, gate: &str, _: Option<&str>) -> Option<Proof> {
        let rule = self.rules.iter().find(|rule| rule.name == gate)?;
        let needed = rule.needs.iter().filter_map(|need| match need {
            Need::Command(line) => Some(decisive(line)),
            _ => None,
        });
        let needed: Vec<_> = needed.flatten().collect();
        let is_needed = |line: &&String| {
            let mut commands = decisive(line).into_iter();
            commands.any(|words| test_command::is_named(&words, &needed))
        };
        let line = self.stage.ran.iter().find(is_needed)?.clone();
        let (status, at) = (Some(0), String::new());
        Some(Proof::Command { line, status, at })
    }

    /// What nobody saw proves nothing.
    fn evidence(&self) -> EvidenceMode {
        EvidenceMode::Require
    }
}

impl Stage {
    /// How the gate of an agent stands after its end, and why.
    pub(super) fn end(&self, agent: &str, world: &Context<'_>) -> Result<(GateStatus, String)> {
        self.on(agent, world, |governed, files, agent| {
            let reply = &self.report;
            let end = AgentEvent::AgentEnd { agent, reply };
            let effects = governed.system.at(&end, files, world.now.get());
            let outcome = effects.outcomes.into_iter().next();
            match outcome.map(|outcome| outcome.outcome) {
                Some(Ok(change)) => {
                    let moved = change.moves.first();
                    let status = moved.map_or(GateStatus::Pending, |moved| moved.to);
                    (status, change.evidence.unwrap_or_default())
                }
                Some(Err(why)) => (GateStatus::Pending, why),
                None => (GateStatus::Pending, String::new()),
            }
        })
    }

    /// The gate that keeps an agent from being dispatched.
    pub(super) fn dispatch(&self, agent: &str, world: &Context<'_>) -> Result<Option<ClosedGate>> {
        self.on(agent, world, |governed, files, agent| {
            governed.system.closed_gate(agent, files)
        })
    }

    /// In the first system with a gate of the agent.
    fn on<T>(
        &self,
        agent: &str,
        world: &Context<'_>,
        then: impl Fn(&EnabledSystem<'_>, &OnStage<'_>, &AgentName) -> T,
    ) -> Result<T> {
        let agent = AgentName::parse(agent);
        let is_its = |rule: &GateRule| rule.agents.contains(&agent);
        let mut declared = world.rules.settings.declared();
        let found = declared.find(|(_, declared)| declared.gates.iter().any(is_its));
        let found = found.and_then(|(id, declared)| Some((world.registry.get(id)?, declared)));
        let (governed, declared) =
            found.with_context(|| format!("no gate of a contract is agent `{agent}`'s"))?;
        let files = OnStage {
            stage: self,
            id: governed.id(),
            rules: &declared.gates,
            site: declared.sites[0].as_str(),
        };
        Ok(then(governed, &files, &agent))
    }
}
