//! `contract show`.

use anyhow::{Result, bail};
use clap::ValueHint;
use serde::Serialize;

use super::origin::{BUILT_IN, Origins};
use crate::base::actor::AgentName;
use crate::base::target::{Act, Target};
use crate::cli::explain::owner;
use crate::cli::global::{SwitchedOff, say_switched_off};
use crate::cli::output::{Page, Paint, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::contract::denial::Mode;
use crate::contract::edition::Edition;
use crate::contract::table::{self, AtReset, Bucket, DirKind, Name};
use crate::guard::claims;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::OnDisk;
use crate::project::sites::{self, Site};
use crate::settings::gates::Need;
use crate::systems::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A state directory [default: the contract of every system]
    #[arg(value_name = "SITE", value_hint = ValueHint::DirPath)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gates: Vec<Gate>,
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
    kind: DirKind,
    from: String,
}

#[derive(Debug, Serialize)]
struct Gate {
    name: String,
    agents: Vec<String>,
    after: Vec<String>,
    needs: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Role {
    agent: String,
    role: String,
    from: String,
}

pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let origins = Origins::read(context);
    let registry = &context.wanted_systems()?;
    let sites = sites::find(&context.project, registry);
    let wanted = match &args.site {
        Some(site) => Some(systems_of(site, &sites, registry, context)?),
        None => None,
    };
    let is_wanted = |id: &str| match &wanted {
        Some((ids, _)) => ids.iter().any(|wanted| wanted == id),
        None => true,
    };
    let dirs = |id: &str| match &wanted {
        Some((_, dir)) => vec![dir.clone()],
        None => {
            let own = sites.iter().filter(|site| site.governed.id() == id);
            own.map(Site::dir).collect()
        }
    };
    let view = OnDisk::of(&context.project.main, registry);
    let governed = registry.governed.iter();
    let governed = governed.filter(|governed| is_wanted(governed.id()));
    let contracts = governed.map(|governed| {
        let (id, kind) = (governed.id(), governed.site_kind(&view));
        show(governed, dirs(id), kind, gates(context, id), &origins)
    });
    let document = Document {
        contracts: contracts.collect(),
        switched_off: match args.site {
            Some(_) => Vec::new(),
            None => context.all_switched_off(),
        },
    };
    context.show(&document)
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
        let claimant = claimant(&dir, &context.complete_registry(), context);
        if let Some(off) = claimant.as_deref().and_then(|id| context.switched_off(id)) {
            bail!("{off}; no contract is in force in `{dir}`");
        }
        if let Some((owner, wanted)) = claimant.as_deref().zip(context.system) {
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
    gates: Vec<Gate>,
    origins: &Origins,
) -> Shown {
    let (system, contract, edition) = (governed.system, &governed.contract, governed.edition);
    let in_force = governed.edition_in_force();
    let rows = contract
        .rows
        .iter()
        .filter(|row| edition.holds(row.edition));
    let dirs = contract
        .dirs
        .iter()
        .filter(|dir| edition.holds(dir.edition));
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
                kind: match dir.path {
                    "" => site_kind,
                    _ => dir.kind,
                },
                from: origins.of(system, |contract| {
                    contract.dirs.iter().any(|known| known.path == dir.path)
                }),
            })
            .collect(),
        roles: contract
            .roles
            .iter()
            .map(|role| Role {
                agent: role.agent.to_owned(),
                role: role.role.to_owned(),
                from: origins.of(system, |contract| {
                    let mut roles = contract.roles.iter();
                    roles.any(|known| (known.agent, known.role) == (role.agent, role.role))
                }),
            })
            .collect(),
        gates,
        fallback: contract.fallback.map(str::to_owned),
    }
}

/// The gates of a declared system; those of the built-in ones are in its documents.
fn gates(context: &CliContext<'_>, id: &str) -> Vec<Gate> {
    let declared = context.rules.settings.system(id).declared.as_ref();
    let rules = declared.iter().flat_map(|declared| &declared.gates);
    let gates = rules.map(|rule| Gate {
        name: rule.name.clone(),
        agents: rule.agents.iter().map(AgentName::to_string).collect(),
        after: rule.after.clone(),
        needs: rule.needs.iter().map(Need::to_string).collect(),
    });
    gates.collect()
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
        from: origins.of(system, |contract| {
            let mut rows = contract.rows.iter();
            rows.any(|known| (known.bucket, known.title()) == (row.bucket, row.title()))
        }),
    }
}

impl Show for Document {
    fn text(&self, page: &mut Page<'_>) {
        for (at, shown) in self.contracts.iter().enumerate() {
            if at > 0 {
                writeln!(page);
            }
            shown.text(page);
        }
        say_switched_off(&self.switched_off, page);
    }
}

impl Shown {
    fn text(&self, page: &mut Page<'_>) {
        let paint = page.paint;
        let edition = match (self.edition, &self.edition_why) {
            (Some(edition), Some(why)) => {
                format!("; edition {} is in force: {why}", edition.as_str())
            }
            _ => String::new(),
        };
        writeln!(
            page,
            "{}: {}{edition}",
            paint.bold(&self.system),
            self.source
        );
        for site in &self.sites {
            writeln!(page, "  in {site}");
        }
        let from = |from: &str| match from {
            BUILT_IN => Paint::plain(""),
            file => paint.green(&format!("  (from {file})")),
        };
        for bucket in Bucket::ALL {
            let of_bucket = |row: &&Row| row.bucket == bucket;
            let mut rows = self.rows.iter().filter(of_bucket).peekable();
            if rows.peek().is_some() {
                writeln!(page, "  {}", bucket.as_str());
            }
            for row in rows {
                let about = format!("{}; {}", row.writer, row.purpose);
                writeln!(page, "    {:<36}  {about}{}", row.name, from(&row.from));
            }
        }
        for dir in &self.directories {
            let path = match dir.path.as_str() {
                "" => "the directory itself",
                path => path,
            };
            writeln!(page, "  {}: {path}{}", dir.kind.as_str(), from(&dir.from));
        }
        for gate in &self.gates {
            let after = match gate.after.as_slice() {
                [] => String::new(),
                after => format!(" after {}", after.join(", ")),
            };
            let (agents, needs) = (gate.agents.join(" or "), gate.needs.join("; "));
            let name = &gate.name;
            writeln!(page, "  gate {name}{after}: {agents}; needs {needs}");
        }
        for role in self.roles.iter().filter(|role| role.agent != role.role) {
            let from = from(&role.from);
            writeln!(page, "  agent {} is {}{from}", role.agent, role.role);
        }
    }
}
