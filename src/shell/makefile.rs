//! `make` with a makefile that the command spells out: the recipes of what is made are
//! commands.

use ecow::EcoString;

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output, UNKNOWN};
use super::inline;

pub(super) fn make(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let syntax = Syntax::of("fCIoWlE", &["file", "makefile", "directory", "eval"]);
    let parsed = Args::parse(args, syntax);
    if parsed.has(&["n", "just-print", "dry-run", "q", "question", "t", "touch"]) {
        return None;
    }
    let dir = parsed.value(&["C", "directory"]);
    shell.subshell(|shell| {
        if dir.is_some() {
            shell.change_dir(dir);
        }
        let text = match parsed.value(&["f", "file", "makefile"]) {
            None => usual(shell)?,
            file => inline::source(shell, file)?,
        };
        let text = text.as_str().replace("\\\n", " ");
        let rules = rules(&text);
        let wanted = wanted(shell, &rules, &parsed.operands);
        for rule in &rules {
            if wanted.iter().any(|goal| rule.makes(goal)) {
                for line in &rule.commands {
                    shell.subshell(|shell| shell.run_again(line));
                }
            }
        }
        None
    })
}

/// The makefile that is read where none is named, if the command wrote it.
fn usual(shell: &Shell<'_>) -> Option<EcoString> {
    let mut names = ["GNUmakefile", "makefile", "Makefile"].iter();
    names.find_map(|name| shell.written(&Field::literal(*name)))
}

/// A rule. Its commands have the variables put in that are plain text.
struct Rule<'m> {
    targets: &'m str,
    needs: &'m str,
    commands: Vec<String>,
}

impl Rule<'_> {
    /// Patterns, and names with variables in them, may be any.
    fn makes(&self, goal: &str) -> bool {
        let mut targets = self.targets.split_whitespace();
        goal.contains(['$', UNKNOWN])
            || self.targets.contains(['%', '$'])
            || targets.any(|target| target == goal)
    }
}

/// The rules that the goals of the command line need, or the first of the makefile.
fn wanted<'m>(shell: &mut Shell<'_>, rules: &[Rule<'m>], operands: &'m [Field]) -> Vec<&'m str> {
    let mut wanted = Vec::new();
    for goal in operands {
        if !goal.text.contains('=') {
            wanted.push(goal.text.as_str());
        }
    }
    let first = rules.iter().find(|rule| !rule.targets.starts_with('.'));
    if let Some(first) = first.filter(|_| wanted.is_empty()) {
        wanted.extend(first.targets.split_whitespace().next());
    }
    let mut at = 0;
    while let Some(goal) = wanted.get(at).copied()
        && shell.spend(16 * rules.len())
    {
        at += 1;
        for rule in rules.iter().filter(|rule| rule.makes(goal)) {
            for need in rule.needs.split_whitespace() {
                if shell.spend(wanted.len()) && !wanted.contains(&need) {
                    wanted.push(need);
                }
            }
        }
    }
    wanted
}

fn rules(makefile: &str) -> Vec<Rule<'_>> {
    let mut variables: Vec<(&str, &str)> = vec![("MAKE", "make")];
    let mut rules: Vec<Rule<'_>> = Vec::new();
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
                    let (targets, rest) = line.split_once(':').unwrap_or((line, ""));
                    let (needs, command) = rest.split_once(';').unwrap_or((rest, ""));
                    if !targets.is_empty() {
                        rules.push(Rule {
                            targets,
                            needs: needs.trim_start_matches(':'),
                            commands: Vec::new(),
                        });
                    }
                    command
                }
            },
        };
        let command = command.trim_start_matches(['@', '-', '+', ' ', '\t']);
        if let Some(rule) = rules.last_mut().filter(|_| !command.is_empty()) {
            let command = filled(command, rule.targets.trim(), &variables);
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
