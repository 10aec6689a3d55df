//! `find`: the entries it would reach, and what it does with them.

use super::args::{Args, Syntax};
use super::eval::{REPEAT_COST, Shell};
use super::expression::{Action, Expression};
use super::field::{Field, HERE, Output, base_name};
use super::flow::MAX_TURNS;
use super::glob::MAX_MATCHES;
use super::heard::Heard;
use super::nested::fill;
use super::utility::removal;
use super::{Kind, glance};
use crate::base::target::{Act, Spelling};
use crate::project::sites::SKIPPED;
use crate::systems::system;

/// What comes to an action below one root.
#[derive(Default)]
struct Reach {
    entries: Vec<Field>,
    /// Nothing is left out, or there may be more of no special name.
    sweeps: bool,
}

pub(super) fn find(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let options = ["-L", "-H", "-P"];
    let args = match args.first().and_then(Field::known) {
        Some(first) if options.contains(&first) => args.get(1..)?,
        _ => args,
    };
    let starts = |arg: &Field| arg.is_option() || matches!(arg.known(), Some("(" | "!"));
    let n_paths = args.iter().take_while(|arg| !starts(arg)).count();
    let (paths, words) = args.split_at(n_paths);
    let expression = Expression::parse(words);
    if shell.heard == Heard::Nowhere && expression.actions.iter().all(only_reads) {
        return None;
    }
    let here = std::slice::from_ref(&HERE);
    let roots = if paths.is_empty() { here } else { paths };
    let null = words.iter().any(|word| word.known() == Some("-print0"));
    let end = if null { '\0' } else { '\n' };
    let (mut text, mut n_printed) = (String::new(), 0);
    for root in roots {
        let mut reached = match root.known() {
            Some(root) => shell.reach(root, &expression),
            None => Vec::new(),
        };
        reached.resize_with(expression.actions.len(), Reach::default);
        for (action, reach) in expression.actions.iter().zip(&reached) {
            if !matches!(action, Action::Print) {
                shell.act(root, reach, action);
                continue;
            }
            n_printed += reach.entries.len();
            for entry in &reach.entries {
                text.push_str(&entry.text);
                text.push(end);
            }
        }
    }
    let is_print = |action: &Action| matches!(action, Action::Print);
    let known = roots.iter().all(|root| root.known().is_some());
    (known && expression.actions.iter().any(is_print)).then(|| Output {
        text: text.into(),
        spelling: Spelling::of_matches(n_printed),
    })
}

fn only_reads(action: &Action) -> bool {
    match action {
        Action::Print => true,
        Action::PrintTo(_) | Action::Delete => false,
        Action::Exec(words) | Action::ExecDir(words) => {
            let name = words.first().and_then(Field::known);
            name.is_some_and(|name| !name.contains(['/', '{']) && !glance::is_writer(name))
        }
    }
}

impl Shell<'_> {
    /// The paths `find` would reach for the last action, spelled as it spells them.
    pub(super) fn listed(&mut self, root: &str, expression: &Expression) -> Vec<Field> {
        let last = self.reach(root, expression).pop();
        last.unwrap_or_default().entries
    }

    /// What `find` would reach below `root` for each action.
    fn reach(&mut self, root: &str, expression: &Expression) -> Vec<Reach> {
        let mut reached = Vec::new();
        reached.resize_with(expression.actions.len(), Reach::default);
        let mut n_found = 0;
        let mut is_cut = false;
        let mut todo = vec![(root.to_owned(), 0)];
        while let Some((path, depth)) = todo.pop() {
            let at = self.absolute(&path);
            let Some(at) = at.filter(|_| self.spend(expression.n_tests)) else {
                break;
            };
            let is_dir = self.scene.disk.is_dir(&at) || self.found.makes_dir(&at);
            let kind = if is_dir { Kind::Dir } else { Kind::File };
            let judged = expression.judge(&path, depth, kind);
            n_found += judged.actions.len();
            let spelling = match judged.is_named {
                true => Spelling::Literal,
                false => Spelling::Glob { matches: None },
            };
            for action in judged.actions {
                let text = path.as_str().into();
                reached[action].entries.push(Field { text, spelling });
            }
            let below = expression.max_depth.is_none_or(|max| depth < max);
            let is_skipped = depth > 0 && SKIPPED.contains(&base_name(&path));
            if judged.is_pruned || !is_dir || !below || is_skipped {
                continue;
            }
            is_cut |= n_found + todo.len() >= MAX_MATCHES || self.globs_left.walks == 0;
            if !is_cut {
                self.globs_left.walks -= 1;
                let dir = path.trim_end_matches('/');
                // Sites come first: the walk may end early.
                let names = system::outer_first(self.list(&at)).into_iter().rev();
                todo.extend(names.map(|name| (format!("{dir}/{name}"), depth + 1)));
            }
        }
        let may_sweep = expression.is_open() || is_cut || self.globs_left.listings == 0;
        for (action, reach) in reached.iter_mut().enumerate() {
            reach.sweeps = may_sweep && expression.takes_any(root, action);
            reach.count();
        }
        reached
    }

    fn act(&mut self, root: &Field, reach: &Reach, action: &Action) {
        match action {
            Action::Print => {}
            Action::PrintTo(file) => drop(self.report(file, Act::Write)),
            Action::Delete => self.take_away(root, reach, Act::Remove),
            Action::Exec(words) | Action::ExecDir(words) => match words
                .first()
                .and_then(|word| Some(base_name(word.known()?)))
            {
                Some("rm" | "unlink" | "shred" | "rmdir") => {
                    let args = Args::parse(words, Syntax::default());
                    self.take_away(root, reach, removal(&args));
                }
                _ if matches!(action, Action::ExecDir(_)) => {
                    for item in &reach.entries {
                        self.beside_entry(words, item);
                    }
                }
                _ => {
                    let n_entries = reach.entries.len();
                    for item in reach.entries.iter().take(MAX_TURNS) {
                        self.run_on(words, "{}", item);
                    }
                    // It may run for what is not known here.
                    if n_entries == 0 || n_entries > MAX_TURNS {
                        self.run_on(words, "{}", &Field::unknown());
                    }
                }
            },
        }
    }

    /// Removes what was found, or clears the root. A directory goes alone only when it is
    /// empty, and then nothing is lost.
    fn take_away(&mut self, root: &Field, reach: &Reach, act: Act) {
        if reach.sweeps {
            self.report(root, Act::Clear);
            return;
        }
        for entry in &reach.entries {
            if act != Act::Remove || !self.holds_dir(&entry.text) {
                self.report(entry, act);
            }
        }
    }

    /// Runs a command in which a mark stands for an item.
    pub(super) fn run_on(&mut self, words: &[Field], mark: &str, item: &Field) {
        if self.spend(REPEAT_COST + 16 * words.len()) {
            let filled: Vec<Field> = words.iter().map(|word| fill(word, mark, item)).collect();
            self.again(&filled);
        }
    }

    /// `-execdir`.
    fn beside_entry(&mut self, words: &[Field], item: &Field) {
        let name = base_name(&item.text);
        let dir = item.text.strip_suffix(name).unwrap_or("");
        let dir = item.with_text(if dir.is_empty() { "." } else { dir });
        let name = item.with_text(format!("./{name}"));
        self.subshell(|shell| {
            shell.change_dir(Some(&dir));
            shell.run_on(words, "{}", &name);
            None
        });
    }
}

impl Reach {
    /// What was not named counts as a pattern's matches.
    fn count(&mut self) {
        let spelling = Spelling::of_matches(self.entries.len());
        for entry in &mut self.entries {
            if entry.spelling != Spelling::Literal {
                entry.spelling = spelling;
            }
        }
    }
}
