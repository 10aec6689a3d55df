//! The deep-dive file: what the codebase looks like, for later runs.
//!
//! The original scripts put a `---` line into the body; here it is left out,
//! because the shell readers take what follows it for front matter.

use chrono::{DateTime, Utc};

use super::log;
use super::state::FileKind;
use crate::base::clock;
use crate::formats::front_matter;
use crate::formats::yaml::{self, Change};

/// What is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Full,
    /// One path, relative to the project root.
    Focused(String),
}

impl Scope {
    /// From the flags `--scope` and `--focus-path`.
    ///
    /// # Errors
    /// An unknown scope, a focus without its path, a path without a focus.
    pub fn parse(scope: &str, focus_path: Option<&str>) -> Result<Self, String> {
        match (
            scope,
            focus_path.map(str::trim).filter(|path| !path.is_empty()),
        ) {
            ("full", None) => Ok(Self::Full),
            ("full", Some(_)) => Err("`--focus-path` goes with `--scope focused` only".to_owned()),
            ("focused", Some(path)) => Ok(Self::Focused(yaml::one_line(path))),
            ("focused", None) => Err("`--scope focused` needs `--focus-path PATH`".to_owned()),
            _ => Err(format!(
                "unknown scope `{scope}`; write `full` or `focused`"
            )),
        }
    }
}

/// Whether a new file replaces one of which a copy is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    New,
    Refresh,
}

/// The arguments of `deep-dive init`. Agent Flow sends out five agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init {
    pub scope: Scope,
    pub agent_count: u64,
    pub origin: Origin,
}

/// How far `deep-dive compile` takes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    InProgress,
    Complete,
}

/// The texts for `deep-dive compile`; `None` leaves a section as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    pub tech_stack: Option<String>,
    pub entry_points: Option<String>,
    pub key_patterns: Option<String>,
    pub overview: Option<String>,
    pub architecture: Option<String>,
    pub conventions: Option<String>,
    pub antipatterns: Option<String>,
    pub quick_reference: Option<String>,
    pub agent_notes: Option<String>,
}

const OVERVIEW: &str = "Repository Overview";
const SECTIONS: [&str; 6] = [
    OVERVIEW,
    "Architecture Map",
    "Conventions",
    "Anti-Patterns (DO NOT)",
    "Key Files Quick Reference",
    "Agent Notes",
];
const LOGS: [&str; 2] = ["Exploration Log", "Compilation Log"];
const PENDING: &str = "_pending_\n";

/// A finished deep dive, as a run refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub scope: String,
    pub generated: String,
}

impl Context {
    /// `None` unless the file can be read and its phase is `complete`.
    pub fn read(text: &str) -> Option<Self> {
        let value = front_matter::read(text).ok()?;
        let field = |key| yaml::text(&value, &[key]);
        let unknown = || "unknown".to_owned();
        (field("phase")? == "complete").then(|| Self {
            scope: field("scope").unwrap_or_else(unknown),
            generated: field("generated").unwrap_or_else(unknown),
        })
    }
}

/// The names under which `--refresh` may keep a copy of the present file: as Agent
/// Flow's script makes it, then with more digits for a further copy of the same second.
pub fn backup_names(now: DateTime<Utc>) -> impl Iterator<Item = String> {
    let name = format!(
        "{}.bak.{}",
        FileKind::DeepDive.as_str(),
        now.format("%Y%m%d%H%M%S")
    );
    (1..).map(move |n| match n {
        1 => name.clone(),
        n => format!("{name}{n}"),
    })
}

/// The text of a new file.
pub fn init(init: &Init, now: DateTime<Utc>) -> String {
    let (at, count) = (clock::seconds(now), init.agent_count);
    let (scope, focus_yaml) = match &init.scope {
        Scope::Full => ("full", "null".to_owned()),
        Scope::Focused(path) => ("focused", yaml::quote(path)),
    };
    let mut text = format!(
        "---\ngenerated: \"{at}\"\nscope: \"{scope}\"\nfocus_path: {focus_yaml}\n\
         expires_hint: \"refresh when codebase significantly changes\"\nphase: \"initializing\"\n\
         agent_count: {count}\nphases:\n  parallel_exploration:\n    status: \"pending\"\n    \
         agents_spawned: 0\n    agents_completed: 0\n  synthesis:\n    status: \"pending\"\n  \
         compilation:\n    status: \"pending\"\n---\n"
    );
    let focus = match &init.scope {
        Scope::Full => None,
        Scope::Focused(path) => Some(path.as_str()),
    };
    text += &heading(&at, scope, focus);
    for name in SECTIONS {
        text += &format!("\n## {name}\n{PENDING}");
    }
    let origin = match init.origin {
        Origin::New => "",
        Origin::Refresh => "- Mode: Refresh (previous context archived)\n",
    };
    let focus = focus.map_or(String::new(), |path| format!("- Focus Path: {path}\n"));
    text + &format!(
        "\n## Exploration Log\n\n### Initialization\n- Timestamp: {at}\n- Scope: {scope}\n{focus}\
         - Parallel Agents: {count}\n{origin}"
    )
}

/// The present file with new sections, marked as compiled at `now`.
///
/// # Errors
/// Says why the present text cannot be changed.
pub fn compile(
    text: &str,
    sections: &Sections,
    stage: Stage,
    now: DateTime<Utc>,
) -> Result<String, String> {
    let document = front_matter::split(text).map_err(|fault| fault.to_string())?;
    let value = yaml::parse(document.front)?;
    let at = clock::seconds(now);
    let (phase, status) = match stage {
        Stage::InProgress => ("compilation", "in_progress"),
        Stage::Complete => ("complete", "complete"),
    };
    let changes = [
        Change::text(["generated"], &at),
        Change::text(["phase"], phase),
        Change::text(["phases", "parallel_exploration", "status"], "complete").first(),
        Change::text(["phases", "synthesis", "status"], "complete").first(),
        Change::text(["phases", "compilation", "status"], status).first(),
    ];
    let scope = yaml::text(&value, &["scope"]).unwrap_or_else(|| "full".to_owned());
    let focus = yaml::text(&value, &["focus_path"]);
    let mut body = heading(&at, &scope, focus.as_deref());
    for name in SECTIONS {
        let present = section_of(document.body, name);
        let content = sections.content(name, &present).unwrap_or(present);
        let content = log::without_fences(&content);
        body += &format!("\n## {name}\n{}\n", content.trim_end());
    }
    body += &format!("\n## Compilation Log\n\n### Compiled\n- Timestamp: {at}\n- Phase: {phase}\n");
    document
        .edited(value, &changes, &body)
        .map_err(|error| error.to_string())
}

fn heading(at: &str, scope: &str, focus: Option<&str>) -> String {
    let focus = focus.map_or(String::new(), |path| format!("> Focus: {path}\n"));
    format!("\n# Deep-Dive Context\n\n> Generated: {at}\n> Scope: {scope}\n{focus}")
}

impl Sections {
    /// The new content of a section, when any part of it was given.
    fn content(&self, name: &str, present: &str) -> Option<String> {
        match name {
            OVERVIEW => self.overview_content(present),
            "Architecture Map" => self.architecture.clone(),
            "Conventions" => self.conventions.clone(),
            "Anti-Patterns (DO NOT)" => self.antipatterns.clone(),
            "Key Files Quick Reference" => self.quick_reference.clone(),
            _ => self.agent_notes.clone(),
        }
    }

    /// Of the four parts of the overview, those that are not given stay.
    fn overview_content(&self, present: &str) -> Option<String> {
        let items = [
            ("Tech Stack", &self.tech_stack),
            ("Entry Points", &self.entry_points),
            ("Key Patterns", &self.key_patterns),
        ];
        if self.overview.is_none() && items.iter().all(|(_, text)| text.is_none()) {
            return None;
        }
        let mut lines: Vec<&str> = present.lines().collect();
        let mut parts = Vec::new();
        for (name, text) in items {
            let label = format!("- **{name}**:");
            let present = take_item(&mut lines, &label);
            let given = text.as_ref();
            let given = given.map(|text| format!("{label} {}", yaml::one_line(text)));
            parts.extend(given.or(present));
        }
        let below = lines.join("\n");
        let below = Some(below.trim()).filter(|text| !text.is_empty() && !is_pending(text));
        let overview = self.overview.as_deref().or(below);
        parts.extend(overview.map(|text| format!("\n{text}")));
        Some(parts.join("\n").trim_start().to_owned())
    }
}

/// Takes an item out of a list, with what is indented below it. People and the
/// seed's sample write its label in other case.
fn take_item(lines: &mut Vec<&str>, label: &str) -> Option<String> {
    let at = lines.iter().position(|line| {
        let start = line.get(..label.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(label))
    })?;
    let rest = lines[at + 1..].iter();
    let n_below = rest
        .take_while(|line| line.starts_with([' ', '\t']))
        .count();
    let item: Vec<&str> = lines.drain(at..=at + n_below).collect();
    Some(item.join("\n"))
}

/// Whether a text only holds the place: `_pending_`, or Agent Flow's own
/// `_Pending parallel exploration..._`.
fn is_pending(text: &str) -> bool {
    let word = text.strip_prefix('_').and_then(|text| text.get(..7));
    word.is_some_and(|word| word.eq_ignore_ascii_case("pending")) && !text.contains('\n')
}

/// The present content of a section, up to the next heading of this file's own.
fn section_of(body: &str, name: &str) -> String {
    let heading = |line: &str| {
        line.strip_prefix("## ")
            .map(|title| title.trim_end().to_owned())
    };
    let is_known = |title: &String| SECTIONS.iter().chain(&LOGS).any(|known| known == title);
    let mut lines = body
        .lines()
        .skip_while(|line| heading(line).as_deref() != Some(name));
    if lines.next().is_none() {
        return PENDING.to_owned();
    }
    let content = lines.take_while(|line| !heading(line).as_ref().is_some_and(is_known));
    content.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::content::check_content;
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_250_977, 0).unwrap()
    }

    #[test]
    fn scopes_are_validated() {
        assert_eq!(Scope::parse("full", None), Ok(Scope::Full));
        assert_eq!(
            Scope::parse("focused", Some("src/a")),
            Ok(Scope::Focused("src/a".to_owned()))
        );
        for (scope, path, part) in [
            ("full", Some("x"), "goes with `--scope focused` only"),
            ("focused", None, "needs `--focus-path PATH`"),
            ("focused", Some(" "), "needs `--focus-path PATH`"),
            ("half", None, "unknown scope `half`"),
        ] {
            let why = Scope::parse(scope, path).unwrap_err();
            assert!(why.contains(part), "{scope} {path:?}: {why}");
        }
    }

    #[test]
    fn a_new_file_is_the_original_without_its_inner_fence() {
        let text = init(
            &Init {
                scope: Scope::Full,
                agent_count: 5,
                origin: Origin::New,
            },
            now(),
        );
        let original = include_str!("../../../tests/fixtures/agent-flow/20-deep-dive-init-full.md");
        let front = |text: &str| front_matter::split(text).unwrap().front.replace('"', "");
        assert_eq!(front(&text), front(original));
        let headings = |text: &str| {
            text.lines()
                .filter(|line| line.starts_with('#'))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        assert_eq!(headings(&text), headings(original));
        assert_eq!(check_content(&text, FileKind::DeepDive), Ok(()));
        assert_eq!(text.lines().filter(|line| *line == "---").count(), 2);
        let names: Vec<String> = backup_names(now()).take(2).collect();
        let first = "deep-dive.local.md.bak.20261121084937";
        assert_eq!(names, [first.to_owned(), format!("{first}2")]);
    }

    #[test]
    fn compiling_keeps_what_is_not_given() {
        let scope = Scope::Focused("src/\"a\"".to_owned());
        let text = init(
            &Init {
                scope,
                agent_count: 8,
                origin: Origin::Refresh,
            },
            now(),
        );
        let first = Sections {
            tech_stack: Some("Rust".to_owned()),
            overview: Some("Small.".to_owned()),
            conventions: Some("a\n---\nphase: exploring\n## Naming\nb".to_owned()),
            ..Sections::default()
        };
        let text = compile(&text, &first, Stage::InProgress, now()).unwrap();
        assert_eq!(Context::read(&text), None);
        assert!(
            text.contains("\n## Repository Overview\n- **Tech Stack**: Rust\n\nSmall.\n\n## Arch"),
            "{text}"
        );
        assert!(
            text.contains("\n## Conventions\na\nphase: exploring\n## Naming\nb\n\n## Anti"),
            "{text}"
        );
        let second = Sections {
            agent_notes: Some("n".to_owned()),
            ..Sections::default()
        };
        let done = compile(&text, &second, Stage::Complete, now()).unwrap();
        assert!(
            done.contains("\n## Conventions\na\nphase: exploring\n## Naming\nb\n\n## Anti"),
            "{done}"
        );
        assert!(
            done.contains("\n## Agent Notes\nn\n\n## Compilation Log\n"),
            "{done}"
        );
        assert!(done.contains("agents_spawned: 0") && done.contains("> Focus: src/\"a\"\n"));
        assert_eq!(check_content(&done, FileKind::DeepDive), Ok(()));
        let context = Context {
            scope: "focused".to_owned(),
            generated: clock::seconds(now()),
        };
        assert_eq!(Context::read(&done), Some(context));
        assert!(compile("no fence", &second, Stage::Complete, now()).is_err());
    }

    #[test]
    fn the_parts_of_the_overview_stay_one_by_one() {
        #[track_caller]
        fn check(present: &str, sections: &Sections, expected: &str) {
            let text = compile(present, sections, Stage::InProgress, now()).unwrap();
            let body = format!("\n## Repository Overview\n{expected}\n\n## Architecture Map\n");
            assert!(text.contains(&body), "{text}");
        }
        let given = |text: &str| Some(text.to_owned());
        let stack = Sections {
            tech_stack: given("Rust"),
            ..Sections::default()
        };
        let overview = Sections {
            overview: given("Small."),
            ..Sections::default()
        };
        check(
            include_str!("../../../tests/fixtures/agent-flow/23-deep-dive-complete.md"),
            &stack,
            "- **Tech Stack**: Rust\n- **Entry Points**: src/index.ts\n\
             - **Key Patterns**: Repository pattern\n\n...",
        );
        check(
            include_str!("../../../tests/fixtures/agent-flow/42-seed-sample-deep-dive.md"),
            &overview,
            "- **Tech stack**: TypeScript, React, Node.js, PostgreSQL\n\
             - **Entry points**: src/index.ts, src/server.ts, src/cli.ts\n\
             - **Key patterns**: Repository pattern, Dependency injection, Event sourcing\n\nSmall.",
        );
        check(
            include_str!("../../../tests/fixtures/agent-flow/20-deep-dive-init-full.md"),
            &stack,
            "- **Tech Stack**: Rust",
        );
        check(
            "---\nphase: complete\n---\n\n## Repository Overview\nOld.\n- **Tech Stack**:\n  - Go\n",
            &overview,
            "- **Tech Stack**:\n  - Go\n\nSmall.",
        );
    }

    #[test]
    fn every_section_gets_its_own_content() {
        let init_of = Init {
            scope: Scope::Full,
            agent_count: 5,
            origin: Origin::New,
        };
        let content = |text: &str| Some(text.to_owned());
        let sections = Sections {
            overview: content("o"),
            architecture: content("a"),
            conventions: content("c"),
            antipatterns: content("p"),
            quick_reference: content("q"),
            agent_notes: content("n"),
            ..Sections::default()
        };
        let text = compile(&init(&init_of, now()), &sections, Stage::InProgress, now()).unwrap();
        let again = compile(&text, &Sections::default(), Stage::InProgress, now()).unwrap();
        let body = "\n## Repository Overview\no\n\n## Architecture Map\na\n\n## Conventions\nc\n\n## Anti-Patterns (DO NOT)\np\n\n## Key Files Quick Reference\nq\n\n## Agent Notes\nn\n\n## Compilation Log\n";
        assert!(text.contains(body), "{text}");
        assert!(again.contains(body), "{again}");
        assert_eq!(
            again.matches("\n## ").count(),
            text.matches("\n## ").count()
        );
    }
}
