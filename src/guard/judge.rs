//! The decision about a call: what it would leave on the disk, judged by the rules. Reads the disk, writes nothing.

use std::io;

use crate::base::disk::bounded_read::read_text;
use crate::base::disk::cache::DirCache;
use crate::base::disk::resolve::exists;
use crate::base::target::{Act, Text};
use crate::guard::claims::{self, Claim, JudgeError, Resolution};
use crate::guard::content::Content;
use crate::guard::decision::{self, Call, Channel, Decision};
use crate::guard::{own_verbs, targets};
use crate::host::event::{Event, Tool};
use crate::project::context::Context;
use crate::settings::model::Settings;
use crate::shell::{Analysis, Scene};
use crate::systems::groups;
use crate::systems::system::{Note, PriorText};

/// What a call would change.
pub(crate) fn changes(context: &Context<'_>, event: &Event<'_>) -> Result<Analysis, JudgeError> {
    let scene = Scene {
        cwd: &context.cwd,
        env: context.env,
        disk: &DirCache::default(),
    };
    targets::of(event, &scene).map_err(JudgeError::Call)
}

/// Decides about what a call would change.
///
/// # Errors
/// A target belongs to a system and could not be judged.
pub(crate) fn judge_changes<'w>(
    context: &Context<'w>,
    event: &Event<'_>,
    changes: Analysis,
) -> Result<(Decision, Vec<Claim<'w>>), JudgeError> {
    let mut targets = changes.targets;
    targets.extend(own_verbs::targets(context, &changes.own_commands));
    let (mut claims, surplus) = claims::judged(&targets, &context.project, context.registry)?;
    leave_own_tools_alone(&mut claims, event, &context.rules.settings);
    let actor = event.actor();
    let call = Call::new(
        &actor,
        Channel::of(event.tool()),
        &context.cwd,
        &targets,
        exists,
    );
    let mut decision = decision::decide(&claims, &call, &|claim| contents_after(event, claim))?
        .and(own_verbs::denials(context, &actor, &changes.own_commands));
    if let (Some(surplus), false) = (surplus, matches!(decision, Decision::Deny(_))) {
        return Err(JudgeError::TooMany {
            path: surplus.path(),
            system: surplus.governed.id().to_owned(),
        });
    }
    if let Decision::Allow { notes } = &mut decision {
        notes.extend(claims.iter().filter_map(left_open));
    }
    Ok((decision, claims))
}

/// Takes out the claims of systems whose own program the tool of the call is.
pub(crate) fn leave_own_tools_alone(
    claims: &mut Vec<Claim<'_>>,
    event: &Event<'_>,
    settings: &Settings,
) {
    if let Tool::Mcp(_) = event.tool() {
        let tool = event.tool_name.as_str();
        claims.retain(|claim| !settings.system(claim.governed.id()).is_own_program(tool));
    }
}

/// A note on a change that moves into the archive with work left in it.
fn left_open(claim: &Claim<'_>) -> Option<Note> {
    let moves_away = claim.target.act == Act::MoveAway && claim.resolution == Resolution::WholeSite;
    if !moves_away || claim.governed.id() != groups::ID {
        return None;
    }
    let tasks = read_text(&format!("{}/tasks.md", claim.site_dir())).ok()??;
    let n_open = groups::tasks::parse(&tasks).n_open();
    let tasks = claim.display_path();
    (n_open > 0).then(|| Note::Remark(format!("open boxes in `{tasks}/tasks.md`: {n_open}")))
}

/// The text a claim would leave, and the text that is there where a rule asks for it; after
/// the call, the one that is there.
pub(crate) fn contents_after(event: &Event<'_>, claim: &Claim<'_>) -> io::Result<Option<Content>> {
    if !claim.governed.system.judges(&claim.entry) {
        return Ok(None);
    }
    if !event.kind().is_before_call() {
        let there = read_text(&claim.path()).ok().flatten();
        return Ok(there.map(Content::unchanged));
    }
    let after = match (&claim.target.text, event.tool()) {
        (Some(Text::Added(text)), _) => return text_added(claim, text),
        (Some(Text::Whole(text)), _) => Some(text.to_string()),
        (None, Tool::Edit | Tool::MultiEdit) => return text_edited(event, claim),
        (None, Tool::Write) => event.input.texts().map_err(io::Error::other)?.content,
        // Other servers' edits have shapes of their own; a whole text is a text.
        (None, Tool::Mcp(_)) if claim.target.act == Act::Write => {
            event.input.texts().unwrap_or_default().content
        }
        (None, _) => None,
    };
    let Some(after) = after else {
        return Ok(None);
    };
    let present = text_replaced(claim)?;
    Ok(Some(Content { after, present }))
}

/// What a file tool's edits make of a text.
fn text_edited(event: &Event<'_>, claim: &Claim<'_>) -> io::Result<Option<Content>> {
    let present = read_text(&claim.path())?;
    let texts = event.input.texts().map_err(io::Error::other)?;
    let after = texts.after(present.as_deref()).map_err(io::Error::other)?;
    Ok(after.map(|after| Content { after, present }))
}

/// What a text at the end of a file makes of it. Nothing mends there what is no text.
pub(crate) fn text_added(claim: &Claim<'_>, text: &str) -> io::Result<Option<Content>> {
    if text.is_empty() {
        return Ok(None);
    }
    let present = match read_text(&claim.path()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        present => present?,
    };
    let after = [present.as_deref().unwrap_or(""), text].concat();
    Ok(Some(Content { after, present }))
}

/// What a whole new text replaces, as far as the system asks: a file that cannot
/// be read must not keep a call from mending it.
pub(crate) fn text_replaced(claim: &Claim<'_>) -> io::Result<Option<String>> {
    let read = || read_text(&claim.path());
    match claim.governed.system.info().prior {
        PriorText::Ignored => Ok(None),
        PriorText::Needed => read(),
        PriorText::Repairable => match read() {
            // Empty, so that nothing takes it for missing.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
            read => read,
        },
    }
}
