//! `audit`: every entry of every site, by bucket. Reads only.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

use super::global::{SwitchedOff, write_switched_off};
use super::{Answer, Context, output};
use crate::catalog::Catalog;
use crate::contract::Bucket;
use crate::inventory::{self, Entry};
use crate::sites::{self, Site};
use crate::systems::devt;
use crate::time;

/// The reason for an empty report where devt has no directory yet.
const MISSING: &str = "state_dir_missing";

/// One entry of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Item {
    name: String,
    /// Bytes; 0 for a directory.
    size: u64,
    /// UTC, RFC 3339, milliseconds.
    mtime: String,
    is_dir: bool,
}

#[derive(Debug, Default, Serialize)]
struct Buckets {
    canonical: Vec<Item>,
    pattern_allowed: Vec<Item>,
    ephemeral: Vec<Item>,
    ad_hoc: Vec<Item>,
}

impl Buckets {
    fn of(&mut self, bucket: Bucket) -> &mut Vec<Item> {
        match bucket {
            Bucket::Canonical => &mut self.canonical,
            Bucket::PatternAllowed => &mut self.pattern_allowed,
            Bucket::Ephemeral => &mut self.ephemeral,
            Bucket::AdHoc => &mut self.ad_hoc,
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    canonical: usize,
    pattern_allowed: usize,
    ephemeral: usize,
    ad_hoc: usize,
    total: usize,
}

/// What `audit` says about one site.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    system: String,
    state_dir: String,
    counts: Counts,
    total_bytes: u64,
    buckets: Buckets,
}

#[derive(Debug, Serialize)]
struct Document {
    ok: bool,
    sites: Vec<Report>,
    /// The systems whose sites were not looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
}

pub(crate) fn run(context: &Context<'_>, out: &mut dyn Write) -> Result<Answer> {
    let reports = context.with_catalog(|catalog| audit(catalog, context))?;
    let ok = reports.iter().all(|report| report.ok);
    let findings = reports.iter().any(|report| report.counts.ad_hoc > 0);
    let document = Document {
        ok,
        sites: reports,
        switched_off: context.all_switched_off(),
    };
    context.print(out, &document, |out| write_text(&document, context, out))?;
    Ok(Answer::yes_if(ok && !findings))
}

fn audit(catalog: &Catalog<'_>, context: &Context<'_>) -> Result<Vec<Report>> {
    let sites = sites::find(&context.project, catalog);
    let mut reports: Vec<Report> = sites.iter().map(|site| report(site, catalog)).collect();
    if reports.is_empty() {
        let missing = devt::ID;
        if catalog.get(missing).is_some() {
            let dir = format!("{}/.devt/state", context.project.main.dir);
            reports.push(Report {
                reason: Some(MISSING.to_owned()),
                ..Report::empty(missing, dir)
            });
        }
    }
    Ok(reports)
}

impl Report {
    fn empty(system: &str, state_dir: String) -> Self {
        Self {
            ok: true,
            reason: None,
            system: system.to_owned(),
            state_dir,
            counts: Counts::default(),
            total_bytes: 0,
            buckets: Buckets::default(),
        }
    }
}

fn report(site: &Site<'_>, catalog: &Catalog<'_>) -> Report {
    let mut report = Report::empty(site.governed.system.id(), site.dir());
    match inventory::entries(site, catalog) {
        Ok(entries) => entries
            .into_iter()
            .for_each(|entry| report.buckets.of(entry.bucket).push(entry.into())),
        Err(error) => {
            report.ok = false;
            report.reason = Some(format!("{error:#}"));
        }
    }
    let buckets = &mut report.buckets;
    buckets
        .canonical
        .sort_unstable_by(|a, b| a.name.cmp(&b.name));
    for bucket in [
        &mut buckets.pattern_allowed,
        &mut buckets.ephemeral,
        &mut buckets.ad_hoc,
    ] {
        bucket.sort_unstable_by(|a, b| b.size.cmp(&a.size).then_with(|| a.name.cmp(&b.name)));
    }
    let lists = [
        &buckets.canonical,
        &buckets.pattern_allowed,
        &buckets.ephemeral,
        &buckets.ad_hoc,
    ];
    report.total_bytes = lists
        .iter()
        .flat_map(|items| items.iter())
        .map(|item| item.size)
        .sum();
    report.counts = Counts {
        canonical: buckets.canonical.len(),
        pattern_allowed: buckets.pattern_allowed.len(),
        ephemeral: buckets.ephemeral.len(),
        ad_hoc: buckets.ad_hoc.len(),
        total: lists.iter().map(|items| items.len()).sum(),
    };
    report
}

impl From<Entry<'_>> for Item {
    fn from(entry: Entry<'_>) -> Self {
        Self {
            name: entry.name,
            size: entry.size,
            mtime: time::millis(entry.modified),
            is_dir: entry.is_dir,
        }
    }
}

fn write_text(document: &Document, context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    if document.sites.is_empty() && document.switched_off.is_empty() {
        writeln!(
            out,
            "no state directory below `{}`",
            context.project.main.dir
        )?;
    }
    for report in &document.sites {
        let title = format!("{} ({})", report.state_dir, report.system);
        writeln!(out, "{}", context.paint.bold(&output::printable(&title)))?;
        if let Some(reason) = &report.reason {
            let reason = match reason.as_str() {
                MISSING => "there is no such directory",
                reason => reason,
            };
            writeln!(out, "  {reason}")?;
            continue;
        }
        let buckets = &report.buckets;
        for (bucket, items) in [
            (Bucket::Canonical, &buckets.canonical),
            (Bucket::PatternAllowed, &buckets.pattern_allowed),
            (Bucket::Ephemeral, &buckets.ephemeral),
            (Bucket::AdHoc, &buckets.ad_hoc),
        ] {
            let line = format!("  {:<16}{:>6}", bucket.as_str(), items.len());
            let line = if bucket == Bucket::AdHoc && !items.is_empty() {
                context.paint.red(&line)
            } else {
                line
            };
            writeln!(out, "{line}")?;
            if matches!(bucket, Bucket::Ephemeral | Bucket::AdHoc) {
                for item in items {
                    let slash = if item.is_dir { "/" } else { "" };
                    let about =
                        context
                            .paint
                            .dim(&format!("{}, {}", output::size(item.size), item.mtime));
                    writeln!(out, "    {}{slash}  {about}", output::printable(&item.name))?;
                }
            }
        }
        writeln!(
            out,
            "  {:<16}{:>6}  {}",
            "total",
            report.counts.total,
            output::size(report.total_bytes)
        )?;
    }
    write_switched_off(&document.switched_off, out)
}
