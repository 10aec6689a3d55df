//! `man`: the manual, all of it on one page.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::Cli;

/// What follows the verbs: headings, and names with their meaning below them.
const SECTIONS: &str = include_str!("manual.txt");

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
    // A verb that was changed comes after the others in the changed command.
    let named = Cli::command();
    let verbs = named.get_subcommands().map(Command::get_name);
    for verb in verbs.filter_map(|name| command.find_subcommand(name)) {
        write_verb(verb, "", out)?;
    }
    for block in SECTIONS.split("\n\n") {
        let escaped = block.trim_end().replace('-', "\\-");
        match escaped.split_once('\n') {
            None => writeln!(out, ".SH {escaped}")?,
            Some((name, meaning)) => writeln!(out, ".TP\n\\fB{name}\\fR\n{meaning}")?,
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
        // Tests alone set `STATEWARDEN_ETC`, and only debug builds read it.
        let words = source.split('"').filter(|word| *word != "STATEWARDEN_ETC");
        for variable in words.filter(|word| word.starts_with(char::is_uppercase)) {
            assert!(page.contains(variable), "{variable}");
        }
        for file in [crate::project::state::FILE, "runs.json", "changes.jsonl"] {
            assert!(page.contains(file), "{file}");
        }
    }
}
