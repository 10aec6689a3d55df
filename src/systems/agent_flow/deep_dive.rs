//! The deep-dive file: what the codebase looks like, for later runs.
//!
//! The original scripts put a `---` line into the body; here it is left out,
//! because the shell readers take what follows it for front matter.

use chrono::{DateTime, Utc};

use super::log;
use super::script::fill;
use super::state::FileKind;
use crate::base::clock;
use crate::base::string_enum::string_enum;
use crate::formats::front_matter;
use crate::formats::yaml::{self, KeyChange};

/// Whether a new file replaces one of which a copy is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    New,
    Refresh,
}

/// How far `deep-dive compile` takes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    InProgress,
    Complete,
}

string_enum! {
    /// What `deep-dive compile` gets a text for: the sections of the file, and before them
    /// the items at the top of the overview.
    pub enum Part {
        TechStack = "Tech Stack",
        EntryPoints = "Entry Points",
        KeyPatterns = "Key Patterns",
        Overview = "Repository Overview",
        Architecture = "Architecture Map",
        Conventions = "Conventions",
        Antipatterns = "Anti-Patterns (DO NOT)",
        QuickReference = "Key Files Quick Reference",
        AgentNotes = "Agent Notes",
    }
}

const N_ITEMS: usize = 3;

/// The sections, in their order.
fn sections() -> impl Iterator<Item = Part> {
    Part::ALL.into_iter().skip(N_ITEMS)
}

/// The new texts; a part without one stays as it is.
pub type Texts<'a> = &'a [(Part, &'a str)];

fn given<'a>(texts: Texts<'a>, part: Part) -> Option<&'a str> {
    let (_, text) = texts.iter().find(|(known, _)| *known == part)?;
    Some(text)
}

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

/// The text of a new file. `path` is the one to be explored, relative to the project's
/// root; without it all is.
pub fn init(path: Option<&str>, origin: Origin, now: DateTime<Utc>) -> String {
    let at = clock::seconds(now);
    let line = path.map(yaml::one_line);
    let focus = line.as_deref();
    let scope = focus.map_or("full", |_| "focused");
    fill(include_str!("deep-dive.md"), |name| match name {
        "at" => at.clone(),
        "scope" => scope.to_owned(),
        "focus" => focus.map_or("null".to_owned(), yaml::quote),
        "focus_line" => focus.map_or(String::new(), |path| format!("- Focus Path: {path}\n")),
        "heading" => heading(&at, scope, focus),
        _ if origin == Origin::New => String::new(),
        _ => "- Mode: Refresh (previous context archived)\n".to_owned(),
    })
}

/// The present file with new sections, marked as compiled at `now`.
///
/// # Errors
/// Says why the present text cannot be changed.
pub fn compile(
    text: &str,
    texts: Texts<'_>,
    stage: Stage,
    now: DateTime<Utc>,
) -> Result<String, String> {
    let document = front_matter::split(text)?;
    let value = yaml::parse(document.front)?;
    let at = clock::seconds(now);
    let (phase, status) = match stage {
        Stage::InProgress => ("compilation", "in_progress"),
        Stage::Complete => ("complete", "complete"),
    };
    let changes = [
        KeyChange::new(["generated"], at.as_str()),
        KeyChange::new(["phase"], phase),
        KeyChange::new(["phases", "parallel_exploration", "status"], "complete").first(),
        KeyChange::new(["phases", "synthesis", "status"], "complete").first(),
        KeyChange::new(["phases", "compilation", "status"], status).first(),
    ];
    let scope = yaml::text(&value, &["scope"]).unwrap_or_else(|| "full".to_owned());
    let focus = yaml::text(&value, &["focus_path"]);
    let mut body = heading(&at, &scope, focus.as_deref());
    for section in sections() {
        let present = section_of(document.body, section.as_str());
        let content = match section {
            Part::Overview => overview(texts, &present),
            section => given(texts, section).map(str::to_owned),
        };
        let content = log::without_fences(&content.unwrap_or(present));
        let name = section.as_str();
        body += &format!("\n## {name}\n{}\n", content.trim_end());
    }
    body += &format!("\n## Compilation Log\n\n### Compiled\n- Timestamp: {at}\n- Phase: {phase}\n");
    document.edited(value, &changes, &body)
}

fn heading(at: &str, scope: &str, focus: Option<&str>) -> String {
    let line = focus.map_or(String::new(), |path| format!("> Focus: {path}\n"));
    format!("\n# Deep-Dive Context\n\n> Generated: {at}\n> Scope: {scope}\n{line}")
}

/// Of the four parts of the overview, those that are not given stay.
fn overview(texts: Texts<'_>, present: &str) -> Option<String> {
    let items = || Part::ALL.into_iter().take(N_ITEMS);
    let overview = given(texts, Part::Overview);
    if overview.is_none() && items().all(|item| given(texts, item).is_none()) {
        return None;
    }
    let mut lines: Vec<&str> = present.lines().collect();
    let mut parts = Vec::new();
    for item in items() {
        let label = format!("- **{}**:", item.as_str());
        let present = take_item(&mut lines, &label);
        let line = given(texts, item).map(|text| format!("{label} {}", yaml::one_line(text)));
        parts.extend(line.or(present));
    }
    let below = lines.join("\n");
    let below = Some(below.trim()).filter(|text| !text.is_empty() && !is_pending(text));
    parts.extend(overview.or(below).map(|text| format!("\n{text}")));
    Some(parts.join("\n").trim_start().to_owned())
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
    let mut lines = body
        .lines()
        .skip_while(|line| section_title(line) != Some(name));
    if lines.next().is_none() {
        return PENDING.to_owned();
    }
    let mut content = String::new();
    for line in lines {
        let mut known = sections().map(Part::as_str).chain(LOGS);
        if section_title(line).is_some_and(|title| known.any(|known| known == title)) {
            break;
        }
        content.push_str(line);
        content.push('\n');
    }
    content
}

/// The title in a line that is a heading of the second level.
fn section_title(line: &str) -> Option<&str> {
    line.strip_prefix("## ").map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::super::content::check_content;
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_250_977, 0).unwrap()
    }

    #[test]
    fn a_new_file_is_the_original_without_its_inner_fence() {
        let text = init(None, Origin::New, now());
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
        let text = init(Some("src/\"a\""), Origin::Refresh, now());
        let conventions = "a\n---\nphase: exploring\n## Naming\nb";
        let first = [
            (Part::TechStack, "Rust"),
            (Part::Overview, "Small."),
            (Part::Conventions, conventions),
        ];
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
        let second = [(Part::AgentNotes, "n")];
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
        fn check(present: &str, sections: Texts<'_>, expected: &str) {
            let text = compile(present, sections, Stage::InProgress, now()).unwrap();
            let body = format!("\n## Repository Overview\n{expected}\n\n## Architecture Map\n");
            assert!(text.contains(&body), "{text}");
        }
        let stack = [(Part::TechStack, "Rust")];
        let overview = [(Part::Overview, "Small.")];
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
        let texts = ["o", "a", "c", "p", "q", "n"];
        let texts: Vec<_> = sections().zip(texts).collect();
        let new = init(None, Origin::New, now());
        let text = compile(&new, &texts, Stage::InProgress, now()).unwrap();
        let again = compile(&text, &[], Stage::InProgress, now()).unwrap();
        let body = "\n## Repository Overview\no\n\n## Architecture Map\na\n\n## Conventions\nc\n\n## Anti-Patterns (DO NOT)\np\n\n## Key Files Quick Reference\nq\n\n## Agent Notes\nn\n\n## Compilation Log\n";
        assert!(text.contains(body), "{text}");
        assert!(again.contains(body), "{again}");
        assert_eq!(
            again.matches("\n## ").count(),
            text.matches("\n## ").count()
        );
    }
}
