//! Whether there are agents with the roles of task groups. A plain OpenSpec project has `tasks.md`
//! files too: groups are not mentioned in it, and its agents owe nothing.

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::actor::AgentName;
use crate::base::disk::bounded_read::read_text;
use crate::base::disk::list;
use crate::project::context::Context;
use crate::project::files::InDir;
use crate::project::sites::Site;
use crate::recorder::index::Index;
use crate::recorder::places;
use crate::systems::groups;
use crate::systems::system::Files;

/// The sites give roles away by their files, the settings by naming one, and Claude Code by
/// an agent that is called like one.
pub(crate) fn has_group_roles_around(context: &Context<'_>) -> bool {
    has_agents_with_roles(context) || has_verdicts(&context.sites_around_of(groups::ID))
}

fn has_agents_with_roles(context: &Context<'_>) -> bool {
    let settings = context.rules.settings.system(groups::ID);
    !settings.roles.is_empty() || is_agent_with_role_defined(context)
}

/// The sites that a session is shown: those around it, and those of packages and the like that
/// the recorder has seen; of groups only where their roles are in use.
pub(crate) fn shown_sites<'s>(context: &Context<'s>) -> Vec<Site<'s>> {
    let index = Index::read(context.project.memory()).ok().flatten();
    add_shown(context, context.sites_around(), index.as_ref())
}

/// The same by those around it and by what is known of the state directories.
pub(crate) fn add_shown<'s>(
    context: &Context<'s>,
    mut sites: Vec<Site<'s>>,
    index: Option<&Index>,
) -> Vec<Site<'s>> {
    let n_around = sites.len();
    if let Some(index) = index {
        places::add_known(&mut sites, index, &context.project, context.registry);
        places::add_of_entries(&mut sites, index, &context.project, context.registry);
    }
    let root = context.project.session_root();
    let known = sites.split_off(n_around).into_iter();
    let of_root = known.filter(|site| site.root.is_at(&root.dir));
    sites.extend(of_root.filter(|site| Path::new(&site.dir()).is_dir()));
    let has_groups = sites.iter().any(|site| site.governed.id() == groups::ID);
    if has_groups && !has_agents_with_roles(context) && !has_verdicts(&sites) {
        sites.retain(|site| site.governed.id() != groups::ID);
    }
    sites
}

fn is_agent_with_role_defined(context: &Context<'_>) -> bool {
    let Some(groups) = context.registry.get(groups::ID) else {
        return false;
    };
    let project = &context.project;
    let roots = [project.session_root(), &project.main].map(|root| root.path(".claude"));
    let mut dirs: Vec<_> = roots
        .into_iter()
        .chain(project.claude_dir.clone())
        .collect();
    dirs.dedup();
    dirs.into_iter().any(|dir| {
        let mut agents = agents_in(&Path::new(&dir).join("agents")).into_iter();
        agents.any(|agent| groups.contract.role_of(&agent).is_some())
    })
}

/// The agents that are defined in a directory.
fn agents_in(dir: &Path) -> Vec<AgentName> {
    list::readable(dir)
        .filter(|entry| {
            let path = Path::new(&entry.name);
            path.extension().is_some_and(|extension| extension == "md")
        })
        .filter_map(|entry| agent_name(&read_text(&dir.join(&entry.name)).ok()??))
        .collect()
}

/// The `name` in the front matter of an agent's definition. Claude Code takes descriptions that
/// are no YAML, with a colon or an example in them, so this line is looked for alone.
fn agent_name(text: &str) -> Option<AgentName> {
    let mut lines = text.lines();
    lines.next().filter(|line| line.trim_end() == "---")?;
    let mut front = lines.take_while(|line| line.trim_end() != "---");
    let name = front.find_map(|line| line.strip_prefix("name:"))?;
    Some(AgentName::parse(name.trim().trim_matches(['"', '\''])))
}

/// Whether one of the sites, or a change archived beside them, holds a file that only the roles
/// write.
fn has_verdicts(sites: &[Site<'_>]) -> bool {
    let groups = sites.iter().filter(|site| site.governed.id() == groups::ID);
    let changes: Vec<&Path> = groups.map(|site| Path::new(site.dir())).collect();
    // Many changes share one.
    let archives: BTreeSet<_> = changes
        .iter()
        .map(|change| change.with_file_name("archive"))
        .collect();
    let archived = archives.iter().flat_map(|archive| {
        let names = InDir { dir: archive }.dirs().into_iter();
        names.map(|change| archive.join(change))
    });
    let mut all = changes
        .iter()
        .map(|change| change.to_path_buf())
        .chain(archived);
    all.any(|change| holds_verdict(&change))
}

fn holds_verdict(change: &Path) -> bool {
    let reports = ["review", "test-reports"].into_iter().any(|reports| {
        let dir = change.join(reports);
        let mut files = list::readable(&dir);
        files.any(|file| groups::is_report(&format!("{reports}/{}", file.into_name())))
    });
    reports || change.join("STUCK.md").is_file()
}
