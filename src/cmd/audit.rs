//! `audit`: every entry of every site, by bucket. Reads only.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use super::{Answer, Context, output};
use crate::catalog::Catalog;
use crate::contract::{Bucket, DirKind, Standing};
use crate::project::OnDisk;
use crate::sites::{self, Site};

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
}

pub(crate) fn run(context: &Context<'_>, out: &mut dyn Write) -> Result<Answer> {
    let reports = context.with_catalog(|catalog| audit(catalog, context))?;
    let ok = reports.iter().all(|report| report.ok);
    let findings = reports.iter().any(|report| report.counts.ad_hoc > 0);
    let document = Document { ok, sites: reports };
    context.print(out, &document, |out| write_text(&document, context, out))?;
    Ok(if findings || !ok {
        Answer::No
    } else {
        Answer::Yes
    })
}

fn audit(catalog: &Catalog<'_>, context: &Context<'_>) -> Result<Vec<Report>> {
    let sites = sites::find(&context.project, catalog);
    let mut reports: Vec<Report> = sites.iter().map(|site| report(site, catalog)).collect();
    if reports.is_empty() {
        let missing = context.system.as_deref().unwrap_or("devt");
        if missing == "devt" {
            let dir = format!("{}/.devt/state", context.project.main.dir);
            reports.push(Report {
                reason: Some("state_dir_missing".to_owned()),
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
    if let Err(error) = list(site, "", catalog, &mut report) {
        report.ok = false;
        report.reason = Some(format!("{error:#}"));
    }
    let buckets = &mut report.buckets;
    buckets.canonical.sort_by(|a, b| a.name.cmp(&b.name));
    for bucket in [
        &mut buckets.pattern_allowed,
        &mut buckets.ephemeral,
        &mut buckets.ad_hoc,
    ] {
        bucket.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.name.cmp(&b.name)));
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

/// Lists one directory of a site, and those below it whose names the contract tells.
fn list(site: &Site<'_>, below: &str, catalog: &Catalog<'_>, report: &mut Report) -> Result<()> {
    let dir = Path::new(&site.dir()).join(below);
    let entries =
        fs::read_dir(&dir).with_context(|| format!("could not list `{}`", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("could not list `{}`", dir.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        // An entry that vanishes meanwhile is none.
        let Ok(meta) = entry.metadata() else {
            continue;
        };
        if !belongs(site, &name, catalog) {
            continue;
        }
        let governed = site.governed;
        let standing = governed.contract.standing(&name, governed.edition);
        match (standing, meta.is_dir()) {
            (Standing::Directory(dir), true) if dir.kind == DirKind::Closed => {
                list(site, &name, catalog, report)?
            }
            (Standing::Free, true) => list(site, &name, catalog, report)?,
            (standing, is_dir) => {
                if let Some(bucket) = bucket(standing, is_dir) {
                    report.buckets.of(bucket).push(item(name, &meta));
                }
            }
        }
    }
    Ok(())
}

/// A directory with a file's name is ad hoc, and so is a file with a directory's.
fn bucket(standing: Standing<'_>, is_dir: bool) -> Option<Bucket> {
    match (standing, is_dir) {
        (Standing::Row(row), true) if row.bucket != Bucket::Ephemeral => Some(Bucket::AdHoc),
        (Standing::Directory(_), false) => Some(Bucket::AdHoc),
        (standing, _) => standing.bucket(),
    }
}

/// In a directory that several systems share, an entry belongs to the one that claims it.
fn belongs(site: &Site<'_>, name: &str, catalog: &Catalog<'_>) -> bool {
    let view = OnDisk {
        root: &site.root,
        named: &catalog.named_sites,
    };
    let path = match site.site.as_str() {
        "" => name.to_owned(),
        dir => format!("{dir}/{name}"),
    };
    site.governed
        .system
        .locate(&path, &view)
        .is_some_and(|place| place.site == site.site)
}

fn item(name: String, meta: &fs::Metadata) -> Item {
    Item {
        name,
        size: if meta.is_dir() { 0 } else { meta.len() },
        mtime: rfc3339(meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)),
        is_dir: meta.is_dir(),
    }
}

fn rfc3339(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn write_text(document: &Document, context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    if document.sites.is_empty() {
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
    Ok(())
}
