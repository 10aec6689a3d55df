//! The line: stdin → event → targets → claims → decision → effects → reply.
//!
//! Failure policy: what cannot be read is refused when its bytes name a
//! governed place, and let through with a word on stderr when they do not;
//! once a target is known to be governed, every failure refuses.

mod failure;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use crate::catalog::Catalog;
use crate::claim::{self, Claim, Unsettled};
use crate::decision::{self, Call, Channel, Content, Decision};
use crate::env::Env;
use crate::event::{Bulk, Event, Kind, Tool};
use crate::gates::InDir;
use crate::ground::Ground;
use crate::path;
use crate::project::{Project, read_text};
use crate::record::{LogLine, Record, What};
use crate::reply::{self, Reply};
use crate::settings::{Resolved, Settings};
use crate::shell::Scene;
use crate::sites::{self, Site};
use crate::stdin::{self, Input};
use crate::store::lock::IN_HOOK;
use crate::store::log::{LogFile, Logs};
use crate::store::{OTHER_HOST, make_own_folder, note_other_host};
use crate::systems::declared::DeclaredSystem;
use crate::systems::{self, Note, Present, devt};
use crate::target::{self, Act, Target, Text, Unread};
use crate::time::{Clock, Now};
use failure::{answer_panics, around, current_dir, fault};

/// Serves one event from stdin. The process ends with it, so what a panic needs
/// in order to answer may stay for good. Gives the exit code.
pub fn main(project: Option<&'static str>, now: Clock) -> u8 {
    run(stdin::read(), project, now)
}

/// The same of a program without arguments; `None` where nothing stands on stdin.
pub fn main_unless_empty(now: Clock) -> Option<u8> {
    let input = stdin::read();
    (!input.bytes.is_empty()).then(|| run(input, None, now))
}

fn run(input: Input, project: Option<&'static str>, now: Clock) -> u8 {
    let input: &'static Input = Box::leak(Box::new(input));
    answer_panics(&input.bytes, project, now);
    let reply = serve(input, project, now);
    reply.unless_held_before(&input.bytes).send()
}

fn serve(input: &Input, project: Option<&str>, now: Clock) -> Reply {
    let event = match Event::parse(&input.bytes) {
        Ok(event) => event.with_bulk(input.bulk),
        Err(error) => {
            let unreadable = format!("the event is not readable: {error}");
            let what = input.trouble.as_ref().unwrap_or(&unreadable);
            return fault(&input.bytes, what, &Env::read(), project, now);
        }
    };
    let env = Env::read();
    let other_host = event.other_host(&env);
    if other_host.is_none() && !event.may_concern() {
        return Reply::Silent;
    }
    let given = directory_of(&event).or(env.project_dir.as_deref().map(Cow::Borrowed));
    match (given.map(Cow::into_owned).or_else(current_dir), other_host) {
        (Some(cwd), Some(host)) => {
            around(cwd, &env, project, now, |world| world.note_other_host(host));
            Reply::Silent
        }
        (Some(cwd), None) => answer(&event, &cwd, &env, project, now),
        (None, _) => {
            let what = "the event has no absolute `cwd`";
            fault(&input.bytes, what, &env, project, now)
        }
    }
}

/// The directory an event happened in; relative to what another one is, nobody says.
fn directory_of<'e>(event: &'e Event<'_>) -> Option<Cow<'e, str>> {
    let cwd = event.cwd().map(path::slashed);
    cwd.filter(|cwd| path::is_absolute(cwd))
}

/// Answers one event; a call is judged in every reading of its bytes.
fn answer(event: &Event<'_>, cwd: &str, env: &Env, project: Option<&str>, now: Clock) -> Reply {
    // The targets are known from the text; only they are worth a look at the disk.
    let guards = is_call(event);
    let ground = match event.tool().runs_commands() {
        true => Ground::kept(),
        false => Ground::default(),
    };
    let readings = read(event, cwd, env, &ground);
    let changes = !readings.iter().all(Reading::has_no_target);
    if guards && !changes {
        return Reply::Silent;
    }
    let unread = readings.iter().find_map(Reading::unread_arguments);
    if let Some(unread) = unread.filter(|_| !stdin::names_governed_place(event.bytes())) {
        return fault(event.bytes(), &unread.to_string(), env, project, now);
    }
    let project = Project::discover(project, env, cwd);
    let layers = project.settings_layers(env);
    if changes && layers.leave_sites_alone() && reach_no_usual_site(&readings, &project, &ground) {
        return Reply::Silent;
    }
    let rules = layers.resolve();
    let declared = DeclaredSystem::all(&rules.settings);
    let world = World {
        project,
        cwd: cwd.to_owned(),
        env,
        now: Now::of(now),
        rules: &rules,
        catalog: &Catalog::new(&rules.settings, &declared),
    };
    match (event.kind(), event.tool()) {
        _ if changes => world.guard(readings, &ground),
        (Kind::PreToolUse, Tool::Agent) => world.dispatched(event),
        (Kind::PreToolUse, Tool::Handback) => world.handed_back(event),
        (Kind::PostToolUse, Tool::Agent) | (Kind::SubagentStop, _) => world.agent_ended(event),
        (Kind::PostToolUse | Kind::PostToolUseFailure, _) => world.after(event),
        (Kind::SubagentStart, _) => world.agent_started(event),
        (Kind::Stop, _) => world.turn_ended(event),
        (Kind::SessionStart, _) => world.session_started(event),
        (Kind::PreToolUse | Kind::Other, _) => Reply::Silent,
    }
}

/// One reading of a call's bytes, and what it would change.
struct Reading<'e> {
    event: Cow<'e, Event<'e>>,
    targets: Result<Vec<Target>, Unread>,
}

impl Reading<'_> {
    fn has_no_target(&self) -> bool {
        self.targets.as_ref().is_ok_and(Vec::is_empty)
    }

    fn unread_arguments(&self) -> Option<&Unread> {
        let unread = self.targets.as_ref().err()?;
        matches!(unread, Unread::Arguments(_)).then_some(unread)
    }
}

fn is_call(event: &Event<'_>) -> bool {
    event.kind() == Kind::PreToolUse && !matches!(event.tool(), Tool::Agent | Tool::Handback)
}

/// The readings that are calls to be judged before they run.
fn read<'e>(event: &'e Event<'e>, cwd: &str, env: &Env, ground: &Ground) -> Vec<Reading<'e>> {
    let reading = |event: Cow<'e, Event<'e>>| {
        let targets = {
            let cwd = directory_of(&event).unwrap_or(Cow::Borrowed(cwd));
            target::of(&event, &scene(&cwd, env, ground))
        };
        Reading { event, targets }
    };
    event
        .readings()
        .filter(|event| is_call(event))
        .map(reading)
        .collect()
}

/// What stands around a call that happens in a directory.
pub(crate) fn scene<'a>(cwd: &'a str, env: &'a Env, disk: &'a Ground) -> Scene<'a> {
    Scene {
        cwd,
        home: env.home.as_deref(),
        project_dir: env.project_dir.as_deref(),
        config_dir: env.claude_config_dir.as_deref(),
        feature_dir: env.feature_dir.as_deref(),
        disk,
    }
}

/// Whether no reading has a target in a site of a built-in system, where they usually
/// are. Most writes have none, and then settings that make no sites need not be read.
fn reach_no_usual_site(readings: &[Reading<'_>], project: &Project, ground: &Ground) -> bool {
    let usual = Settings::default();
    let catalog = Catalog::new(&usual, &[]);
    let is_elsewhere = |targets: &Vec<Target>| {
        !targets
            .iter()
            .any(|target| systems::are_named_in(&target.path))
            && claim::of(targets, project, &catalog, ground).is_ok_and(|claims| claims.is_empty())
    };
    let mut targets = readings.iter().map(|reading| &reading.targets);
    targets.all(|targets| targets.as_ref().is_ok_and(is_elsewhere))
}

/// What stands around one event.
pub struct World<'w> {
    pub project: Project,
    pub cwd: String,
    pub env: &'w Env,
    pub now: Now,
    pub rules: &'w Resolved,
    pub catalog: &'w Catalog<'w>,
}

impl<'w> World<'w> {
    fn guard(&self, readings: Vec<Reading<'_>>, ground: &Ground) -> Reply {
        let replies = readings
            .into_iter()
            .map(|reading| self.guard_reading(reading, ground));
        replies.max_by_key(Reply::weight).unwrap_or(Reply::Silent)
    }

    /// The line itself.
    fn guard_reading(&self, Reading { event, targets }: Reading<'_>, ground: &Ground) -> Reply {
        let event = &event;
        let judged = match targets {
            Ok(targets) => self.judge_targets(event, &targets, ground),
            // With every system switched off there is no place to keep.
            Err(_) if self.catalog.governed.is_empty() => return Reply::Silent,
            Err(unread) => Err(Unsettled::Call(unread)),
        };
        let (decision, claims) = match judged {
            Ok(judged) => judged,
            Err(unsettled) => return self.refuse_unsettled(event, &unsettled),
        };
        self.conclude(event, &decision, &claims)
    }

    /// What a decision leads to: its record, and the reply.
    pub(crate) fn conclude(
        &self,
        event: &Event<'_>,
        decision: &Decision,
        claims: &[Claim<'_>],
    ) -> Reply {
        let reason = reply::reason(decision.denials(), &[]);
        self.log(event, decision, &reason, claims);
        Reply::to(event.kind(), decision, reason, &self.rules.problems)
    }

    /// The line without its effects, for commands as well: it reads the disk and writes nothing.
    ///
    /// # Errors
    /// A target belongs to a system and could not be judged.
    pub fn judge(&self, event: &Event<'_>) -> Result<(Decision, Vec<Claim<'w>>), Unsettled> {
        let ground = Ground::kept();
        let targets = target::of(event, &scene(&self.cwd, self.env, &ground));
        let targets = targets.map_err(Unsettled::Call)?;
        self.judge_targets(event, &targets, &ground)
    }

    fn judge_targets(
        &self,
        event: &Event<'_>,
        targets: &[Target],
        ground: &Ground,
    ) -> Result<(Decision, Vec<Claim<'w>>), Unsettled> {
        let claims = claim::of(targets, &self.project, self.catalog, ground)?;
        let call = Call {
            actor: &event.actor(),
            channel: Channel::of(event.tool()),
            cwd: &self.cwd,
            targets,
        };
        let decision = decision::decide(&claims, &call, &|claim| content(event, claim))?;
        Ok((decision, claims))
    }

    fn log(&self, event: &Event<'_>, decision: &Decision, reason: &str, claims: &[Claim<'_>]) {
        let (what, denials) = match decision {
            Decision::Allow { notes } => return self.log_repairs(event, notes, claims),
            Decision::Warn(denials) => (What::Warn, denials),
            Decision::Deny(denials) => (What::Deny, denials),
        };
        let mut record = Record::of_denials(what, denials, reason, event, self.now.get());
        let first = denials.first();
        let claim = first.and_then(|first| claims.iter().find(|claim| claim.path() == first.path));
        let site = claim.map(Claim::site_dir);
        let system = record.system.clone().unwrap_or_default();
        let log = match what {
            What::Deny => log_of(&self.logs(), &system, site.as_deref()),
            _ => self.logs().events(),
        };
        record.workflow_id = claim.zip(site.as_deref()).and_then(|(claim, site)| {
            let files = InDir {
                dir: Path::new(site),
            };
            claim.governed.system.workflow_id(&files)
        });
        self.append(&log, &record);
    }

    /// A state that was broken until this call is worth knowing the morning after.
    fn log_repairs(&self, event: &Event<'_>, notes: &[Note], claims: &[Claim<'_>]) {
        let is_judged = |claim: &&Claim<'_>| claim.governed.system.judges(&claim.entry);
        for note in notes {
            let (Note::Repair(reason), Some(claim)) = (note, claims.iter().find(is_judged)) else {
                continue;
            };
            let mut record = Record::new(What::Fault, reason, Some(event), self.now.get());
            record.system = Some(claim.governed.id().to_owned());
            record.file_path = Some(claim.path());
            record.name = Some(claim.entry.clone());
            self.append(&self.logs().events(), &record);
        }
    }

    pub(crate) fn logs(&self) -> Logs {
        self.project.logs()
    }

    /// Appends a record; a log that cannot be written changes no decision.
    pub(crate) fn append(&self, log: &LogFile, record: &impl LogLine) {
        let (line, max_bytes) = (record.to_line(), self.rules.settings.log_max_bytes);
        let ready = match log.dir == self.logs().own_folder() {
            true => make_own_folder(&log.dir),
            false => Ok(()),
        };
        let append = |()| log.append(&line, max_bytes, record.ts(), IN_HOOK);
        if let Err(error) = ready.and_then(append) {
            reply::complain(&format!(
                "could not write `{}`: {error}",
                log.path().display()
            ));
        }
    }

    /// Whether the project has a site, or our folder already: what is none of
    /// our business stays untouched.
    pub(crate) fn is_concerned(&self, sites: &[Site<'_>]) -> bool {
        !sites.is_empty() || self.logs().own_folder().is_dir()
    }

    /// Remembers, for `doctor`, that a host runs the hook whose calls are not judged.
    fn note_other_host(&self, host: &str) {
        if self.is_concerned(&self.sites_around()) {
            let noted = note_other_host(self.logs().own_folder(), host, self.now.get());
            self.complain_about(OTHER_HOST, noted);
        }
    }

    /// The sites at the project's root, and at the event's directory and above it.
    pub(crate) fn sites_around(&self) -> Vec<Site<'w>> {
        sites::around(&self.project, self.catalog, std::slice::from_ref(&self.cwd))
    }
}

/// The text a claim would leave, and the text that is there where a rule asks for it.
fn content(event: &Event<'_>, claim: &Claim<'_>) -> io::Result<Vec<Content>> {
    if !claim.governed.system.judges(&claim.entry) {
        return Ok(Vec::new());
    }
    if let Some(Text::Added(text)) = &claim.target.text {
        return added(claim, text);
    }
    let edits = claim.target.text.is_none() && matches!(event.tool(), Tool::Edit | Tool::MultiEdit);
    let edited = match edits {
        true => read_text(&claim.path())?,
        false => None,
    };
    let after = match (&claim.target.text, event.tool()) {
        (Some(Text::Whole(text) | Text::Added(text)), _) => vec![text.to_string()],
        (None, _) if event.bulk() == Bulk::Dropped => {
            let why = "its text is too long to be kept until its place was known";
            return Err(io::Error::other(why));
        }
        (None, Tool::Write | Tool::Edit | Tool::MultiEdit) => {
            let texts = event.texts().map_err(io::Error::other)?.into_iter();
            let after = texts.map(|texts| texts.after(edited.as_deref()).transpose());
            let after: Result<_, _> = after.flatten().collect();
            after.map_err(io::Error::other)?
        }
        // Other servers' edits have shapes of their own; a whole text is a text.
        (None, Tool::Mcp(_)) if claim.target.act == Act::Write => {
            let texts = event.texts().unwrap_or_default().into_iter();
            texts.filter_map(|texts| texts.content).collect()
        }
        (None, _) => Vec::new(),
    };
    let present = match edits || after.is_empty() {
        true => edited,
        false => replaced(claim)?,
    };
    let content = |after| Content {
        after,
        present: present.clone(),
    };
    Ok(after.into_iter().map(content).collect())
}

/// What a text at the end of a file makes of it. Nothing mends there what is no text.
fn added(claim: &Claim<'_>, text: &str) -> io::Result<Vec<Content>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let present = match read_text(&claim.path()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Vec::new()),
        present => present?,
    };
    let after = [present.as_deref().unwrap_or(""), text].concat();
    Ok(vec![Content { after, present }])
}

/// What a whole new text replaces, as far as the system asks: a file that cannot
/// be read must not keep a call from mending it.
fn replaced(claim: &Claim<'_>) -> io::Result<Option<String>> {
    let read = || read_text(&claim.path());
    match claim.governed.system.present() {
        Present::Ignored => Ok(None),
        Present::Needed => read(),
        Present::Repairable => match read() {
            // Empty, so that nothing takes it for missing.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
            read => read,
        },
    }
}

/// The log that keeps the denials in a site.
pub(crate) fn log_of(logs: &Logs, system: &str, site: Option<&str>) -> LogFile {
    match site
        .map(Path::new)
        .filter(|site| system == devt::ID && site.is_dir())
    {
        Some(site) => Logs::devt(site),
        None => logs.denies(),
    }
}
