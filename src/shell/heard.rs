//! Whether anything comes of what a command prints.
//!
//! Most listings are for people: `find … | head`. To make one the disk is walked, so that
//! is done only where something may change what is listed.

use super::eval::Shell;
use super::field::Output;
use super::glance;
use super::lex::Part;
use super::syntax::{Command, To};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// By a person, or by commands that change nothing.
    Nowhere,
    Somewhere,
}

impl Shell<'_> {
    /// Runs what is heard elsewhere than what stands around it.
    pub(super) fn heard_as(
        &mut self,
        heard: Heard,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        let outer = std::mem::replace(&mut self.heard, heard);
        let output = run(self);
        self.heard = outer;
        output
    }

    /// Runs what is substituted.
    pub(super) fn captured(
        &mut self,
        run: impl FnOnce(&mut Self) -> Option<Output>,
    ) -> Option<Output> {
        self.heard_as(Heard::Somewhere, |shell| shell.subshell(run))
    }

    pub(super) fn pipeline(&mut self, commands: &[Command<'_>]) -> Option<Output> {
        if let [only] = commands {
            return self.command(only);
        }
        let (heard, n_heard) = (self.heard, self.n_heard(commands));
        let outer = self.stdin.clone();
        let mut piped = outer.clone();
        // Each part runs in a process of its own, so a `cd` in one ends with it.
        for (at, command) in commands.iter().enumerate() {
            self.stdin = piped;
            let heard = if at < n_heard {
                Heard::Somewhere
            } else {
                heard
            };
            piped = self.heard_as(heard, |shell| {
                shell.subshell(|shell| shell.command(command))
            });
        }
        self.stdin = outer;
        piped
    }

    /// How many commands of a pipeline stand before one that may change something.
    fn n_heard(&self, commands: &[Command<'_>]) -> usize {
        let n_before = commands.len() - 1;
        if self.heard == Heard::Somewhere || !commands[..n_before].iter().any(lists) {
            return n_before;
        }
        // A function, and a script that this command wrote, may do anything with its input.
        let is_program = |name: &str| self.functions.is_empty() && !name.contains('/');
        let changes =
            |command: &Command<'_>| !name(command).is_some_and(is_program) || may_change(command);
        commands.iter().rposition(changes).unwrap_or(0)
    }
}

fn lists(command: &Command<'_>) -> bool {
    name(command) == Some("find")
}

fn name<'a>(command: &Command<'a>) -> Option<&'a str> {
    match command {
        Command::Lean(text) => text.split([' ', '\t']).next(),
        Command::Simple(simple) => simple.words.first()?.plain(),
        Command::Compound(..) => None,
    }
}

fn may_change(command: &Command<'_>) -> bool {
    match command {
        Command::Lean(text) => glance::may_change(text),
        Command::Simple(simple) => {
            let mut parts = simple.words.iter().flat_map(|word| &*word.parts);
            let is_text = |part: &Part<'_>| matches!(part, Part::Bare(_) | Part::Text(_));
            let mut redirects = simple.redirects.iter();
            let is_null = |to: &To<'_>| match to {
                To::Write(word) => word.plain() == Some("/dev/null"),
                _ => false,
            };
            let only_reads = simple.assignments.is_empty()
                && redirects.all(|redirect| is_null(&redirect.to))
                && parts.all(is_text)
                && name(command).is_some_and(|name| !glance::is_writer(name));
            !only_reads
        }
        Command::Compound(..) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::base::disk::cache::Disk;
    use crate::shell::{Scene, analyze};

    /// Counts how often it is asked for a listing.
    #[derive(Default)]
    struct Counting(Cell<usize>);

    impl Disk for Counting {
        fn entries(&self, _: &str) -> Vec<String> {
            self.0.set(self.0.get() + 1);
            vec!["a.rs".to_owned()]
        }

        fn is_dir(&self, path: &str) -> bool {
            !path.ends_with(".rs")
        }

        fn text(&self, _: &str) -> Option<String> {
            None
        }
    }

    fn n_listings(command: &str) -> usize {
        let disk = Counting::default();
        let scene = Scene {
            cwd: "/p",
            home: None,
            project_dir: None,
            config_dir: None,
            feature_dir: None,
            disk: &disk,
        };
        analyze(command, &scene);
        disk.0.get()
    }

    #[test]
    fn a_listing_that_nobody_uses_is_not_made() {
        for command in [
            "touch x; find . -name '*.rs' | sort -u | head",
            "find . -name '*.rs' 2>/dev/null | grep -v \"\\.git\" | wc -l; touch x",
            "bash -c 'find . -name \"*.rs\" | head'",
            "find . -name '*.rs' -exec wc -l {} + | tail -1; touch x",
            "find . -name '*.rs' -print0 | xargs -0 grep -l x | head; touch x",
            "if find . | grep -q x; then touch x; fi",
        ] {
            assert_eq!(n_listings(command), 0, "{command}");
        }
        for command in [
            "find . -name '*.rs' | sort | xargs rm",
            "find . -name '*.rs' | while read f; do rm $f; done",
            "for f in $(find . -name '*.rs'); do rm $f; done",
            "while read f; do rm $f; done < <(find . -name '*.rs')",
            "find . -name '*.rs' > list; xargs rm < list",
            "{ find . -name '*.rs' | sort; } | xargs rm",
            "f() { xargs rm; }; find . | f",
            "echo 'xargs rm' > run.sh; find . | ./run.sh",
            "x=$(find . | head -1); rm $x",
            "find . -name '*.rs' -exec rm {} +",
        ] {
            assert_ne!(n_listings(command), 0, "{command}");
        }
    }
}
