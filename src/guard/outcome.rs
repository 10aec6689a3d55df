//! What a decision leads to: its record, and the reply.

use std::path::Path;

use crate::contract::denial::{Denial, Mode};
use crate::guard::claims::Claim;
use crate::guard::decision::Decision;
use crate::guard::excerpt::Excerpts;
use crate::guard::message;
use crate::host::event::Event;
use crate::host::reply::Reply;
use crate::log::append::{LogFile, Logs};
use crate::log::record::{Record, What};
use crate::project::context::Context;
use crate::project::files::InDir;
use crate::systems::devt;
use crate::systems::system::Note;

/// What a decision leads to: its record, and the reply.
pub(crate) fn conclude(
    context: &Context<'_>,
    event: &Event<'_>,
    decision: &Decision,
    claims: &[Claim<'_>],
) -> Reply {
    let reason = message::reason(decision.denials(), &[]);
    record_decision(context, event, decision, &reason, claims);
    message::reply(event.kind(), decision, reason, &context.rules.problems)
}

pub(crate) fn record_decision(
    context: &Context<'_>,
    event: &Event<'_>,
    decision: &Decision,
    reason: &str,
    claims: &[Claim<'_>],
) {
    let (what, denials) = match decision {
        Decision::Allow { notes } => return record_repairs(context, event, notes, claims),
        Decision::Warn(denials) => (What::Warn, denials),
        Decision::Deny(denials) => (What::Deny, denials),
    };
    let mut record = Record::from_denials(what, denials, reason, event, context.now.get());
    record.command_excerpt = Excerpts::around(context).of_call(event);
    // devt reads its own log alone, so it has what concerns devt, whichever denial leads.
    let of_devt = denials
        .iter()
        .find(|denial| denial.system == devt::ID && denial.mode == Mode::Enforce);
    let kept = of_devt.or(denials.first());
    let site = kept.map(Denial::site_dir);
    let system = kept.map_or("", |kept| &kept.system);
    let log = match what {
        What::Deny => denial_log(&context.logs(), system, site),
        _ => context.logs().events(),
    };
    let governed = context.registry.get(system);
    record.workflow_id = governed.zip(site).and_then(|(governed, site)| {
        let files = InDir {
            dir: Path::new(site),
        };
        governed.system.workflow_id(&files)
    });
    context.append(&log, &record);
}

/// A state that was broken until this call is worth knowing the morning after.
pub(crate) fn record_repairs(
    context: &Context<'_>,
    event: &Event<'_>,
    notes: &[Note],
    claims: &[Claim<'_>],
) {
    let judged = claims
        .iter()
        .find(|claim| claim.governed.system.judges(&claim.entry));
    let Some(claim) = judged else {
        return;
    };
    for note in notes {
        let Note::Repair(reason) = note else {
            continue;
        };
        let mut record = Record::new(What::Fault, reason, Some(event), context.now.get());
        record.command_excerpt = Excerpts::around(context).of_call(event);
        record.system = Some(claim.governed.id().to_owned());
        record.file_path = Some(claim.path());
        record.name = Some(claim.entry.clone());
        context.append(&context.logs().events(), &record);
    }
}

/// The log that keeps the denials of a site.
pub(crate) fn denial_log(logs: &Logs, system: &str, site: Option<&str>) -> LogFile {
    match site
        .map(Path::new)
        .filter(|site| system == devt::ID && site.is_dir())
    {
        Some(site) => Logs::devt(site),
        None => logs.denies(),
    }
}
