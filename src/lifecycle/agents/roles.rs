//! Whether anybody plays the roles of task groups. A plain OpenSpec project has `tasks.md` files
//! too: it hears nothing of groups, and its agents owe nothing.

use std::path::Path;

use crate::base::actor::AgentName;
use crate::base::disk::bounded_read::read_text;
use crate::base::disk::list;
use crate::project::context::Context;
use crate::project::files::InDir;
use crate::project::sites::Site;
use crate::systems::groups;
use crate::systems::system::Files;

/// The sites give roles away by their files, the settings by naming one, and Claude Code by
/// an agent that is called like one.
pub(crate) fn has_group_roles(context: &Context<'_>, sites: &[Site<'_>]) -> bool {
    let settings = context.rules.settings.system(groups::ID);
    !settings.roles.is_empty() || has_agent_with_role(context) || sites.iter().any(has_verdicts)
}

fn has_agent_with_role(context: &Context<'_>) -> bool {
    let Some(groups) = context.registry.get(groups::ID) else {
        return false;
    };
    let roots = [context.project.session_root(), &context.project.main];
    let dirs = roots.map(|root| Some(root.path(".claude")));
    let mut dirs = dirs.into_iter().chain([context.project.claude_dir.clone()]);
    let plays_role = |dir: String| {
        let dir = Path::new(&dir).join("agents");
        let files = list::readable(&dir).filter(|entry| {
            let path = Path::new(&entry.name);
            path.extension().is_some_and(|extension| extension == "md")
        });
        let mut texts = files.filter_map(|entry| read_text(&dir.join(&entry.name)).ok()?);
        texts.any(|text| {
            let agent = agent_name(&text);
            agent.is_some_and(|agent| groups.contract.role_of(&agent).is_some())
        })
    };
    dirs.any(|dir| dir.is_some_and(plays_role))
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

/// Whether a site, or a change archived beside it, holds a file that only the roles write.
fn has_verdicts(site: &Site<'_>) -> bool {
    if site.governed.id() != groups::ID {
        return false;
    }
    let dir = site.dir();
    let archive = Path::new(&dir).with_file_name("archive");
    let archived = InDir { dir: &archive }.dirs();
    let archived = archived.iter().map(|change| archive.join(change));
    let mut changes = archived.chain([dir.into()]);
    changes.any(|change| {
        let reports = ["review", "test-reports"].into_iter().any(|reports| {
            let dir = change.join(reports);
            let mut files = list::readable(&dir);
            files.any(|file| groups::is_report(&format!("{reports}/{}", file.into_name())))
        });
        reports || change.join("STUCK.md").is_file()
    })
}
