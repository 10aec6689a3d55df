//! `audit`: every entry of every site, by bucket. Reads only.

use std::collections::HashMap;

use anyhow::{Result, bail};
use serde::{Serialize, Serializer};

use super::global::{SwitchedOff, say_switched_off};
use super::output::{self, Page, Paint, Show, writeln};
use super::{Answer, CliContext, Format};
use crate::base::{clock, path, text};
use crate::contract::table::Bucket;
use crate::project::entries::{self, Entry};
use crate::project::registry::Registry;
use crate::project::sites::{self, Site};
use crate::recorder::changes;
use crate::systems::devt;

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit 1: an entry is ad hoc, or a state directory cannot be read.")]
pub struct Args {
    /// Print annotations, as GitHub Actions shows them beside the files
    #[arg(long)]
    ci: bool,
}

/// The reason for an empty report where devt has no directory yet.
pub(super) const MISSING: &str = "state_dir_missing";

/// One entry of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Item {
    name: String,
    /// Bytes; 0 for a directory.
    size: u64,
    /// UTC, RFC 3339, milliseconds.
    mtime: String,
    is_dir: bool,
    /// Who changed it last, as far as the recorder knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
}

/// The actors of the last changes, by path.
type Makers = HashMap<String, Option<String>>;

/// What `audit` says about one site.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    system: String,
    state_dir: String,
    #[serde(serialize_with = "as_map")]
    counts: Vec<(&'static str, usize)>,
    total_bytes: u64,
    /// In the order of [`Bucket::ALL`].
    #[serde(serialize_with = "as_map")]
    buckets: [(&'static str, Vec<Item>); 4],
}

fn as_map<T: Serialize, S: Serializer>(pairs: &[(&str, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

#[derive(Debug, Serialize)]
struct Document {
    ok: bool,
    sites: Vec<Report>,
    /// The systems whose sites were not looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
    #[serde(skip)]
    as_annotations: bool,
}

pub(crate) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    context.require_wanted()?;
    if args.ci && context.format == Format::Json {
        bail!("`--ci` prints annotations and `--json` a document; choose one");
    }
    let sites = audit(context);
    let document = Document {
        ok: sites.iter().all(|report| report.ok),
        sites,
        switched_off: context.all_switched_off(),
        as_annotations: args.ci,
    };
    context.show(&document)
}

fn audit(context: &CliContext<'_>) -> Vec<Report> {
    let sites = sites::find(&context.project, &context.registry);
    let sites = sites
        .iter()
        .filter(|site| context.wants(site.governed.id()));
    let mut makers = Makers::new();
    changes::each(&context.recorder_dir(), &mut |change| {
        makers.insert(change.path, change.actor);
    });
    let reports = sites.map(|site| report(site, &context.registry, &makers));
    let mut reports: Vec<Report> = reports.collect();
    if reports.is_empty() && context.wants(devt::ID) && context.registry.get(devt::ID).is_some() {
        let dir = context.project.main.path(".devt/state");
        reports.push(Report {
            reason: Some(MISSING.to_owned()),
            ..Report::new(devt::ID, dir, Vec::new(), &makers)
        });
    }
    reports
}

impl Report {
    fn new(system: &str, state_dir: String, entries: Vec<Entry<'_>>, makers: &Makers) -> Self {
        let mut buckets = Bucket::ALL.map(|bucket| (bucket.as_str(), Vec::<Item>::new()));
        for entry in entries {
            let actor = makers.get(&path::below(&state_dir, &entry.name));
            let actor = actor.cloned().flatten();
            buckets[entry.bucket as usize].1.push(Item {
                name: entry.name,
                size: entry.size,
                mtime: clock::millis(entry.modified),
                is_dir: entry.is_dir,
                actor,
            });
        }
        let [canonical, others @ ..] = &mut buckets;
        canonical.1.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for (_, items) in others {
            items.sort_unstable_by(|a, b| (b.size, &a.name).cmp(&(a.size, &b.name)));
        }
        let all = || buckets.iter().flat_map(|(_, items)| items);
        let counts = buckets.iter().map(|(bucket, items)| (*bucket, items.len()));
        Self {
            ok: true,
            reason: None,
            system: system.to_owned(),
            state_dir,
            counts: counts.chain([("total", all().count())]).collect(),
            total_bytes: all().map(|item| item.size).sum(),
            buckets,
        }
    }
}

fn report(site: &Site<'_>, registry: &Registry<'_>, makers: &Makers) -> Report {
    let new = |entries| Report::new(site.governed.id(), site.dir(), entries, makers);
    match entries::entries(site, registry) {
        Ok(entries) => new(entries),
        Err(error) => Report {
            ok: false,
            reason: Some(format!("{error:#}")),
            ..new(Vec::new())
        },
    }
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        if self.as_annotations {
            return self.annotations(page);
        }
        let there = |report: &&Report| report.reason.as_deref() != Some(MISSING);
        let reports: Vec<&Report> = self.sites.iter().filter(there).collect();
        if reports.is_empty() && self.switched_off.is_empty() {
            writeln!(page, "{}", page.context.without_sites());
        }
        reports.iter().for_each(|report| report.text(page));
        if reports.len() > 1 {
            let sites = text::count(reports.len(), "state directory", "state directories");
            writeln!(page, "{sites}: {}", totals(&reports));
        }
        say_switched_off(&self.switched_off, page);
    }

    fn answer(&self) -> Answer {
        let is_clean = |report: &Report| report.items(Bucket::AdHoc).is_empty();
        Answer::yes_if(self.ok && self.sites.iter().all(is_clean))
    }
}

impl Report {
    fn items(&self, bucket: Bucket) -> &[Item] {
        &self.buckets[bucket as usize].1
    }

    /// A clean site in a line; of others what has to go as well.
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let title = paint.bold(&format!("{} ({})", self.state_dir, self.system));
        if let Some(reason) = &self.reason {
            return writeln!(page, "{title}  {}", paint.red(reason));
        }
        writeln!(page, "{title}  {}", totals(&[self]));
        for bucket in [Bucket::Ephemeral, Bucket::AdHoc] {
            let name = match bucket {
                Bucket::AdHoc => paint.red(bucket.as_str()),
                _ => Paint::plain(bucket.as_str()),
            };
            for item in self.items(bucket) {
                let by: String = item.actor.iter().map(|by| format!(", by {by}")).collect();
                let about = format!("{}, {}{by}", output::size(item.size), item.mtime);
                let (slash, about) = (output::slash(item.is_dir), paint.dim(&about));
                writeln!(page, "  {name:<9}  {}{slash}  {about}", item.name);
            }
        }
    }
}

/// `3 entries, 1.5 KiB: 2 canonical, 1 ad_hoc`.
fn totals(reports: &[&Report]) -> String {
    let of = |bucket: usize| -> usize {
        let counts = reports.iter().map(|report| report.buckets[bucket].1.len());
        counts.sum()
    };
    let counts: Vec<usize> = (0..Bucket::ALL.len()).map(of).collect();
    let named = counts.iter().zip(Bucket::ALL).filter(|(n, _)| **n > 0);
    let named: Vec<_> = named
        .map(|(n, bucket)| format!("{n} {}", bucket.as_str()))
        .collect();
    let bytes = reports.iter().map(|report| report.total_bytes).sum();
    let total = text::count(counts.iter().sum::<usize>(), "entry", "entries");
    match named.is_empty() {
        true => "empty".to_owned(),
        false => format!("{total}, {}: {}", output::size(bytes), named.join(", ")),
    }
}

impl Document {
    /// One workflow command of GitHub Actions for each stray file.
    fn annotations(&self, page: &mut Page<'_>) {
        let escape = |text: &str| {
            let text = text.replace('%', "%25").replace('\r', "%0D");
            text.replace('\n', "%0A")
                .replace(':', "%3A")
                .replace(',', "%2C")
        };
        for report in &self.sites {
            let dir = page.context.project.main.relative(&report.state_dir);
            let dir = escape(dir.unwrap_or(&report.state_dir));
            for item in report.items(Bucket::AdHoc) {
                let name = escape(&item.name);
                writeln!(
                    page,
                    "::error file={dir}/{name},title=Stray state file::`{name}` has no place in the \
                     contract of {}; see `statewarden explain {dir}/{name}`",
                    report.system
                );
            }
        }
    }
}
