//! `audit`: every entry of every site, by bucket. Reads only.

use std::collections::HashMap;

use anyhow::{Result, bail};
use serde::{Serialize, Serializer};

use super::global::{SwitchedOff, say_switched_off};
use super::output::{self, Page, Paint, Show, writeln};
use super::repositories::{OtherRepository, say_repositories, set_apart};
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
struct AuditItem {
    name: String,
    /// Bytes; of a directory those of all files in it.
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
struct SiteAudit {
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
    buckets: [(&'static str, Vec<AuditItem>); Bucket::ALL.len()],
}

fn as_map<T: Serialize, S: Serializer>(pairs: &[(&str, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

#[derive(Debug, Serialize)]
struct AuditReport {
    ok: bool,
    sites: Vec<SiteAudit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repositories: Vec<OtherRepository>,
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
    let found = sites::find(&context.project, &context.registry)
        .into_iter()
        .filter(|site| context.wants(site.governed.id()));
    let (found, repositories) = set_apart(found.collect(), context);
    let sites = audit(&found, context);
    let document = AuditReport {
        ok: sites.iter().all(|report| report.ok),
        sites,
        repositories,
        switched_off: context.all_switched_off(),
        as_annotations: args.ci,
    };
    context.show(&document)
}

fn audit(sites: &[Site<'_>], context: &CliContext<'_>) -> Vec<SiteAudit> {
    let mut makers = Makers::new();
    changes::each(&context.recorder_dir(), &mut |change| {
        makers.insert(change.path, change.actor);
    });
    let mut reports: Vec<SiteAudit> = sites
        .iter()
        .map(|site| report(site, &context.registry, &makers))
        .collect();
    if reports.is_empty() && context.wants(devt::ID) && context.registry.get(devt::ID).is_some() {
        let dir = context.project.main.path(".devt/state");
        reports.push(SiteAudit {
            reason: Some(MISSING.to_owned()),
            ..SiteAudit::new(devt::ID, &dir, Vec::new(), &makers)
        });
    }
    reports
}

impl SiteAudit {
    fn new(system: &str, state_dir: &str, entries: Vec<Entry<'_>>, makers: &Makers) -> Self {
        let mut buckets = Bucket::ALL.map(|bucket| (bucket.as_str(), Vec::<AuditItem>::new()));
        for entry in entries {
            let maker = makers.get(&path::below(state_dir, &entry.name));
            let actor = maker.cloned().flatten();
            buckets[entry.bucket as usize].1.push(AuditItem {
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
            state_dir: state_dir.to_owned(),
            counts: counts.chain([("total", all().count())]).collect(),
            total_bytes: all().map(|item| item.size).sum(),
            buckets,
        }
    }
}

fn report(site: &Site<'_>, registry: &Registry<'_>, makers: &Makers) -> SiteAudit {
    let new = |entries| SiteAudit::new(site.governed.id(), site.dir(), entries, makers);
    match entries::entries(site, registry) {
        Ok(entries) => new(entries),
        Err(error) => SiteAudit {
            ok: false,
            reason: Some(format!("{error:#}")),
            ..new(Vec::new())
        },
    }
}

impl Show for AuditReport {
    fn text(&self, page: &mut Page<'_>) {
        if self.as_annotations {
            return self.annotations(page);
        }
        let sites = self.sites.iter();
        let reports: Vec<&SiteAudit> = sites
            .filter(|report| report.reason.as_deref() != Some(MISSING))
            .collect();
        if reports.is_empty() && self.repositories.is_empty() && self.switched_off.is_empty() {
            writeln!(page, "{}", page.context.without_sites());
        }
        reports.iter().for_each(|report| report.text(page));
        if reports.len() > 1 {
            let sites = text::count(reports.len(), "state directory", "state directories");
            writeln!(page, "{sites}: {}", totals(&reports));
        }
        say_repositories(&self.repositories, "audit", page);
        say_switched_off(&self.switched_off, page);
    }

    fn answer(&self) -> Answer {
        let mut sites = self.sites.iter();
        let is_clean = sites.all(|report| report.items(Bucket::AdHoc).is_empty());
        Answer::yes_if(self.ok && is_clean)
    }
}

impl SiteAudit {
    fn items(&self, bucket: Bucket) -> &[AuditItem] {
        &self.buckets[bucket as usize].1
    }

    /// A clean site in a line; of others what has to go as well.
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let dir = page.context.below_root(&self.state_dir);
        let title = paint.bold(&format!("{dir} ({})", self.system));
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
                let about = format!(
                    "{}, {}{by}",
                    output::size(item.size),
                    page.local_time.minute(&item.mtime)
                );
                let (slash, about) = (output::slash(item.is_dir), paint.dim(&about));
                writeln!(page, "  {name:<9}  {}{slash}  {about}", item.name);
            }
        }
    }
}

/// `3 entries, 1.5 KiB: 2 canonical, 1 ad_hoc`.
fn totals(reports: &[&SiteAudit]) -> String {
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
    if named.is_empty() {
        return "empty".to_owned();
    }
    format!("{total}, {}: {}", output::size(bytes), named.join(", "))
}

/// The message of a workflow command.
fn as_data(text: &str) -> String {
    let escaped = text.replace('%', "%25");
    escaped.replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command, which ends at a comma or a colon.
fn as_property(text: &str) -> String {
    as_data(text).replace(':', "%3A").replace(',', "%2C")
}

impl AuditReport {
    /// One workflow command of GitHub Actions for each stray file.
    fn annotations(&self, page: &mut Page<'_>) {
        for report in &self.sites {
            let dir = page.context.below_root(&report.state_dir);
            for item in report.items(Bucket::AdHoc) {
                let file = path::below(dir, &item.name);
                let message = format!(
                    "`{}` has no place in the contract of {}; see `statewarden explain {file}`",
                    item.name, report.system
                );
                page.verbatim(&format!(
                    "::error file={},title=Stray state file::{}",
                    as_property(&file),
                    as_data(&message)
                ));
            }
        }
    }
}
