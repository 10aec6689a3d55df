//! Agent Flow: three front matter files directly in `.claude/`, which is open:
//! other plugins keep files there. The names are those of its state files
//! reference and of its scripts.

pub mod content;
pub mod deep_dive;
mod draft;
pub mod gates;
pub mod log;
pub mod script;
pub mod state;
pub mod verdict;

use self::state::FileKind;
use super::{ContentError, Place, System, View, split_site};
use crate::contract::{Contract, Dir, DirKind, List, Row, Shape, Slug, Writer};

pub struct AgentFlow;

impl System for AgentFlow {
    fn id(&self) -> &str {
        "agent-flow"
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    /// Only the names of the table, and look-alikes of them, make a place:
    /// the directory belongs to everybody.
    fn locate<'p>(&self, path: &'p str, _view: &dyn View) -> Option<Place<'p>> {
        let (dir, name) = path.rsplit_once('/')?;
        let place = split_site(dir, ".claude", 0).filter(|place| place.entry.is_empty())?;
        let ours = ROWS.iter().any(|row| row.matches(name)) || is_look_alike(name);
        ours.then_some(Place {
            site: place.site,
            entry: name,
        })
    }

    fn check_content(
        &self,
        entry: &str,
        text: &str,
        _present: Option<&str>,
    ) -> Result<Vec<String>, ContentError> {
        match FileKind::parse(entry) {
            None => Ok(Vec::new()),
            Some(file) => content::check_content(text, file)
                .map(|()| Vec::new())
                .map_err(|why| ContentError::malformed(entry, &why)),
        }
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &[
            ".claude/orchestration.local.md",
            ".claude/team-orchestration.local.md",
            ".claude/deep-dive.local.md",
        ]
    }
}

static CONTRACT: Contract<'static> = Contract {
    source: "Agent Flow docs/reference/state-files.md (1.0) and scripts (1.9)",
    rows: List::Borrowed(ROWS),
    dirs: List::Borrowed(&[Dir::new("", DirKind::Closed)]),
    roles: List::Borrowed(&[]),
    fallback: Some("orchestration.local.md"),
};

#[rustfmt::skip]
const ROWS: &[Row<'_>] = &[
    Row::file("orchestration.local.md", Writer::Main, "phase and gates of a run").read_by("Agent Flow's scripts and commands"),
    Row::file("team-orchestration.local.md", Writer::Main, "phase, gates and parallel group of a team run").read_by("Agent Flow's scripts and commands"),
    Row::file("deep-dive.local.md", Writer::Main, "context of the code base").read_by("Agent Flow's init scripts"),
    Row::file("skip-test-verification", Writer::User, "switches Agent Flow's Stop gate off").read_by("Agent Flow's Stop hook"),
    Row::file("known-test-failures", Writer::User, "failures that the Stop gate accepts").read_by("Agent Flow's Stop hook"),
    Row::file("test-command", Writer::User, "command that the Stop gate runs").read_by("Agent Flow's Stop hook"),
    Row::slug(Slug { prefix: "orchestration.local.md.tmp.", shape: Shape::Digits, endings: &[""], regex: r"^orchestration\.local\.md\.tmp\.[0-9]+$", example: "orchestration.local.md.tmp.4711" }, Writer::Main, "update in progress").ephemeral(),
    Row::slug(Slug { prefix: "team-orchestration.local.md.tmp.", shape: Shape::Digits, endings: &[""], regex: r"^team-orchestration\.local\.md\.tmp\.[0-9]+$", example: "team-orchestration.local.md.tmp.4711" }, Writer::Main, "update in progress").ephemeral(),
    Row::slug(Slug { prefix: "deep-dive.local.md.tmp.", shape: Shape::Digits, endings: &[""], regex: r"^deep-dive\.local\.md\.tmp\.[0-9]+$", example: "deep-dive.local.md.tmp.4711" }, Writer::Main, "update in progress").ephemeral(),
    Row::slug(Slug { prefix: "deep-dive.local.md.bak.", shape: Shape::Digits, endings: &[""], regex: r"^deep-dive\.local\.md\.bak\.[0-9]+$", example: "deep-dive.local.md.bak.20260101120000" }, Writer::Main, "context before a refresh"),
    Row::slug(Slug { prefix: "research-", shape: Shape::StampedReport, endings: &[".local.md"], regex: r"^research-[a-z0-9-]{1,40}-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.local\.md$", example: "research-auth-20260101T120000Z.local.md" }, Writer::Anyone, "research report"),
];

/// A `*.local.md` that a reader could take for one of the three files.
fn is_look_alike(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.strip_suffix(".local.md").is_some_and(|stem| {
        ["orchestration", "deep-dive", "deep_dive"]
            .iter()
            .any(|word| stem.contains(word))
    })
}
