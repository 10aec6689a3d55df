//! `man`: the manual, all of it on one page.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::Cli;

/// What a page says behind the verbs: a heading, then names and what they mean.
type Section = (&'static str, &'static [(&'static str, &'static str)]);

const SECTIONS: [Section; 3] = [
    (
        "EXIT STATUS",
        &[
            (
                "0",
                "All is well. Of hook: the answer, if there is one, stands on stdout.",
            ),
            (
                "1",
                "The answer is no. check: something is denied. audit: an entry is ad hoc, or a site cannot be read. cleanup, reset, sweep, \
                 restore: an entry stayed where it was. status: a state file cannot be read. agentmux validate: \
                 a problem. stuck: it is. contract test: an expectation is not met. replay with --fail-on-deny: \
                 something would be refused. doctor: something is unhealthy.",
            ),
            (
                "2",
                "A usage or I/O error; stderr says which. Of hook: the call is refused where no JSON can be trusted.",
            ),
        ],
    ),
    (
        "FILES",
        &[
            (
                ".claude/statewarden.yaml",
                "The project's settings, to be committed.",
            ),
            (
                ".claude/statewarden.local.yaml",
                "Your settings in this project.",
            ),
            (
                "$XDG_CONFIG_HOME/statewarden/config.yaml",
                "Your settings everywhere; without that variable, below ~/.config.",
            ),
            (
                "/etc/statewarden/config.yaml",
                "The managed settings; no other file makes them weaker.",
            ),
            (
                ".claude/settings.json, .claude/settings.local.json, ~/.claude/settings.json",
                "Claude Code's settings, which install wires: scopes project, local and user. The file as it was \
                 stands beside it as NAME.statewarden-backup.",
            ),
            (
                ".devt/state/preflight-denies.jsonl",
                "Denials about that site of devt.",
            ),
            (
                ".claude/statewarden/",
                "Logs (denies.jsonl, events.jsonl, gates.jsonl), what the hook remembers (wired, runs.json, \
                 background.json, restored.json), and archives of sites that have none of their own.",
            ),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            (
                "CLAUDE_PROJECT_DIR",
                "The project, where --project does not name one.",
            ),
            ("HOME", "Your directory; USERPROFILE on Windows."),
            ("XDG_CONFIG_HOME", "Where your settings are."),
            (
                "CLAUDE_CONFIG_DIR",
                "Where Claude Code keeps your settings, if not in ~/.claude.",
            ),
            ("FEATURE_DIR", "The session directory of AgentMux."),
            ("CLAUDE_PLUGIN_ROOT", "Set where a plugin runs the hook."),
            (
                "AI_AGENT",
                "The client that runs the hook, and its version.",
            ),
            (
                "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS",
                "With 1, flow init can start a team.",
            ),
            (
                "NO_COLOR",
                "Not empty: no colors. There are none outside a terminal, or with TERM=dumb.",
            ),
        ],
    ),
];

pub(crate) fn write(command: Command, out: &mut dyn Write) -> io::Result<()> {
    let page = Man::new(command.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)?;
    writeln!(
        out,
        ".SH COMMANDS\nEvery command takes \\-\\-project and \\-\\-help too, and the other global options where they \
         have a meaning."
    )?;
    // A verb that was changed stands behind the others in the changed command.
    let named = Cli::command();
    let verbs = named.get_subcommands().map(Command::get_name);
    for verb in verbs.filter_map(|name| command.find_subcommand(name)) {
        write_verb(verb, "", out)?;
    }
    for (heading, rows) in SECTIONS {
        writeln!(out, ".SH {heading}")?;
        for (name, meaning) in rows {
            let (name, meaning) = (name.replace('-', "\\-"), meaning.replace('-', "\\-"));
            writeln!(out, ".TP\n\\fB{name}\\fR\n{meaning}")?;
        }
    }
    Ok(())
}

/// A command, then those below it.
fn write_verb(verb: &Command, above: &str, out: &mut dyn Write) -> io::Result<()> {
    let name = format!("{above}{}", verb.get_name());
    let alone = verb.clone().bin_name(&name);
    let page = Man::new(alone.disable_help_flag(true).disable_help_subcommand(true));
    let mut text = Vec::new();
    page.render_description_section(&mut text)?;
    writeln!(text, ".PP")?;
    page.render_synopsis_section(&mut text)?;
    page.render_options_section(&mut text)?;
    writeln!(text, ".PP")?;
    page.render_extra_section(&mut text)?;
    writeln!(out, ".SS {}", name.replace('-', "\\-"))?;
    for line in String::from_utf8_lossy(&text).lines() {
        // Each part begins as a page of its own would.
        if ![".SH ", ".ie ", ".el "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            writeln!(out, "{line}")?;
        }
    }
    for below in verb.get_subcommands() {
        write_verb(below, &format!("{name} "), out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &Command, above: &str, page: &str) {
        for verb in command.get_subcommands() {
            let name = format!("{above}{}", verb.get_name());
            let start = format!("\n.SS {}\n", name.replace('-', "\\-"));
            let (_, story) = page.split_once(&start).unwrap_or_else(|| panic!("{start}"));
            let story = story.split("\n.S").next().unwrap();
            for flag in verb.get_arguments().filter_map(|arg| arg.get_long()) {
                let flag = format!("\\fB\\-\\-{}\\fR", flag.replace('-', "\\-"));
                assert_eq!(story.matches(&flag).count(), 2, "{flag} of {name}: {story}");
            }
            check(verb, &format!("{name} "), page);
        }
    }

    #[test]
    fn the_page_has_every_verb_with_its_flags_and_names_no_other_page() {
        let mut page = Vec::new();
        write(Cli::command(), &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        check(&Cli::command(), "", &page);
        let place = |verb: &str| page.find(&format!("\n.SS {verb}\n"));
        assert!(place("check") < place("sweep") && place("sweep") < place("history"));
        assert!(page.contains("Without \\-\\-apply this is a dry run."));
        for heading in [
            "NAME",
            "OPTIONS",
            "COMMANDS",
            "EXIT STATUS",
            "FILES",
            "ENVIRONMENT",
        ] {
            assert!(page.contains(&format!(".SH {heading}\n")), "{heading}");
        }
        assert!(!page.contains("(1)"), "{page}");
        let source = include_str!("../base/env.rs");
        for variable in source
            .split('"')
            .filter(|word| word.starts_with(char::is_uppercase))
        {
            assert!(page.contains(variable), "{variable}");
        }
        for file in [
            crate::store::WIRED,
            "runs.json",
            "background.json",
            "restored.json",
        ] {
            assert!(page.contains(file), "{file}");
        }
    }
}
