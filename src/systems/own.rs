//! This program's own settings, logs and state: `.claude/statewarden*` and
//! `.claude/statewarden/**`. An agent that could edit them could switch the
//! guard off.

use crate::contract::denial::DenyCode;
use crate::contract::table::{Contract, Dir, DirKind, List, Row, Writer};
use crate::host::settings_json::{Wiring, is_our_name, keeps_our_entries};
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
        let place = split_site(path, ".claude", 0)?;
        let ours = place.entry.to_ascii_lowercase().starts_with("statewarden");
        (ours || SETTINGS.iter().any(|row| row.matches(place.entry))).then_some(place)
    }

    fn judges(&self, entry: &str) -> bool {
        SETTINGS.iter().any(|row| row.matches(entry))
    }

    /// Many people keep Claude Code's settings, or a program, elsewhere and link them.
    fn may_be_linked(&self, entry: &str) -> bool {
        self.judges(entry) || is_our_name(entry)
    }

    /// Claude Code's settings belong to the user and may be edited, but not so
    /// that this guard falls out of them.
    fn check_content(&self, _: Place<'_>, text: &str, present: Option<&str>) -> Judgement {
        if !keeps_our_entries(present.unwrap_or_default(), text) {
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

const SETTINGS_SHARED: Row<'_> =
    Row::file("settings.json", Writer::Anyone, "settings of Claude Code").read_by("Claude Code");
const SETTINGS_LOCAL: Row<'_> = Row::file(
    "settings.local.json",
    Writer::Anyone,
    "personal settings of Claude Code",
)
.read_by("Claude Code");
const SETTINGS: &[Row<'_>] = &[SETTINGS_SHARED, SETTINGS_LOCAL];

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
        Row::wild("**/*", Writer::User, "statewarden's own").canonical(),
    ]),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Open)]),
    roles: List::Borrowed(&[]),
    fallback: None,
};
