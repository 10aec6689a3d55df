//! `denies report`: one self-contained HTML page, written whole or not at all. The page
//! draws itself from the records in it, which are data and never markup.

mod collect;
mod markdown;
mod standings;
mod totals;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ValueHint;
use collect::{DenialRow, Findings, Funnel};
use serde::Serialize;
use serde_json::Value;
use standings::GateState;
use totals::Totals;

use super::filter::Query;
use crate::base::clock;
use crate::cli::explain::owner;
use crate::cli::output::{LocalTime, Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::contract::denial::DenyCode;
use crate::contract::table::Classification;
use crate::lifecycle::gates::write_through;
use crate::log::read;
use crate::project::registry::Registry;

const TEMPLATE: &str = include_str!("report.html");

/// Records on the page where `--limit` does not say; the numbers count all.
const SHOWN: u32 = 10_000;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write; an old one is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "markdown")]
    html: Option<String>,
    /// Print a summary for a pull request
    #[arg(long)]
    markdown: bool,
}

/// What the verb did, as JSON.
#[derive(Debug, Serialize)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    denies: u64,
    shown: usize,
    #[serde(flatten)]
    funnel: Funnel,
    totals: Totals,
}

/// What the page's script gets.
#[derive(Serialize)]
struct PageData<'p> {
    project: &'p str,
    made: String,
    version: &'static str,
    /// The filter of the command line, in words.
    filter: String,
    denied: u64,
    /// Records, also those that are not on the page.
    total: u64,
    last_ran: Option<&'p str>,
    totals: &'p Totals,
    records: &'p [DenialRow],
    /// As their log has them.
    gates: &'p [Value],
    /// Where each gate is.
    standings: &'p [GateState],
    /// What each deny code says.
    meanings: BTreeMap<&'static str, &'static str>,
    /// The rows that records point to.
    contract: &'p [ContractRow],
}

#[derive(PartialEq, Eq, Serialize)]
struct ContractRow {
    title: String,
    writer: String,
    purpose: String,
    readers: String,
}

pub(super) fn run(args: &Args, query: &Query, context: &CliContext<'_>) -> Result<Answer> {
    let mut findings = Findings::collect(query, query.limit.unwrap_or(SHOWN), context)?;
    let gates = gates(query, context)?;
    let standings = standings::of_records(&gates);
    let claude_dir = context.project.claude_dir.as_deref();
    let (sessions, agents) = (&findings.sessions, &findings.denied_agents);
    let totals = Totals::count(sessions, agents, &gates, claude_dir)?;
    let html = match &args.html {
        None => None,
        Some(file) => {
            let contract = contract_rows(&mut findings, &context.registry);
            let page = render(&PageData {
                project: &context.project.main.dir,
                made: clock::seconds(context.now),
                version: env!("CARGO_PKG_VERSION"),
                filter: query.in_words(&LocalTime::of_system()),
                denied: findings.funnel.denied(),
                total: findings.total,
                last_ran: findings.last_ran.as_deref(),
                totals: &totals,
                records: &findings.records,
                gates: &gates,
                standings: &standings,
                meanings: DenyCode::ALL
                    .map(|code| (code.as_str(), code.meaning()))
                    .into(),
                contract: &contract,
            })?;
            Some(write(file, &page, context)?)
        }
    };
    let markdown = args
        .markdown
        .then(|| markdown::write(&findings, &totals, &standings));
    context.show(&Written {
        denies: findings.funnel.denied(),
        shown: findings.records.len(),
        funnel: findings.funnel,
        totals,
        html,
        markdown,
    })
}

/// Writes the page and gives the absolute path of its file.
fn write(file: &str, page: &str, context: &CliContext<'_>) -> Result<String> {
    let file = context.absolute(file);
    let path = PathBuf::from(&file);
    match path.parent().filter(|dir| !dir.is_dir()) {
        Some(dir) => bail!(
            "could not write `{file}`: there is no directory `{}`; make it first",
            dir.display()
        ),
        None if path.is_dir() => bail!("`{file}` is a directory; name a file to write"),
        // A device would be replaced by the page.
        None if path.exists() && !path.is_file() => {
            bail!("`{file}` is no regular file; name one to write")
        }
        None => {}
    }
    write_through(&path, page).with_context(|| format!("could not write `{file}`"))?;
    Ok(file)
}

impl Show for Written {
    fn text(&self, page: &mut Page<'_>) {
        for line in self.markdown.iter().flat_map(|text| text.lines()) {
            page.verbatim(line);
        }
        if let Some(file) = &self.html {
            writeln!(page, "{} denied; the report is in `{file}`", self.denies);
        }
    }
}

/// In JSON `<` is possible in texts alone, where it may be written as an escape: then no text
/// can end the element that holds the data.
fn render(page: &PageData<'_>) -> Result<String> {
    let json = serde_json::to_string(page)?.replace('<', "\\u003c");
    let (before, after) = TEMPLATE.split_once("{{data}}").unwrap_or((TEMPLATE, ""));
    Ok([before, &json, after].concat())
}

fn gates(query: &Query, context: &CliContext<'_>) -> Result<Vec<Value>> {
    let mut gates = Vec::new();
    read::entries(
        &context.project.logs().gates(),
        query.reach,
        &mut |entry, line| {
            if query.lets_through(entry) {
                gates.extend(serde_json::from_str::<Value>(line));
            }
        },
    )?;
    Ok(gates)
}

/// Finds the row of every listed name, or of the name to use instead.
fn contract_rows(findings: &mut Findings, registry: &Registry<'_>) -> Vec<ContractRow> {
    let mut rows: Vec<ContractRow> = Vec::new();
    for record in &mut findings.records {
        record.contract = row_of(record, registry).map(|row| {
            let known = rows.iter().position(|known| *known == row);
            known.unwrap_or_else(|| {
                rows.push(row);
                rows.len() - 1
            })
        });
    }
    rows
}

fn row_of(record: &DenialRow, registry: &Registry<'_>) -> Option<ContractRow> {
    let governed = registry.get(&record.system)?;
    let row = |entry: &str| match governed.contract.classify(entry, governed.edition) {
        Classification::Row(row) => Some((row, owner(&governed.system.writer(row, entry)))),
        _ => None,
    };
    let (row, writer) = row(&record.name).or_else(|| row(&record.suggestion))?;
    Some(ContractRow {
        title: row.title().to_owned(),
        writer,
        purpose: row.purpose.to_owned(),
        readers: row.readers.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::TEMPLATE;

    fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
        let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("{start}"));
        rest.split_once(end).unwrap_or_else(|| panic!("{end}")).0
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let number = (0..3).fold(0, |sum, at| {
                sum << 8 | usize::from(three.get(at).copied().unwrap_or(0))
            });
            for at in 0..4 {
                let digit = char::from(DIGITS[number >> (18 - 6 * at) & 63]);
                text.push(if at <= three.len() { digit } else { '=' });
            }
        }
        text
    }

    /// With another hash the browser would show an empty page.
    #[test]
    fn the_policy_allows_the_style_and_the_script_by_their_hashes() {
        for (directive, start, end) in [
            ("style-src", "<style>", "</style>"),
            ("script-src", "<script>", "</script>"),
        ] {
            let hash = base64(&Sha256::digest(between(TEMPLATE, start, end)));
            let allowed = format!("{directive} 'sha256-{hash}';");
            assert!(TEMPLATE.contains(&allowed), "{allowed}");
        }
    }

    /// Relative luminance (WCAG 2.2) of `#rgb` or `#rrggbb`.
    fn luminance(color: &str) -> f64 {
        let hex = color.trim_start_matches('#');
        let width = hex.len() / 3;
        let part = |at: usize| {
            let digits = hex[at * width..(at + 1) * width].repeat(2 / width);
            let part = f64::from(u8::from_str_radix(&digits, 16).unwrap()) / 255.0;
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
    }

    #[test]
    fn both_themes_have_contrast() {
        let roots: Vec<&str> = TEMPLATE.split(":root {").skip(1).collect();
        assert_eq!(roots.len(), 2);
        for (theme, root) in roots.into_iter().enumerate() {
            let of = |name: &str| luminance(between(root, &format!("--{name}: "), ";"));
            let ratio = |a: &str, b: &str| {
                let (a, b) = (of(a), of(b));
                (a.max(b) + 0.05) / (a.min(b) + 0.05)
            };
            for ground in ["page", "card", "hover"] {
                for text in [
                    "ink", "dim", "link", "deny", "warn", "detected", "undone", "fault", "good",
                    "gate",
                ] {
                    let found = ratio(text, ground);
                    assert!(
                        found >= 4.5,
                        "{text} on {ground}, theme {theme}: {found:.2}"
                    );
                }
            }
            for bar in ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"] {
                let found = ratio(bar, "card");
                assert!(found >= 3.0, "{bar}, theme {theme}: {found:.2}");
            }
        }
    }
}
