//! The events around agents: starts, ends, dispatches, the turn's end, the
//! session's start. The counterpart of the guard: it refuses nothing but an
//! end that owes an artifact, and a dispatch before its gate.

use std::io;

use crate::actor::AgentName;
use crate::catalog::Catalog;
use crate::completion::{Ending, ToldBy};
use crate::decision::{Decision, Denial, DenyCode};
use crate::event::{Event, Field, Kind};
use crate::gates::{self, About, Around, Effects, InDir};
use crate::hook::World;
use crate::path;
use crate::record::{Record, What};
use crate::reply::{self, Reply};
use crate::runs::Runs;
use crate::settings::{Completion, Dispatch, Mode, Resolved};
use crate::sites;
use crate::store::lock::{IN_HOOK, Locked, with_lock};
use crate::store::make_own_folder;
use crate::systems::{Moment, Owed};
use crate::target::Act;

impl World<'_> {
    /// `SubagentStart`: the agent's phase begins, and its next end counts.
    pub(crate) fn agent_started(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        let (agent_type, agent_id) = (event.get(Field::AgentType), event.get(Field::AgentId));
        let agent = AgentName::parse(agent_type.unwrap_or_default());
        let around = Around::all(catalog, &self.project, &self.cwd);
        let moment = Moment::AgentStart { agent: &agent };
        if around.is_empty() {
            return Reply::Silent;
        }
        let about = About {
            event,
            agent_type,
            agent_id,
        };
        if self.logs().own_folder().is_dir() {
            let forgotten = with_lock(self.logs().own_folder(), IN_HOOK, |locked| {
                let mut runs = Runs::read(locked);
                runs.forget(session(event), agent_id.unwrap_or_default());
                runs.write(locked)
            });
            self.complain_about("runs.json", forgotten);
        }
        let plans = gates::plan(&around, &moment, self.now);
        let effects = gates::carry_out(plans, &moment, &self.project, &about, self.now);
        // A start that moves nothing is not worth a line.
        let moved = effects
            .records
            .into_iter()
            .filter(|record| record.skipped.is_none())
            .collect();
        self.append_gates(Effects { records: moved }, rules);
        Reply::Silent
    }

    /// The end of an agent's run, counted once.
    pub(crate) fn agent_ended(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        let Some(ending) = Ending::of(event) else {
            return Reply::Silent;
        };
        let agent = AgentName::parse(&ending.agent_type);
        let around = Around::all(catalog, &self.project, &self.cwd);
        let moment = Moment::AgentEnd {
            agent: &agent,
            reply: &ending.reply,
        };
        if gates::plan(&around, &moment, self.now).is_empty() {
            return Reply::Silent;
        }
        let counted = make_own_folder(self.logs().own_folder()).and_then(|()| {
            with_lock(self.logs().own_folder(), IN_HOOK * 4, |locked| {
                self.count_end(locked, event, &ending, &around, &moment, rules)
            })
        });
        match counted {
            Ok(Counted::Before) => Reply::Silent,
            Ok(Counted::Now(effects, owed)) => {
                // The log shares its lock with the counting, which is over now.
                if rules.settings.completion != Completion::Off {
                    owed.iter()
                        .for_each(|owed| self.note_owed(event, owed, rules));
                }
                self.append_gates(effects, rules);
                Reply::Silent
            }
            Ok(Counted::SentBack(owed)) => Reply::Block {
                reason: send_back(&owed),
            },
            Err(error) => {
                let about = about(event, &ending);
                let why = format!("could not be counted: {error}");
                let plans = gates::plan(&around, &moment, self.now);
                let effects = gates::skip_all(&plans, &self.project, &about, &why, self.now);
                self.append_gates(effects, rules);
                Reply::Silent
            }
        }
    }

    fn count_end(
        &self,
        locked: &Locked<'_>,
        event: &Event<'_>,
        ending: &Ending,
        around: &[Around<'_>],
        moment: &Moment<'_>,
        rules: &Resolved,
    ) -> io::Result<Counted> {
        let mut runs = Runs::read(locked);
        let id = ending.agent_id.as_deref().unwrap_or_default();
        if !id.is_empty() && runs.is_counted(session(event), id) {
            return Ok(Counted::Before);
        }
        let about = about(event, ending);
        // What was planned before the lock may be stale.
        let plans = gates::plan(around, moment, self.now);
        if ending.reply.trim().is_empty() {
            let why = "the agent's final text is empty";
            let skipped = gates::skip_all(&plans, &self.project, &about, why, self.now);
            return Ok(Counted::Now(skipped, Vec::new()));
        }
        let owed = gates::owed(&plans);
        let setting = rules.settings.completion;
        if !owed.is_empty() && setting == Completion::Block && ending.told_by == ToldBy::Stop {
            return Ok(Counted::SentBack(owed));
        }
        let effects = gates::carry_out(plans, moment, &self.project, &about, self.now);
        if !id.is_empty() {
            runs.count(session(event), id);
            runs.write(locked)?;
        }
        Ok(Counted::Now(effects, owed))
    }

    fn note_owed(&self, event: &Event<'_>, (dir, owed): &(String, Owed), rules: &Resolved) {
        let reason = format!("`{dir}/{}` is owed: {}", owed.file, owed.why);
        let mut record = Record::new(What::Warn, &reason, Some(event), self.now);
        record.name = Some(owed.file.clone());
        self.append(&self.logs().events(), &record.to_line(), &record.ts, rules);
    }

    /// The main thread's turn is over: a run whose gates have all passed is closed.
    pub(crate) fn turn_ended(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        if event.get(Field::AgentType).is_none_or(str::is_empty) {
            let around = Around::all(catalog, &self.project, &self.cwd);
            let about = About {
                event,
                agent_type: None,
                agent_id: None,
            };
            let plans = gates::plan(&around, &Moment::TurnEnd, self.now);
            let effects =
                gates::carry_out(plans, &Moment::TurnEnd, &self.project, &about, self.now);
            self.append_gates(effects, rules);
        }
        Reply::Silent
    }

    /// The main thread wrote a report, which completes its phase.
    pub(crate) fn report_written(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        let written = event.get(Field::FilePath).unwrap_or_default();
        let written = path::collapse(&path::join(&self.cwd, written, self.env.home.as_deref()));
        let by_main = event.get(Field::AgentType).is_none_or(str::is_empty);
        for governed in catalog.governed.iter().filter(|_| by_main) {
            let Some(dir) = governed.system.gate_dir() else {
                continue;
            };
            let Some((above, entry)) = written.split_once(&format!("/{dir}/")) else {
                continue;
            };
            if self.project.locate(&written).is_none() {
                continue;
            }
            let around = [Around {
                governed,
                dir: format!("{above}/{dir}").into(),
            }];
            let about = About {
                event,
                agent_type: None,
                agent_id: None,
            };
            let moment = Moment::Wrote { entry };
            let plans = gates::plan(&around, &moment, self.now);
            let effects = gates::carry_out(plans, &moment, &self.project, &about, self.now);
            self.append_gates(effects, rules);
        }
        Reply::Silent
    }

    /// An agent is about to be dispatched: is the gate before its phase open?
    pub(crate) fn dispatched(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        let Some(agent_type) = event
            .get(Field::SubagentType)
            .filter(|name| !name.is_empty())
        else {
            return Reply::Silent;
        };
        let setting = rules.settings.dispatch;
        if setting == Dispatch::Off {
            return Reply::Silent;
        }
        let agent = AgentName::parse(agent_type);
        let around = Around::all(catalog, &self.project, &self.cwd);
        let closed = around.iter().find_map(|around| {
            let (gate, status) = around
                .governed
                .system
                .closed_gate(&agent, &around.files())?;
            Some((around, gate, status))
        });
        let Some((around, gate, status)) = closed else {
            return Reply::Silent;
        };
        let dir = path::from_os(&around.dir);
        let denial = Denial {
            code: DenyCode::GateClosed,
            system: around.governed.system.id().to_owned(),
            mode: if setting == Dispatch::Block {
                around.governed.mode
            } else {
                Mode::Warn
            },
            act: Act::Write,
            path: dir.clone(),
            shown: agent_type.to_owned(),
            site: self.project.main.relative(&dir).unwrap_or(&dir).to_owned(),
            entry: gate.clone(),
            why: format!(
                "the gate `{gate}` before its phase is `{}`; finish that phase first, or set the gate right",
                status.as_str()
            ),
            instead: None,
            suggestion: None,
        };
        let (what, decision) = match denial.mode {
            Mode::Enforce => (What::Deny, Decision::Deny(vec![denial])),
            Mode::Warn | Mode::Off => (What::Warn, Decision::Warn(vec![denial])),
        };
        if let Decision::Deny(denials) | Decision::Warn(denials) = &decision {
            let reason = reply::reason(denials, &[]);
            let record = Record::of_denials(what, denials, &reason, event, self.now);
            let log = if what == What::Deny {
                self.logs().denies()
            } else {
                self.logs().events()
            };
            self.append(&log, &record.to_line(), &record.ts, rules);
        }
        Reply::to(Kind::PreToolUse, &decision, &rules.problems)
    }

    /// Tells a session that starts what is under way, so that nothing is done twice.
    pub(crate) fn session_started(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        self.heartbeat(event, rules, catalog);
        let mut text = String::new();
        for site in sites::at_root(&self.project, catalog) {
            let dir = site.dir();
            let files = InDir { dir: dir.as_ref() };
            for run in site
                .governed
                .system
                .runs(&site.site, &files)
                .into_iter()
                .flatten()
            {
                if run.active {
                    text += &summary(&run);
                }
            }
        }
        if text.is_empty() {
            return Reply::Silent;
        }
        let text = format!("A workflow is under way; go on from here, redo nothing.\n{text}");
        Reply::Context {
            event: "SessionStart",
            text: reply::cut(text.trim_end(), 999),
        }
    }

    fn complain_about(&self, what: &str, result: io::Result<()>) {
        if let Err(error) = result {
            reply::complain(&format!("could not write `{what}`: {error}"));
        }
    }

    /// Appends gate records; where that fails the gate changes stand.
    fn append_gates(&self, effects: Effects, rules: &Resolved) {
        for record in effects.records {
            match serde_json::to_string(&record) {
                Ok(line) => self.append(
                    &self.logs().gates(),
                    &format!("{line}\n"),
                    &record.ts,
                    rules,
                ),
                Err(error) => reply::complain(&format!("could not write a gate record: {error}")),
            }
        }
    }
}

/// What became of one end of a run.
enum Counted {
    Before,
    Now(Effects, Vec<(String, Owed)>),
    SentBack(Vec<(String, Owed)>),
}

fn about<'a>(event: &'a Event<'a>, ending: &'a Ending) -> About<'a> {
    About {
        event,
        agent_type: Some(&ending.agent_type),
        agent_id: ending.agent_id.as_deref(),
    }
}

fn session<'e>(event: &'e Event<'_>) -> &'e str {
    event.get(Field::SessionId).unwrap_or_default()
}

/// The agent's next message replaces the one it ended with, so it has to hold
/// everything again.
fn send_back(owed: &[(String, Owed)]) -> String {
    let list = owed
        .iter()
        .take(5)
        .map(|(dir, owed)| format!("`{dir}/{}` ({})", owed.file, owed.why));
    let list = list.collect::<Vec<_>>().join(", ");
    reply::cut(
        &format!(
            "Before you end: {list}. Write what is owed, then give your full report again: the next message \
             replaces the one you just gave."
        ),
        reply::MAX_REASON,
    )
}

fn summary(run: &crate::workflow::Workflow) -> String {
    let phase = run.phase.as_deref().unwrap_or("none");
    let round = match (run.iteration, run.max_iterations) {
        (Some(n), Some(max)) => format!(", iteration {n} of {max}"),
        _ => String::new(),
    };
    let gates = run
        .gates
        .iter()
        .map(|gate| format!("{} {}", gate.name, gate.status.as_str()));
    let gates = reply::cut(&gates.collect::<Vec<_>>().join(", "), 300);
    format!(
        "{} (`{}`): phase {phase}{round}; gates: {gates}. Next: {}.\n",
        run.system, run.file, run.next
    )
}
