//! The verbs as `verbs.json` lists them: in the groups of the help, each with the systems it is
//! about, whether it prints JSON or writes, and two examples.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use serde::Deserialize;

use super::Cli;

const TABLE: &str = include_str!("verbs.json");

/// What `system` says of a verb that is about no single one.
const NONE: &str = "none";

#[derive(Deserialize)]
struct VerbGroup {
    title: String,
    verbs: Vec<HelpEntry>,
}

#[derive(Deserialize)]
struct HelpEntry {
    name: String,
    /// The one system that it is about, or [`NONE`].
    system: Option<String>,
    #[serde(default = "yes")]
    json: bool,
    /// Whether it writes into state directories.
    #[serde(default)]
    writes: bool,
    examples: Vec<String>,
}

fn yes() -> bool {
    true
}

fn groups() -> Vec<VerbGroup> {
    serde_json::from_str(TABLE).unwrap_or_default()
}

/// An option of a verb's own hides the global one behind it.
fn hidden(id: &'static str) -> Arg {
    Arg::new(id).long(id).global(true).hide(true)
}

/// The command line with every verb's help free of options that it does not take.
pub(super) fn command() -> Command {
    let (mut command, groups) = (Cli::command(), groups());
    let list = list_verbs(&groups, &command);
    for verb in groups.iter().flat_map(|group| &group.verbs) {
        command = command.mut_subcommand(&verb.name, |command| verb.dressed(command));
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}\n\n`statewarden help COMMAND` shows examples.\n"
    ))
}

fn list_verbs(groups: &[VerbGroup], command: &Command) -> String {
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut text = String::new();
    for VerbGroup { title, verbs } in groups {
        let _ = writeln!(text, "{title}:");
        for name in verbs.iter().map(|verb| &verb.name) {
            let _ = writeln!(text, "  {name:<11}  {}", about(name));
        }
        text.push('\n');
    }
    text.pop();
    text + "  help         Show help for a command\n\n"
}

impl HelpEntry {
    fn dressed(&self, mut command: Command) -> Command {
        if self.system.is_some() {
            command = command.arg(hidden("system"));
        }
        if !self.json {
            command = command.arg(hidden("json").action(ArgAction::SetTrue));
        }
        if self.examples.is_empty() {
            return command;
        }
        let before = command.get_after_help().map(|said| format!("{said}\n\n"));
        let lines = self.examples.iter();
        let examples: String = lines.map(|it| format!("\n  statewarden {it}")).collect();
        command.after_help(format!("{}Examples:{examples}", before.unwrap_or_default()))
    }
}

/// Refuses options that would have no effect. Gives the name under which what the verb writes into
/// state directories is recorded.
pub(super) fn check(matches: &ArgMatches) -> Result<Option<String>> {
    let groups = groups();
    let mut verbs = groups.iter().flat_map(|group| &group.verbs);
    let name = matches.subcommand_name();
    let Some(verb) = verbs.find(|verb| Some(&*verb.name) == name) else {
        return Ok(None);
    };
    let name = &verb.name;
    if !verb.json && matches.get_flag("json") {
        bail!("`{name}` prints no JSON document; leave `--json` out");
    }
    match (verb.system.as_deref(), matches.get_one::<String>("system")) {
        (Some(NONE), Some(_)) => {
            bail!("`{name}` is about no single system; leave `--system` out")
        }
        (Some(only), Some(system)) if only != system => bail!(
            "`{name}` does not apply to {system}: it is about {only} alone; leave `--system` out"
        ),
        _ => Ok(verb.writes.then(|| name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::system;

    #[test]
    fn every_verb_is_listed_with_two_examples() {
        let groups: Vec<VerbGroup> = serde_json::from_str(TABLE).unwrap();
        let listed: Vec<&HelpEntry> = groups.iter().flat_map(|group| &group.verbs).collect();
        let mut names: Vec<&str> = listed.iter().map(|verb| &*verb.name).collect();
        names.sort_unstable();
        let command = Cli::command();
        let mut verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        verbs.sort_unstable();
        assert_eq!(names, verbs);
        for verb in listed {
            let name = &verb.name;
            let n_examples = if name == "hook" { 0 } else { 2 };
            assert_eq!(verb.examples.len(), n_examples, "{name}");
            let system = verb.system.as_deref().unwrap_or(NONE);
            assert!(system == NONE || system::by_id(system).is_some(), "{name}");
        }
    }

    /// The examples are commands that the program understands.
    #[test]
    fn every_example_parses() {
        let groups = groups();
        let verbs = groups.iter().flat_map(|group| &group.verbs);
        for example in verbs.flat_map(|verb| &verb.examples) {
            let line = example.split(['|', '>']).next().unwrap_or_default();
            let mut words: Vec<String> = vec!["statewarden".to_owned()];
            for (at, part) in line.split('\'').enumerate() {
                match at % 2 {
                    0 => words.extend(part.split_whitespace().map(str::to_owned)),
                    _ => words.push(part.to_owned()),
                }
            }
            let parsed = command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{example}: {:?}", parsed.err());
        }
    }
}
