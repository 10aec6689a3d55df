//! After a tool call: what got past the guard, and which denials are settled.
//!
//! A command can write names that no reading of its text shows. So whatever
//! can run code is followed by one look at the sites: entries in no bucket
//! that changed while the call ran, and the changed files that the client
//! lists itself, are told to the model and recorded.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::claim::{self, Claim};
use crate::contract::Bucket;
use crate::decision::{self, Call, Channel, Decision, Denial, DenyCode};
use crate::event::{Event, Field, Kind, Tool};
use crate::hook::{World, log_of};
use crate::inventory;
use crate::path;
use crate::record::{Record, What};
use crate::reply::{self, Reply};
use crate::settings::{Mode, Resolved};
use crate::sites;
use crate::store::log::LogFile;
use crate::target::{Act, Target};

/// How far clocks and file systems may disagree with the client's measure of a call.
const SLACK: TimeDelta = TimeDelta::seconds(2);

/// The window of a call whose duration the client does not tell.
const UNTOLD: TimeDelta = TimeDelta::seconds(60);

impl World<'_> {
    /// `PostToolUse`, and `PostToolUseFailure`, of a tool that can write.
    pub(crate) fn after(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        if event.kind() == Kind::PostToolUse {
            self.report_written(event, rules, catalog);
            self.recover(event, rules, catalog);
        }
        match event.tool() {
            Tool::Shell(_) | Tool::Mcp(_) => self.detect(event, rules, catalog),
            _ => Reply::Silent,
        }
    }

    /// Closes the open denials of the same agent in the sites where it has now
    /// written an allowed name.
    fn recover(&self, event: &Event<'_>, rules: &Resolved, catalog: &Catalog<'_>) {
        let Ok((Decision::Allow { .. }, claims)) = self.judge(event, catalog) else {
            return;
        };
        let writes = claims
            .iter()
            .filter(|claim| matches!(claim.target.act, Act::Write | Act::Edit));
        let mut sites: BTreeMap<String, &Claim<'_>> = BTreeMap::new();
        for claim in writes.filter(|claim| !claim.entry.is_empty()) {
            sites.entry(claim.site_dir()).or_insert(claim);
        }
        for (site, claim) in sites {
            for denial in self.open_denials(event, &site, claim) {
                let reason = format!(
                    "wrote `{}` after it was refused `{}`",
                    claim.entry, denial.name
                );
                let mut record = Record::new(What::Recovered, &reason, Some(event), self.now);
                record.system = Some(claim.governed.system.id().to_owned());
                record.name = Some(claim.entry.clone());
                record.file_path = Some(claim.path());
                record.resolves = Some(denial.id);
                self.append(&self.logs().events(), &record.to_line(), &record.ts, rules);
            }
        }
    }

    fn open_denials(&self, event: &Event<'_>, site: &str, claim: &Claim<'_>) -> Vec<OpenDenial> {
        let log = log_of(&self.logs(), claim.governed.system.id(), Some(site));
        let mine = |record: &Value| {
            let same = |key: &str, field| record[key].as_str() == event.get(field);
            let path = record["file_path"].as_str().unwrap_or_default();
            record["source"] == "statewarden"
                && record["decision"] == "deny"
                && same("session_id", Field::SessionId)
                && same("agent_id", Field::AgentId)
                && path::relative(path, site).is_some()
        };
        let mut open = Vec::new();
        each_record(&log, &mut |record| {
            if let (true, Some(id)) = (mine(record), record["id"].as_str()) {
                let name = record["name"].as_str().unwrap_or_default().to_owned();
                open.push(OpenDenial {
                    id: id.to_owned(),
                    name,
                });
            }
        });
        if !open.is_empty() {
            each_record(&self.logs().events(), &mut |record| {
                if let Some(resolved) = record["resolves"].as_str() {
                    open.retain(|denial| denial.id != resolved);
                }
            });
        }
        open
    }

    /// Tells what a call left behind that the contracts do not know.
    fn detect(&self, event: &Event<'_>, rules: &Resolved, catalog: &Catalog<'_>) -> Reply {
        let document = event.document().unwrap_or_default();
        let since = self.now - window(&document);
        let mut found = self.changed_strangers(since, catalog);
        for denial in self.listed_changes(event, &document, catalog) {
            if found.iter().all(|known| known.path != denial.path) {
                found.push(denial);
            }
        }
        for denial in &found {
            let denials = std::slice::from_ref(denial);
            let reason = reply::reason(denials, &[]);
            let record = Record::of_denials(What::Detected, denials, &reason, event, self.now);
            self.append(&self.logs().events(), &record.to_line(), &record.ts, rules);
        }
        Reply::to_detected(&found)
    }

    /// Entries of closed sites that no row names and that changed in the window.
    fn changed_strangers(&self, since: DateTime<Utc>, catalog: &Catalog<'_>) -> Vec<Denial> {
        let mut found = Vec::new();
        for site in sites::at_root(&self.project, catalog) {
            // A site that cannot be listed has nothing to tell; the guard stands.
            for entry in inventory::entries(&site, catalog).unwrap_or_default() {
                let stranger = entry.bucket == Bucket::AdHoc && changed_since(&entry.path, since);
                if stranger {
                    let path = path::from_os(&entry.path);
                    found.extend(self.objection(&path, None, catalog));
                }
            }
        }
        found
    }

    /// What the client lists as changed by a command and breaks a rule. What
    /// programs own is left out, since commands run them; and so is who wrote,
    /// where the client says that several calls share the list.
    fn listed_changes(
        &self,
        event: &Event<'_>,
        document: &Value,
        catalog: &Catalog<'_>,
    ) -> Vec<Denial> {
        let diff = &document["tool_response"]["bashEditDiff"];
        let shared = diff["shared"] == true;
        let files = diff["changedFiles"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let objections = files.filter_map(|file| self.objection(file, Some(event), catalog));
        objections
            .filter(|denial| denial.code != DenyCode::ProgramOwned)
            .filter(|denial| !shared || denial.code != DenyCode::WrongWriter)
            .collect()
    }

    /// What the rules would have said to a write of a path that is there now.
    fn objection(
        &self,
        file: &str,
        by: Option<&Event<'_>>,
        catalog: &Catalog<'_>,
    ) -> Option<Denial> {
        let there = fs::symlink_metadata(file).ok()?;
        let act = if there.is_dir() {
            Act::MakeDir
        } else {
            Act::Write
        };
        let targets = [Target::literal(path::join(&self.cwd, file, None), act)];
        let claims = claim::of(&targets, &self.project, catalog).ok()?;
        let actor = by.map_or(crate::actor::Actor::Main, Event::actor);
        let call = Call {
            actor: &actor,
            channel: Channel::Shell,
            targets: &targets,
        };
        match decision::decide(&claims, &call, &|_| Ok(None)).ok()? {
            Decision::Allow { .. } => None,
            Decision::Warn(denials) | Decision::Deny(denials) => denials.into_iter().next(),
        }
    }
}

struct OpenDenial {
    id: String,
    name: String,
}

/// How long a call ran, with slack.
fn window(document: &Value) -> TimeDelta {
    let told = document["duration_ms"]
        .as_i64()
        .and_then(TimeDelta::try_milliseconds);
    told.unwrap_or(UNTOLD) + SLACK
}

/// The change time, which a moved file has too, where there is one.
fn changed_since(path: &Path, since: DateTime<Utc>) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        DateTime::from_timestamp(meta.ctime(), u32::try_from(meta.ctime_nsec()).unwrap_or(0))
    };
    #[cfg(not(unix))]
    let changed = meta.modified().ok().map(DateTime::<Utc>::from);
    changed.is_some_and(|changed| changed >= since)
}

/// How much of a log's end is searched for open denials.
const TAIL: u64 = 512 * 1024;

fn each_record(log: &LogFile, take: &mut dyn FnMut(&Value)) {
    let Ok(mut file) = fs::File::open(log.path()) else {
        return;
    };
    let len = file.metadata().map_or(0, |meta| meta.len());
    if file
        .seek(SeekFrom::Start(len.saturating_sub(TAIL)))
        .is_err()
    {
        return;
    }
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        if let Ok(record) = serde_json::from_str(&line) {
            take(&record);
        }
    }
}

impl Reply {
    /// The answer after a call that left something behind.
    fn to_detected(found: &[Denial]) -> Self {
        let Some(first) = found.first() else {
            return Self::Silent;
        };
        let list = found.iter().take(5).map(|denial| {
            let instead = denial
                .instead
                .as_ref()
                .map(|name| format!(", should be `{name}`"))
                .unwrap_or_default();
            format!("`{}` ({}{instead})", denial.shown, denial.code.as_str())
        });
        let list = list.collect::<Vec<_>>().join(", ");
        let text = format!(
            "The call left what the state contract does not know: {list}. Move what matters to the right name \
             and remove the rest. More: `statewarden explain {}`.",
            first.shown
        );
        let text = reply::cut(&text, reply::MAX_REASON);
        if found.iter().any(|denial| denial.mode == Mode::Enforce) {
            Self::Block { reason: text }
        } else {
            Self::Context {
                event: "PostToolUse",
                text,
            }
        }
    }
}
