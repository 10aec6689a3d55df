//! `make` with a makefile that the command spells out: the recipes of what is made are
//! commands.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output, UNKNOWN};

pub(super) fn make(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax {
        short: "fCIoWlE",
        long: &["file", "makefile", "directory", "eval"],
        ..Syntax::default()
    };
    let parsed = Args::parse(args, syntax);
    if parsed.has(&["n", "just-print", "dry-run", "q", "question", "t", "touch"]) {
        return None;
    }
    let dir = parsed.value(&["C", "directory"]).cloned();
    shell.subshell(|shell| {
        if let Some(dir) = dir {
            shell.run(&[Field::literal("cd"), dir]);
        }
        let text = match parsed.value(&["f", "file", "makefile"]) {
            Some(file) if file.known() == Some("-") => shell.stdin.as_ref()?.text.clone(),
            Some(file) => shell.script_text(file)?,
            None => usual(shell)?,
        };
        let rules = rules(&text.replace("\\\n", " "));
        let wanted = wanted(shell, &rules, &parsed.operands);
        let run = rules.iter().filter(|rule| rule.makes_one_of(&wanted));
        for line in run.flat_map(|rule| &rule.commands) {
            shell.subshell(|shell| shell.run_again(line));
        }
        None
    })
}

/// The makefile that is read where none is named, if this command wrote it.
fn usual(shell: &Shell<'_>) -> Option<EcoString> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let mut texts = names
        .iter()
        .map(|name| shell.written(&Field::literal(*name)));
    texts.find_map(|text| text)
}

/// A rule, with the variables put in that are plain text.
struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    commands: Vec<String>,
}

impl Rule {
    /// Patterns, and names that are not known, may be any.
    fn makes(&self, goal: &str) -> bool {
        let is_it = |target: &String| target == goal || target.contains(['%', UNKNOWN]);
        goal.contains(UNKNOWN) || self.targets.iter().any(is_it)
    }

    fn makes_one_of(&self, goals: &[String]) -> bool {
        goals.iter().any(|goal| self.makes(goal))
    }
}

/// The goals of the command line, or the first of the makefile, with all they need.
fn wanted(shell: &mut Shell<'_>, rules: &[Rule], operands: &[Field]) -> Vec<String> {
    let named = operands.iter().filter(|goal| !goal.text.contains('='));
    let mut wanted: Vec<String> = named.map(|goal| goal.text.to_string()).collect();
    if wanted.is_empty() {
        let mut targets = rules.iter().flat_map(|rule| rule.targets.first());
        wanted.extend(targets.find(|target| !target.starts_with('.')).cloned());
    }
    let mut at = 0;
    while let Some(goal) = wanted.get(at).cloned()
        && shell.spend(16 * rules.len())
    {
        let makers = rules.iter().filter(|rule| rule.makes(&goal));
        for need in makers.flat_map(|rule| &rule.needs) {
            if shell.spend(wanted.len()) && !wanted.contains(need) {
                wanted.push(need.clone());
            }
        }
        at += 1;
    }
    wanted
}

fn rules(makefile: &str) -> Vec<Rule> {
    let mut variables: Vec<(&str, &str)> = vec![("MAKE", "make")];
    let mut rules: Vec<Rule> = Vec::new();
    for line in makefile.lines() {
        let command = match line.strip_prefix('\t') {
            Some(command) => command,
            None if line.trim_start().starts_with('#') => continue,
            None => match line.split_once('=') {
                Some((name, value))
                    if !line.starts_with(' ') && !name.contains(' ') || is_assignment(name) =>
                {
                    let name = name.trim_end_matches([':', '?', '+', ' ', '!']);
                    variables.push((name, value.trim()));
                    continue;
                }
                _ => {
                    let (head, rest) = line.split_once(':').unwrap_or((line, ""));
                    let (needs, command) = rest.split_once(';').unwrap_or((rest, ""));
                    let names = |text: &str| {
                        let text = filled(text, "", &variables);
                        let names = text.split([' ', '\t', ':', '|']);
                        let names = names.filter(|name| !name.is_empty());
                        names.map(str::to_owned).collect()
                    };
                    rules.push(Rule {
                        targets: names(head),
                        needs: names(needs),
                        commands: Vec::new(),
                    });
                    command
                }
            },
        };
        let command = command.trim_start_matches(['@', '-', '+', ' ', '\t']);
        if let Some(rule) = rules.last_mut().filter(|_| !command.is_empty()) {
            let target = rule.targets.first().map_or("", String::as_str);
            let command = filled(command, target, &variables);
            rule.commands.push(command);
        }
    }
    rules
}

/// `NAME =`, `NAME :=`.
fn is_assignment(head: &str) -> bool {
    let name = head.trim_end_matches([':', '?', '+', '!']).trim();
    super::byte::is_name(name)
}

/// `$(NAME)`, `${NAME}`, `$@` and `$$`; anything else with a `$` is not known.
fn filled(command: &str, target: &str, variables: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let mark = after.chars().next();
        let close = match mark {
            Some('(') => after.find(')'),
            Some('{') => after.find('}'),
            _ => None,
        };
        rest = match (mark, close) {
            (Some('$'), _) => {
                text.push('$');
                &after[1..]
            }
            (Some('@'), _) => {
                text.push_str(target);
                &after[1..]
            }
            (_, Some(close)) => {
                let name = &after[1..close];
                let known = variables.iter().rev().find(|(known, _)| *known == name);
                let value = known
                    .map(|(_, value)| *value)
                    .filter(|value| !value.contains('$'));
                match value {
                    Some(value) => text.push_str(value),
                    None => text.push(UNKNOWN),
                }
                &after[close + 1..]
            }
            _ => {
                text.push(UNKNOWN);
                after.get(mark.map_or(0, char::len_utf8)..).unwrap_or("")
            }
        };
    }
    text.push_str(rest);
    text
}
