//! After a tool call: which phases a report completes, and which denials are settled.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::iter;
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value;

use crate::base::path;
use crate::base::target::Act;
use crate::base::warn;
use crate::contract::denial::DenyCode;
use crate::formats::json;
use crate::guard::claims::Claim;
use crate::guard::decision::Decision;
use crate::guard::excerpt::Excerpts;
use crate::guard::outcome::denial_log;
use crate::host::event::{Event, Kind, Text};
use crate::host::reply::Reply;
use crate::lifecycle::agents::{self, TO_COUNT};
use crate::lifecycle::{calls, evidence, freshness, judge, strict};
use crate::log::append::LogFile;
use crate::log::record::{LogLine, Record, What};
use crate::project::context::Context;
use crate::store::lock::with_lock;
use crate::store::make_own_folder;

/// `PostToolUse`, and `PostToolUseFailure`, of a tool that can write.
pub(crate) fn after(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let (decision, claims) = match judge::judge(context, event) {
        Ok((decision, claims)) => (Some(decision), claims),
        Err(_) => (None, Vec::new()),
    };
    if event.kind() == Kind::PostToolUse {
        agents::test_launched(context, event);
        agents::report_written(context, event, &claims);
        if let Some(Decision::Allow { .. }) = decision {
            agents::agent_wrote(context, event, &claims);
            recover(context, event, &claims);
        }
    }
    evidence::command_ended(context, event);
    if event.kind() == Kind::PostToolUse && event.tool().is_file_tool() {
        note_written(context, event);
    }
    let reply = calls::after_call(context, event, &claims);
    strict::explain(context, event, reply)
}

/// Code that a file tool wrote: what was tested before is stale.
fn note_written(context: &Context<'_>, event: &Event<'_>) {
    let paths = [&event.input.file_path, &event.input.notebook_path];
    let Some(file) = paths.into_iter().find_map(Text::get) else {
        return;
    };
    let home = context.env.home.as_deref();
    let file = path::absolute(&context.cwd, file.trim_start(), home);
    let noted = freshness::note_written(&context.project, &file, context.now.get());
    context.warn_about(freshness::FILE, noted);
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
        if denials.is_empty() || still_open(&denials, &log).is_empty() {
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
        let locked = make_own_folder(&log.dir).and_then(|()| {
            with_lock(&log.dir, TO_COUNT, |locked| {
                close(&|line, ts| log.append_locked(locked, line, max_bytes, ts))
            })
        });
        let closed = locked.or_else(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                close(&|line, ts| log.append(line, max_bytes, ts, Duration::ZERO))
            }
            _ => Err(error),
        });
        warn::unwritten(&log.path(), closed);
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
    record.command_excerpt = Excerpts::around(context).of_call(event);
    record.rule = denial.rule;
    record.system = Some(claim.governed.id().to_owned());
    record.name = Some(claim.entry.clone());
    record.file_path = Some(claim.path());
    record.resolves = Some(denial.id.clone());
    record
}

/// The denials of the event's agent in a site. Those from before the site was
/// there are in the common log, and other systems' sites may be in this one.
fn denials(context: &Context<'_>, event: &Event<'_>, site: &str, claim: &Claim<'_>) -> Vec<Denied> {
    let system = claim.governed.id();
    let mut logs = vec![
        denial_log(&context.logs(), system, Some(site)),
        context.logs().denies(),
    ];
    logs.dedup();
    let mut denials = Vec::new();
    for log in logs {
        log.newest(
            TAIL,
            &json::quoted(event.session()),
            &mut |record: Value| {
                let also = record["also"].as_array().into_iter().flatten();
                let mut all = iter::once(&record).chain(also);
                if is_denial_of(event, &record)
                    && let Some(id) = record["id"].as_str()
                    && let Some(denial) = all.find(|denial| is_in_site(denial, system, site))
                {
                    denials.push(Denied::of(id, denial, context));
                }
                ControlFlow::Continue(())
            },
        );
    }
    denials.reverse();
    denials
}

/// Whether a record is of a denial of the event's agent.
fn is_denial_of(event: &Event<'_>, record: &Value) -> bool {
    let is_same = |key: &str, text: &Text<'_>| record[key].as_str() == text.get();
    record["source"] == "statewarden"
        && record["decision"] == "deny"
        && is_same("session_id", &event.session_id)
        && is_same("agent_id", &event.agent_id)
}

fn is_in_site(denial: &Value, system: &str, site: &str) -> bool {
    let path = denial["file_path"].as_str().unwrap_or_default();
    // What could not be judged has no name.
    let is_below = match denial["name"].as_str() {
        Some(name) => path::below(site, name).trim_end_matches('/') == path,
        None => path::relative(path, site).is_some(),
    };
    is_below && denial["system"] == system
}

impl Denied {
    fn of(id: &str, denial: &Value, context: &Context<'_>) -> Self {
        let path = denial["file_path"].as_str().unwrap_or_default();
        // A site has no name in itself.
        let name = denial["name"].as_str().filter(|name| !name.is_empty());
        let shown = name.or(context.project.main.relative(path)).unwrap_or(path);
        Self {
            id: id.to_owned(),
            rule: denial["rule"].as_str().and_then(DenyCode::parse),
            shown: shown.to_owned(),
        }
    }
}

struct Denied {
    id: String,
    rule: Option<DenyCode>,
    /// What was denied, as people are shown it.
    shown: String,
}

/// Those that no record of the log resolves.
fn still_open<'d>(denials: &'d [Denied], log: &LogFile) -> Vec<&'d Denied> {
    let mut open: Vec<&Denied> = denials.iter().collect();
    log.newest(TAIL, "\"resolves\"", &mut |record: Value| {
        if let Some(resolved) = record["resolves"].as_str() {
            open.retain(|denial| denial.id != resolved);
        }
        if open.is_empty() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    open
}

/// How much of a log's end is searched, rotated generations included.
const TAIL: u64 = 512 * 1024;
