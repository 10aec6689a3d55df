//! The commands around the hook: definition and dispatch.

pub mod agentmux;
mod archiving;
pub mod audit;
mod change;
pub mod check;
pub mod cleanup;
mod config;
mod context;
pub mod contract;
pub mod deep_dive;
pub mod denies;
mod difference;
pub mod doctor;
pub mod explain;
pub mod fence;
pub mod flow;
mod global;
pub mod groups;
mod guarded;
pub mod history;
pub mod install;
pub mod log;
mod man;
mod origin;
pub(crate) mod output;
mod permit;
pub mod replay;
mod repositories;
pub mod reset;
pub mod restore;
pub mod session;
pub mod status;
pub mod statusline;
pub mod stuck;
pub mod sweep;
pub mod update;
mod verbs;
pub mod verify;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{FromArgMatches, Parser, Subcommand, ValueHint};
pub(crate) use context::{CliContext, Format};
use origin::Origin;
use output::Paint;

use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::path;
use crate::base::text::printable;
use crate::base::warn::warn;
use crate::lifecycle::settings_review;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::recorder::calls::Notes;
use crate::settings::merge::Resolved;
use crate::systems::declared::DeclaredSystem;
use crate::systems::system;

/// Where the help lists the options that may be before or behind a verb.
const GLOBAL: &str = "Global options";

/// Keeps workflow state files valid: blocks agents from writing the wrong file, name or content.
#[derive(Debug, Parser)]
#[command(name = "statewarden", version, max_term_width = 100)]
pub struct Cli {
    /// The project's directory [default: CLAUDE_PROJECT_DIR, else the nearest directory with a marker]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL, value_hint = ValueHint::DirPath)]
    project: Option<String>,
    /// Only this system
    #[arg(long, global = true, value_name = "ID", help_heading = GLOBAL,
          value_parser = global::Suggested(system::ids), hide_possible_values = true)]
    system: Option<String>,
    /// One JSON document instead of text
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve one hook event of Claude Code from stdin
    Hook,
    /// Say whether a write, or an event, would be denied; changes nothing
    Check(check::Args),
    /// Explain which rule applies to a path
    Explain(explain::Args),
    /// List stray files in the state directories
    Audit(audit::Args),
    /// Move stray and old files into the archive
    Cleanup(cleanup::Args),
    /// End a workflow: move its files into the archive
    Reset(reset::Args),
    /// Move leftovers of earlier devt workflows into the archive
    Sweep(sweep::Args),
    /// List what the archives hold
    History,
    /// Show who changed state files, when and how
    Log(log::Args),
    /// Bring back archived files, or what a file held before a change
    Restore(restore::Args),
    /// Set keys of devt's workflow.yaml
    Update(update::Args),
    /// Show every workflow with its gates, and what comes next
    #[command(after_help = "Exit 1: a state file cannot be read.")]
    Status,
    /// Print the active run in one line, for Claude Code's status line
    Statusline,
    /// Show the proof of every passed gate, and check the gate log's chain
    Verify(verify::Args),
    /// Start or update a run of Agent Flow
    Flow(flow::Args),
    /// Start or compile Agent Flow's code base context
    DeepDive(deep_dive::Args),
    /// Start, update or show a session
    Session(session::Args),
    /// Show the state of each task group
    Groups(groups::Args),
    /// Show or validate sessions of AgentMux
    Agentmux(agentmux::Args),
    /// List what was denied, and why; with a report
    Denies(denies::Args),
    /// Check whether a workflow keeps being denied
    Stuck,
    /// Show the contract in force, or test it against expectations
    Contract(contract::Args),
    /// Show what would have been denied in past sessions
    Replay(replay::Args),
    /// Add the hook to Claude Code's settings
    Install(install::Addition),
    /// Remove what `install` added
    Uninstall(install::Removal),
    /// Show the settings in force, each with the file it comes from
    #[command(
        after_help = "Exit 1: a settings file has an error and is ignored, or there is no person to accept."
    )]
    Config(config::Args),
    /// Run a command that may not change state unless its text says how
    Fence(fence::Args),
    /// Check that the installation works, end to end
    #[command(after_help = "Exit 1: something is unhealthy.")]
    Doctor(doctor::Args),
    /// Print a completion script
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// How a command ended: the answer, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// Denied, findings, unhealthy: exit 1.
    No,
}

impl Answer {
    fn yes_if(fine: bool) -> Self {
        if fine { Self::Yes } else { Self::No }
    }
}

/// Whether a verb does what it is for, or only says what it would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    DryRun,
    Apply,
}

impl RunMode {
    fn of_dry_run(is_dry: bool) -> Self {
        if is_dry { Self::DryRun } else { Self::Apply }
    }
}

/// Serves one event of a project, and gives the exit code.
type Hook = fn(Option<&'static str>, Clock) -> u8;

/// Runs the command line; its first word is the program. Gives the exit code: 0 is fine, 1 the
/// answer "no", 2 a usage or I/O error.
pub fn main(args: Vec<OsString>, now: Clock, hook: Hook) -> u8 {
    let args = session::with_an_input_each(args.into_iter());
    let parsed = verbs::command()
        .try_get_matches_from(args)
        .and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches)?;
            Ok((cli, verbs::check(&matches)))
        });
    let (cli, checked) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            if error.use_stderr() {
                // A closed terminal is not worth an error about an error.
                let _ = io::stderr().lock().write_all(shown(&error).as_bytes());
                return usage_code();
            }
            return match unless_unread(error.print()) {
                Err(unwritten) => failed(&unwritten),
                Ok(()) => 0,
            };
        }
    };
    let writes_as = match checked {
        Ok(writes_as) => writes_as,
        Err(error) => {
            failed(&error);
            return usage_code();
        }
    };
    if let Verb::Hook = cli.verb {
        return hook(cli.project.map(|project| &*project.leak()), now);
    }
    if let Verb::Fence(args) = &cli.verb {
        return fence::main(args, cli.project.as_deref(), now());
    }
    let out = RefCell::default();
    let ended = run(&cli, writes_as.as_deref(), now(), &out);
    // What was done before an error is printed as well.
    match (print(&out.into_inner()), ended) {
        (Err(unwritten), _) => failed(&unwritten),
        (Ok(()), Ok(Answer::Yes)) => 0,
        (Ok(()), Ok(Answer::No)) => 1,
        (Ok(()), Err(error)) => failed(&error),
    }
}

/// What is wrong with the arguments, which may hold what a terminal obeys.
fn shown(error: &clap::Error) -> String {
    let text = error.render().to_string();
    text.lines().map(|line| printable(line) + "\n").collect()
}

/// A reader that has seen enough changes nothing about the answer.
fn print(text: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    unless_unread(stdout.write_all(text).and_then(|()| stdout.flush()))
}

fn unless_unread(printed: io::Result<()>) -> Result<()> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("the answer could not be written to stdout"),
    }
}

/// The exit code of a usage error. Where other words than `hook` are wired, a client would
/// take 2 for a refusal, of every call.
fn usage_code() -> u8 {
    if crate::host::stdin::holds_event() {
        1
    } else {
        2
    }
}

/// Reports an error, and gives the exit code for it.
fn failed(error: &anyhow::Error) -> u8 {
    warn(&format!("{error:#}"));
    2
}

fn run(
    cli: &Cli,
    writes_as: Option<&str>,
    now: DateTime<Utc>,
    out: &RefCell<Vec<u8>>,
) -> Result<Answer> {
    match &cli.verb {
        Verb::Completions { shell } => complete(*shell, &mut out.borrow_mut()),
        Verb::Man => man::write(verbs::command(), &mut *out.borrow_mut())?,
        _ => return run_in_project(cli, writes_as, now, out),
    }
    Ok(Answer::Yes)
}

fn run_in_project(
    cli: &Cli,
    writes_as: Option<&str>,
    now: DateTime<Utc>,
    out: &RefCell<Vec<u8>>,
) -> Result<Answer> {
    let (env, cwd) = (&Env::read(), cwd(cli)?);
    let project = Project::discover(cli.project.as_deref(), env, &cwd);
    settings_review::review(&project, env, &Notes::of(&project));
    let rules = project.settings(env);
    if let Some(id) = &cli.system {
        global::check_id(id, &rules.settings)?;
    }
    let declared = DeclaredSystem::all(&rules.settings);
    let context = CliContext {
        env,
        project,
        given_project: cli.project.as_deref(),
        cwd,
        rules: &rules,
        declared: &declared,
        registry: Registry::new(&rules.settings, &declared),
        system: cli.system.as_deref(),
        format: if cli.json { Format::Json } else { Format::Text },
        paint: Paint::for_stdout(),
        now,
        out,
    };
    let verb = &cli.verb;
    warn_of_settings(verb, context.rules);
    if writes_as.is_some()
        && let Some(reason) = permit::objection(&context)
    {
        warn(&reason);
        return Ok(Answer::No);
    }
    match writes_as.or_else(|| writes_settings_as(verb, &context)) {
        Some(name) => context.own_writes(name, &mut || serve(verb, &context)),
        None => serve(verb, &context),
    }
}

/// The name of a verb that writes settings or contracts, where the recorder looks after them:
/// it makes no memory for a verb that may take the hooks out. Run by a call, these are the
/// call's, and judged as such.
fn writes_settings_as(verb: &Verb, context: &CliContext<'_>) -> Option<&'static str> {
    let name = match verb {
        Verb::Install(_) => "install",
        Verb::Uninstall(_) => "uninstall",
        Verb::Contract(args) if args.adds() => "contract add",
        _ => return None,
    };
    let is_ours = context.recorder_dir().is_dir() && Origin::of(context).objection().is_none();
    is_ours.then_some(name)
}

fn complete(shell: clap_complete::Shell, script: &mut Vec<u8>) {
    clap_complete::generate(shell, &mut verbs::command(), "statewarden", script);
    if shell == clap_complete::Shell::Bash {
        script.extend(include_bytes!("cli/completions.bash"));
    }
}

/// Says what is wrong with the settings, where the verb does not say so itself.
fn warn_of_settings(verb: &Verb, rules: &Resolved) {
    if !matches!(verb, Verb::Doctor(_)) {
        rules.problems.iter().for_each(|problem| warn(problem));
    }
    match verb {
        // The contract that is drafted may be an empty file as yet.
        Verb::Contract(args) if args.drafts() => {}
        Verb::Config(_) | Verb::Contract(_) => {
            rules.left_out.iter().for_each(|it| warn(&it.what));
        }
        Verb::Check(_) | Verb::Explain(_) => {
            rules.contract_errors().iter().for_each(|line| warn(line));
        }
        _ => {}
    }
}

fn serve(verb: &Verb, context: &CliContext<'_>) -> Result<Answer> {
    match verb {
        Verb::Check(args) => check::run(args, context),
        Verb::Explain(args) => explain::run(args, context),
        Verb::Audit(args) => audit::run(args, context),
        Verb::Cleanup(args) => cleanup::run(args, context),
        Verb::Reset(args) => reset::run(args, context),
        Verb::Sweep(args) => sweep::run(args, context),
        Verb::Update(args) => update::run(args, context),
        Verb::History => history::run(context),
        Verb::Log(args) => log::run(args, context),
        Verb::Restore(args) => restore::run(args, context),
        Verb::Status => status::run(context),
        Verb::Statusline => statusline::run(context),
        Verb::Verify(args) => verify::run(args, context),
        Verb::Flow(args) => flow::run(args, context),
        Verb::DeepDive(args) => deep_dive::run(args, context),
        Verb::Session(args) => session::run(args, context),
        Verb::Groups(args) => groups::run(args, context),
        Verb::Agentmux(args) => agentmux::run(args, context),
        Verb::Denies(args) => denies::run(args, context),
        Verb::Stuck => stuck::run(context),
        Verb::Contract(args) => contract::run(args, context),
        Verb::Replay(args) => replay::run(args, context),
        Verb::Install(args) => install::run(args, &place(context)?, context),
        Verb::Uninstall(args) => install::uninstall::run(args, &place(context)?, context),
        Verb::Config(args) => config::run(args, context),
        Verb::Doctor(args) => doctor::run(*args, &place(context)?, context),
        Verb::Hook | Verb::Fence(_) | Verb::Completions { .. } | Verb::Man => Ok(Answer::Yes),
    }
}

/// Parses a number within bounds; the top of its type is no bound to speak of.
fn number<N: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let in_range = text.parse().ok().filter(|number| range.contains(number));
        let fitting = in_range.and_then(|number| N::try_from(number).ok());
        let (least, most) = (range.start(), *range.end());
        fitting.ok_or_else(|| match most {
            u64::MAX => format!("write a whole number, at least {least}"),
            most => format!("write a whole number from {least} to {most}"),
        })
    }
}

/// Parses one of a few words.
fn one_of<T: Clone + Send + Sync + 'static>(
    words: impl IntoIterator<Item = &'static str>,
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).try_map(move |text| parse(&text).ok_or("no such word"))
}

/// Parses prose, which may begin with a dash as an item of a list does. A
/// single word with two dashes is the next flag: the prose is missing.
fn prose(text: &str) -> Result<String, String> {
    let is_flag = text.strip_prefix("--").is_some_and(|word| {
        word.starts_with(char::is_alphabetic) && !word.contains(char::is_whitespace)
    });
    if is_flag {
        return Err("that is a flag; write the text before it".to_owned());
    }
    Ok(text.to_owned())
}

/// The current directory, once it and the one that `--project` names are known to be usable.
fn cwd(cli: &Cli) -> Result<String> {
    let current = std::env::current_dir()
        .context("the current directory cannot be read; go to one that exists")?;
    let cwd = current.to_str().with_context(|| {
        let shown = current.display();
        format!("the path of the current directory, `{shown}`, is not UTF-8; rename what is not")
    })?;
    let given = cli.project.as_deref();
    if let Some(dir) = given.filter(|dir| !Path::new(dir).is_dir()) {
        bail!("`--project {dir}` is not a directory");
    }
    let mut dirs = given.into_iter().chain([cwd]);
    if let Some(dir) = dirs.find(|dir| cfg!(unix) && dir.contains('\\')) {
        bail!("`{dir}` has a `\\` in it, which is read as a `/`; rename that directory");
    }
    Ok(path::slashed(cwd).into_owned())
}

fn place(context: &CliContext<'_>) -> Result<install::Place> {
    let main = &context.project.main;
    let root = context.project.root_of(&context.here());
    Ok(install::Place {
        project: PathBuf::from(&main.dir),
        work_tree: (root.filter(|root| !main.is_at(&root.dir))).map(|root| PathBuf::from(root.dir)),
        user_dir: context.project.claude_dir.as_ref().map(PathBuf::from),
        managed_settings: install::managed_settings(context.env),
        program: install::program::lasting().context("the path of this program cannot be found")?,
    })
}
