//! What a call may take away.

use crate::base::actor::Actor;
use crate::base::target::{Act, Spelling};
use crate::contract::denial::DenyCode;
use crate::contract::table::{AtReset, Classification, Row, Writer};
use crate::guard::claims::{Claim, Resolution};
use crate::guard::decision::{Call, Channel, Objection, program_owned, wrong_writer};
use crate::systems::own;
use crate::systems::system::Retention;

/// Deleting by name is everyday work; what takes more than it names, or what
/// cannot be brought back, is denied.
pub(crate) fn removal_rules(claim: &Claim<'_>, call: &Call<'_>) -> Result<(), Objection> {
    let governed = claim.governed;
    let standing = governed.contract.classify(&claim.entry, governed.edition);
    let spares_state =
        matches!(standing, Classification::Free) && claim.target.spelling == Spelling::Literal;
    if let Resolution::Untracked(entries) = &claim.resolution {
        return Err(work_tree(claim, entries));
    }
    let clears = matches!(claim.target.act, Act::Clear | Act::Clean(_)) && !spares_state;
    if clears || claim.resolution == Resolution::WholeSite {
        if is_archiving(claim, call) {
            return Ok(());
        }
        return Err(whole_site(claim, call.actor));
    }
    if let Spelling::Glob { matches } = claim.target.spelling
        && matches != Some(1)
        && !governed.system.info().goes_by_pattern
        && !is_the_users(&standing)
    {
        let several = match matches {
            Some(n) => format!("takes {n} entries"),
            None => "may take several entries".to_owned(),
        };
        let why = format!("the call {several} at once; remove them by their names");
        return Err(Objection::new(DenyCode::BulkRemoval, why));
    }
    entry_removal(claim, call, standing)
}

/// The removal of one entry by its name.
fn entry_removal(
    claim: &Claim<'_>,
    call: &Call<'_>,
    standing: Classification<'_>,
) -> Result<(), Objection> {
    let governed = claim.governed;
    let (id, entry) = (governed.id(), claim.entry.as_str());
    match standing {
        Classification::ProgramDirectory
            if governed.contract.dirs.iter().any(|dir| dir.path == entry) =>
        {
            Err(exempt(entry))
        }
        Classification::ProgramDirectory => Err(program_owned(id, entry, "")),
        Classification::Directory(dir) if dir.at_reset == AtReset::Exempt => Err(exempt(entry)),
        Classification::Row(row) => row_removal(claim, call, row),
        Classification::Directory(_)
        | Classification::AdHoc
        | Classification::UndeclaredDirectory => Ok(()),
        Classification::Free => {
            let writer = governed.system.free_writer(entry);
            match governed.contract.may_write(&writer, call.actor) {
                Err(role) if *call.actor != Actor::Main => {
                    Err(wrong_writer(claim, &writer, role, call.actor))
                }
                _ => Ok(()),
            }
        }
    }
}

/// What no call may remove, by its name either.
fn is_the_users(standing: &Classification<'_>) -> bool {
    matches!(standing, Classification::Row(row) if row.writer == Writer::User)
}

fn row_removal(claim: &Claim<'_>, call: &Call<'_>, row: &Row<'_>) -> Result<(), Objection> {
    let governed = claim.governed;
    let (id, entry) = (governed.id(), claim.entry.as_str());
    // A file tool's removal of Claude Code's settings would take our entries along;
    // a shell's is reported afterwards, with what it did to them.
    if id == own::ID && call.channel == Channel::FileTool {
        let why = format!(
            "`{entry}` holds or guards statewarden's hooks ({}); ask the user",
            row.purpose
        );
        return Err(Objection::new(DenyCode::ProtectedFile, why));
    }
    let writer = governed.system.writer(row, entry);
    let may = match call.actor {
        // The main thread may clear what any agent left behind.
        Actor::Main if !matches!(writer, Writer::Program | Writer::User) => Ok(()),
        actor => governed.contract.may_write(&writer, actor),
    };
    match (may, writer) {
        (Ok(()), _) if row.at_reset == AtReset::Exempt => Err(exempt(entry)),
        (Ok(()), _) => Ok(()),
        (Err(_), Writer::Program) => Err(program_owned(id, entry, row.purpose)),
        (Err(_), Writer::User) => {
            let why = format!(
                "`{entry}` is for the user to remove ({}); ask them",
                row.purpose
            );
            Err(Objection::new(DenyCode::ProtectedFile, why))
        }
        (Err(role), writer) => Err(wrong_writer(claim, &writer, role, call.actor)),
    }
}

/// A call that takes a site along, with how to have what it is after without that.
fn whole_site(claim: &Claim<'_>, actor: &Actor) -> Objection {
    let taken = match (claim.site.as_str(), claim.entry.as_str()) {
        ("", "") => "all of the project's root".to_owned(),
        (site, "") => format!("all of `{site}`"),
        (_, entry) => format!("`{entry}`"),
    };
    let way_on = match (claim.target.act, claim.governed.system.info().upkeep) {
        (Act::Clear | Act::Clean(_), _) => {
            "keep it out (`git clean -e PATTERN`, `git stash push -u -- ':!PATH'`, \
             `rsync --exclude PATTERN`)"
        }
        (_, Retention::Program) => "it is for the user to remove; ask them",
        (_, Retention::Work) => {
            "remove single files by their names, or move a finished change into `openspec/changes/archive/`"
        }
        // The verbs that archive are not an agent's to run.
        (_, Retention::Run) if *actor != Actor::Main => {
            "remove single files by their names, or leave that to the main thread"
        }
        (_, Retention::Run) => {
            "remove single files by their names, or archive them with `statewarden cleanup` or `reset`"
        }
    };
    let why = format!("it would take {taken} away; {way_on}");
    Objection::new(DenyCode::BulkRemoval, why)
}

/// A work tree goes with what git does not keep.
fn work_tree(claim: &Claim<'_>, entries: &[String]) -> Objection {
    let names: Vec<String> = entries.iter().take(3).map(|it| format!("`{it}`")).collect();
    let more = match entries.len() - names.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let why = format!(
        "git does not track {}{more} of `{}`, which would be lost; remove or commit these by \
         their names first, or leave the work tree to the user",
        names.join(", "),
        claim.site
    );
    Objection::new(DenyCode::BulkRemoval, why)
}

fn exempt(entry: &str) -> Objection {
    let why = format!("`{entry}` outlives every workflow and is not removed by a tool call");
    Objection::new(DenyCode::BulkRemoval, why)
}

/// Whether the call moves a whole site to where its system archives it.
fn is_archiving(claim: &Claim<'_>, call: &Call<'_>) -> bool {
    let Some(archive) = claim.governed.system.archive_of(&claim.site) else {
        return false;
    };
    if claim.target.act != Act::MoveAway {
        return false;
    }
    claim.root.paths(&archive.dir).any(|dir| {
        let mut moved = call.targets_below(&dir);
        moved.any(|target| archive.takes(target))
    })
}
