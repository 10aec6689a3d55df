//! What is recorded: each change in `changes.jsonl`, and what is against the rules in
//! `events.jsonl`.

use std::io;
use std::ops::ControlFlow;

use serde_json::Value;

use crate::base::clock;
use crate::formats::json;
use crate::guard::excerpt::Excerpts;
use crate::log::append::LogFile;
use crate::log::record::{self, LogLine, Record, What};
use crate::recorder::calls::{Call, Caller, Work};
use crate::recorder::changes::{self, ChangeRecord, Outcome};
use crate::recorder::contents::Contents;
use crate::recorder::entry::{Change, Kind, State};
use crate::recorder::facts::Decision;
use crate::recorder::findings::{Done, Finding, Findings, MadeBy, Recipient};
use crate::recorder::mediate::{Recorder, warn_on_error};
use crate::recorder::pipeline::Step;
use crate::store::lock::{IN_HOOK, Locked};
use crate::store::make_own_folder;

/// How much of the log is read for a warning of the call that has just ended, in bytes.
const RECENT: u64 = 64 << 10;

/// Records a change that was decided about; gives its id.
pub(super) fn change(
    recorder: &Recorder<'_>,
    locked: &Locked<'_>,
    decision: &Decision<'_, '_>,
    outcome: Outcome,
) -> io::Result<String> {
    let by = decision.by().map(|call| &call.caller);
    let mut record = change_record(recorder, decision.change, by);
    record.decision = outcome;
    record.certain = decision.attribution.certain;
    if let Some(denial) = &decision.denial
        && outcome != Outcome::Allowed
    {
        record.code = Some(denial.code.as_str().to_owned());
    }
    append_change(recorder, locked, &record)?;
    Ok(record.id)
}

/// Records what this program wrote itself.
pub(super) fn own_change(
    recorder: &Recorder<'_>,
    locked: &Locked<'_>,
    change: &Change,
    by: &Caller,
) -> io::Result<()> {
    let record = ChangeRecord {
        certain: true,
        ..change_record(recorder, change, Some(by))
    };
    append_change(recorder, locked, &record)
}

fn change_record(recorder: &Recorder<'_>, change: &Change, by: Option<&Caller>) -> ChangeRecord {
    // What this program writes by itself is of no call.
    let text = |of: fn(&Caller) -> &String| by.map(of).filter(|text| !text.is_empty()).cloned();
    ChangeRecord {
        v: 1,
        id: record::id(recorder.now),
        ts: clock::millis(recorder.now),
        path: crate::base::path::from_os(change.path()),
        act: change.act(),
        actor: text(|by| &by.actor),
        tool: text(|by| &by.tool),
        tool_use_id: text(|by| &by.tool_use_id),
        session_id: text(|by| &by.session),
        agent_id: text(|by| &by.agent_id),
        before: change.before.and_then(|before| before.blob),
        after: change.after.and_then(|after| after.blob),
        before_kind: change.before.and_then(kind_unless_file),
        after_kind: change.after.and_then(kind_unless_file),
        size: change.after.map(|after| after.size),
        decision: Outcome::Allowed,
        certain: false,
        code: None,
    }
}

fn kind_unless_file(state: State) -> Option<Kind> {
    (state.kind != Kind::File).then_some(state.kind)
}

fn append_change(
    recorder: &Recorder<'_>,
    locked: &Locked<'_>,
    record: &ChangeRecord,
) -> io::Result<()> {
    changes::log(locked.dir()).append_locked(
        locked,
        &record.to_line(),
        recorder.settings.log_max_bytes,
        &record.ts,
    )
}

/// A trial warns before a call of what it then does: once is enough.
pub(super) fn was_warned_of(
    recorder: &Recorder<'_>,
    decision: &Decision<'_, '_>,
    finding: &Finding,
) -> bool {
    let (Some(denial), Some(call)) = (&decision.denial, decision.by()) else {
        return false;
    };
    let is_it =
        |told: &Value| told["file_path"] == denial.path && told["rule"] == denial.code.as_str();
    let mut was_warned = false;
    if !finding.is_enforced {
        let (events, id) = (recorder.project.logs().events(), &call.caller.tool_use_id);
        events.newest(RECENT, &json::quoted(id), &mut |record: Value| {
            let is_call = record["decision"] == "warn"
                && record["session_id"] == call.caller.session
                && record["tool_use_id"] == **id;
            let mut also = record["also"].as_array().into_iter().flatten();
            was_warned |= is_call && (is_it(&record) || also.any(is_it));
            ControlFlow::Continue(())
        });
    }
    was_warned
}

fn excerpts<'r>(recorder: &'r Recorder<'_>) -> Excerpts<'r> {
    Excerpts {
        project: recorder.project,
        registry: recorder.registry,
        cwd: &recorder.project.main.dir,
        home: recorder.env.home.as_deref(),
    }
}

pub(super) fn log_finding(
    recorder: &Recorder<'_>,
    decision: &Decision<'_, '_>,
    finding: &Finding,
    change_id: &str,
) {
    let Some(denial) = &decision.denial else {
        return;
    };
    let what = if finding.was_undone() {
        What::Undone
    } else {
        What::Detected
    };
    let reason = format!("{} (change {change_id})", finding.to_item());
    let mut record = Record::new(what, &reason, None, recorder.now);
    record.set_denial(denial);
    if let Some(Call { caller, work, .. }) = decision.by() {
        if let Work::RunsCode(call) = work {
            record.command_excerpt = Some(excerpts(recorder).of_command(&call.text));
        }
        record.tool = Some(caller.tool.clone());
        record.session_id = Some(caller.session.clone());
        record.tool_use_id = Some(caller.tool_use_id.clone());
        let agent = Some(caller).filter(|caller| !caller.agent_id.is_empty());
        record.agent_id = agent.map(|caller| caller.agent_id.clone());
        record.agent_type = agent.map(|caller| caller.actor.clone());
    }
    let blob = |state: Option<State>| Some(state?.blob?.to_string());
    record.before = blob(decision.change.before);
    record.after = blob(decision.change.after);
    record.certain = Some(decision.attribution.certain);
    log(recorder, &record);
}

/// Something kept cannot be read any more, or there was no room for something new.
pub(super) fn note_unkept(recorder: &Recorder<'_>, contents: &mut Contents) {
    if std::mem::take(&mut contents.was_unreadable) {
        log_fault(
            recorder,
            "kept contents of state files cannot be read; what is there now is kept anew, and former contents are lost",
        );
    }
    let left_out = std::mem::take(&mut contents.left_out);
    if left_out > 0 {
        let what = format!(
            "there was no room to keep {left_out} of the new contents of state files; they cannot be restored"
        );
        log_fault(recorder, &what);
    }
}

/// The call was not noted when it began, although the project was known then.
pub(super) fn note_missing(recorder: &Recorder<'_>, call: &Call) {
    let Call { caller, .. } = call;
    let what = format!(
        "the note of call {} of {} is missing: only names are judged of what it left",
        caller.tool_use_id, caller.actor
    );
    log_fault(recorder, &what);
}

/// What became of the memory without this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Gone,
    Older,
}

/// What was remembered of the state directories is gone, or an old copy of it is in its place.
pub(super) fn memory_lost(recorder: &Recorder<'_>, loss: Loss, step: &Step<'_>) -> Findings {
    let memory = recorder.dir();
    let why = match loss {
        Loss::Gone => {
            "what statewarden remembered of the state directories is gone: changes before now \
             are not known, and former contents cannot be restored"
        }
        Loss::Older => {
            "what statewarden remembers of the state directories is older than its own log: an \
             earlier copy was put in its place, and what changed since is not known"
        }
    };
    let mut record = Record::new(What::Detected, why, None, recorder.now);
    record.file_path = Some(crate::base::path::from_os(&memory));
    record.system = Some(crate::systems::own::ID.to_owned());
    log(recorder, &record);
    let finding = Finding {
        path: crate::base::path::from_os(&memory),
        code: crate::contract::denial::DenyCode::ProtectedFile
            .as_str()
            .to_owned(),
        why: why.to_owned(),
        instead: None,
        done: Done::Left(None),
        restorable_at: None,
        made_by: match step.unnoted {
            Some(_) => MadeBy::OneOfSeveral,
            None => MadeBy::NoCall,
        },
        is_enforced: true,
        present: None,
    };
    vec![(Recipient::main_of(step.session), finding)]
}

pub(super) fn log_fault(recorder: &Recorder<'_>, what: &str) {
    log(
        recorder,
        &Record::new(What::Fault, what, None, recorder.now),
    );
}

fn log(recorder: &Recorder<'_>, record: &Record) {
    let log: LogFile = recorder.project.logs().events();
    let appended = make_own_folder(&log.dir).and_then(|()| {
        log.append(
            &record.to_line(),
            recorder.settings.log_max_bytes,
            &record.ts,
            IN_HOOK,
        )
    });
    warn_on_error("could not write `events.jsonl`", &appended);
}
