//! `fence`: runs a command that may read state directories and, unless its text says all that it
//! does, not change them. Claude Code's shells start behind it in strict mode.

use std::ffi::OsString;
use std::io;
use std::process::Command;

use chrono::{DateTime, Utc};

use crate::base::clock::Now;
use crate::base::disk::cache::DirCache;
use crate::base::env::Env;
use crate::base::path;
use crate::base::warn::warn;
use crate::guard::fence::{Access, access};
use crate::host::env_file;
use crate::lifecycle::strict;
use crate::project::context::Context;
use crate::project::registry::Registry;
use crate::project::roots::Project;
use crate::shell::{self, Scene};
use crate::store::fence;
use crate::systems::declared::DeclaredSystem;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit: that of the command; 126: it cannot be run; 127: there is no such program."
)]
pub struct Args {
    /// The file in CLAUDE_ENV_FILE that starts the shell again
    #[arg(long, value_name = "FILE")]
    env_file: Option<String>,
    /// The command; of a shell's `-c TEXT` the text decides what it may write
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command in the place of this process. Gives an exit code only where it cannot be run.
///
/// Where no fence can be had the command runs without one: a session is never held up.
pub(super) fn main(args: &Args, project: Option<&str>, now: DateTime<Utc>) -> u8 {
    if let Err(why) = confine(args, project, now) {
        warn(&format!(
            "`strict` is not in force for this command: {why}; `statewarden doctor` says what is missing"
        ));
    }
    let Some((program, rest)) = args.command.split_first() else {
        return 127;
    };
    let error = run(Command::new(program).args(rest));
    match error {
        Ok(code) => code,
        Err(error) => {
            warn(&format!(
                "could not run `{}`: {error}",
                program.to_string_lossy()
            ));
            if error.kind() == io::ErrorKind::NotFound {
                127
            } else {
                126
            }
        }
    }
}

#[cfg(unix)]
fn run(command: &mut Command) -> io::Result<u8> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> io::Result<u8> {
    let code = command.status()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn confine(args: &Args, given: Option<&str>, now: DateTime<Utc>) -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
    let (env, cwd) = (&Env::read(), path::from_os(&cwd));
    let project = Project::discover(given, env, &cwd);
    let rules = project.rules(env);
    let declared = DeclaredSystem::all(&rules.settings);
    let registry = Registry::new(&rules.settings, &declared);
    let scene = Scene {
        cwd: &cwd,
        env,
        disk: &DirCache::default(),
    };
    if let Some(script) = script(args, given) {
        let line = shell::analyze_script(script, args.env_file.as_deref(), &scene);
        if access(&line, &rules.settings, &registry) == Access::Full {
            return Ok(());
        }
    }
    let context = Context {
        project,
        cwd: cwd.clone(),
        env,
        now: Now::Known(now),
        rules: &rules,
        registry: &registry,
    };
    let paths = strict::read_only(&context, args.env_file.as_deref());
    fence::enter(paths).map_err(|why| why.to_string())
}

/// The text of `SHELL -c TEXT`, behind the line that led here.
fn script<'a>(args: &'a Args, project: Option<&str>) -> Option<&'a str> {
    let (option, text) = (args.command.get(1)?, args.command.get(2)?.to_str()?);
    if option != "-c" {
        return None;
    }
    let (Some(file), Some(project)) = (&args.env_file, project) else {
        return Some(text);
    };
    let program = std::env::args().next().unwrap_or_default();
    let behind = text.split_once(&env_file::line(&program, project, file));
    Some(behind.map_or(text, |(_, behind)| behind))
}
