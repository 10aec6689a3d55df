//! Carries decisions out, and records what became of each change.

use std::collections::BTreeSet;
use std::io;

use serde_json::Value;

use crate::base::clock;
use crate::log::append::LogFile;
use crate::log::record::{self, LogLine, Record, What};
use crate::log::redact;
use crate::recorder::changes::{self, ChangeRecord, Outcome};
use crate::recorder::entry::{Change, State};
use crate::recorder::mediate::{Recorder, warn_on_error};
use crate::recorder::plan::{Plan, Planner, finding, hearers};
use crate::recorder::step::{Known, Step};
use crate::recorder::telling::{Done, Finding, Findings};
use crate::recorder::undo::Refused;
use crate::recorder::windows::{Caller, Doing, Window};
use crate::store::lock::{IN_HOOK, Locked};

/// How much of the log is read for a warning of the call that has just ended, in bytes.
const RECENT: u64 = 64 << 10;

impl Recorder<'_> {
    /// Decides about changes and carries it out; those that wait stay for a later look.
    pub(super) fn carry_out(
        &self,
        locked: &Locked<'_>,
        step: &Step<'_>,
        known: &mut Known,
        windows: &[Window],
        mut waiting: Vec<Change>,
        ripe: &[Change],
    ) -> io::Result<Findings> {
        let planner = Planner::new(self, &known.contents, windows, ripe);
        let plans = planner.plan(&known.index);
        if plans.iter().any(Plan::acts) {
            // What a kill leaves undone is found in the index again.
            known.index.set_pending([&waiting, ripe].concat());
            known.index.commit(locked)?;
        }
        let (mut findings, mut gone) = (Vec::new(), BTreeSet::new());
        for plan in &plans {
            if gone.contains(&plan.change.path) {
                self.record(locked, plan, Outcome::Undone)?;
                continue;
            }
            let done = match plan.acts() {
                true => planner.take_back(plan, &mut known.index, step.session),
                false => Ok(Done::Left(None)),
            };
            // A later look may still take it back.
            if let Err(Refused::Touched) = &done {
                waiting.push(plan.change.clone());
                continue;
            }
            if let Ok(Done::MovedTo(_) | Done::RenamedTo(_)) = &done {
                gone.insert(plan.change.path.clone());
                gone.extend(plan.former_path());
            }
            let finding = finding(plan, done).filter(|_| !self.is_silent(plan, step));
            let outcome = match &finding {
                None => Outcome::Allowed,
                Some(finding) if finding.was_undone() => Outcome::Undone,
                Some(_) => Outcome::Detected,
            };
            let id = self.record(locked, plan, outcome)?;
            let Some(mut finding) = finding else {
                continue;
            };
            let before = plan.change.before.as_ref().and_then(|before| before.blob);
            let is_kept = before.is_some_and(|blob| known.contents.get(blob).is_some());
            finding.restorable_at = (is_kept && !finding.was_undone()).then(|| id.clone());
            if self.was_warned_of(plan, &finding) {
                continue;
            }
            self.log_finding(plan, &finding, &id);
            let caller = step.hearer.clone().unwrap_or_default();
            let to = hearers(plan, &finding, &caller);
            findings.extend(to.into_iter().map(|to| (to, finding.clone())));
        }
        known.index.set_pending(waiting);
        known.index.commit(locked)?;
        Ok(findings)
    }

    /// What came while no call ran is not told where a call ran that nobody announced.
    pub(super) fn is_silent(&self, plan: &Plan<'_, '_>, step: &Step<'_>) -> bool {
        plan.candidates.is_empty() && step.hearer.is_none()
    }

    /// A trial warns before a call of what it then does: once is enough.
    fn was_warned_of(&self, plan: &Plan<'_, '_>, finding: &Finding) -> bool {
        let (Some(denial), Some(window)) = (&plan.denial, plan.by()) else {
            return false;
        };
        let is_it =
            |told: &Value| told["file_path"] == denial.path && told["rule"] == denial.code.as_str();
        let mut was_warned = false;
        let mut look_at = |record: Value| {
            let is_call = record["decision"] == "warn"
                && record["session_id"] == window.caller.session
                && record["tool_use_id"] == window.caller.tool_use_id;
            let mut also = record["also"].as_array().into_iter().flatten();
            was_warned |= is_call && (is_it(&record) || also.any(is_it));
        };
        if !finding.is_enforced {
            self.project.logs().events().each(RECENT, &mut look_at);
        }
        was_warned
    }

    pub(super) fn record(
        &self,
        locked: &Locked<'_>,
        plan: &Plan<'_, '_>,
        decision: Outcome,
    ) -> io::Result<String> {
        let mut record = self.change_record(plan.change, plan.by());
        record.decision = decision;
        record.certain = plan.decision.certain;
        let denial = plan
            .denial
            .as_ref()
            .filter(|_| decision != Outcome::Allowed);
        record.code = denial.map(|denial| denial.code.as_str().to_owned());
        self.append_change(locked, &record)?;
        Ok(record.id)
    }

    pub(super) fn change_record(&self, change: &Change, by: Option<&Window>) -> ChangeRecord {
        let caller = by.map(|window| &window.caller);
        let text = |text: &dyn Fn(&Caller) -> &String| caller.map(|caller| text(caller).clone());
        ChangeRecord {
            v: 1,
            id: record::id(self.now),
            ts: clock::millis(self.now),
            path: crate::base::path::from_os(change.path()),
            act: change.act(),
            actor: text(&|caller| &caller.actor),
            tool: text(&|caller| &caller.tool),
            tool_use_id: text(&|caller| &caller.tool_use_id),
            session_id: text(&|caller| &caller.session),
            agent_id: text(&|caller| &caller.agent_id).filter(|id| !id.is_empty()),
            before: change.before.and_then(|before| before.blob),
            after: change.after.and_then(|after| after.blob),
            size: change.after.map(|after| after.size),
            decision: Outcome::Allowed,
            certain: true,
            code: None,
        }
    }

    pub(super) fn append_change(
        &self,
        locked: &Locked<'_>,
        record: &ChangeRecord,
    ) -> io::Result<()> {
        let log = changes::log(locked.dir());
        log.append_locked(
            locked,
            &record.to_line(),
            self.settings.log_max_bytes,
            &record.ts,
        )
    }

    pub(super) fn log_finding(&self, plan: &Plan<'_, '_>, finding: &Finding, change_id: &str) {
        let Some(denial) = &plan.denial else {
            return;
        };
        let what = match finding.was_undone() {
            true => What::Undone,
            false => What::Detected,
        };
        let reason = format!("{} (change {change_id})", finding.to_item());
        let mut record = Record::new(what, &reason, None, self.now);
        record.set_denial(denial);
        if let Some(Window { caller, doing, .. }) = plan.by() {
            if let Doing::RunsCode(call) = doing {
                record.command_excerpt = Some(redact::excerpt(&call.text));
            }
            record.tool = Some(caller.tool.clone());
            record.session_id = Some(caller.session.clone());
            record.tool_use_id = Some(caller.tool_use_id.clone());
            let agent = Some(caller).filter(|caller| !caller.agent_id.is_empty());
            record.agent_id = agent.map(|caller| caller.agent_id.clone());
            record.agent_type = agent.map(|caller| caller.actor.clone());
        }
        let blob = |state: Option<State>| Some(state?.blob?.to_string());
        record.before = blob(plan.change.before);
        record.after = blob(plan.change.after);
        record.certain = Some(plan.decision.certain);
        self.log(&record);
    }

    pub(super) fn log(&self, record: &Record) {
        let log: LogFile = self.project.logs().events();
        let line = record.to_line();
        let appended = log.append(&line, self.settings.log_max_bytes, &record.ts, IN_HOOK);
        warn_on_error("could not write `events.jsonl`", &appended);
    }
}
