//! `contract lint`: whether the texts of a plugin and its contract agree.

mod mention;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;

use self::mention::Mention;
use crate::base::actor::Actor;
use crate::base::disk::bounded_read::read_text;
use crate::base::path::from_os;
use crate::base::target::{Act, Target};
use crate::base::{text, warn};
use crate::cli::output::{Page, Show, writeln};
use crate::cli::replay::files_below;
use crate::cli::{Answer, CliContext};
use crate::contract::denial::{Denial, DenyCode};
use crate::contract::glob::Pattern;
use crate::contract::table::{Bucket, Name, Row, Writer};
use crate::formats::{front_matter, yaml};
use crate::guard::claims;
use crate::guard::decision::{self, Call, Channel};
use crate::project::registry::Registry;
use crate::settings::load::{Layers, text_or_lost_link};
use crate::settings::merge::{Layer, Resolved};
use crate::systems::declared::DeclaredSystem;
use crate::systems::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Directories with agents, commands and skills; a `statewarden.yaml` in one is a contract
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A text mentions a name that no row knows.
    UnknownName,
    /// A text tells one to write a name that is another's.
    WrongWriter,
    /// No text mentions a name of the contract.
    Unmentioned,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Finding {
    file: String,
    /// From 1.
    line: usize,
    kind: Kind,
    system: String,
    name: String,
    why: String,
}

#[derive(Debug, Serialize)]
struct Document {
    ok: bool,
    /// The texts that were read.
    files: usize,
    /// How often they mention a name below a state directory.
    mentions: usize,
    findings: Vec<Finding>,
}

/// The contract at the root of a plugin.
const CONTRACT: &str = "statewarden.yaml";

/// The directories of a plugin whose texts tell agents what to do.
const TEXTS: [&str; 4] = ["agents", "commands", "skills", "workflows"];

pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let own = args.dirs.iter().map(|dir| from_os(&dir.join(CONTRACT)));
    let own: Vec<String> = own.filter(|file| Path::new(file).is_file()).collect();
    let rules = rules(&own, context);
    let is_of_own = |what: &&String| {
        let mut own = own.iter().map(|file| context.absolute(file));
        own.any(|file| what.contains(&format!("`{file}` is ")))
    };
    let left_out = rules.left_out.iter().filter(is_of_own);
    left_out.for_each(|what| warn::warn(what));
    let declared = DeclaredSystem::all(&rules.settings);
    let lint = Lint {
        context,
        registry: &Registry::new(&rules.settings, &declared),
    };
    let texts = texts(&args.dirs)?;
    let (mut mentions, mut findings) = (0, Vec::new());
    for text in &texts {
        mentions += lint.check(text, &mut findings);
    }
    for contract in &own {
        lint.unmentioned(contract, &texts, &mut findings);
    }
    findings.sort_unstable();
    findings.dedup();
    let document = Document {
        ok: findings.is_empty(),
        files: texts.len(),
        mentions,
        findings,
    };
    context.show(&document)
}

/// The settings with contracts that need not be installed. What their open directories leave
/// free is still not in them.
fn rules(own: &[String], context: &CliContext<'_>) -> Resolved {
    let own: Vec<(Layer, String)> = own
        .iter()
        .map(|file| (Layer::Contract, context.absolute(file)))
        .collect();
    let others = context.project.settings_files(context.env).into_iter();
    let others = others.filter(|file| !own.contains(file));
    let files = own.iter().cloned().chain(others);
    let mut rules = context
        .project
        .resolve(&Layers::read(files, text_or_lost_link));
    for system in rules.settings.systems.values_mut() {
        let is_own = |source: &String| own.iter().any(|(_, path)| path == source);
        if let Some(declared) = &mut system.declared {
            declared.open &= !declared.source.as_ref().is_some_and(is_own);
        }
    }
    rules
}

/// One file, and whom it tells what to do.
struct Text {
    path: String,
    text: String,
    reader: Actor,
}

/// The Markdown files of a directory, or of its parts that agents read where it is a plugin's.
fn texts(dirs: &[PathBuf]) -> Result<Vec<Text>> {
    let below = |dir: &PathBuf| {
        let parts = TEXTS.iter().map(|part| dir.join(part));
        let parts: Vec<PathBuf> = parts.filter(|part| part.is_dir()).collect();
        if parts.is_empty() {
            vec![dir.clone()]
        } else {
            parts
        }
    };
    let dirs: Vec<PathBuf> = dirs.iter().flat_map(below).collect();
    let files = files_below(&dirs, "md")?.into_iter();
    let read = |path: PathBuf| {
        let text = read_text(&path);
        let text = text.with_context(|| format!("could not read `{}`", path.display()))?;
        let text = text.unwrap_or_default();
        let reader = reader(&path, &text);
        let path = from_os(&path);
        Ok(Text { path, text, reader })
    };
    files.map(read).collect()
}

/// The agent that a file below `agents` defines; all else the main thread reads.
fn reader(path: &Path, text: &str) -> Actor {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    if !parts.any(|part| part == "agents") {
        return Actor::Main;
    }
    let named = front_matter::read(text).ok();
    let named = named.and_then(|front| yaml::text(&front, &["name"]));
    let part = parts.next().unwrap_or_default();
    Actor::parse(&named.unwrap_or_else(|| part.trim_end_matches(".md").to_owned()))
}

struct Lint<'a> {
    context: &'a CliContext<'a>,
    registry: &'a Registry<'a>,
}

impl Lint<'_> {
    /// What a text mentions and may not, and how often it mentions state files.
    fn check(&self, text: &Text, findings: &mut Vec<Finding>) -> usize {
        let lines = text.text.lines().zip(1..);
        let all = lines.flat_map(|(line, number)| {
            let mentions = mention::mentions(line).into_iter();
            mentions.map(move |mention| (number, mention))
        });
        let mut count = 0;
        for (line, mention) in all {
            let Some(found) = self.judge(&mention, &text.reader) else {
                continue;
            };
            count += 1;
            findings.extend(found.map(|denial| Finding {
                file: text.path.clone(),
                line,
                kind: match is_of_name(&denial) {
                    true => Kind::UnknownName,
                    false => Kind::WrongWriter,
                },
                name: mention.text.to_owned(),
                why: why(&denial),
                system: denial.system,
            }));
        }
        count
    }

    /// What is wrong with a mention; `None` where it is of no state directory.
    fn judge(&self, mention: &Mention<'_>, reader: &Actor) -> Option<Option<Denial>> {
        let paths = mention.starts().map(|at| &mention.text[at..]);
        let paths = paths.filter(|path| {
            path.contains('/') && !path.starts_with(['/', '$']) && !path.starts_with("./")
        });
        let is_below = |path: &&str| {
            let mut examples = mention::examples(path).into_iter();
            examples.any(|example| self.is_below_site(&example))
        };
        let path = paths.map(mention::known_part).find(is_below)?;
        let mut judged = mention::alternatives(path).into_iter();
        Some(judged.find_map(|path| self.judge_path(&path, mention, reader)))
    }

    /// What is wrong with a path, whatever may stand in its holes.
    fn judge_path(&self, path: &str, mention: &Mention<'_>, reader: &Actor) -> Option<Denial> {
        let mut denials = Vec::new();
        let examples = mention::examples(path).into_iter();
        // Not everything that may stand for a directory makes it a state directory.
        for example in examples.filter(|example| self.is_below_site(example)) {
            match self.denial(&example, reader) {
                Some(denial) if is_of_name(&denial) => denials.push(denial),
                other => return other.filter(|_| mention.is_to_be_written()),
            }
        }
        let glob = mention::glob(path).and_then(|glob| Pattern::parse(&glob).ok());
        let is_known = glob.is_some_and(|glob| self.takes_a_row(&glob, &denials));
        denials.into_iter().next().filter(|_| !is_known)
    }

    fn is_below_site(&self, path: &str) -> bool {
        let path = self.context.project.main.path(path.trim_end_matches('/'));
        let target = Target::literal(path, Act::Write);
        let claims = claims::of(&[target], &self.context.project, self.registry);
        let claims = claims.unwrap_or_default();
        let wanted = |claim: &claims::Claim<'_>| self.context.wants(claim.governed.id());
        claims
            .iter()
            .any(|claim| !claim.entry.is_empty() && wanted(claim))
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
            let path = self.context.project.main.path(path.trim_end_matches('/'));
            let targets = [Target::literal(path, *act)];
            let call = Call {
                actor,
                channel: Channel::Shell,
                cwd: &self.context.project.main.dir,
                targets: &targets,
                exists: |_| false,
            };
            let claims = claims::of(&targets, &self.context.project, self.registry).ok()?;
            let decision = decision::decide(&claims, &call, &|_| Ok(None)).ok()?;
            decision.denials().first().cloned()
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
            let is_taken = |name: String| glob.matches(&format!("{}/{name}", denial.site));
            rows.any(|row| examples(row).into_iter().any(is_taken))
        })
    }

    /// The names of a contract that no text mentions, where the contract says them. What only a
    /// program or the user writes need not be mentioned.
    fn unmentioned(&self, contract: &str, texts: &[Text], findings: &mut Vec<Finding>) {
        let path = self.context.absolute(contract);
        let source = read_text(&path).ok().flatten().unwrap_or_default();
        let systems = self
            .registry
            .governed
            .iter()
            .map(|governed| governed.system);
        let is_own = |system: &&dyn System| {
            system.contract().source == path && self.context.wants(system.id())
        };
        for system in systems.filter(is_own) {
            let is_for_texts = |row: &&Row<'_>| {
                let writer = system.writer(row, row.title());
                row.bucket != Bucket::Ephemeral
                    && !matches!(writer, Writer::Program | Writer::User)
                    && !texts.iter().any(|text| mentions_row(&text.text, row))
            };
            let rows = system.contract().rows.iter().filter(is_for_texts);
            findings.extend(rows.map(|row| {
                Finding {
                    file: contract.to_owned(),
                    line: 1 + source
                        .lines()
                        .take_while(|line| !line.contains(row.title()))
                        .count(),
                    kind: Kind::Unmentioned,
                    system: system.id().to_owned(),
                    name: row.title().to_owned(),
                    why: "no text mentions it".to_owned(),
                }
            }));
        }
    }
}

/// Whether a rule is about the name, whoever writes it.
fn is_of_name(denial: &Denial) -> bool {
    matches!(
        denial.code,
        DenyCode::AdHocName | DenyCode::UndeclaredDirectory
    )
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
    let mentions = text.lines().flat_map(mention::mentions);
    let mut names = mentions.flat_map(|mention| mention::examples(&last(mention.text)));
    names.any(|name| pattern.matches(&name))
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        for finding in &self.findings {
            let place = format!("{}:{}", finding.file, finding.line);
            let place = page.paint.bold(&place);
            writeln!(page, "{place}: `{}`: {}", finding.name, finding.why);
        }
        let mentions = text::count(self.mentions, "mention", "mentions");
        let files = text::count(self.files, "file", "files");
        let findings = text::count(self.findings.len(), "finding", "findings");
        writeln!(page, "{mentions} in {files}, {findings}");
    }

    fn answer(&self) -> Answer {
        Answer::yes_if(self.ok)
    }
}
