//! What the text of a command tells about what it may change besides the targets that
//! were read from it. Roughly, and rather too much: quotes hide nothing.

use crate::base::path;
use crate::base::target::Target;
use crate::recorder::windows::CallText;

/// Programs that write nothing, or nothing but what is read from their words.
const READ: &[&str] = &[
    "[", "[[", "basename", "break", "cat", "cd", "continue", "cut", "date", "diff", "dirname",
    "du", "echo", "exit", "export", "false", "fgrep", "file", "find", "grep", "egrep", "head",
    "id", "jq", "ls", "nl", "popd", "printf", "ps", "pushd", "pwd", "read", "readlink", "realpath",
    "return", "rg", "set", "shift", "sleep", "sort", "stat", "tail", "test", "tr", "true", "type",
    "uname", "uniq", "unset", "wait", "wc", "which", "whoami",
];

/// Programs whose targets are read from their words, where these are plain.
const WRITERS: &[&str] = &[
    "chmod", "cp", "install", "ln", "mkdir", "mv", "rm", "rmdir", "sed", "tee", "touch",
    "truncate", "unlink",
];

/// Words before a command.
const BEFORE: &[&str] = &[
    "!", "do", "done", "elif", "else", "fi", "if", "then", "time", "until", "while",
];

const INTERPRETERS: &[&str] = &[
    "bash", "bun", "deno", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh",
];

/// Verbs of version control that change files.
const CHECKS_OUT: &[&str] = &[
    "am",
    "apply",
    "checkout",
    "cherry-pick",
    "clean",
    "merge",
    "mv",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "worktree",
];

const ONLY_READS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "log",
    "ls-files",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Reads a command; `targets` are what the analyser found in it.
pub fn of_command(text: &str, targets: &[Target]) -> CallText {
    let mut call = CallText {
        text: text.to_owned(),
        targets: targets
            .iter()
            .map(|target| path::collapse(&target.path).into_owned())
            .collect(),
        ..CallText::default()
    };
    let is_plain = !text.contains(['$', '`', '*', '?', '{']);
    for command in text.split([';', '&', '|', '\n', '(', ')', '`']) {
        let words: Vec<&str> = words(command).collect();
        if let [program, arguments @ ..] = words.as_slice() {
            call.note(program, arguments, is_plain);
        }
    }
    // Nobody knows where a redirection leads that is not written out.
    call.is_opaque = !call.programs.is_empty() || (!is_plain && text.contains('>'));
    call
}

impl CallText {
    /// Of a call about whose programs nothing is known.
    pub fn opaque(text: String, targets: &[Target]) -> Self {
        Self {
            text,
            targets: targets
                .iter()
                .map(|target| path::collapse(&target.path).into_owned())
                .collect(),
            is_opaque: true,
            ..Self::default()
        }
    }

    fn note(&mut self, program: &str, arguments: &[&str], is_plain: bool) {
        let name = program.rsplit('/').next().unwrap_or(program);
        let runs_more = arguments
            .iter()
            .any(|word| matches!(*word, "-exec" | "-execdir" | "-ok" | "-delete"));
        // What stands behind the `&` of `2>&1`.
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let is_read = is_number || (READ.contains(&name) && !runs_more);
        if is_read || (is_plain && WRITERS.contains(&name)) {
            return;
        }
        let mut plain = arguments.iter().filter(|word| !word.starts_with('-'));
        let (first, second) = (plain.next().copied(), plain.next().copied());
        match (name, first) {
            ("git", Some("stash")) if matches!(second, Some("list" | "show")) => return,
            ("git", Some(verb)) if ONLY_READS.contains(&verb) => return,
            ("git", Some(verb)) if CHECKS_OUT.contains(&verb) => self.version_control = true,
            ("hg" | "jj", _) => self.version_control = true,
            _ => {}
        }
        let script = first.filter(|script| INTERPRETERS.contains(&name) && script.contains('.'));
        let name = script.map_or(name, |script| script.rsplit('/').next().unwrap_or(script));
        self.programs.push(name.to_owned());
    }
}

/// The words of a simple command, without what stands before its program.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_assignment = |word: &&str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()))
    };
    let words = command.split([' ', '\t', '\'', '"', '\\', '\r']);
    let words = words.filter(|word| !word.is_empty());
    words.skip_while(move |word| BEFORE.contains(word) || is_assignment(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_or_not() {
        for (text, programs, version_control) in [
            ("ls -la .devt/state && cat a | grep b", &[][..], false),
            ("git status; git log -3; git stash list", &[], false),
            ("echo x > a; rm -f b", &[], false),
            ("rm -f $X", &["rm"], false),
            ("cargo test 2>&1 | tail -5", &["cargo"], false),
            ("A=1 ./run.sh", &["run.sh"], false),
            (
                "node /x/bin/devt-tools.cjs state update",
                &["devt-tools.cjs"],
                false,
            ),
            ("cd x && git checkout -- .", &["git"], true),
            ("if true; then make; fi", &["make"], false),
            ("find . -exec foo {} +", &["find"], false),
            ("find . -regex .*.md -delete", &["find"], false),
            ("echo $(python3 -c 'x')", &["python3"], false),
        ] {
            let call = of_command(text, &[]);
            assert_eq!(call.programs, programs, "{text}");
            assert_eq!(call.version_control, version_control, "{text}");
            assert_eq!(call.is_opaque, !programs.is_empty(), "{text}");
        }
    }
}
