//! `contract show`.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde::Serialize;

use super::origin::{BUILT_IN, Origins};
use crate::base::target::{Act, Target};
use crate::cli::explain::owner;
use crate::cli::global::{SwitchedOff, write_switched_off};
use crate::cli::{Answer, CliContext, output};
use crate::contract::denial::Mode;
use crate::contract::edition::Edition;
use crate::contract::table::{self, AtReset, Bucket, DirKind, Name};
use crate::guard::claims;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::OnDisk;
use crate::project::sites::{self, Site};
use crate::systems::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A state directory [default: the contract of every system]
    #[arg(value_name = "SITE")]
    site: Option<String>,
}

#[derive(Debug, Serialize)]
struct Document {
    contracts: Vec<Shown>,
    /// The systems without a contract here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
}

#[derive(Debug, Serialize)]
struct Shown {
    system: String,
    /// The directories on the disk that it governs.
    sites: Vec<String>,
    mode: Mode,
    /// Where the contract has more than one.
    edition: Option<Edition>,
    edition_why: Option<String>,
    source: String,
    rows: Vec<Row>,
    directories: Vec<Directory>,
    roles: Vec<Role>,
    /// The name offered where none is near.
    fallback: Option<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    bucket: Bucket,
    writer: String,
    purpose: String,
    readers: String,
    at_reset: AtReset,
    from: String,
}

#[derive(Debug, Serialize)]
struct Directory {
    path: String,
    kind: &'static str,
    from: String,
}

#[derive(Debug, Serialize)]
struct Role {
    agent: String,
    role: String,
    from: String,
}

pub(super) fn run(args: &Args, context: &CliContext<'_>, out: &mut dyn Write) -> Result<Answer> {
    let origins = Origins::read(context);
    let contracts = context.with_catalog(|registry| {
        let sites = sites::find(&context.project, registry);
        let wanted = match &args.site {
            Some(site) => Some(systems_of(site, &sites, registry, context)?),
            None => None,
        };
        let governed = registry.governed.iter().filter(|governed| {
            let id = governed.id();
            wanted
                .as_ref()
                .is_none_or(|(ids, _)| ids.iter().any(|wanted| wanted == id))
        });
        let dirs = |governed: &EnabledSystem<'_>| match &wanted {
            Some((_, dir)) => vec![dir.clone()],
            None => {
                let id = governed.id();
                let own = sites.iter().filter(|site| site.governed.id() == id);
                own.map(Site::dir).collect()
            }
        };
        Ok(governed
            .map(|governed| {
                let view = OnDisk::of(&context.project.main, registry);
                show(
                    governed,
                    dirs(governed),
                    governed.site_kind(&view),
                    &origins,
                )
            })
            .collect())
    })?;
    let document = Document {
        contracts,
        switched_off: match args.site {
            Some(_) => Vec::new(),
            None => context.all_switched_off(),
        },
    };
    context.print(out, &document, |out| write_text(&document, context, out))?;
    Ok(Answer::Yes)
}

/// The systems that govern a directory, and its path. It need not exist.
fn systems_of(
    written: &str,
    sites: &[Site<'_>],
    registry: &Registry<'_>,
    context: &CliContext<'_>,
) -> Result<(Vec<String>, String)> {
    let dir = context.in_project(written);
    let there = sites.iter().filter(|site| site.dir() == dir);
    let mut ids: Vec<String> = there.map(|site| site.governed.id().to_owned()).collect();
    if ids.is_empty() {
        ids.extend(claimant(&dir, registry, context));
    }
    if ids.is_empty() {
        let claimant = context.with_complete_catalog(|all| claimant(&dir, all, context));
        if let Some(off) = claimant.as_deref().and_then(|id| context.switched_off(id)) {
            bail!("{off}; no contract is in force in `{dir}`");
        }
        if let Some((owner, wanted)) = claimant.as_deref().zip(context.system.as_deref()) {
            bail!("`{dir}` belongs to {owner}, not to {wanted}; leave `--system` out");
        }
        if registry.get(written).is_some() {
            bail!("`{dir}` is no state directory; of a system say `--system {written}`");
        }
        let known: Vec<String> = sites
            .iter()
            .map(|site| format!("`{}`", site.dir()))
            .collect();
        let known = match known.as_slice() {
            [] => format!("there is none below `{}`", context.project.main.dir),
            known => format!("the state directories here are {}", known.join(", ")),
        };
        bail!("`{dir}` is no state directory; {known}");
    }
    Ok((ids, dir))
}

/// The system that a directory would be a site of, if it were there.
fn claimant(dir: &str, registry: &Registry<'_>, context: &CliContext<'_>) -> Option<String> {
    let target = Target::literal(format!("{dir}/x"), Act::Write);
    let claims = claims::of(&[target], &context.project, registry).unwrap_or_default();
    let claim = claims.first().filter(|claim| claim.entry == "x")?;
    Some(claim.governed.id().to_owned())
}

fn show(
    governed: &EnabledSystem<'_>,
    sites: Vec<String>,
    site_kind: DirKind,
    origins: &Origins,
) -> Shown {
    let (system, contract, edition) = (governed.system, &governed.contract, governed.edition);
    let in_force = governed.edition_in_force();
    let rows = contract
        .rows
        .iter()
        .filter(|row| row.editions.hold(edition));
    let dirs = contract
        .dirs
        .iter()
        .filter(|dir| dir.editions.hold(edition));
    Shown {
        system: system.id().to_owned(),
        sites,
        mode: governed.mode,
        edition: in_force.map(|in_force| in_force.edition),
        edition_why: in_force.map(|in_force| in_force.why.to_string()),
        source: contract.source.to_owned(),
        rows: rows.map(|row| shown_row(row, system, origins)).collect(),
        directories: dirs
            .map(|dir| Directory {
                path: dir.path.to_owned(),
                kind: kind(if dir.path.is_empty() {
                    site_kind
                } else {
                    dir.kind
                }),
                from: origins.of_dir(system, dir),
            })
            .collect(),
        roles: contract
            .roles
            .iter()
            .map(|role| Role {
                agent: role.agent.to_owned(),
                role: role.role.to_owned(),
                from: origins.of_role(system, role),
            })
            .collect(),
        fallback: contract.fallback.map(str::to_owned),
    }
}

fn shown_row(row: &table::Row<'_>, system: &dyn System, origins: &Origins) -> Row {
    Row {
        name: row.title().to_owned(),
        kind: match row.name {
            Name::Exact(_) => "name",
            Name::Slug(_) => "regex",
            Name::Wild(_) | Name::Glob(_) => "glob",
        },
        bucket: row.bucket,
        writer: owner(&system.writer(row, row.title())),
        purpose: row.purpose.to_owned(),
        readers: row.readers.to_owned(),
        at_reset: row.at_reset,
        from: origins.of_row(system, row),
    }
}

fn kind(kind: DirKind) -> &'static str {
    match kind {
        DirKind::Closed => "closed",
        DirKind::Open => "open",
        DirKind::Program => "program",
    }
}

fn write_text(
    document: &Document,
    context: &CliContext<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (at, shown) in document.contracts.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_contract(shown, context, out)?;
    }
    write_switched_off(&document.switched_off, out)
}

fn write_contract(shown: &Shown, context: &CliContext<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = context.paint.bold(&shown.system);
    write!(out, "{title}: {}", output::printable(&shown.source))?;
    match (shown.edition, &shown.edition_why) {
        (Some(edition), Some(why)) => {
            let why = output::printable(why);
            writeln!(out, "; edition {} is in force: {why}", edition.as_str())?;
        }
        _ => writeln!(out)?,
    }
    for site in &shown.sites {
        writeln!(out, "  in {}", output::printable(site))?;
    }
    let from = |from: &str| match from {
        BUILT_IN => String::new(),
        file => context.paint.green(&format!("  (from {file})")),
    };
    for bucket in Bucket::ALL {
        let mut rows = shown
            .rows
            .iter()
            .filter(|row| row.bucket == bucket)
            .peekable();
        if rows.peek().is_some() {
            writeln!(out, "  {}", bucket.as_str())?;
        }
        for row in rows {
            writeln!(
                out,
                "    {:<36}  {}; {}{}",
                output::printable(&row.name),
                output::printable(&row.writer),
                output::printable(&row.purpose),
                from(&row.from),
            )?;
        }
    }
    for dir in &shown.directories {
        let path = match dir.path.as_str() {
            "" => "the directory itself",
            path => path,
        };
        let path = output::printable(path);
        writeln!(out, "  {}: {path}{}", dir.kind, from(&dir.from))?;
    }
    for role in shown.roles.iter().filter(|role| role.agent != role.role) {
        writeln!(
            out,
            "  agent {} is {}{}",
            output::printable(&role.agent),
            output::printable(&role.role),
            from(&role.from),
        )?;
    }
    Ok(())
}
