//! `contract show`: what the contracts in force say of each name, directory, gate and role.

use anyhow::{Result, bail};
use clap::ValueHint;
use serde::Serialize;

use crate::base::actor::AgentName;
use crate::base::target::{Act, Target};
use crate::cli::explain::owner;
use crate::cli::global::{SwitchedOff, say_switched_off};
use crate::cli::output::{Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::contract::denial::Mode;
use crate::contract::edition::Edition;
use crate::contract::table::{self, AtReset, Bucket, Dir, DirKind, Name, Role};
use crate::guard::claims;
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::OnDisk;
use crate::project::sites::{self, Site};
use crate::settings::gates::{GateRule, Need};
use crate::systems::system::System;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A state directory [default: the contract of every system]
    #[arg(value_name = "SITE", value_hint = ValueHint::DirPath)]
    site: Option<String>,
}

#[derive(Debug, Serialize)]
struct ShownContracts<'a> {
    contracts: Vec<Shown<'a>>,
    /// The systems without a contract here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<SwitchedOff>,
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    system: String,
    /// The directories on the disk that it governs.
    sites: Vec<String>,
    mode: Mode,
    /// Where the contract has more than one.
    edition: Option<Edition>,
    edition_why: Option<String>,
    source: String,
    /// The settings files that add to it.
    settings: Vec<String>,
    rows: Vec<NameRow>,
    directories: Vec<Dir<'a>>,
    roles: &'a [Role<'a>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gates: Vec<Gate>,
    /// The name offered where none is near.
    fallback: Option<String>,
}

#[derive(Debug, Serialize)]
struct NameRow {
    name: String,
    kind: &'static str,
    bucket: Bucket,
    writer: String,
    purpose: String,
    readers: String,
    at_reset: AtReset,
}

#[derive(Debug, Serialize)]
struct Gate {
    name: String,
    agents: Vec<String>,
    after: Vec<String>,
    needs: Vec<String>,
}

pub(super) fn run(args: &Args, context: &CliContext<'_>) -> Result<Answer> {
    let registry = &context.wanted_systems()?;
    let sites = sites::find(&context.project, registry);
    let wanted = match &args.site {
        Some(site) => Some(systems_of(site, &sites, registry, context)?),
        None => None,
    };
    let view = OnDisk::of(&context.project.main, registry);
    let mut contracts = Vec::new();
    for governed in &registry.governed {
        let (id, kind) = (governed.id(), governed.site_kind(&view));
        let dirs = match &wanted {
            Some((ids, dir)) if ids.iter().any(|wanted| wanted == id) => vec![dir.clone()],
            Some(_) => continue,
            None => {
                let own = sites.iter().filter(|site| site.governed.id() == id);
                own.map(|site| site.dir().to_owned()).collect()
            }
        };
        contracts.push(Shown {
            settings: context.rules.files_of.get(id).cloned().unwrap_or_default(),
            gates: gates(context, id),
            ..show(governed, dirs, kind)
        });
    }
    let document = ShownContracts {
        contracts,
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
        if sites.is_empty() {
            let root = &context.project.main.dir;
            bail!("`{dir}` is no state directory; there is none below `{root}`");
        }
        let known = sites.iter().map(|site| format!("`{}`", site.dir()));
        bail!(
            "`{dir}` is no state directory; the state directories here are {}",
            known.collect::<Vec<_>>().join(", ")
        );
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

fn show<'a>(governed: &'a EnabledSystem<'_>, sites: Vec<String>, site_kind: DirKind) -> Shown<'a> {
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
        settings: Vec::new(),
        rows: rows.map(|row| shown_row(row, system)).collect(),
        directories: dirs
            .map(|dir| Dir {
                kind: match dir.path {
                    "" => site_kind,
                    _ => dir.kind,
                },
                ..*dir
            })
            .collect(),
        roles: &contract.roles,
        gates: Vec::new(),
        fallback: contract.fallback.map(str::to_owned),
    }
}

/// The gates of a declared system; those of the built-in ones are in its documents.
fn gates(context: &CliContext<'_>, id: &str) -> Vec<Gate> {
    let declared = context.rules.settings.system(id).declared.as_ref();
    let rules = declared.iter().flat_map(|declared| &declared.gates);
    let gates = rules.map(|rule| Gate {
        name: rule.name.clone(),
        agents: agents_of(rule),
        after: rule.after.clone(),
        needs: rule.needs.iter().map(Need::to_string).collect(),
    });
    gates.collect()
}

/// As a contract writes them.
fn agents_of(rule: &GateRule) -> Vec<String> {
    let main = rule.main.then(|| "@main".to_owned());
    let agents = rule.agents.iter().map(AgentName::to_string);
    agents.chain(main).collect()
}

fn shown_row(row: &table::Row<'_>, system: &dyn System) -> NameRow {
    NameRow {
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
    }
}

impl Show for ShownContracts<'_> {
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

/// Names are at most so wide.
const NAMES: usize = 36;

impl Shown<'_> {
    fn text(&self, page: &mut Page<'_>) {
        let edition = match (self.edition, &self.edition_why) {
            (Some(edition), Some(why)) => {
                format!("; edition {} is in force: {why}", edition.as_str())
            }
            _ => String::new(),
        };
        let name = page.paint.bold(&self.system);
        let about = format!("{}{edition}", self.source);
        page.hanging(format_args!("{name}: "), self.system.len() + 2, &about);
        for site in &self.sites {
            writeln!(page, "  in {}", page.context.below_root(site));
        }
        let system = page.context.rules.settings.system(&self.system);
        let declared = system.declared.as_ref();
        let is_of_settings = declared.is_some_and(|declared| !declared.by.is_contract);
        if !self.settings.is_empty() && !is_of_settings {
            writeln!(page, "  with {}", self.settings.join(", "));
        }
        self.show_rows(page);
        self.show_rest(page);
    }

    /// What each name is for, and who writes it.
    fn show_rows(&self, page: &mut Page<'_>) {
        let widths = self.rows.iter().map(|row| row.name.chars().count());
        let names = widths.filter(|width| *width <= NAMES).max().unwrap_or(0);
        for bucket in Bucket::ALL {
            let of_bucket = self.rows.iter().filter(|row| row.bucket == bucket);
            let mut rows = of_bucket.peekable();
            if rows.peek().is_some() {
                writeln!(page, "  {}", page.paint.bold(bucket.as_str()));
            }
            for row in rows {
                let about = if row.purpose == self.source {
                    row.writer.clone()
                } else {
                    format!("{}; {}", row.writer, row.purpose)
                };
                let head = format_args!("    {:<names$}  ", row.name);
                page.hanging(head, names + 6, &about);
            }
        }
    }

    /// The directories, gates and roles.
    fn show_rest(&self, page: &mut Page<'_>) {
        for dir in &self.directories {
            let path = match dir.path {
                "" => "the directory itself",
                path => path,
            };
            writeln!(page, "  {}: {path}", dir.kind.as_str());
        }
        for gate in &self.gates {
            let after = match gate.after.as_slice() {
                [] => String::new(),
                after => format!(" after {}", after.join(", ")),
            };
            let (agents, needs) = (gate.agents.join(" or "), gate.needs.join("; "));
            let rule = format!("{}{after}: {agents}; needs {needs}", gate.name);
            page.hanging(format_args!("  gate "), 7, &rule);
        }
        for role in self.roles.iter().filter(|role| role.agent != role.role) {
            writeln!(page, "  agent {} is {}", role.agent, role.role);
        }
    }
}
