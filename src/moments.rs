//! The events around agents: starts, ends, dispatches, the turn's end, the
//! session's start. The counterpart of the guard: it refuses nothing but an
//! end that owes an artifact, and a dispatch before its gate.

mod greeting;
mod roles;

use std::io;
use std::time::Duration;

use crate::actor::{Actor, AgentName};
use crate::claim::Claim;
use crate::completion::{Ending, ToldBy};
use crate::decision::{Decision, Denial, DenyCode};
use crate::event::{Event, Field, Tool};
use crate::gates::{About, Around, Due, Effects, GateRecord, Plan};
use crate::hook::World;
use crate::path;
use crate::project::read_text;
use crate::record::{LogLine, Record, What};
use crate::reply::{self, Reply};
use crate::runs::Runs;
use crate::settings::{Mode, Strictness};
use crate::store::lock::{IN_HOOK, Locked, with_lock};
use crate::store::make_own_folder;
use crate::systems::{ClosedGate, Moment, groups};
use crate::target::{Act, Text};

/// How long an end waits to be counted: several times as long as a lock is tried
/// for, since the end before it may be waiting for the locks of its states.
pub(crate) const TO_COUNT: Duration = IN_HOOK.saturating_mul(8);

impl World<'_> {
    /// `SubagentStart`: the agent's phase begins, and its next end counts.
    pub(crate) fn agent_started(&self, event: &Event<'_>) -> Reply {
        let (agent_type, agent_id) = (event.get(Field::AgentType), event.get(Field::AgentId));
        let agent = AgentName::parse(agent_type.unwrap_or_default());
        let around = self.states(&self.cwd);
        let moment = Moment::AgentStart { agent: &agent };
        let about = About {
            event: Some(event),
            agent_type,
            agent_id,
        };
        self.forget_run(event.session(), agent_id.unwrap_or_default());
        let effects = Plan::new(&around, moment, self.now.get()).carry_out(&self.project, &about);
        // A start that moves nothing is not worth a line, one that should have is.
        let is_odd = effects.has_failed || effects.is_undecided;
        let records = effects.records.into_iter();
        let worthy = records.filter(|record| record.skipped.is_none() || is_odd);
        self.append_gates(worthy);
        Reply::Silent
    }

    /// The systems' states around a directory.
    fn states(&self, cwd: &str) -> Vec<Around<'_>> {
        Around::all(self.catalog, &self.project, cwd)
    }

    /// The same for the end of an agent: groups in which nobody plays a role ask for nothing.
    fn states_at_end(&self, cwd: &str) -> Vec<Around<'_>> {
        let mut around = self.states(cwd);
        let is_of_groups = |at: &Around<'_>| at.governed.id() == groups::ID && at.dir().is_some();
        if around.iter().any(is_of_groups) && !self.has_group_roles(&self.sites_around()) {
            around.retain(|at| !is_of_groups(at));
        }
        around
    }

    /// Lets the end of a run count again, and its report be refused again, since its agent
    /// goes on.
    fn forget_run(&self, session: &str, id: &str) {
        if !self.logs().own_folder().is_dir() {
            return;
        }
        let forgotten = with_lock(self.logs().own_folder(), TO_COUNT, |locked| {
            let mut runs = Runs::read(locked);
            match runs.forget(session, id) {
                true => runs.write(locked),
                false => Ok(()),
            }
        });
        self.complain_about("runs.json", forgotten);
    }

    /// The end of an agent's run, counted once.
    pub(crate) fn agent_ended(&self, event: &Event<'_>) -> Reply {
        let Some(ending) = Ending::of(event) else {
            return Reply::Silent;
        };
        let agent = AgentName::parse(&ending.agent_type);
        let around = self.states_at_end(ending.work_tree.as_deref().unwrap_or(&self.cwd));
        let end = |reply| Moment::AgentEnd {
            agent: &agent,
            reply,
        };
        let mut plan = Plan::new(&around, end(&ending.reply), self.now.get());
        if plan.is_empty() {
            return Reply::Silent;
        }
        let found = ending.reply_in_transcript();
        if let Some(reply) = &found {
            plan = Plan::new(&around, end(reply), self.now.get());
        }
        let counted = make_own_folder(self.logs().own_folder()).and_then(|()| {
            with_lock(self.logs().own_folder(), TO_COUNT, |locked| {
                Ok(self.count_end(locked, event, &ending, &plan))
            })
        });
        match counted {
            Ok(counted) => self.answer_end(event, counted),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let why = format!("could not be counted: {error}");
                let effects = plan.skip_all(&self.project, &about(event, &ending), &why);
                self.append_gates(effects.records);
                Reply::Silent
            }
            // The gates are not in that folder. At worst the run's second event moves them again.
            Err(error) => {
                self.complain_about("runs.json", Err(error));
                let (effects, counted) = self.settle_end(event, &ending, &plan);
                self.append_gates(effects.records);
                self.answer_end(event, counted)
            }
        }
    }

    fn answer_end(&self, event: &Event<'_>, counted: Counted) -> Reply {
        match counted {
            Counted::Before | Counted::Wordless => Reply::Silent,
            Counted::Now(owed) => {
                // This log shares its lock with the counting, which is over now.
                if self.rules.settings.completion != Strictness::Off {
                    owed.iter().for_each(|owed| self.note_owed(event, owed));
                }
                Reply::Silent
            }
            Counted::SentBack(owed) => Reply::Block {
                reason: send_back(&owed, IN_A_MESSAGE),
            },
        }
    }

    fn count_end(
        &self,
        locked: &Locked<'_>,
        event: &Event<'_>,
        ending: &Ending,
        plan: &Plan<'_>,
    ) -> Counted {
        let mut runs = Runs::read(locked);
        let id = ending.agent_id.as_deref().unwrap_or_default();
        // The end before a second one was blocked, by whatever hook, and did not count.
        let is_second = ending.told_by == ToldBy::SecondStop;
        if !is_second && runs.is_counted(event.session(), id) {
            return Counted::Before;
        }
        let mut ending = ending.clone();
        if ending.told_by == ToldBy::Stop && runs.was_sent_back(event.session(), id) {
            ending.told_by = ToldBy::SecondStop;
        }
        let (effects, counted) = self.settle_end(event, &ending, plan);
        // Where nothing could be written, the run's second event is another chance.
        if matches!(counted, Counted::Now(_)) && !id.is_empty() && !effects.has_failed {
            runs.count(event.session(), id);
            // The gate has moved; at worst the run's second event moves it again.
            self.complain_about("runs.json", runs.write(locked));
        }
        self.append_gates_locked(locked, effects.records);
        counted
    }

    fn settle_end(
        &self,
        event: &Event<'_>,
        ending: &Ending,
        plan: &Plan<'_>,
    ) -> (Effects, Counted) {
        let about = about(event, ending);
        if plan.is_wordless() {
            let why = "the agent's final text is empty";
            return (plan.skip_all(&self.project, &about, why), Counted::Wordless);
        }
        let owed = self.owed_before_the_end(plan);
        if ending.told_by == ToldBy::Stop && !owed.is_empty() {
            return (Effects::default(), Counted::SentBack(owed));
        }
        let owed = plan.owed();
        (plan.carry_out(&self.project, &about), Counted::Now(owed))
    }

    /// What an agent may not end without.
    fn owed_before_the_end(&self, plan: &Plan<'_>) -> Vec<Due> {
        if self.rules.settings.completion != Strictness::Block {
            return Vec::new();
        }
        let mut owed = plan.owed();
        owed.retain(|due| due.mode == Mode::Enforce);
        owed
    }

    /// `PreToolUse` of `SubagentHandback`, by which an agent's report goes to its caller in
    /// auto mode: the end of the agent is too late to ask for what it owes. A report is
    /// refused once, and never where that cannot be noted.
    pub(crate) fn handed_back(&self, event: &Event<'_>) -> Reply {
        let (session, id) = (event.session(), event.agent_id());
        let agent_type = event.agent_type().unwrap_or_default();
        let input = event.document().unwrap_or_default().get("tool_input");
        let around = self.states_at_end(&self.cwd);
        let moment = Moment::AgentEnd {
            agent: &AgentName::parse(agent_type),
            reply: input["message"].as_str().unwrap_or_default(),
        };
        let owed = self.owed_before_the_end(&Plan::new(&around, moment, self.now.get()));
        if owed.is_empty() || id.is_empty() {
            return Reply::Silent;
        }
        let about = About {
            event: Some(event),
            agent_type: Some(agent_type),
            agent_id: Some(id),
        };
        let (project, now) = (&self.project, self.now.get());
        let records = owed.iter().map(|due| due.sent_back(&about, project, now));
        let noted = make_own_folder(self.logs().own_folder()).and_then(|()| {
            with_lock(self.logs().own_folder(), TO_COUNT, |locked| {
                let mut runs = Runs::read(locked);
                if runs.was_sent_back(session, id) {
                    return Ok(Reply::Silent);
                }
                runs.send_back(session, id);
                runs.write(locked)?;
                self.append_gates_locked(locked, records);
                let reason = send_back(&owed, BY_HANDBACK);
                Ok(Reply::Deny { reason })
            })
        });
        noted.unwrap_or_else(|error| {
            self.complain_about("runs.json", Err(error));
            Reply::Silent
        })
    }

    fn note_owed(&self, event: &Event<'_>, due: &Due) {
        let reason = format!("`{}` is owed: {}", due.path, due.why);
        let mut record = Record::new(What::Warn, &reason, Some(event), self.now.get());
        record.system = Some(due.system.clone());
        record.file_path = Some(due.path.clone());
        record.name = Some(due.name.clone());
        self.append(&self.logs().events(), &record);
    }

    /// The main thread's turn is over: a run whose gates have all passed is
    /// closed, and what goes on in the background is looked after.
    pub(crate) fn turn_ended(&self, event: &Event<'_>) -> Reply {
        if event.actor() == Actor::Main {
            self.carry_out(Moment::TurnEnd, &self.states(&self.cwd), event);
        }
        self.detect(event, &[])
    }

    /// A call has succeeded; where the main thread wrote a report, that completes its phase.
    pub(crate) fn report_written(&self, event: &Event<'_>, claims: &[Claim<'_>]) {
        if event.actor() != Actor::Main {
            return;
        }
        for claim in claims {
            let said = match (&claim.target.text, event.tool()) {
                (Some(Text::Whole(text) | Text::Added(text)), _) => Some(text.to_string()),
                (None, Tool::Write) => {
                    let texts = event.texts().unwrap_or_default().into_iter();
                    Some(texts.filter_map(|texts| texts.content).collect())
                }
                // What an Edit or a program leaves may be no report.
                (None, _) => None,
            };
            let path = claim.path();
            let dir = claim.governed.system.gate_dir();
            let place = dir.and_then(|dir| Some((dir, path.split_once(&format!("/{dir}/"))?)));
            let (Some(said), Some((dir, (above, entry)))) = (said, place) else {
                continue;
            };
            let left = read_text(&path).ok().flatten().unwrap_or(said);
            let around = [Around::at_dir(
                claim.governed,
                format!("{above}/{dir}").into(),
            )];
            let moment = Moment::Wrote { entry, text: &left };
            self.carry_out(moment, &around, event);
        }
    }

    /// Carries a moment of the main thread into the states around it.
    fn carry_out(&self, moment: Moment<'_>, around: &[Around<'_>], event: &Event<'_>) {
        let about = About {
            event: Some(event),
            ..About::default()
        };
        let plan = Plan::new(around, moment, self.now.get());
        let effects = plan.carry_out(&self.project, &about);
        self.append_gates(effects.records);
    }

    /// `PreToolUse` of a dispatch: warned of or refused before its gate.
    pub(crate) fn dispatched(&self, event: &Event<'_>) -> Reply {
        let objection = self.objection_to_dispatch(event);
        let decision = Decision::of(objection.into_iter().collect());
        self.conclude(event, &decision, &[])
    }

    /// What is said against a dispatch: a gate before the agent's phase has not passed.
    pub(crate) fn objection_to_dispatch(&self, event: &Event<'_>) -> Option<Denial> {
        let agent_type = event.get(Field::SubagentType)?;
        let setting = self.rules.settings.dispatch;
        if agent_type.is_empty() || setting == Strictness::Off {
            return None;
        }
        let agent = AgentName::parse(agent_type);
        let around = self.states(&self.cwd);
        let mut around = around.iter();
        let (around, gate) =
            around.find_map(|around| Some((around, around.closed_gate(&agent)?)))?;
        let mode = match setting {
            Strictness::Block => around.governed.mode,
            Strictness::Off | Strictness::Warn => Mode::Warn,
        };
        Some(self.closed(around, agent_type, gate, mode))
    }

    /// A dispatch before its gate.
    fn closed(
        &self,
        around: &Around<'_>,
        agent_type: &str,
        gate: ClosedGate,
        mode: Mode,
    ) -> Denial {
        let dir = around.dir().map(path::from_os).unwrap_or_default();
        Denial {
            code: DenyCode::GateClosed,
            system: around.governed.id().to_owned(),
            mode,
            act: Act::Write,
            shown: agent_type.to_owned(),
            site: self.project.main.relative(&dir).unwrap_or(&dir).to_owned(),
            path: path::below(&dir, &gate.file),
            why: gate.why,
            entry: gate.name,
            instead: None,
            suggestion: None,
            agent: None,
        }
    }

    pub(crate) fn complain_about(&self, what: &str, result: io::Result<()>) {
        if let Err(error) = result {
            let file = self.logs().own_folder().join(what);
            let file = file.display();
            reply::complain(&format!("could not write `{file}`: {error}"));
        }
    }

    /// Appends gate records; where that fails the gate changes stand.
    pub(crate) fn append_gates(&self, records: impl IntoIterator<Item = GateRecord>) {
        for record in records {
            self.append(&self.logs().gates(), &record);
        }
    }

    /// The same where the folder of the log is locked already.
    fn append_gates_locked(
        &self,
        locked: &Locked<'_>,
        records: impl IntoIterator<Item = GateRecord>,
    ) {
        let log = self.logs().gates();
        let max_bytes = self.rules.settings.log_max_bytes;
        for record in records {
            let line = record.to_line();
            let written = log.append_locked(locked, &line, max_bytes, &record.ts);
            self.complain_about(log.name, written);
        }
    }
}

/// What became of one end of a run.
enum Counted {
    Before,
    Wordless,
    Now(Vec<Due>),
    SentBack(Vec<Due>),
}

fn about<'a>(event: &'a Event<'a>, ending: &'a Ending) -> About<'a> {
    About {
        event: Some(event),
        agent_type: Some(&ending.agent_type),
        agent_id: ending.agent_id.as_deref(),
    }
}

/// How an agent that is sent back gives its report again; its next message replaces the
/// one it ended with, so it has to hold everything.
const IN_A_MESSAGE: &str =
    "give your full report again: the next message replaces the one you just gave";
const BY_HANDBACK: &str =
    "call SubagentHandback with your full report again: this one was not delivered";

fn send_back(owed: &[Due], again: &str) -> String {
    let owed = owed
        .iter()
        .map(|due| format!("`{}` ({})", due.path, due.why));
    let list = reply::listed(owed.collect(), reply::MAX_REASON - 160);
    let text = format!("Before you end: {list}. Write what is owed, then {again}.");
    reply::cut(&text, reply::MAX_REASON)
}
