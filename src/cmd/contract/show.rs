//! `contract show`.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde::Serialize;

use super::super::explain::owner;
use super::super::{Answer, Context, output};
use super::origin::{BUILT_IN, Origins};
use crate::catalog::{Catalog, Governed};
use crate::claim;
use crate::contract::{self, AtReset, Bucket, DirKind, Editions, Name};
use crate::path;
use crate::settings::{Edition, Mode};
use crate::sites::{self, Site};
use crate::target::{Act, Spelling, Target};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A state directory [default: the contract of every system]
    #[arg(value_name = "SITE")]
    site: Option<String>,
}

#[derive(Debug, Serialize)]
struct Document {
    contracts: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    system: String,
    /// The directories on the disk that it governs.
    sites: Vec<String>,
    mode: Mode,
    /// Where the contract has more than one.
    edition: Option<Edition>,
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
    at_reset: &'static str,
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

pub(super) fn run(args: &Args, context: &Context<'_>, out: &mut dyn Write) -> Result<Answer> {
    let origins = Origins::read(context);
    let contracts = context.with_catalog(|catalog| {
        let sites = sites::find(&context.project, catalog);
        let wanted = match &args.site {
            Some(site) => Some(systems_of(site, &sites, catalog, context)?),
            None => None,
        };
        let governed = catalog.governed.iter().filter(|governed| {
            let id = governed.system.id();
            wanted
                .as_ref()
                .is_none_or(|(ids, _)| ids.iter().any(|wanted| wanted == id))
        });
        let dirs = |governed: &Governed<'_>| match &wanted {
            Some((_, dir)) => vec![dir.clone()],
            None => {
                let id = governed.system.id();
                let own = sites.iter().filter(|site| site.governed.system.id() == id);
                own.map(Site::dir).collect()
            }
        };
        Ok(governed
            .map(|governed| show(governed, dirs(governed), &origins))
            .collect())
    })?;
    let document = Document { contracts };
    context.print(out, &document, |out| write_text(&document, context, out))?;
    Ok(Answer::Yes)
}

/// The systems that govern a directory, and its path. It need not exist.
fn systems_of(
    written: &str,
    sites: &[Site<'_>],
    catalog: &Catalog<'_>,
    context: &Context<'_>,
) -> Result<(Vec<String>, String)> {
    let dir = path::absolute(&context.cwd, written, context.env.home.as_deref());
    let there = sites.iter().filter(|site| site.dir() == dir);
    let mut ids: Vec<String> = there
        .map(|site| site.governed.system.id().to_owned())
        .collect();
    if ids.is_empty() {
        let target = Target {
            path: format!("{dir}/x"),
            act: Act::Write,
            spelling: Spelling::Literal,
            text: None,
            link_to: None,
        };
        let claims = claim::of(&[target], &context.project, catalog).unwrap_or_default();
        let of_site = claims.iter().filter(|claim| claim.entry == "x");
        ids.extend(of_site.map(|claim| claim.governed.system.id().to_owned()));
    }
    if ids.is_empty() {
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

fn show(governed: &Governed<'_>, sites: Vec<String>, origins: &Origins) -> Shown {
    let (system, contract, edition) = (governed.system, &governed.contract, governed.edition);
    let rows = contract
        .rows
        .iter()
        .filter(|row| row.editions.hold(edition));
    let dirs = contract
        .dirs
        .iter()
        .filter(|dir| dir.editions.hold(edition));
    let is_of_one = |row: &contract::Row<'_>| row.editions != Editions::Both;
    Shown {
        system: system.id().to_owned(),
        sites,
        mode: governed.mode,
        edition: contract.rows.iter().any(is_of_one).then_some(edition),
        source: contract.source.to_owned(),
        rows: rows
            .map(|row| Row {
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
                at_reset: match row.at_reset {
                    AtReset::Archived => "archived",
                    AtReset::Exempt => "exempt",
                },
                from: origins.of_row(system, row),
            })
            .collect(),
        directories: dirs
            .map(|dir| Directory {
                path: dir.path.to_owned(),
                kind: match dir.kind {
                    DirKind::Closed => "closed",
                    DirKind::Open => "open",
                    DirKind::Program => "program",
                },
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

fn write_text(document: &Document, context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (at, shown) in document.contracts.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_contract(shown, context, out)?;
    }
    Ok(())
}

fn write_contract(shown: &Shown, context: &Context<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = context.paint.bold(&output::printable(&shown.system));
    writeln!(out, "{title}: {}", output::printable(&shown.source))?;
    for site in &shown.sites {
        writeln!(out, "  in {}", output::printable(site))?;
    }
    let from = |from: &str| match from {
        BUILT_IN => String::new(),
        file => context
            .paint
            .green(&format!("  (from {})", output::printable(file))),
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
    for role in shown
        .roles
        .iter()
        .filter(|role| role.agent != role.role || role.from != BUILT_IN)
    {
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
