//! What this program's own verbs do to state: one table, from a verb to what it writes. An
//! agent's command that runs one is that agent's write. Reads the disk, writes nothing.

use std::path::Path;

use crate::base::actor::Actor;
use crate::base::disk::list;
use crate::base::path;
use crate::base::target::{Act, Target};
use crate::contract::denial::{Denial, DenyCode, Mode};
use crate::guard::decision::REPORT;
use crate::project::context::Context;
use crate::project::sites::{self, Site};
use crate::shell::{OwnCommand, Stdin};
use crate::systems::{devt, own};

/// What a verb does, as far as a rule is about it.
#[derive(Debug, PartialEq, Eq)]
enum VerbEffect {
    /// It reads, or writes what is no state.
    None,
    /// It changes these files, as their writer.
    Writes(Vec<String>),
    /// It moves or replaces what several have written: the main thread's.
    MovesState,
    /// It is for a person at a terminal, for this reason.
    OfPerson(&'static str),
}

const FED: &str = "`statewarden hook` takes events from Claude Code alone: what an agent feeds it proves \
    nothing; to see what it would answer, run `statewarden check --event FILE`";
const ACCEPTS: &str = "`statewarden config accept` puts changed settings in force; that is for the user to do at \
    a terminal, so ask them";
const UNINSTALLS: &str =
    "only the user uninstalls statewarden or switches its plugin off, so ask them";
const APPROVES: &str = "`--force` passes a gate without its proof; that is for the user to do at a terminal, so \
    ask them";

/// The files that the own commands of a call write, as targets of the call.
pub(crate) fn targets(context: &Context<'_>, commands: &[OwnCommand]) -> Vec<Target> {
    let written = commands
        .iter()
        .flat_map(|command| match effect(context, command) {
            VerbEffect::Writes(paths) => paths,
            VerbEffect::None | VerbEffect::MovesState | VerbEffect::OfPerson(_) => Vec::new(),
        });
    written
        .map(|path| Target::literal(path, Act::Edit))
        .collect()
}

/// What the own commands of a call are refused for, besides the files that they write.
pub(crate) fn denials(
    context: &Context<'_>,
    actor: &Actor,
    commands: &[OwnCommand],
) -> Vec<Denial> {
    let refused = commands
        .iter()
        .filter_map(|command| match (effect(context, command), actor) {
            (VerbEffect::OfPerson(why), _) => Some(protected(context, why)),
            (VerbEffect::MovesState, Actor::Agent(_)) => moved_by_agent(context, actor, command),
            (VerbEffect::None | VerbEffect::Writes(_) | VerbEffect::MovesState, _) => None,
        });
    refused.collect()
}

/// The table.
fn effect(context: &Context<'_>, command: &OwnCommand) -> VerbEffect {
    let is_applied = command.has("apply");
    match (command.verb(), command.operand(1).unwrap_or_default()) {
        ("hook", _) => VerbEffect::OfPerson(FED),
        ("", _) if command.stdin == Stdin::Given => VerbEffect::OfPerson(FED),
        ("config", "accept") => VerbEffect::OfPerson(ACCEPTS),
        ("uninstall", _) if !command.has("dry-run") => VerbEffect::OfPerson(UNINSTALLS),
        ("flow", "update") | ("session", "complete" | "skip") if command.has("force") => {
            VerbEffect::OfPerson(APPROVES)
        }
        ("reset", _) if !command.has("dry-run") => VerbEffect::MovesState,
        ("cleanup" | "sweep", _) if is_applied => VerbEffect::MovesState,
        ("update", _) => VerbEffect::Writes(vec![in_owner(
            context,
            command,
            ".devt",
            "state/workflow.yaml",
        )]),
        ("flow", "init" | "update") => VerbEffect::Writes(vec![in_owner(
            context,
            command,
            ".claude",
            run_file(command),
        )]),
        ("deep-dive", "init" | "compile") => VerbEffect::Writes(vec![in_owner(
            context,
            command,
            ".claude",
            "deep-dive.local.md",
        )]),
        ("session", "init" | "start" | "complete" | "skip" | "decide") => {
            VerbEffect::Writes(vec![session_file(context, command)])
        }
        ("restore", _) => restored(context, command),
        ("contract", "add") => {
            let name = command.operand(2).unwrap_or_default();
            let file = format!("statewarden.d/{name}.yaml");
            VerbEffect::Writes(vec![in_owner(context, command, ".claude", &file)])
        }
        _ => VerbEffect::None,
    }
}

fn run_file(command: &OwnCommand) -> &'static str {
    let is_team = ["team", "force-sequential"]
        .iter()
        .any(|flag| command.has(flag));
    if is_team {
        "team-orchestration.local.md"
    } else {
        "orchestration.local.md"
    }
}

/// The directory that a command acts on.
fn dir_of<'c>(context: &'c Context<'_>, command: &'c OwnCommand) -> &'c str {
    command.dir.as_deref().unwrap_or(&context.cwd)
}

/// A path in the nearest directory of a name, from a command's directory up to its root; else in
/// the one that the verb would make.
fn in_owner(context: &Context<'_>, command: &OwnCommand, owner: &str, below: &str) -> String {
    let dir = path::collapse(dir_of(context, command)).into_owned();
    let root_of_dir = context.project.root_of(&dir);
    let root = root_of_dir.as_ref();
    let mut dirs = std::iter::successors(Some(dir.as_str()), |dir| {
        path::split_last(dir).map(|(above, _)| above)
    });
    let holder = dirs
        .by_ref()
        .take_while(|dir| root.is_some_and(|root| root.relative(dir).is_some()))
        .find(|dir| Path::new(&format!("{dir}/{owner}")).is_dir());
    let made_in = root.map_or(dir.as_str(), |root| root.dir.as_str());
    format!("{}/{owner}/{below}", holder.unwrap_or(made_in))
}

/// The state of the session that is named, else of the last one: they have one writer.
fn session_file(context: &Context<'_>, command: &OwnCommand) -> String {
    let sessions = in_owner(context, command, ".claude", ".docs");
    let there = list::readable(Path::new(&sessions)).map(list::Entry::into_name);
    let id = match (command.operand(1), command.value("session")) {
        (Some("init"), _) => None,
        (_, Some(id)) => Some(id.to_owned()),
        (_, None) => there
            .filter(|name| Path::new(&format!("{sessions}/{name}/state.json")).exists())
            .max(),
    };
    format!(
        "{sessions}/{}/state.json",
        id.as_deref().unwrap_or("new-session")
    )
}

/// `restore PATH --at ID`, or `restore ARCHIVE [NAME…]`, whose names are a site's.
fn restored(context: &Context<'_>, command: &OwnCommand) -> VerbEffect {
    let dir = dir_of(context, command);
    let operands = command.words.get(1..).unwrap_or_default();
    if command.has("at") {
        let paths = operands.iter().map(|path| path::absolute(dir, path, None));
        return VerbEffect::Writes(paths.collect());
    }
    let Some((archive, names)) = operands.split_first() else {
        return VerbEffect::None;
    };
    let mut sites = sites_around(context, command).into_iter();
    match sites.find(|site| Path::new(&format!("{}/.archive/{archive}", site.dir())).is_dir()) {
        None => VerbEffect::None,
        Some(_) if names.is_empty() => VerbEffect::MovesState,
        Some(site) => {
            let dir = site.dir();
            VerbEffect::Writes(names.iter().map(|name| path::below(dir, name)).collect())
        }
    }
}

fn sites_around<'w>(context: &Context<'w>, command: &OwnCommand) -> Vec<Site<'w>> {
    let dirs = [dir_of(context, command).to_owned()];
    let mut sites = if command.has("all") {
        sites::all(&context.project, context.registry)
    } else {
        sites::around(&context.project, context.registry, &dirs)
    };
    let system = match command.verb() {
        "sweep" => Some(devt::ID),
        _ => command.value("system"),
    };
    sites.retain(|site| {
        let id = site.governed.id();
        id != own::ID && system.is_none_or(|system| system == id)
    });
    sites
}

/// What of ours the command would change that only a person may.
fn protected(context: &Context<'_>, why: &str) -> Denial {
    let path = ".claude/statewarden";
    Denial {
        code: DenyCode::ProtectedFile,
        system: own::ID.to_owned(),
        mode: context
            .registry
            .get(own::ID)
            .map_or(Mode::Off, |own| own.mode),
        act: Act::Edit,
        path: context.project.main.path(path),
        display_path: path.to_owned(),
        site: ".claude".to_owned(),
        entry: "statewarden".to_owned(),
        why: why.to_owned(),
        instead: None,
        suggestion: None,
        agent: None,
    }
}

/// Nothing where there is nothing to be moved.
fn moved_by_agent(context: &Context<'_>, actor: &Actor, command: &OwnCommand) -> Option<Denial> {
    let site = sites_around(context, command).into_iter().next()?;
    let display_path = match site.site.as_str() {
        "" => site.dir(),
        below => below,
    };
    Some(Denial {
        code: DenyCode::WrongWriter,
        system: site.governed.id().to_owned(),
        mode: site.governed.mode,
        act: Act::MoveAway,
        path: site.dir().to_owned(),
        display_path: display_path.to_owned(),
        site: site.site.clone(),
        entry: String::new(),
        why: format!(
            "`statewarden {}` moves what others have written: it is for the main thread or the user, not for {actor}; \
             {REPORT}",
            command.verb()
        ),
        instead: None,
        suggestion: None,
        agent: Some(actor.as_str().to_owned()),
    })
}
