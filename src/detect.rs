//! What got past the guard: one look at the sites after whatever can run code.
//!
//! A command can write names that no reading of its text shows. Entries in no
//! bucket that changed while the call ran, and the changed files that the
//! client lists itself, are told to the model and recorded.

use std::fs;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::claim;
use crate::contract::{Bucket, Writer};
use crate::decision::{self, Call, Channel, Decision, Denial, DenyCode};
use crate::event::Event;
use crate::hook::World;
use crate::inventory::{self, Entry};
use crate::path;
use crate::project::read_text;
use crate::record::{Record, What};
use crate::reply::{self, Reply};
use crate::settings::{Mode, Resolved};
use crate::sites::{self, Site};
use crate::store;
use crate::store::archive::{Item, Kind, Run, WhenChanged};
use crate::store::lock::{IN_HOOK, with_lock};
use crate::target::{Act, Target};
use crate::wiring;

/// How far clocks and file systems may disagree with the client's measure of a call.
const SLACK: TimeDelta = TimeDelta::seconds(2);

/// The window of a call whose duration the client does not tell.
const UNTOLD: TimeDelta = TimeDelta::seconds(60);

impl World<'_> {
    /// Tells what a call left behind that the contracts do not know.
    pub(crate) fn detect(
        &self,
        event: &Event<'_>,
        rules: &Resolved,
        catalog: &Catalog<'_>,
    ) -> Reply {
        let document = event.document().unwrap_or_default();
        let since = self.now - window(&document);
        let mut found = Vec::new();
        let mut moved_to = Vec::new();
        for site in sites::at_root(&self.project, catalog) {
            // A site that cannot be listed has nothing to tell; the guard stands.
            let mut entries = inventory::entries(&site, catalog).unwrap_or_default();
            entries.retain(|entry| is_wrong(entry) && changed_since(&entry.path, since));
            let path = |entry: &Entry<'_>| path::from_os(&entry.path);
            found.extend(
                entries
                    .iter()
                    .filter_map(|entry| self.objection(&path(entry), None, catalog)),
            );
            entries.retain(|entry| entry.bucket == Bucket::AdHoc);
            if rules.settings.quarantine && !entries.is_empty() {
                moved_to.extend(self.quarantine(&site, &entries, rules));
            }
        }
        let listed = self.listed_changes(event, &document, catalog);
        for denial in listed
            .into_iter()
            .chain(self.settings_changed(since, catalog))
        {
            if found.iter().all(|known: &Denial| known.path != denial.path) {
                found.push(denial);
            }
        }
        for denial in &found {
            let denials = std::slice::from_ref(denial);
            let reason = reply::reason(denials, &[]);
            let record = Record::of_denials(What::Detected, denials, &reason, event, self.now);
            self.append(&self.logs().events(), &record.to_line(), &record.ts, rules);
        }
        Reply::to_detected(&found, &moved_to)
    }

    /// Moves entries that no row names into the site's archive; gives the
    /// snapshot. Where that fails the entries stay, and stderr says why.
    fn quarantine(
        &self,
        site: &Site<'_>,
        entries: &[Entry<'_>],
        rules: &Resolved,
    ) -> Option<String> {
        let items: Vec<Item<'_>> = entries
            .iter()
            .map(|entry| Item {
                name: &entry.name,
                path: &entry.path,
                size: entry.size,
                modified: entry.modified,
                is_dir: entry.is_dir,
                reason: "ad_hoc",
                when_changed: WhenChanged::Move,
            })
            .collect();
        let run = Run {
            kind: Kind::Quarantine,
            by: "statewarden hook",
            now: self.now,
        };
        let ring = site.ring(&self.project, rules.settings.archive_runs);
        let dir = site.dir();
        let taken = with_lock(Path::new(&dir), IN_HOOK, |locked| {
            ring.take(locked, run, &items, &mut |_| {})
        });
        match taken {
            Ok(taken) => taken.path.map(|path| path::from_os(&path)),
            Err(error) => {
                reply::complain(&format!("could not quarantine in `{dir}`: {error}"));
                None
            }
        }
    }

    /// Our settings, and Claude Code's with our entries in them, as a command
    /// may have left them.
    fn settings_changed(&self, since: DateTime<Utc>, catalog: &Catalog<'_>) -> Vec<Denial> {
        let main = &self.project.main.dir;
        let own = ["statewarden.yaml", "statewarden.local.yaml"]
            .map(|name| format!("{main}/.claude/{name}"));
        let changed = own
            .iter()
            .filter(|path| changed_since(Path::new(path), since));
        let mut found: Vec<Denial> = changed
            .filter_map(|path| self.objection(path, None, catalog))
            .collect();
        found.extend(self.unwired(since));
        found
    }

    /// No settings file names the hook any more although the project's did, and
    /// one of them has just changed: the call took the guard out.
    fn unwired(&self, since: DateTime<Utc>) -> Option<Denial> {
        let main = &self.project.main.dir;
        let user = self
            .env
            .home
            .as_ref()
            .map(|home| format!("{home}/.claude/settings.json"));
        let project =
            ["settings.json", "settings.local.json"].map(|name| format!("{main}/.claude/{name}"));
        let wired = |path: &String| {
            let text = read_text(path).ok().flatten().unwrap_or_default();
            !wiring::is_wired(&text).entries.is_empty()
        };
        let was_wired = self.logs().own_folder().join(store::WIRED).exists();
        if !was_wired || project.iter().chain(&user).any(wired) {
            return None;
        }
        // A file that was removed shows in its directory only.
        let removed = |path: &&String| {
            !Path::new(path).exists() && changed_since(Path::new(&format!("{main}/.claude")), since)
        };
        let changed = project
            .iter()
            .find(|path| changed_since(Path::new(path), since))
            .or_else(|| project.iter().find(removed))?;
        Some(Denial {
            code: DenyCode::ProtectedFile,
            system: "self".to_owned(),
            mode: Mode::Enforce,
            act: Act::Edit,
            path: changed.clone(),
            shown: self
                .project
                .main
                .relative(changed)
                .unwrap_or(changed)
                .to_owned(),
            site: ".claude".to_owned(),
            entry: changed.rsplit('/').next().unwrap_or_default().to_owned(),
            why:
                "statewarden's hooks were taken out of it; put them back with `statewarden install`"
                    .to_owned(),
            instead: None,
            suggestion: None,
        })
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

/// Whether an entry should not be there by its name alone.
fn is_wrong(entry: &Entry<'_>) -> bool {
    entry.bucket == Bucket::AdHoc || entry.row.is_some_and(|row| row.writer == Writer::User)
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

impl Reply {
    /// The answer after a call that left something behind.
    fn to_detected(found: &[Denial], moved_to: &[String]) -> Self {
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
        let strays = found.iter().any(|denial| denial.code.is_about_names());
        let todo = match moved_to {
            [] if strays => "Move what matters to the right name and remove the rest.".to_owned(),
            [] => "Put things back as they were, and tell the user.".to_owned(),
            moved => format!(
                "Strays were moved to `{}`; `statewarden restore` brings them back.",
                moved.join("`, `")
            ),
        };
        let text = format!(
            "The call left what the rules refuse: {list}. {todo} More: `statewarden explain {}`.",
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
