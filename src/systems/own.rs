//! This program's own settings, logs and state: `.claude/statewarden*`,
//! `.claude/statewarden/**`, and the memory in git's directory. An agent that could edit
//! them could switch the guard off.

use std::path::Path;

use crate::contract::denial::DenyCode;
use crate::contract::table::{Contract, Dir, DirKind, List, Row, Writer};
use crate::host::client_files;
use crate::host::settings_json::{self, Wiring, is_our_name, keeps_our_entries};
use crate::systems::system::{
    ContentError, Info, Judgement, Place, PriorText, Retention, System, View, split_site,
};

pub struct Own;

/// The id of the system.
pub const ID: &str = "self";

impl System for Own {
    fn info(&self) -> &Info<'_> {
        &INFO
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    fn locate<'p>(&self, path: &'p str, _view: &dyn View) -> Option<Place<'p>> {
        let in_claude = split_site(path, ".claude", 0).filter(|place| {
            let ours = place.entry.to_ascii_lowercase().starts_with("statewarden");
            ours || SETTINGS.iter().any(|row| row.matches(place.entry))
        });
        in_claude.or_else(|| split_site(path, ".git", 0).filter(|place| is_memory(place.entry)))
    }

    fn judges(&self, entry: &str) -> bool {
        SETTINGS.iter().chain(MANAGED).any(|row| row.matches(entry))
    }

    /// Many people keep Claude Code's settings, or a program, elsewhere and link them.
    fn may_be_linked(&self, entry: &str) -> bool {
        self.judges(entry) || is_our_name(entry)
    }

    /// Claude Code's settings belong to the user and may be edited, but not so
    /// that this guard falls out of them.
    fn check_content(&self, at: Place<'_>, text: &str, present: Option<&str>) -> Judgement {
        let is_managed = MANAGED.iter().any(|row| row.matches(at.entry));
        let before = present.unwrap_or_default();
        // Where only managed hooks run, those of the other files do not.
        let shuts_out = |text| {
            let only_managed = settings_json::flag(text, &["allowManagedHooksOnly"]) == Some(true);
            is_managed && only_managed && !Wiring::read(text).is_ok_and(|wiring| wiring.is_ours())
        };
        if !keeps_our_entries(before, text) || (shuts_out(text) && !shuts_out(before)) {
            let why = "the edit would drop statewarden's hooks; keep them, or ask the user to run \
                       `statewarden uninstall`";
            let message = match Wiring::fault(text) {
                Some(fault) => format!("Claude Code would ignore the whole file: {fault}; {why}"),
                None => why.to_owned(),
            };
            return Err(ContentError {
                code: DenyCode::ProtectedFile,
                message,
            });
        }
        Ok(Vec::new())
    }
}

/// Whether an entry is a gate state or a log: no person edits these.
pub fn is_state(entry: &str) -> bool {
    entry.strip_prefix("statewarden/").is_some_and(|below| {
        let is_log = Path::new(below)
            .extension()
            .is_some_and(|ending| ending == "jsonl");
        below.starts_with("gates/") || is_log
    })
}

/// Whether an entry of git's directory is the memory's: of the repository, or of a submodule.
fn is_memory(entry: &str) -> bool {
    let mut parts = entry.split('/');
    match parts.next() {
        Some("statewarden") => true,
        Some("modules") => parts.any(|part| part == "statewarden"),
        _ => false,
    }
}

const SETTINGS_SHARED: Row<'_> =
    Row::file("settings.json", Writer::Anyone, "settings of Claude Code").read_by("Claude Code");
const SETTINGS_LOCAL: Row<'_> = Row::file(
    "settings.local.json",
    Writer::Anyone,
    "personal settings of Claude Code",
)
.read_by("Claude Code");
const SETTINGS: &[Row<'_>] = &[SETTINGS_SHARED, SETTINGS_LOCAL];
const MANAGED: &[Row<'_>] = &[MANAGED_FILE, MANAGED_MORE];
const MANAGED_FILE: Row<'_> = Row::file(
    client_files::MANAGED_FILE,
    Writer::Anyone,
    "managed settings of Claude Code",
)
.read_by("Claude Code");
const MANAGED_MORE: Row<'_> = Row::wild(
    "managed-settings.d/**",
    Writer::Anyone,
    "managed settings of Claude Code",
)
.canonical()
.read_by("Claude Code");

static INFO: Info<'static> = Info {
    upkeep: Retention::Program,
    programs: &["statewarden"],
    landmarks: &[
        ".claude/statewarden",
        ".claude/statewarden.yaml",
        ".claude/statewarden.local.yaml",
    ],
    prior: PriorText::Needed,
    ..Info::new(ID)
};

static CONTRACT: Contract<'static> = Contract {
    source: "statewarden",
    rows: List::Borrowed(&[
        SETTINGS_SHARED,
        SETTINGS_LOCAL,
        Row::file("statewarden.yaml", Writer::User, "settings of the project")
            .read_by("statewarden"),
        Row::file("statewarden.local.yaml", Writer::User, "personal settings")
            .read_by("statewarden"),
        Row::file(
            "statewarden",
            Writer::User,
            "the program, or its logs and state",
        )
        .read_by("`statewarden denies`"),
        Row::file("statewarden.exe", Writer::User, "the program").read_by("Claude Code"),
        MANAGED_FILE,
        MANAGED_MORE,
        Row::wild(
            "session-env/**",
            Writer::User,
            "Claude Code runs it before each command",
        )
        .canonical(),
        Row::wild(
            "shell-snapshots/**",
            Writer::User,
            "Claude Code runs it before each command",
        )
        .canonical(),
        Row::wild(
            "projects/**",
            Writer::User,
            "what commands printed, as Claude Code keeps it",
        )
        .canonical(),
        Row::wild(
            "tasks/*.output",
            Writer::User,
            "what a command printed, as Claude Code keeps it",
        )
        .canonical(),
        Row::wild("**/*", Writer::User, "statewarden's own").canonical(),
    ]),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Open)]),
    roles: List::Borrowed(&[]),
    fallback: None,
};
