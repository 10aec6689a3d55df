//! `contract lint`: whether the texts of a plugin and its contract agree.

mod texts;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueHint;
use serde::Serialize;

use self::texts::Text;
use super::mention::{self, Mention, TextKind};
use super::own::{self, CONTRACT, settings_with};
use crate::base::actor::Actor;
use crate::base::disk::bounded_read::read_text;
use crate::base::path::{self, from_os};
use crate::base::target::{Act, Target};
use crate::base::text;
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::contract::denial::{Denial, Subject};
use crate::contract::glob::Pattern;
use crate::contract::table::{Bucket, Name, Row, Writer};
use crate::formats::markdown;
use crate::guard::claims;
use crate::guard::decision::{self, Call, Channel};
use crate::project::registry::Registry;
use crate::settings::merge::Resolved;
use crate::settings::model::{Openness, Settings};
use crate::systems::declared::DeclaredSystem;
use crate::systems::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Directories with agents, commands and skills; a `statewarden.yaml` in one is a contract
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// A further directory of texts; every Markdown file in it is read
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    texts: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FindingKind {
    /// A text mentions a name that no row knows.
    UnknownName,
    /// A text orders a write of a name that is another's.
    WrongWriter,
    /// No text mentions a name of the contract.
    Unmentioned,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Finding {
    file: String,
    /// From 1.
    line: usize,
    kind: FindingKind,
    system: String,
    name: String,
    why: String,
}

#[derive(Debug, Serialize)]
struct LintReport {
    ok: bool,
    /// The folders whose texts were read.
    folders: Vec<String>,
    /// The texts that were read.
    files: usize,
    /// How often they mention a name below a state directory.
    mentions: usize,
    findings: Vec<Finding>,
}

pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let own: Vec<(String, String)> = args
        .dirs
        .iter()
        .map(|dir| dir.join(CONTRACT))
        .filter(|file| file.is_file())
        .map(|file| (from_os(&file), context.absolute(&from_os(&file))))
        .collect();
    let paths: Vec<String> = own.iter().map(|(_, path)| path.clone()).collect();
    let rules = rules(&paths, context);
    own::check(&paths, &rules)?;
    let declared = DeclaredSystem::all(&rules.settings);
    let lint = Lint {
        context,
        settings: &rules.settings,
        registry: &Registry::new(&rules.settings, &declared),
        own: &paths,
    };
    let folders = texts::folders(&args.dirs, &args.texts);
    let read = texts::read(&folders)?;
    let (mut mentions, mut findings) = (0, Vec::new());
    for text in &read {
        mentions += lint.check(text, &mut findings);
    }
    let programs = texts::of_programs(&folders)?;
    for (contract, path) in &own {
        let all = read.iter().map(|text| &text.text).chain(&programs);
        lint.unmentioned(contract, path, &all.collect::<Vec<_>>(), &mut findings);
    }
    findings.sort_unstable();
    findings.dedup();
    let document = LintReport {
        ok: findings.is_empty(),
        folders: folders.iter().map(|folder| from_os(folder)).collect(),
        files: read.len(),
        mentions,
        findings,
    };
    context.show(&document)
}

/// The settings with contracts that need not be installed. What their open directories leave
/// free is still not in them.
fn rules(own: &[String], context: &CliContext<'_>) -> Resolved {
    let mut rules = settings_with(own, context);
    for system in rules.settings.systems.values_mut() {
        if let Some(declared) = &mut system.declared
            && own.contains(&declared.by.file)
        {
            declared.edit(|rules| {
                rules.open = Openness::Closed;
                // Each finding is about one of these, and would repeat its path.
                rules.by.sentence = "declared by its contract".to_owned();
            });
        }
    }
    rules
}

struct Lint<'a> {
    context: &'a CliContext<'a>,
    settings: &'a Settings,
    registry: &'a Registry<'a>,
    /// The contracts that are linted, by their absolute paths.
    own: &'a [String],
}

impl Lint<'_> {
    /// What a text mentions and may not, and how often it mentions state files.
    fn check(&self, text: &Text, findings: &mut Vec<Finding>) -> usize {
        let lines = markdown::lines(&text.text).into_iter().zip(1..);
        let all = lines.flat_map(|(line, number)| {
            let kind = if line.block.is_fence() {
                TextKind::Code
            } else {
                TextKind::Prose
            };
            let mentions = mention::mentions(line.text, kind).into_iter();
            mentions.map(move |mention| (number, mention))
        });
        let mut count = 0;
        for (line, mention) in all {
            let Some(found) = self.judge(&mention, &text.reader) else {
                findings.extend(self.bare(&mention).map(|(system, why)| Finding {
                    file: text.path.clone(),
                    line,
                    kind: FindingKind::UnknownName,
                    name: mention.text.to_owned(),
                    system,
                    why,
                }));
                continue;
            };
            count += 1;
            findings.extend(found.map(|denial| Finding {
                file: text.path.clone(),
                line,
                kind: if denial.code.subject() == Subject::Name {
                    FindingKind::UnknownName
                } else {
                    FindingKind::WrongWriter
                },
                name: mention.text.to_owned(),
                why: why(&denial),
                system: denial.system,
            }));
        }
        count
    }

    /// The system whose contract should know a bare name in an order to write it, and what is
    /// wrong. Names that other files have are none.
    fn bare(&self, mention: &Mention<'_>) -> Option<(String, String)> {
        let name = mention.text;
        if name.contains('/') || !mention::is_file_name(name) || !mention.is_to_be_written() {
            return None;
        }
        let systems = self.own_systems();
        let is_known = systems.iter().any(|system| {
            let mut rows = system.contract().rows.iter();
            rows.any(|row| takes_last_part(row, name))
        });
        if is_known {
            return None;
        }
        let ending = &name[name.rfind('.')?..];
        let system = systems.iter().find(|system| {
            let mut rows = system.contract().rows.iter();
            rows.any(|row| row.title().ends_with(ending))
        });
        let id = system?.id();
        Some((
            id.to_owned(),
            format!("the contract of {id} knows no name `{name}`"),
        ))
    }

    /// The systems of the contracts that are linted.
    fn own_systems(&self) -> Vec<&dyn System> {
        let governed = self.registry.governed.iter();
        let own = governed.filter(|governed| {
            let declared = self.settings.system(governed.id()).declared.as_ref();
            declared.is_some_and(|declared| self.own.contains(&declared.by.file))
                && self.context.wants(governed.id())
        });
        own.map(|governed| governed.system).collect()
    }

    /// A path with the directory in place of its alias: `FEATURE_DIR/spec.md`,
    /// `${FEATURE_DIR}/spec.md`.
    fn without_alias(&self, path: &str) -> Option<String> {
        let (first, rest) = path.split_once('/')?;
        let word = first
            .trim_start_matches('$')
            .trim_matches(['{', '}', '<', '>', '[', ']']);
        let declared = self.settings.declared();
        let mut aliases = declared.flat_map(|(_, declared)| &declared.aliases);
        let (_, dir) = aliases.find(|(alias, _)| alias == word)?;
        Some(path::below(&mention::example_of(dir), rest))
    }

    /// What is wrong with a mention; `None` where it is of no state directory.
    fn judge(&self, mention: &Mention<'_>, reader: &Actor) -> Option<Option<Denial>> {
        if let Some(path) = self.without_alias(mention.text) {
            let path = mention::known_part(&path);
            let mut judged = mention::alternatives(path).into_iter();
            return Some(judged.find_map(|path| self.judge_path(&path, mention, reader)));
        }
        let mut starts = mention.starts();
        let path = starts.find_map(|at| {
            let path = &mention.text[at..];
            if !path.contains('/') || path.starts_with(['/', '$']) || path.starts_with("./") {
                return None;
            }
            let known = mention::known_part(path);
            let mut examples = mention::examples(known).into_iter();
            examples
                .any(|example| self.is_below_site(&example))
                .then_some(known)
        })?;
        let mut judged = mention::alternatives(path).into_iter();
        Some(judged.find_map(|path| self.judge_path(&path, mention, reader)))
    }

    /// What is wrong with a path, whatever its holes are filled with.
    fn judge_path(&self, path: &str, mention: &Mention<'_>, reader: &Actor) -> Option<Denial> {
        let mut denials = Vec::new();
        let examples = mention::examples(path).into_iter();
        // Not every filling makes a directory a state directory.
        for example in examples.filter(|example| self.is_below_site(example)) {
            match self.denial(&example, reader) {
                Some(denial) if denial.code.subject() == Subject::Name => denials.push(denial),
                Some(denial) if mention.is_to_be_written() => return Some(denial),
                _ => return None,
            }
        }
        let glob = mention::glob(path).and_then(|glob| Pattern::parse(&glob).ok());
        if glob.is_some_and(|glob| self.takes_a_row(&glob, &denials)) {
            return None;
        }
        denials.into_iter().next()
    }

    fn is_below_site(&self, path: &str) -> bool {
        let absolute = self.context.project.main.path(path.trim_end_matches('/'));
        let target = Target::literal(absolute, Act::Write);
        let mut claims = claims::of(&[target], &self.context.project, self.registry)
            .unwrap_or_default()
            .into_iter();
        claims.any(|claim| !claim.entry.is_empty() && self.context.wants(claim.governed.id()))
    }

    /// Why the guard would refuse a write of a path.
    fn denial(&self, path: &str, actor: &Actor) -> Option<Denial> {
        let is_dir = path.ends_with('/') || !path.rsplit('/').next()?.contains('.');
        let acts: &[Act] = if is_dir {
            &[Act::Write, Act::MakeDir]
        } else {
            &[Act::Write]
        };
        let denials = acts.iter().map(|act| {
            let absolute = self.context.project.main.path(path.trim_end_matches('/'));
            let targets = [Target::literal(absolute, *act)];
            let call = Call::new(
                actor,
                Channel::Shell,
                &self.context.project.main.dir,
                &targets,
                |_| false,
            );
            let claims = claims::of(&targets, &self.context.project, self.registry).ok()?;
            let decided = decision::decide(&claims, &call, &|_| Ok(None)).ok()?;
            decided.denials().first().cloned()
        });
        let denials: Option<Vec<Denial>> = denials.collect();
        denials?.into_iter().next()
    }

    /// Whether a glob of a text means names of a system that was asked in vain for examples.
    fn takes_a_row(&self, glob: &Pattern, denials: &[Denial]) -> bool {
        denials.iter().any(|denial| {
            let system = self.registry.get(&denial.system);
            let mut rows = system
                .into_iter()
                .flat_map(|system| system.contract.rows.iter());
            rows.any(|row| {
                let mut names = examples(row).into_iter();
                names.any(|name| glob.matches(&format!("{}/{name}", denial.site)))
            })
        })
    }

    /// The names of a contract that no text mentions, where the contract says them. What only a
    /// program or the user writes need not be mentioned.
    fn unmentioned(
        &self,
        contract: &str,
        path: &str,
        texts: &[&String],
        findings: &mut Vec<Finding>,
    ) {
        let source = read_text(path).ok().flatten().unwrap_or_default();
        for system in self.own_systems() {
            let declared = self.settings.system(system.id()).declared.as_ref();
            if declared.is_none_or(|declared| declared.by.file != path) {
                continue;
            }
            let rows = system.contract().rows.iter().filter(|row| {
                let writer = system.writer(row, row.title());
                row.bucket != Bucket::Ephemeral
                    && !matches!(writer, Writer::Program | Writer::User)
                    && !texts.iter().any(|text| mentions_row(text, row))
            });
            findings.extend(rows.map(|row| {
                Finding {
                    file: contract.to_owned(),
                    line: 1 + source
                        .lines()
                        .take_while(|line| !line.contains(row.title()))
                        .count(),
                    kind: FindingKind::Unmentioned,
                    system: system.id().to_owned(),
                    name: row.title().to_owned(),
                    why: "no text mentions it".to_owned(),
                }
            }));
        }
    }
}

fn why(denial: &Denial) -> String {
    match &denial.suggestion {
        Some(near) => format!("{}; did you mean `{near}`?", denial.why),
        None => denial.why.clone(),
    }
}

/// Names that a row takes.
fn examples(row: &Row<'_>) -> Vec<String> {
    match &row.name {
        Name::Exact(name) => vec![(*name).to_owned()],
        Name::Slug(slug) => vec![slug.example.to_owned()],
        Name::Wild(pattern) => mention::examples(pattern),
        Name::Glob(glob) => mention::examples(glob.as_str()),
    }
}

/// Whether a text names what a row takes, with its directory or without.
fn mentions_row(text: &str, row: &Row<'_>) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let title = last(row.title());
    if text.contains(&title) {
        return true;
    }
    let Some(pattern) = Pattern::parse(&title)
        .ok()
        .filter(|glob| glob.as_name().is_none())
    else {
        return false;
    };
    let lines = text.lines();
    let mentions = lines.flat_map(|line| mention::mentions(line, TextKind::Prose));
    let mut names = mentions.flat_map(|mention| mention::examples(&last(mention.text)));
    names.any(|name| pattern.matches(&name))
}

/// Whether a row takes a name in some directory.
fn takes_last_part(row: &Row<'_>, name: &str) -> bool {
    examples(row)
        .iter()
        .chain([&row.title().to_owned()])
        .any(|known| {
            let last = known.rsplit('/').next().unwrap_or_default();
            last == name || Pattern::parse(last).is_ok_and(|glob| glob.matches(name))
        })
}

impl Show for LintReport {
    fn text(&self, page: &mut Page<'_>) {
        for finding in &self.findings {
            let place = format!("{}:{}", finding.file, finding.line);
            let place = page.paint.bold(&place);
            writeln!(page, "{place}: `{}`: {}", finding.name, finding.why);
        }
        writeln!(page, "read {}", self.folders.join(", "));
        let mentions = text::count(self.mentions, "mention", "mentions");
        let files = text::count(self.files, "file", "files");
        let findings = text::count(self.findings.len(), "finding", "findings");
        writeln!(page, "{mentions} in {files}, {findings}");
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}
