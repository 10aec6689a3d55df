//! What is guarded in a project, in one sentence: `install` ends with it, `doctor` asks it.

use std::fmt;

use crate::base::text::join_limited;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::project::sites::Site;
use crate::systems::own;

/// Bytes of a list of state directories: a few of them, and how many there are beside.
const ROOM: usize = 200;

/// What the guard finds below a project, as text.
#[derive(Clone, Debug)]
pub enum Guarded {
    /// The state directories, each with its system.
    Sites(String),
    /// There is none yet of these systems.
    NothingYet { systems: String, project: String },
    /// Every system is switched off.
    Off,
}

impl Guarded {
    pub(crate) fn of(sites: &[Site<'_>], project: &Project, registry: &Registry<'_>) -> Self {
        if !sites.is_empty() {
            let named = sites.iter().map(|site| {
                let path = site.display_path(project);
                format!("`{path}` ({})", site.governed.id())
            });
            return Self::Sites(join_limited(named.collect(), ROOM));
        }
        let ids = registry.governed.iter().map(|governed| governed.id());
        let systems: Vec<_> = ids.filter(|id| *id != own::ID).map(str::to_owned).collect();
        if systems.is_empty() {
            return Self::Off;
        }
        Self::NothingYet {
            systems: join_limited(systems, ROOM),
            project: project.main.dir.clone(),
        }
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sites(sites) => out.write_str(sites),
            Self::NothingYet { systems, project } => write!(
                out,
                "nothing yet: no state directory of {systems} is below `{project}`"
            ),
            Self::Off => out.write_str("nothing: the settings switch every system off"),
        }
    }
}
