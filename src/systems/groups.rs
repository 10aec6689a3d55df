//! The file-derived group state machine: `openspec/changes/<change>/`, the
//! directories that the settings name, and a root whose own `tasks.md` has
//! numbered groups. Who may write what follows the seed's roles.

pub mod report;
pub mod state;
pub mod stuck;
pub mod tasks;

use chrono::{DateTime, Utc};

use self::report::ReportKind;
use self::tasks::has_numbered_groups;
use crate::base::actor::AgentName;
use crate::base::path::split_last;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Contract, Dir, DirKind, List, Name, Others, Role, Row, Writer};
use crate::systems::gate_record::GateRecord;
use crate::systems::system::{
    AgentEvent, ArchivePlace, ContentError, Effects, Files, Info, Judgement, Missing, Place,
    Retention, System, View, below, split_site,
};
use crate::systems::workflow::{UnreadableState, Workflow};

pub struct Groups;

/// The file that holds the groups.
const TASKS: &str = "tasks.md";

/// The id of the system.
pub const ID: &str = "groups";

impl System for Groups {
    fn info(&self) -> &Info<'_> {
        &INFO
    }

    fn contract(&self) -> &Contract<'_> {
        &CONTRACT
    }

    fn locate<'p>(&self, path: &'p str, view: &dyn View) -> Option<Place<'p>> {
        if let Some(place) = split_site(path, "openspec/changes", 1) {
            let change = place.site.rsplit('/').next().unwrap_or_default();
            let is_change = change != "archive" && change != "changes";
            return is_change.then_some(place);
        }
        let named = view
            .named_sites(self.id())
            .iter()
            .find_map(|site| below(path, site));
        named.or_else(|| at_root(path, view))
    }

    /// Differs in case, in `_` for `-`, by an `s`, or is `review-N.md` for `review/N.md`.
    fn near_miss(&self, entry: &str) -> Option<String> {
        let plain = entry.to_ascii_lowercase().replace('_', "-");
        let stem = plain.strip_suffix(".md")?;
        match stem.trim_end_matches('s') {
            "task" => return Some(TASKS.to_owned()),
            "stuck" => return Some("STUCK.md".to_owned()),
            "e2e-report" => return Some("e2e-report.md".to_owned()),
            _ => {}
        }
        let (dir, number) = stem.rsplit_once(['/', '-'])?;
        let name = match dir.trim_end_matches('s') {
            "review" => format!("review/{number}.md"),
            "test-report" => format!("test-reports/{number}.md"),
            _ => return None,
        };
        ROWS.iter().any(|row| row.matches(&name)).then_some(name)
    }

    fn judges(&self, entry: &str) -> bool {
        is_report(entry)
    }

    fn is_artifact(&self, _name: &str) -> bool {
        true
    }

    fn check_content(&self, at: Place<'_>, text: &str, _present: Option<&str>) -> Judgement {
        let checked = match kind_of(at.entry) {
            Some(kind) => report::check_report(kind, text),
            None => Ok(()),
        };
        checked
            .map_err(ContentError::malformed)
            .map(|()| Vec::new())
    }

    /// A finished change moves into `archive/` beside it, under its name with a
    /// date in front.
    fn archive_of<'s>(&self, site: &'s str) -> Option<ArchivePlace<'s>> {
        let (changes, name) = split_last(site)?;
        let dir = format!("{changes}/archive");
        Some(ArchivePlace { dir, name })
    }

    /// The verdict files of an agent's kind that are there.
    fn artifacts_of(&self, agent: &AgentName, files: &dyn Files) -> Vec<String> {
        let Some(kind) = self.kind_of_agent(agent) else {
            return Vec::new();
        };
        let mut artifacts = Vec::new();
        for (dir, groups) in changes(files) {
            for group in groups {
                let name = format!("{dir}{}", kind.path(group.group));
                if !matches!(files.read(&name), Ok(None)) {
                    artifacts.push(name);
                }
            }
        }
        artifacts
    }

    /// Nothing is stored: an agent's end only shows what it owes, and whether it judged.
    fn at(&self, event: AgentEvent<'_>, files: &dyn Files, _now: DateTime<Utc>) -> Effects {
        let AgentEvent::End { agent, .. } = event else {
            return Effects::default();
        };
        let Some(kind) = self.kind_of_agent(agent) else {
            return Effects::default();
        };
        let verdicts = self.artifacts_of(agent, files);
        let mut are_old = verdicts
            .iter()
            .map(|name| files.left_over(name, None).is_some());
        let kept = match verdicts.first() {
            Some(file) if are_old.all(|is_old| is_old) => {
                Some(GateRecord::of(file, Err("kept the old verdict".to_owned())))
            }
            _ => None,
        };
        let mut missing = Vec::new();
        for (dir, groups) in changes(files) {
            for (file, why) in state::owed(&groups, kind) {
                let file = format!("{dir}{file}");
                missing.push(Missing { file, why });
            }
        }
        Effects {
            missing,
            ..Effects::of(kept)
        }
    }

    fn runs(&self, site: &str, files: &dyn Files) -> Vec<Result<Workflow, UnreadableState>> {
        let change = state::derive(&|name| files.read(name), &|| files.outdated(TASKS));
        let run = change.map(|change| Ok(state::workflow(&change, site)));
        run.into_iter().collect()
    }
}

impl Groups {
    fn kind_of_agent(&self, agent: &AgentName) -> Option<ReportKind> {
        match self.contract().role_of(agent) {
            Some("reviewer") => Some(ReportKind::Review),
            Some("tester") => Some(ReportKind::TestReport),
            _ => None,
        }
    }
}

/// The directories of changes, each with a `/` behind it, and their groups.
fn changes(files: &dyn Files) -> impl Iterator<Item = (String, Vec<state::Group>)> {
    let dirs = files
        .dirs()
        .into_iter()
        .filter(|change| change != "archive")
        .map(|change| format!("{change}/"));
    // A root of its own has its `tasks.md` beside the others' directories.
    std::iter::once(String::new()).chain(dirs).map(|dir| {
        let change = state::derive(&|name| files.read(&format!("{dir}{name}")), &|| {
            files.outdated(&format!("{dir}{TASKS}"))
        });
        (dir, change.unwrap_or_default().groups)
    })
}

/// A root that is a site only by its `tasks.md` gives up just the numbered files.
fn at_root<'p>(path: &'p str, view: &dyn View) -> Option<Place<'p>> {
    let place = Place {
        site: "",
        entry: path,
    };
    if !ROWS.iter().any(|row| row.matches(path)) {
        return None;
    }
    has_numbered_groups(&view.text(TASKS)?).then_some(place)
}

static INFO: Info<'static> = Info {
    own_keys: &["roots", "roles"],
    upkeep: Retention::Work,
    programs: &["openspec"],
    root_file: Some(TASKS),
    gate_dir: Some("openspec/changes"),
    landmarks: &["openspec/changes/*"],
    ..Info::new(ID)
};

static CONTRACT: Contract<'static> = Contract {
    source: "chapter \"File-Based State Machine\" (2026-05-15)",
    rows: List::Borrowed(ROWS),
    dirs: List::Borrowed(&[
        Dir::new("", DirKind::Open),
        Dir::new("review", DirKind::Closed),
        Dir::new("test-reports", DirKind::Closed),
    ]),
    roles: List::Borrowed(&[
        Role::same("developer"),
        Role::of("developer-*", "developer"),
        Role::of("programmer", "developer"),
        Role::of("coder", "developer"),
        Role::same("tester"),
        Role::of("tester-*", "tester"),
        Role::of("qa", "tester"),
        Role::same("reviewer"),
        Role::of("code-reviewer", "reviewer"),
        Role::same("architect"),
        Role::same("e2e-tester"),
    ]),
    fallback: None,
};

/// Whether an entry is a verdict file.
pub fn is_report(entry: &str) -> bool {
    kind_of(entry).is_some()
}

/// The report that an entry is. Names that the settings add beside the numbered ones
/// hold what they like.
fn kind_of(entry: &str) -> Option<ReportKind> {
    let (dir, name) = entry.split_once('/')?;
    let number = name.strip_suffix(".md")?;
    match dir {
        _ if !number.bytes().all(|byte| byte.is_ascii_digit()) => None,
        "review" => Some(ReportKind::Review),
        "test-reports" => Some(ReportKind::TestReport),
        _ => None,
    }
}

const fn by<'a>(name: &'a str, roles: &'a [&'a str], others: Others, purpose: &'a str) -> Row<'a> {
    let writer = Writer::Roles(List::Borrowed(roles), others);
    Row::file(name, writer, purpose).read_by("the dispatcher")
}

const fn verdict<'a>(slug: &'a Slug, roles: &'a [&'a str], purpose: &'a str) -> Row<'a> {
    let mut row = by("", roles, Others::Nobody, purpose);
    row.name = Name::Slug(slug);
    row
}

const fn numbered(prefix: &'static str, regex: &'static str, example: &'static str) -> Slug {
    Slug {
        prefix,
        shape: Shape::Positive,
        endings: &[".md"],
        regex,
        example,
    }
}

const REVIEW: Slug = numbered("review/", r"^review/[1-9][0-9]*\.md$", "review/1.md");
const TESTS: Slug = numbered(
    "test-reports/",
    r"^test-reports/[1-9][0-9]*\.md$",
    "test-reports/1.md",
);
const DEVELOPERS: &[&str] = &["developer", "architect"];
const TESTERS: &[&str] = &["e2e-tester", "tester"];

#[rustfmt::skip]
const ROWS: &[Row<'_>] = &[
    by(TASKS, DEVELOPERS, Others::MainAndUnknown, "tasks of every group")
        .read_by("the dispatcher, OpenSpec"),
    by("STUCK.md", &["architect"], Others::Main, "diagnosis of stuck groups"),
    by("e2e-report.md", TESTERS, Others::Nobody, "report of the end-to-end tests"),
    verdict(&REVIEW, &["reviewer"], "review of group N"),
    verdict(&TESTS, &["tester"], "test report of group N"),
];
