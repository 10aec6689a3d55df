//! The decision about a call, from claims, the actor and the rules. The disk is asked through
//! [`Call`] alone.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;

use crate::base::actor::Actor;
use crate::base::path;
use crate::base::string_enum::string_enum;
use crate::base::target::{Act, Target};
use crate::contract::denial::{Denial, DenyCode, Instead, Mode};
use crate::contract::table::{Bucket, Classification, DirKind, Others, Row, Writer};
use crate::guard::claims::{Claim, JudgeError, Resolution};
use crate::guard::content::{self, Content};
use crate::guard::removal::removal_rules;
use crate::guard::suggestion::with_way_on;
use crate::host::event::Tool;
use crate::systems::system::Note;

/// The way a call reaches the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    FileTool,
    Shell,
}

impl Channel {
    pub fn of(tool: Tool<'_>) -> Self {
        if tool.runs_commands() {
            Self::Shell
        } else {
            Self::FileTool
        }
    }
}

/// What the rules know of a call besides its claims.
pub struct Call<'a> {
    pub actor: &'a Actor,
    pub channel: Channel,
    /// Where the call was made: names are shown as they can be used there.
    pub cwd: &'a str,
    /// Every target of the call, claimed or not.
    pub targets: &'a [Target],
    /// Whether there is a file at an absolute path.
    pub exists: fn(&str) -> bool,
    /// The collapsed paths of the targets.
    paths: OnceCell<BTreeSet<String>>,
}

impl<'a> Call<'a> {
    pub fn new(
        actor: &'a Actor,
        channel: Channel,
        cwd: &'a str,
        targets: &'a [Target],
        exists: fn(&str) -> bool,
    ) -> Self {
        Self {
            actor,
            channel,
            cwd,
            targets,
            exists,
            paths: OnceCell::new(),
        }
    }

    /// The targets below a directory, relative to it.
    pub(super) fn targets_below(&self, dir: &str) -> impl Iterator<Item = &str> {
        let paths = self.paths.get_or_init(|| {
            let targets = self.targets.iter();
            targets
                .map(|target| path::collapse(&target.path).into_owned())
                .collect()
        });
        let dir = format!("{dir}/");
        paths
            .range(dir.clone()..)
            .map_while(move |path| path.strip_prefix(&dir))
    }
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
    /// What objections lead to; without one, to nothing.
    pub fn of(mut denials: Vec<Denial>) -> Self {
        // The denials that hold come first, in the order of the call: the reason leads with them.
        denials.sort_by_key(|denial| denial.mode != Mode::Enforce);
        match denials.first().map(|first| first.mode) {
            None => Self::Allow { notes: Vec::new() },
            Some(Mode::Enforce) => Self::Deny(denials),
            Some(Mode::Warn | Mode::Off) => Self::Warn(denials),
        }
    }

    /// With further objections behind those that are there.
    pub(crate) fn and(self, more: Vec<Denial>) -> Self {
        match self {
            decision if more.is_empty() => decision,
            Self::Allow { .. } => Self::of(more),
            Self::Warn(denials) | Self::Deny(denials) => Self::of([denials, more].concat()),
        }
    }

    pub fn ruling(&self) -> Ruling {
        match self {
            Self::Allow { .. } => Ruling::Allow,
            Self::Warn(_) => Ruling::Warn,
            Self::Deny(_) => Ruling::Deny,
        }
    }

    /// What objects, the denials that hold before those that warn.
    pub fn denials(&self) -> &[Denial] {
        match self {
            Self::Allow { .. } => &[],
            Self::Warn(denials) | Self::Deny(denials) => denials,
        }
    }
}

string_enum! {
    /// A decision without its grounds, as documents say it.
    #[derive(Default)]
    pub enum Ruling {
        #[default]
        Allow = "allow",
        Warn = "warn",
        Deny = "deny",
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
) -> Result<Decision, JudgeError> {
    let (mut notes, mut denials) = (Vec::new(), Vec::new());
    for claim in claims {
        let judged = match name_rules(claim, call) {
            Err(objection) => Err(objection),
            Ok(Asks::Nothing) => continue,
            Ok(Asks::Content) => {
                let content = content(claim).map_err(|error| unreadable(claim, error))?;
                content.map_or(Ok(Vec::new()), |content| content::rules(claim, &content))
            }
        };
        match judged {
            Ok(more) => notes.extend(more),
            Err(objection) => add(&mut denials, objection.about(claim, call)),
        }
    }
    Ok(if denials.is_empty() {
        Decision::Allow { notes }
    } else {
        Decision::of(denials)
    })
}

/// A command that writes a file and then appends to it is denied for one thing.
fn add(denials: &mut Vec<Denial>, denial: Denial) {
    /// A reason and a record have no room for more.
    const REPORTED: usize = 64;
    let mut last = denials.iter().rev().take(REPORTED);
    if !last.any(|known| known.path == denial.path && known.code == denial.code) {
        denials.push(denial);
    }
}

fn unreadable(claim: &Claim<'_>, error: io::Error) -> JudgeError {
    JudgeError::Target {
        path: claim.path(),
        system: claim.governed.id().to_owned(),
        code: DenyCode::MalformedContent,
        error,
    }
}

/// Whether a claim whose name is fine has a text to be judged.
enum Asks {
    Nothing,
    Content,
}

pub(crate) struct Objection {
    pub(crate) code: DenyCode,
    pub(crate) why: String,
    pub(crate) suggestion: Option<String>,
}

impl Objection {
    pub(crate) fn new(code: DenyCode, why: String) -> Self {
        Self {
            code,
            why,
            suggestion: None,
        }
    }

    pub(crate) fn about(self, claim: &Claim<'_>, call: &Call<'_>) -> Denial {
        // From anywhere else, a path below the root would be another file.
        let from_cwd = |path: String| {
            if claim.root.is_at(call.cwd) {
                path
            } else {
                claim.root.path(&path)
            }
        };
        let instead = self.suggestion.as_ref().map(|name| {
            let below = path::below(&claim.site, name);
            Instead {
                is_there: (call.exists)(&claim.root.path(&below)),
                path: from_cwd(below),
            }
        });
        Denial {
            code: self.code,
            system: claim.governed.id().to_owned(),
            mode: claim.governed.mode,
            act: claim.target.act,
            path: claim.path(),
            display_path: from_cwd(claim.display_path()),
            site: claim.site.clone(),
            entry: claim.entry.clone(),
            why: self.why,
            instead,
            suggestion: self.suggestion,
            agent: match (self.code, call.actor) {
                (DenyCode::WrongWriter, Actor::Agent(name)) => Some(name.to_string()),
                _ => None,
            },
        }
    }
}

fn name_rules(claim: &Claim<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    if claim.entry.contains(|c: char| c.is_control()) {
        let why = "its name holds a control character and is in no contract".to_owned();
        return Err(Objection::new(DenyCode::PathEscape, why));
    }
    let removes = match claim.target.act {
        Act::Remove | Act::RemoveTree | Act::MoveAway | Act::Clear | Act::Clean(_) => true,
        Act::Write | Act::Edit | Act::MakeDir | Act::Link => false,
    };
    if removes {
        return removal_rules(claim, call).map(|()| Asks::Nothing);
    }
    match &claim.resolution {
        // What no call may write is no better off as a link.
        Resolution::Outside { .. } if is_for_no_call(claim) => entry_rules(claim, call),
        Resolution::Outside { real } => {
            let why = format!(
                "a link takes the write out of `{}`, to `{real}`; use that path, not a link",
                claim.site
            );
            Err(Objection::new(DenyCode::PathEscape, why))
        }
        Resolution::WholeSite
            if call.channel == Channel::FileTool
                && matches!(claim.target.act, Act::Write | Act::Edit) =>
        {
            let why = format!(
                "`{}` is for a directory; write a file in it",
                claim.display_path()
            );
            Err(Objection::new(DenyCode::PathEscape, why))
        }
        Resolution::WholeSite | Resolution::Untracked(_) => Ok(Asks::Nothing),
        Resolution::Inside => entry_rules(claim, call),
    }
}

fn is_for_no_call(claim: &Claim<'_>) -> bool {
    let contract = &claim.governed.contract;
    let standing = contract.classify(&claim.entry, claim.governed.edition);
    matches!(standing, Classification::Row(row) if matches!(row.writer, Writer::User | Writer::Program))
}

fn entry_rules(claim: &Claim<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    let governed = claim.governed;
    let id = governed.id();
    let entry = claim.entry.as_str();
    let makes_dir = claim.target.act == Act::MakeDir;
    match governed.contract.classify(entry, governed.edition) {
        Classification::ProgramDirectory => Err(program_owned(id, entry, "")),
        Classification::Directory(dir) if makes_dir || dir.kind == DirKind::Open => {
            Ok(Asks::Nothing)
        }
        Classification::Free if makes_dir => Ok(Asks::Nothing),
        Classification::Free => {
            let writer = governed.system.free_writer(entry);
            writer_rules(claim, writer, "", call)?;
            near_miss(claim, call)
        }
        Classification::Row(_)
            if makes_dir && governed.contract.leads_on(entry, governed.edition) =>
        {
            Ok(Asks::Nothing)
        }
        Classification::Row(row) if makes_dir && row.writer != Writer::User => {
            let why = format!("the contract of {id} has `{entry}` as a file, not as a directory");
            Err(Objection::new(DenyCode::UndeclaredDirectory, why))
        }
        Classification::Row(row) => row_rules(claim, row, call),
        Classification::UndeclaredDirectory => Err(undeclared_directory(claim, call, entry)),
        Classification::AdHoc if makes_dir => Err(undeclared_directory(claim, call, entry)),
        Classification::AdHoc | Classification::Directory(_) => ad_hoc(claim, call, ""),
    }
}

/// A free name, but one that a role is likely to mean its own file by: its readers would
/// look for that in vain.
fn near_miss(claim: &Claim<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    let governed = claim.governed;
    let Actor::Agent(agent) = call.actor else {
        return Ok(Asks::Nothing);
    };
    let meant = governed.system.near_miss(&claim.entry);
    let (Some(meant), Some(role)) = (meant, governed.contract.role_of(agent)) else {
        return Ok(Asks::Nothing);
    };
    let Classification::Row(row) = governed.contract.classify(&meant, governed.edition) else {
        return Ok(Asks::Nothing);
    };
    let writer = governed.system.writer(row, &meant);
    if governed.contract.may_write(&writer, call.actor).is_err() {
        return Ok(Asks::Nothing);
    }
    let why = format!("the file of a {role} is `{meant}`, not `{}`", claim.entry);
    Err(Objection {
        suggestion: Some(meant),
        ..Objection::new(DenyCode::AdHocName, why)
    })
}

/// A name that the call itself takes away again is one its readers never meet. `right` is
/// what the contract says of it.
fn ad_hoc(claim: &Claim<'_>, call: &Call<'_>, right: &str) -> Result<Asks, Objection> {
    let mut targets = call.targets.iter();
    let last = targets.rfind(|at| at.path == claim.target.path);
    if last.is_some_and(|last| matches!(last.act, Act::Remove | Act::RemoveTree | Act::MoveAway)) {
        return Ok(Asks::Nothing);
    }
    let entry = claim.entry.as_str();
    let mut why = format!("{} knows no name `{entry}`", contract_of(claim));
    if !right.is_empty() {
        why += &format!(": {right}");
    }
    let objection = Objection::new(DenyCode::AdHocName, why);
    Err(with_way_on(claim, call, entry, objection))
}

/// The contract that rules, with the file of one that users declare.
fn contract_of(claim: &Claim<'_>) -> String {
    let id = claim.governed.id();
    match claim.governed.system.declared_by() {
        Some(by) => format!("`{id}` ({by})"),
        None => format!("the contract of {id}"),
    }
}

/// `purpose` is what the contract says of the entry; it may name the way to have it written.
pub(crate) fn program_owned(id: &str, entry: &str, purpose: &str) -> Objection {
    let why = format!("`{entry}` is written by {id}'s programs only, never by a tool call");
    let why = match purpose {
        "" => why,
        purpose => format!("{why} ({purpose})"),
    };
    Objection::new(DenyCode::ProgramOwned, why)
}

fn undeclared_directory(claim: &Claim<'_>, call: &Call<'_>, entry: &str) -> Objection {
    let id = claim.governed.id();
    let name = entry.rsplit('/').next().unwrap_or(entry);
    let dir = entry.rsplit_once('/').map_or(entry, |(dir, _)| dir);
    let why = match claim.governed.system.declared_by() {
        Some(_) => format!("{} knows no directory `{dir}`", contract_of(claim)),
        None => format!(
            "neither the contract of {id} nor the settings (`systems.{id}.subdirectories`) know a directory `{dir}`"
        ),
    };
    let objection = Objection::new(DenyCode::UndeclaredDirectory, why);
    match claim.target.act {
        Act::MakeDir => objection,
        _ => with_way_on(claim, call, name, objection),
    }
}

fn makes_file(claim: &Claim<'_>, call: &Call<'_>) -> bool {
    match claim.target.act {
        Act::Edit => !(call.exists)(&claim.path()),
        act => act == Act::Write,
    }
}

fn row_rules(claim: &Claim<'_>, row: &Row<'_>, call: &Call<'_>) -> Result<Asks, Objection> {
    let entry = claim.entry.as_str();
    let writer = claim.governed.system.writer(row, entry);
    writer_rules(claim, writer, row.purpose, call)?;
    match row.bucket {
        Bucket::AdHoc | Bucket::Ignored => ad_hoc(claim, call, row.purpose),
        Bucket::Ephemeral if call.channel == Channel::FileTool && makes_file(claim, call) => {
            let why = format!("`{entry}` is a temporary name");
            Err(Objection::new(DenyCode::EphemeralName, why))
        }
        Bucket::Ephemeral => Ok(Asks::Nothing),
        Bucket::Canonical | Bucket::PatternAllowed => Ok(Asks::Content),
    }
}

/// `purpose` is what the contract says of the entry.
fn writer_rules(
    claim: &Claim<'_>,
    writer: Writer<'_>,
    purpose: &str,
    call: &Call<'_>,
) -> Result<(), Objection> {
    let (contract, entry) = (&claim.governed.contract, claim.entry.as_str());
    let Err(role) = contract.may_write(&writer, call.actor) else {
        return Ok(());
    };
    Err(match writer {
        Writer::Program => program_owned(claim.governed.id(), entry, purpose),
        Writer::User => {
            let why = format!("`{entry}` is for the user to change ({purpose}); ask them");
            Objection::new(DenyCode::ProtectedFile, why)
        }
        writer => wrong_writer(claim, &writer, role, call.actor),
    })
}

/// What to do where another's file is all there is to write.
pub(crate) const REPORT: &str = "report what you have in your final message instead";

pub(crate) fn wrong_writer(
    claim: &Claim<'_>,
    writer: &Writer<'_>,
    role: Option<&str>,
    actor: &Actor,
) -> Objection {
    let (id, entry) = (claim.governed.id(), claim.entry.as_str());
    let who = match writer {
        Writer::Owner(owner) => format!("the {owner}"),
        Writer::Roles(roles, others) => {
            let main = (*others != Others::Nobody).then_some("main thread");
            either(&[roles, main.as_slice()].concat())
        }
        Writer::Main | Writer::Anyone | Writer::Program | Writer::User => {
            "the main thread only".to_owned()
        }
    };
    // Elsewhere the owners are plain names.
    let has_roles = claim.governed.system.info().own_keys.contains(&"roles");
    let by_role = matches!(writer, Writer::Roles(..)) && has_roles;
    let hint = match (by_role, role) {
        (true, Some(role)) => format!("that is a role transgression of a {role}; {REPORT}"),
        (true, None) => {
            let name = actor.as_str();
            format!(
                "if {actor} plays that role, map it in the settings: `systems.{id}.roles: {{{name}: ROLE}}`"
            )
        }
        (false, _) => REPORT.to_owned(),
    };
    let declared_by = claim.governed.system.declared_by();
    let by = declared_by.map_or(String::new(), |by| format!(" ({by})"));
    Objection::new(
        DenyCode::WrongWriter,
        format!("`{entry}` is written by {who}, not by {actor}{by}; {hint}"),
    )
}

/// `the a, the b or the c`
fn either(names: &[&str]) -> String {
    let (last, first) = names.split_last().unwrap_or((&"", &[]));
    match first {
        [] => format!("the {last}"),
        first => format!("the {} or the {last}", first.join(", the ")),
    }
}
