//! The session's start: what a new session is shown, and what it leaves for later ones.

use std::path::Path;

use crate::base::text;
use crate::contract::edition::{EnabledDevt, InForce};
use crate::host::event::{Event, Kind};
use crate::host::reply::Reply;
use crate::host::settings_json::Wiring;
use crate::lifecycle::agents::roles;
use crate::lifecycle::calls;
use crate::lifecycle::evidence::{GateLog, RECENT};
use crate::lifecycle::gates::SiteRuns;
use crate::log::record::{Record, What};
use crate::project::context::Context;
use crate::project::plugins::{self, EnabledPlugins};
use crate::project::roots::read_client_text;
use crate::project::state::ClaudeDir;
use crate::recorder::mediate::Recorder;
use crate::systems::devt;
use crate::systems::workflow::{UnreadableState, Workflow};

/// Tells a session that starts what is under way, so that nothing is done twice.
pub(crate) fn session_started(context: &Context<'_>, event: &Event<'_>) -> Reply {
    let files = context.project.session_settings();
    let settings: Vec<String> = files
        .filter_map(|path| read_client_text(&path).ok()?)
        .collect();
    let (plugins, is_concerned) = (plugins(context, &settings), context.is_concerned());
    // A contract makes the project one that is ours to guard.
    if is_concerned || !plugins.contracts.is_empty() {
        let kept = plugins.keep(&context.project);
        context.warn_about(plugins::FILE, kept);
    }
    let mut known = None;
    if is_concerned {
        // Whoever finds a heartbeat and no memory knows that it is gone.
        Recorder::of(context).set_up();
        heartbeat(context, event, plugins.devt.as_ref());
        known = calls::session_began(context, event);
        note_wiring(context, &settings);
    }
    let shown = match known {
        Some((sites, index)) => roles::add_shown(context, sites, Some(&index)),
        None => roles::shown_sites(context),
    };
    let log = GateLog::read(&context.project, RECENT);
    let held = SiteRuns::of(&shown, context.registry, &log);
    let mut runs: Vec<&Workflow> = held.current().collect();
    let problems = &held.problems;
    let skew = context.env.plugin_root.as_deref().and_then(plugin_skew);
    let broken = context
        .rules
        .contract_errors()
        .map(|what| format!("statewarden: {what}"));
    let warnings: Vec<String> = [skew, broken].into_iter().flatten().collect();
    if runs.is_empty() && problems.is_empty() {
        if warnings.is_empty() {
            return Reply::Silent;
        }
        return Reply::Notice {
            text: warnings.join("\n"),
        };
    }
    // What was forgotten long ago must not push out what is under way, nor
    // what is derived from files, of any number, a run that is stored.
    runs.sort_unstable_by(|one, other| other.updated_at.cmp(&one.updated_at));
    let lines = [vec![under_way(&runs, problems)], warnings].concat();
    Reply::context(Kind::SessionStart, lines.join("\n"))
}

/// What to say where the plugin runs a program of another version, found outside of it.
fn plugin_skew(root: &str) -> Option<String> {
    let manifest = read_client_text(&format!("{root}/.claude-plugin/plugin.json")).ok()??;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    let (plugin, program) = (manifest["version"].as_str()?, env!("CARGO_PKG_VERSION"));
    (plugin != program && manifest["name"] == "statewarden").then(|| {
        format!(
            "statewarden: the plugin has version {plugin} and runs a program of version {program}. \
             Update the older of them."
        )
    })
}

/// One line a session, so that the morning after shows that the hook ran.
fn heartbeat(context: &Context<'_>, event: &Event<'_>, devt: Option<&EnabledDevt>) {
    let named = context.rules.settings.system(devt::ID).contract;
    let InForce { edition, why } = InForce::of(named, devt);
    let (version, edition) = (env!("CARGO_PKG_VERSION"), edition.as_str());
    let what = format!("statewarden {version}, devt contract {edition}: {why}");
    let mut record = Record::new(What::Heartbeat, &what, Some(event), context.now.get());
    record.client.clone_from(&context.env.client);
    context.append(&context.logs().events(), &record);
    if record.client.is_none() {
        let session = event.session().to_owned();
        let noted = context
            .project
            .change_state(|state| state.unproved = Some(session));
        context.warn_about_state(noted);
    }
}

/// A tool call proves what the start of its session left open: that this host's calls are
/// judged.
pub(crate) fn prove(context: &Context<'_>, event: &Event<'_>) {
    let unproved = context.project.state().unproved;
    if unproved.is_some_and(|session| session == event.session()) {
        let noted = context.project.change_state(|state| state.unproved = None);
        context.warn_about_state(noted);
    }
}

/// What the plugins that the client has enabled bring.
fn plugins(context: &Context<'_>, settings: &[String]) -> EnabledPlugins {
    let project = &context.project;
    plugins::find(
        project.claude_dir.as_deref().map(Path::new),
        &project.session_root().dir,
        settings,
    )
}

/// Remembers that the settings run the hook, for the day they do not.
fn note_wiring(context: &Context<'_>, settings: &[String]) {
    let project = &context.project;
    let mut noted = project.take_over_notes();
    let mut wirings = settings.iter().map(|text| Wiring::read(text));
    if wirings.any(|wiring| wiring.is_ok_and(|wiring| wiring.is_ours())) {
        noted = noted.and_then(|()| project.note_wired(ClaudeDir::WasThere));
    }
    context.warn_about_state(noted);
}

/// The most characters that a new session is shown.
const MAX_UNDER_WAY: usize = 999;

/// A line for each run and then for each file that may hold one, as many as fit,
/// and the number of the rest.
fn under_way(runs: &[&Workflow], problems: &[UnreadableState]) -> String {
    let mut text = match runs {
        [] => "A workflow may be under way; repair its state file or ask the user before starting a new run.",
        _ => "A workflow is under way; go on from here, redo nothing.",
    }
    .to_owned();
    let mut lines: Vec<String> = runs.iter().map(|run| summary(run)).collect();
    for problem in problems {
        lines.push(text::printable(&text::truncate(&problem.to_string(), 300)));
    }
    for (at, line) in lines.iter().enumerate() {
        let rest = format!("\nand {} more: `statewarden status`.", lines.len() - at);
        let room = MAX_UNDER_WAY - text.chars().count();
        let needed = if at + 1 == lines.len() {
            0
        } else {
            rest.chars().count()
        };
        if 1 + line.chars().count() + needed <= room {
            text += &format!("\n{line}");
        } else if at == 0 {
            return text::truncate(&format!("{text}\n{line}"), MAX_UNDER_WAY);
        } else {
            return text + &rest;
        }
    }
    text
}

/// One line, whatever a state file calls its phase.
fn summary(run: &Workflow) -> String {
    let phase = run.phase.as_deref().unwrap_or("none");
    let round = match (run.iteration, run.max_iterations) {
        (Some(n), Some(max)) => format!(", iteration {n} of {max}"),
        _ => String::new(),
    };
    let gates = run.gates.iter().map(|gate| match &gate.why {
        Some(why) => {
            let why = text::truncate(why, 120);
            format!("{} {} ({why})", gate.name, gate.label())
        }
        None => format!("{} {}", gate.name, gate.label()),
    });
    let gates = match text::truncate(&gates.collect::<Vec<_>>().join(", "), 400) {
        none if none.is_empty() => none,
        gates => format!("; gates: {gates}"),
    };
    let line = format!(
        "{} (`{}`): phase {phase}{round}{gates}. Next: {}.",
        run.system,
        run.directory.as_deref().unwrap_or(&run.file),
        run.next
    );
    text::printable(&line)
}
