//! After a tool call: which phases a report completes, and which denials are settled.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::iter;
use std::time::Duration;

use serde_json::Value;

use crate::base::path;
use crate::base::target::Act;
use crate::contract::denial::DenyCode;
use crate::guard::claims::Claim;
use crate::guard::decision::Decision;
use crate::guard::judge;
use crate::guard::outcome::denial_log;
use crate::host::event::{Event, Kind, Text};
use crate::host::reply::Reply;
use crate::lifecycle::agents::{self, TO_COUNT};
use crate::lifecycle::{calls, evidence};
use crate::log::append::LogFile;
use crate::log::record::{LogLine, Record, What};
use crate::project::context::Context;
use crate::store::lock::with_lock;
use crate::store::make_own_folder;

/// `PostToolUse`, and `PostToolUseFailure`, of a tool that can write.
pub(crate) fn after(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let judged = judge::judge(context, event).ok();
    let (decision, claims) = judged.unzip();
    let claims = claims.unwrap_or_default();
    if event.kind() == Kind::PostToolUse {
        agents::report_written(context, event, &claims);
        agents::agent_wrote(context, event, &claims);
        if let Some(Decision::Allow { .. }) = decision {
            recover(context, event, &claims);
        }
    }
    evidence::command_ended(context, event);
    calls::after_call(context, event, &claims)
}

/// Closes the open denials of the same agent in the sites where it has now
/// written an allowed name.
fn recover(context: &Context<'_>, event: &Event<'_>, claims: &[Claim<'_>]) {
    let writes = claims
        .iter()
        .filter(|claim| matches!(claim.target.act, Act::Write | Act::Edit));
    let mut sites: BTreeMap<String, &Claim<'_>> = BTreeMap::new();
    for claim in writes.filter(|claim| !claim.entry.is_empty()) {
        sites.entry(claim.site_dir()).or_insert(claim);
    }
    let log = context.logs().events();
    let max_bytes = context.rules.settings.log_max_bytes;
    for (site, claim) in sites {
        let denials = denials(context, event, &site, claim);
        if denials.is_empty() {
            continue;
        }
        let close = |append: &dyn Fn(&str, &str) -> io::Result<()>| {
            let mut open = still_open(&denials, &log).into_iter();
            open.try_for_each(|denial| {
                let record = recovery(context, event, claim, denial);
                append(&record.to_line(), &record.ts)
            })
        };
        // Of several writes at once only the first finds a denial open.
        let closed = make_own_folder(&log.dir).and_then(|()| {
            with_lock(&log.dir, TO_COUNT, |locked| {
                close(&|line, ts| log.append_locked(locked, line, max_bytes, ts))
            })
        });
        let closed = closed.or_else(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                close(&|line, ts| log.append(line, max_bytes, ts, Duration::ZERO))
            }
            _ => Err(error),
        });
        context.warn_about(log.name, closed);
    }
}

fn recovery(
    context: &Context<'_>,
    event: &Event<'_>,
    claim: &Claim<'_>,
    denial: &Denied,
) -> Record {
    let reason = format!(
        "wrote `{}` after it was denied `{}`",
        claim.entry, denial.shown
    );
    let mut record = Record::new(What::Recovered, &reason, Some(event), context.now.get());
    record.rule = denial.rule;
    record.system = Some(claim.governed.id().to_owned());
    record.name = Some(claim.entry.clone());
    record.file_path = Some(claim.path());
    record.resolves = Some(denial.id.clone());
    record
}

/// The denials of the event's agent in a site. Those from before the site was
/// there lie in the common log, and other systems' sites may lie in this one.
fn denials(context: &Context<'_>, event: &Event<'_>, site: &str, claim: &Claim<'_>) -> Vec<Denied> {
    let system = claim.governed.id();
    let mut logs = vec![
        denial_log(&context.logs(), system, Some(site)),
        context.logs().denies(),
    ];
    logs.dedup();
    let mine = |record: &Value| {
        let same = |key: &str, text: &Text<'_>| record[key].as_str() == text.get();
        record["source"] == "statewarden"
            && record["decision"] == "deny"
            && same("session_id", &event.session_id)
            && same("agent_id", &event.agent_id)
    };
    let is_here = |denial: &&Value| {
        let path = denial["file_path"].as_str().unwrap_or_default();
        // What could not be judged has no name.
        let is_below = match denial["name"].as_str() {
            Some(name) => path::below(site, name).trim_end_matches('/') == path,
            None => path::relative(path, site).is_some(),
        };
        is_below && denial["system"] == system
    };
    let mut denials = Vec::new();
    let mut take = |record: Value| {
        let also = record["also"].as_array().into_iter().flatten();
        let denial = iter::once(&record).chain(also).find(is_here);
        if let (true, Some(id), Some(denial)) = (mine(&record), record["id"].as_str(), denial) {
            // A site has no name in itself.
            let path = denial["file_path"].as_str().unwrap_or_default();
            let name = denial["name"].as_str().filter(|name| !name.is_empty());
            let shown = name.or(context.project.main.relative(path)).unwrap_or(path);
            denials.push(Denied {
                id: id.to_owned(),
                rule: denial["rule"].as_str().and_then(DenyCode::parse),
                shown: shown.to_owned(),
            });
        }
    };
    for log in logs {
        log.each(TAIL, &mut take);
    }
    denials
}

struct Denied {
    id: String,
    rule: Option<DenyCode>,
    /// What was denied, as people are told.
    shown: String,
}

/// Those that no record of the log resolves.
fn still_open<'d>(denials: &'d [Denied], log: &LogFile) -> Vec<&'d Denied> {
    let mut open: Vec<&Denied> = denials.iter().collect();
    log.each(TAIL, &mut |record: Value| {
        if let Some(resolved) = record["resolves"].as_str() {
            open.retain(|denial| denial.id != resolved);
        }
    });
    open
}

/// How much of a log's end is searched, rotated generations included.
const TAIL: u64 = 512 * 1024;
