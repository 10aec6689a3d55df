//! `help`: the verbs in groups, and two examples of each.

use std::fmt::Write as _;

use clap::Command;

const GROUPS: [(&str, &[&str]); 5] = [
    (
        "See what is going on",
        &[
            "status",
            "statusline",
            "groups",
            "session",
            "agentmux",
            "audit",
            "explain",
            "check",
        ],
    ),
    (
        "Review",
        &["denies", "stuck", "log", "verify", "replay", "contract"],
    ),
    ("Drive a workflow", &["update", "flow", "deep-dive"]),
    (
        "Clean up and restore",
        &["cleanup", "reset", "sweep", "history", "restore"],
    ),
    (
        "Set up",
        &[
            "install",
            "uninstall",
            "doctor",
            "config",
            "completions",
            "man",
            "hook",
            "help",
        ],
    ),
];

const EXAMPLES: &[(&str, [&str; 2])] = &[
    ("agentmux", ["agentmux", "agentmux validate"]),
    ("audit", ["audit", "audit --ci"]),
    (
        "check",
        [
            "check .devt/state/notes.md",
            "check --agent tester .devt/state/review.json",
        ],
    ),
    ("cleanup", ["cleanup", "cleanup --apply --stale-days 7"]),
    (
        "completions",
        [
            "completions bash > ~/.local/share/bash-completion/completions/statewarden",
            "completions fish > ~/.config/fish/completions/statewarden.fish",
        ],
    ),
    ("config", ["config", "config --json"]),
    (
        "contract",
        ["contract show", "contract show --system groups"],
    ),
    ("deep-dive", ["deep-dive init", "deep-dive compile"]),
    (
        "denies",
        ["denies --since 24h -v", "denies report --html report.html"],
    ),
    ("doctor", ["doctor", "doctor --json"]),
    (
        "explain",
        [
            "explain .devt/state/plan.md",
            "explain .devt/state/notes.md",
        ],
    ),
    (
        "flow",
        ["flow init 'Add a login'", "flow update --phase review"],
    ),
    (
        "groups",
        ["groups", "groups 2 --root openspec/changes/add-login"],
    ),
    ("history", ["history", "history --system devt"]),
    ("install", ["install --dry-run", "install --scope user"]),
    ("log", ["log --since 24h", "log .devt/state/plan.md --diff"]),
    (
        "man",
        [
            "man | man -l -",
            "man > ~/.local/share/man/man1/statewarden.1",
        ],
    ),
    (
        "replay",
        [
            "replay ~/.claude/projects/-home-ann-app",
            "replay session.jsonl --fail-on-deny",
        ],
    ),
    ("reset", ["reset --dry-run", "reset --system agent-flow"]),
    (
        "restore",
        [
            "restore cleanup-2026-01-10T14-30-22-250Z notes.md",
            "restore .devt/state/plan.md --at 066117cee91df4-00002a68-00",
        ],
    ),
    (
        "session",
        ["session init 'Refresh the tokens'", "session start plan"],
    ),
    ("status", ["status", "status --system devt --json"]),
    ("statusline", ["statusline", "statusline --project ~/app"]),
    ("stuck", ["stuck", "stuck --json"]),
    ("sweep", ["sweep", "sweep --apply"]),
    ("uninstall", ["uninstall", "uninstall --scope user"]),
    (
        "update",
        ["update phase=review", "update iteration=2 status=DONE"],
    ),
    ("verify", ["verify", "verify --head"]),
];

/// The command with its verbs in groups and its examples.
pub(super) fn written(mut command: Command) -> Command {
    for (verb, examples) in EXAMPLES {
        command = command.mut_subcommand(verb, |verb| with_examples(verb, examples));
    }
    let verbs = verbs(&command);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{verbs}Options:\n{{options}}\n\n`statewarden help COMMAND` shows examples.\n"
    ))
}

fn with_examples(verb: Command, examples: &[&str; 2]) -> Command {
    let examples = examples.map(|example| format!("  statewarden {example}"));
    let mut after = format!("Examples:\n{}", examples.join("\n"));
    if let Some(said) = verb.get_after_help() {
        after = format!("{said}\n\n{after}");
    }
    verb.after_help(after)
}

fn verbs(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or("Show help for a command".to_owned(), ToString::to_string);
            let _ = writeln!(text, "  {name:<11}  {about}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_verb_has_a_group_and_examples() {
        let command = crate::cli::Cli::command();
        let grouped = GROUPS.iter().flat_map(|(_, verbs)| *verbs);
        let mut grouped: Vec<&str> = grouped.copied().filter(|verb| *verb != "help").collect();
        grouped.sort_unstable();
        let mut verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        verbs.sort_unstable();
        assert_eq!(grouped, verbs);
        let mut with_examples: Vec<&str> = EXAMPLES.iter().map(|(verb, _)| *verb).collect();
        with_examples.push("hook");
        with_examples.sort_unstable();
        assert_eq!(with_examples, verbs);
    }

    /// The examples are commands that the program understands.
    #[test]
    fn every_example_parses() {
        for (_, examples) in EXAMPLES {
            for example in examples {
                let line = example.split(['|', '>']).next().unwrap_or_default();
                let mut words: Vec<String> = vec!["statewarden".to_owned()];
                for (at, part) in line.split('\'').enumerate() {
                    match at % 2 {
                        0 => words.extend(part.split_whitespace().map(str::to_owned)),
                        _ => words.push(part.to_owned()),
                    }
                }
                let parsed = crate::cli::global::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {:?}", parsed.err());
            }
        }
    }
}
