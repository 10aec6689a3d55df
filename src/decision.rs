//! The decision about a call: pure, from claims, the actor and the rules.

use std::io;

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::claim::{Before, Claim, Lands, Unsettled};
use crate::contract::{AtReset, Bucket, DirKind, Others, Row, Standing, Writer};
use crate::nearest::nearest;
use crate::path;
use crate::settings::Mode;
use crate::systems::Note;
use crate::target::{Act, Spelling, Target};

/// Why a call is refused. The text form is stable: logs, settings and tests use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenyCode {
    AdHocName,
    EphemeralName,
    UndeclaredDirectory,
    PathEscape,
    WrongWriter,
    ProgramOwned,
    MalformedContent,
    IllegalTransition,
    BulkRemoval,
    GateClosed,
    ProtectedFile,
}

impl DenyCode {
    pub const ALL: [Self; 11] = [
        Self::AdHocName,
        Self::EphemeralName,
        Self::UndeclaredDirectory,
        Self::PathEscape,
        Self::WrongWriter,
        Self::ProgramOwned,
        Self::MalformedContent,
        Self::IllegalTransition,
        Self::BulkRemoval,
        Self::GateClosed,
        Self::ProtectedFile,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::AdHocName => "ad-hoc-name",
            Self::EphemeralName => "ephemeral-name",
            Self::UndeclaredDirectory => "undeclared-directory",
            Self::PathEscape => "path-escape",
            Self::WrongWriter => "wrong-writer",
            Self::ProgramOwned => "program-owned",
            Self::MalformedContent => "malformed-content",
            Self::IllegalTransition => "illegal-transition",
            Self::BulkRemoval => "bulk-removal",
            Self::GateClosed => "gate-closed",
            Self::ProtectedFile => "protected-file",
        }
    }

    /// Whether the refused name is the trouble, so that another place would do.
    pub fn is_about_names(self) -> bool {
        matches!(
            self,
            Self::AdHocName | Self::EphemeralName | Self::UndeclaredDirectory
        )
    }
}

/// The way a call reaches the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    FileTool,
    Shell,
}

/// What the rules know of a call besides its claims.
pub struct Call<'a> {
    pub actor: &'a Actor,
    pub channel: Channel,
    /// Every target of the call, claimed or not.
    pub targets: &'a [Target],
}

/// One refusal. The redirect is part of it: a denial without a way on is a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub code: DenyCode,
    pub system: String,
    pub mode: Mode,
    pub act: Act,
    /// The absolute path.
    pub path: String,
    /// The path relative to its root.
    pub shown: String,
    /// The site, relative to its root.
    pub site: String,
    /// The entry, relative to the site.
    pub entry: String,
    /// What is wrong, as a clause that starts after "is refused:".
    pub why: String,
    /// The path to write instead, relative to the root.
    pub instead: Option<String>,
    /// The allowed name alone, for the log.
    pub suggestion: Option<String>,
}

/// What is said about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// No objection; the notes are worth telling the model.
    Allow {
        notes: Vec<Note>,
    },
    /// A rule in warn mode objects.
    Warn(Vec<Denial>),
    Deny(Vec<Denial>),
}

impl Decision {
    /// The stricter of two decisions about one call.
    pub fn or_worse(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny(_), _) | (_, Self::Allow { .. }) => self,
            (Self::Allow { .. } | Self::Warn(_), _) => other,
        }
    }
}

/// Judges every claim; a denial in enforce mode wins over all else.
///
/// `content` gives the text a claim would leave behind, and the text that is
/// there now, where a rule asks for it.
///
/// # Errors
/// `content` could not read the present text.
pub fn decide(
    claims: &[Claim<'_>],
    call: &Call<'_>,
    content: &dyn Fn(&Claim<'_>) -> io::Result<Option<Content>>,
) -> Result<Decision, Unsettled> {
    let (mut notes, mut denials) = (Vec::new(), Vec::new());
    for claim in claims {
        match name_rules(claim, call) {
            Err(objection) => denials.push(objection.about(claim)),
            Ok(Asks::Nothing) => {}
            Ok(Asks::Content) => match content(claim) {
                Err(error) => return Err(unreadable(claim, error)),
                Ok(None) => {}
                Ok(Some(content)) => match content_rules(claim, &content) {
                    Ok(more) => notes.extend(more),
                    Err(objection) => denials.push(objection.about(claim)),
                },
            },
        }
    }
    if denials.is_empty() {
        return Ok(Decision::Allow { notes });
    }
    // The denials that hold come first; the reason leads with them.
    denials.sort_by_key(|denial| denial.mode != Mode::Enforce);
    match denials[0].mode {
        Mode::Enforce => Ok(Decision::Deny(denials)),
        Mode::Warn | Mode::Off => Ok(Decision::Warn(denials)),
    }
}

fn unreadable(claim: &Claim<'_>, error: io::Error) -> Unsettled {
    Unsettled::Target {
        path: claim.path(),
        system: claim.governed.system.id().to_owned(),
        error,
    }
}

/// A text a call would leave, and the text that is there.
pub struct Content {
    pub after: String,
    pub present: Option<String>,
}

/// Whether a claim whose name is fine has a text to be judged.
enum Asks {
    Nothing,
    Content,
}

struct Objection {
    code: DenyCode,
    why: String,
    suggestion: Option<String>,
}

impl Objection {
    fn new(code: DenyCode, why: String) -> Self {
        Self {
            code,
            why,
            suggestion: None,
        }
    }

    fn about(self, claim: &Claim<'_>) -> Denial {
        let below_site = |name: &String| match claim.site.as_str() {
            "" => name.clone(),
            site => format!("{site}/{name}"),
        };
        Denial {
            code: self.code,
            system: claim.governed.system.id().to_owned(),
            mode: claim.governed.mode,
            act: claim.target.act,
            path: path::collapse(&claim.target.path).into_owned(),
            shown: claim.shown(),
            site: claim.site.clone(),
            entry: claim.entry.clone(),
            why: self.why,
            instead: self.suggestion.as_ref().map(below_site),
            suggestion: self.suggestion,
        }
    }
}

fn name_rules(claim: &Claim<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    if claim.entry.contains(|c: char| c.is_control()) {
        let why = "its name holds a control character and is in no contract".to_owned();
        return Err(Objection::new(DenyCode::PathEscape, why));
    }
    let removes = match claim.target.act {
        Act::Remove | Act::RemoveTree | Act::MoveAway | Act::Clear => true,
        Act::Write | Act::Edit | Act::MakeDir | Act::Link => false,
    };
    if removes {
        return removal_rules(claim, call).map(|()| Asks::Nothing);
    }
    match &claim.lands {
        Lands::Outside { real } => {
            let why = format!(
                "a link takes the write out of `{}`, to `{real}`",
                claim.site
            );
            Err(Objection::new(DenyCode::PathEscape, why))
        }
        Lands::WholeSite => Ok(Asks::Nothing),
        Lands::Inside => entry_rules(claim, call),
    }
}

fn entry_rules(claim: &Claim<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    let governed = claim.governed;
    let id = governed.system.id();
    let entry = claim.entry.as_str();
    let makes_dir = claim.target.act == Act::MakeDir;
    match governed.contract.standing(entry, governed.edition) {
        Standing::ProgramDirectory => Err(program_owned(id, entry)),
        Standing::Directory(dir) if makes_dir || dir.kind == DirKind::Open => Ok(Asks::Nothing),
        Standing::Free => Ok(Asks::Nothing),
        Standing::Row(row) if makes_dir && row.writer != Writer::User => {
            let why = format!("{id}'s contract has `{entry}` as a file, not as a directory");
            Err(Objection::new(DenyCode::UndeclaredDirectory, why))
        }
        Standing::Row(row) => row_rules(claim, row, call),
        Standing::UndeclaredDirectory => Err(undeclared_directory(claim, call, entry)),
        Standing::AdHoc if makes_dir => Err(undeclared_directory(claim, call, entry)),
        Standing::AdHoc | Standing::Directory(_) => Err(Objection {
            suggestion: suggest(claim, call, entry),
            ..Objection::new(
                DenyCode::AdHocName,
                format!("{id}'s contract knows no name `{entry}`"),
            )
        }),
    }
}

/// The nearest name that the actor may write, or at least another may.
fn suggest(claim: &Claim<'_>, call: &Call<'_>, name: &str) -> Option<String> {
    let governed = claim.governed;
    let may_write = |row: &Row<'_>| {
        let writer = governed.system.writer(row, row.title());
        governed.contract.may_write(&writer, call.actor).is_ok()
    };
    let nearest = |may| nearest(&governed.contract, name, governed.edition, may);
    nearest(&may_write).or_else(|| nearest(&|_| true))
}

fn program_owned(id: &str, entry: &str) -> Objection {
    let why = format!("`{entry}` is written by {id}'s programs only, never by a tool call");
    Objection::new(DenyCode::ProgramOwned, why)
}

fn undeclared_directory(claim: &Claim<'_>, call: &Call<'_>, entry: &str) -> Objection {
    let governed = claim.governed;
    let id = governed.system.id();
    let name = entry.rsplit('/').next().unwrap_or(entry);
    let why = format!(
        "{id}'s contract knows no directory `{}`; the settings can declare it (`systems.{id}.subdirectories`)",
        entry.rsplit_once('/').map_or(entry, |(dir, _)| dir)
    );
    let suggestion = match claim.target.act {
        Act::MakeDir => None,
        _ => suggest(claim, call, name),
    };
    Objection {
        suggestion,
        ..Objection::new(DenyCode::UndeclaredDirectory, why)
    }
}

fn row_rules(claim: &Claim<'_>, row: &Row<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    let governed = claim.governed;
    let (id, entry) = (governed.system.id(), claim.entry.as_str());
    let writer = governed.system.writer(row, entry);
    if let Err(refused) = governed.contract.may_write(&writer, call.actor) {
        return Err(match writer {
            Writer::Program => program_owned(id, entry),
            Writer::User => {
                let why = format!(
                    "`{entry}` is for the user to change ({}); ask them",
                    row.purpose
                );
                Objection::new(DenyCode::ProtectedFile, why)
            }
            writer => wrong_writer(claim, &writer, refused.role, call.actor),
        });
    }
    match row.bucket {
        Bucket::AdHoc => Err(Objection {
            suggestion: suggest(claim, call, entry),
            ..Objection::new(
                DenyCode::AdHocName,
                format!("{id}'s contract knows no name `{entry}`"),
            )
        }),
        Bucket::Ephemeral
            if call.channel == Channel::FileTool
                && (claim.target.act == Act::Write || claim.before == Before::Missing) =>
        {
            let final_name = entry.trim_end_matches('~').trim_end_matches(".tmp");
            let why = format!(
                "`{entry}` is a temporary name; temporary files belong in the OS temp directory"
            );
            Err(Objection {
                suggestion: suggest(claim, call, final_name),
                ..Objection::new(DenyCode::EphemeralName, why)
            })
        }
        Bucket::Ephemeral => Ok(Asks::Nothing),
        Bucket::Canonical | Bucket::PatternAllowed => Ok(Asks::Content),
    }
}

fn wrong_writer(
    claim: &Claim<'_>,
    writer: &Writer<'_>,
    role: Option<&str>,
    actor: &Actor,
) -> Objection {
    let (id, entry) = (claim.governed.system.id(), claim.entry.as_str());
    let who = match writer {
        Writer::Owner(owner) => format!("the {owner}"),
        Writer::Roles(roles, others) => {
            let main = if *others == Others::Nobody {
                ""
            } else {
                " and the main thread"
            };
            format!("the {}{main}", roles.join(" and the "))
        }
        Writer::Main | Writer::Anyone | Writer::Program | Writer::User => {
            "the main thread only".to_owned()
        }
    };
    // Only the group files know roles; a declared system's owners are plain names.
    let by_role = matches!(writer, Writer::Roles(..)) && id == "groups";
    let hint = match (by_role, role) {
        (true, Some(role)) => format!("; a {role} that writes it is a role transgression"),
        (true, None) => {
            let agent = match actor {
                Actor::Main => "main".to_owned(),
                Actor::Agent(name) => name.to_string(),
            };
            format!(
                "; if {actor} plays that role, map it in the settings: `systems.{id}.roles: {{{agent}: ROLE}}`"
            )
        }
        (false, _) => "; report what you have in your final message instead".to_owned(),
    };
    Objection::new(
        DenyCode::WrongWriter,
        format!("`{entry}` is written by {who}, not by {actor}{hint}"),
    )
}

/// Deleting by name is everyday work; what takes more than it names, or what
/// nobody could bring back, is refused.
fn removal_rules(claim: &Claim<'_>, call: &Call<'_>) -> Result<(), Objection> {
    let governed = claim.governed;
    let (id, entry) = (governed.system.id(), claim.entry.as_str());
    if claim.target.act == Act::Clear || claim.lands == Lands::WholeSite {
        if is_archiving(claim, call) {
            return Ok(());
        }
        let why = format!(
            "it would take all of `{}` away; remove single files by their names",
            claim.site
        );
        return Err(Objection::new(DenyCode::BulkRemoval, why));
    }
    if let Spelling::Glob { matches } = claim.target.spelling
        && matches != Some(1)
        && id != "agent-flow"
    {
        let why =
            "a glob would remove several entries at once; remove them by their names".to_owned();
        return Err(Objection::new(DenyCode::BulkRemoval, why));
    }
    match governed.contract.standing(entry, governed.edition) {
        Standing::ProgramDirectory
            if governed.contract.dirs.iter().any(|dir| dir.path == entry) =>
        {
            Err(exempt(entry))
        }
        Standing::ProgramDirectory => Err(program_owned(id, entry)),
        Standing::Directory(dir) if dir.at_reset == AtReset::Exempt => Err(exempt(entry)),
        Standing::Row(row) => row_removal(claim, call, row),
        Standing::Directory(_)
        | Standing::AdHoc
        | Standing::UndeclaredDirectory
        | Standing::Free => Ok(()),
    }
}

fn row_removal(claim: &Claim<'_>, call: &Call<'_>, row: &Row<'_>) -> Result<(), Objection> {
    let governed = claim.governed;
    let (id, entry) = (governed.system.id(), claim.entry.as_str());
    // A file tool's removal of Claude Code's settings would take our entries along;
    // a shell's is told afterwards, with what it did to them.
    if id == "self" && call.channel == Channel::FileTool {
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
        (Err(_), Writer::Program) => Err(program_owned(id, entry)),
        (Err(_), Writer::User) => {
            let why = format!(
                "`{entry}` is for the user to remove ({}); ask them",
                row.purpose
            );
            Err(Objection::new(DenyCode::ProtectedFile, why))
        }
        (Err(refused), writer) => Err(wrong_writer(claim, &writer, refused.role, call.actor)),
    }
}

fn exempt(entry: &str) -> Objection {
    let why = format!("`{entry}` outlives every workflow and is not removed by a tool call");
    Objection::new(DenyCode::BulkRemoval, why)
}

/// A finished change moves into the archive of its changes.
fn is_archiving(claim: &Claim<'_>, call: &Call<'_>) -> bool {
    let to_archive = |target: &Target| target.path.contains("openspec/changes/archive");
    claim.governed.system.id() == "groups"
        && claim.target.act == Act::MoveAway
        && call.targets.iter().any(to_archive)
}

/// The objection to the text that stands at a claimed path, whoever wrote it.
pub fn objection_to_text(claim: &Claim<'_>, text: &str) -> Option<Denial> {
    let content = Content {
        after: text.to_owned(),
        present: None,
    };
    let objection = content_rules(claim, &content).err()?;
    Some(objection.about(claim))
}

fn content_rules(claim: &Claim<'_>, content: &Content) -> Result<Vec<Note>, Objection> {
    claim
        .governed
        .system
        .check_content(&claim.entry, &content.after, content.present.as_deref())
        .map_err(|error| Objection::new(error.code, error.message))
}
