//! `find`: the entries it would reach, and what it does with them.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output, base_name};
use super::glob::{MAX_MATCHES, Pattern, all_active};
use super::nested::fill;
use crate::target::{Act, Spelling};

/// What narrows the search, as far as it is judged here.
#[derive(Default)]
pub(super) struct Filter {
    names: Vec<(String, Case)>,
    max_depth: Option<usize>,
    min_depth: usize,
    kind: Option<Kind>,
    /// Paths left out: `-not -path PATTERN`, `-path PATTERN -prune`.
    spared: Vec<String>,
    /// What `-path` asks for, where nothing is pruned by it.
    paths: Vec<String>,
    /// `-o`: a name may count without the paths.
    either: bool,
    /// Another test, which can only make the search reach less.
    other: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Exact,
    Ignored,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Dir,
}

enum Action {
    Delete,
    Exec(Vec<Field>),
    /// In the directory of each entry.
    ExecDir(Vec<Field>),
    Print(Field),
}

pub(super) fn find(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let options = ["-L", "-H", "-P"];
    let args = match args.first().and_then(Field::known) {
        Some(first) if options.contains(&first) => args.get(1..)?,
        _ => args,
    };
    let starts = |arg: &Field| arg.is_option() || matches!(arg.known(), Some("(" | "!"));
    let n_paths = args.iter().take_while(|arg| !starts(arg)).count();
    let (paths, expression) = args.split_at(n_paths);
    let (filter, actions) = parse(expression);
    let here = [Field::literal(".")];
    let roots = if paths.is_empty() { &here } else { paths };
    let mut names = Some(String::new());
    for root in roots {
        let found = root.known().map(|root| shell.reach(root, &filter));
        match (&mut names, &found) {
            (Some(text), Some(found)) => found.iter().for_each(|path| {
                text.push_str(path);
                text.push('\n');
            }),
            _ => names = None,
        }
        for action in &actions {
            shell.act(root, &filter, found.as_deref().unwrap_or(&[]), action);
        }
    }
    let text = names.filter(|_| actions.is_empty())?;
    let matches = if filter.other {
        None
    } else {
        Some(text.lines().count())
    };
    let null = expression.iter().any(|arg| arg.known() == Some("-print0"));
    let text = if null { text.replace('\n', "\0") } else { text };
    Some(Output {
        text: text.into(),
        spelling: Spelling::Glob { matches },
    })
}

fn parse(expression: &[Field]) -> (Filter, Vec<Action>) {
    let mut filter = Filter::default();
    let mut actions = Vec::new();
    let mut rest = expression.iter();
    while let Some(arg) = rest.next() {
        match arg.known().unwrap_or("") {
            "-delete" => actions.push(Action::Delete),
            exec @ ("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let ends = |word: &&Field| !matches!(word.known(), Some(";" | "+"));
                let words = rest.by_ref().take_while(ends).cloned().collect();
                actions.push(match exec.ends_with("dir") {
                    true => Action::ExecDir(words),
                    false => Action::Exec(words),
                });
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                actions.extend(rest.next().cloned().map(Action::Print));
            }
            test => filter.add(test, &mut rest),
        }
    }
    (filter, actions)
}

impl Filter {
    /// Files with names of these patterns.
    pub(super) fn files<'f>(
        names: impl Iterator<Item = &'f Field>,
        max_depth: Option<usize>,
    ) -> Self {
        let names = names.filter_map(|name| Some((name.known()?.to_owned(), Case::Exact)));
        Self {
            names: names.collect(),
            max_depth,
            kind: Some(Kind::File),
            ..Self::default()
        }
    }

    fn add<'f>(&mut self, test: &str, rest: &mut impl Iterator<Item = &'f Field>) {
        let number = |field: Option<&Field>| field.and_then(|field| field.known()?.parse().ok());
        match test {
            "-name" | "-iname" => {
                let case = if test == "-name" {
                    Case::Exact
                } else {
                    Case::Ignored
                };
                match rest.next().and_then(Field::known) {
                    Some(name) => self.names.push((name.to_owned(), case)),
                    None => self.other = true,
                }
            }
            "-maxdepth" => self.max_depth = number(rest.next()),
            "-mindepth" => self.min_depth = number(rest.next()).unwrap_or(0),
            "-type" => {
                self.kind = match rest.next().and_then(Field::known) {
                    Some("f") => Some(Kind::File),
                    Some("d") => Some(Kind::Dir),
                    _ => None,
                }
            }
            "-o" | "-or" => self.either = true,
            "-print" | "-print0" | "(" | ")" | "-a" | "-and" | "-depth" => {}
            // A negated name reaches everything else.
            "!" | "-not" => {
                let test = rest.next().and_then(Field::known);
                let value = rest.next().and_then(Field::known);
                if let (Some("-path" | "-wholename" | "-ipath"), Some(value)) = (test, value) {
                    self.spared.push(value.to_owned());
                }
                self.other = true;
            }
            "-path" | "-wholename" => {
                let path = rest.next().and_then(Field::known);
                self.paths.extend(path.map(str::to_owned));
                self.other = true;
            }
            "-prune" => self.spared.extend(self.paths.pop()),
            _ => self.other = true,
        }
    }

    fn spares(&self, path: &str) -> bool {
        any_matches(&self.spared, path)
    }

    /// Whether `-path` takes it, or leaves it to what else is asked.
    fn is_on_path(&self, path: &str) -> bool {
        let open = self.paths.is_empty() || (self.either && !self.names.is_empty());
        open || any_matches(&self.paths, path)
    }

    fn takes(&self, name: &str, depth: usize, kind: Kind) -> bool {
        let named = |(pattern, case): &(String, Case)| {
            let lower = (pattern.to_lowercase(), name.to_lowercase());
            let (pattern, name) = match case {
                Case::Exact => (pattern.as_str(), name),
                Case::Ignored => (lower.0.as_str(), lower.1.as_str()),
            };
            is_match(pattern, name)
        };
        depth >= self.min_depth
            && self.kind.is_none_or(|wanted| wanted == kind)
            && (self.names.is_empty() || self.names.iter().any(named))
    }
}

fn any_matches(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| is_match(pattern, path))
}

fn is_match(pattern: &str, text: &str) -> bool {
    let glob = Pattern {
        text: pattern,
        active: &all_active(pattern),
        offset: 0,
    };
    glob.matches(text)
}

impl Shell<'_> {
    /// The paths `find` would reach below `root`, spelled as it spells them.
    pub(super) fn reach(&mut self, root: &str, filter: &Filter) -> Vec<String> {
        let mut found = Vec::new();
        let mut todo = vec![(root.to_owned(), 0)];
        while let Some((path, depth)) = todo.pop() {
            let Some(at) = self.absolute(&path) else {
                break;
            };
            if filter.spares(&path) {
                continue;
            }
            let is_dir = self.scene.disk.is_dir(&at) || self.found.makes_dir(&at);
            let kind = if is_dir { Kind::Dir } else { Kind::File };
            let below = filter.max_depth.is_none_or(|max| depth < max);
            if filter.takes(base_name(&path), depth, kind) && filter.is_on_path(&path) {
                found.push(path.clone());
            }
            if !is_dir || !below || found.len() + todo.len() >= MAX_MATCHES {
                continue;
            }
            let dir = path.trim_end_matches('/');
            let names = self.list(&at).into_iter().rev();
            todo.extend(names.map(|name| (format!("{dir}/{name}"), depth + 1)));
        }
        found
    }

    fn act(&mut self, root: &Field, filter: &Filter, found: &[String], action: &Action) {
        match action {
            Action::Print(file) => {
                self.report(file, Act::Write);
            }
            Action::Delete => self.each_found(root, filter, found, Act::Remove),
            Action::Exec(words) | Action::ExecDir(words) => match words
                .first()
                .and_then(|word| Some(base_name(word.known()?)))
            {
                Some("rm" | "unlink" | "shred" | "rmdir") => {
                    let args = Args::parse(words, Syntax::default());
                    let tree = args.has(&["r", "R", "recursive"]);
                    let act = if tree { Act::RemoveTree } else { Act::Remove };
                    self.each_found(root, filter, found, act);
                }
                _ if matches!(action, Action::ExecDir(_)) => {
                    for item in matches(filter, found) {
                        self.beside_entry(words, &item);
                    }
                }
                _ => self.exec(words, filter, found),
            },
        }
    }

    /// Removes what was found by name; without a name the root is cleared.
    fn each_found(&mut self, root: &Field, filter: &Filter, found: &[String], act: Act) {
        if filter.names.is_empty() && filter.paths.is_empty() {
            match filter.spared.is_empty() {
                true => drop(self.report(root, Act::Clear)),
                false => self.clear_below(root, filter),
            }
            return;
        }
        for field in matches(filter, found) {
            self.report(&field, act);
        }
    }

    /// Each directory below the root that is not left out.
    fn clear_below(&mut self, root: &Field, filter: &Filter) {
        let Some(at) = root.known().and_then(|root| self.absolute(root)) else {
            return;
        };
        let dir = root.text.trim_end_matches('/');
        for name in self.list(&at) {
            let path = format!("{dir}/{name}");
            let spared = filter.spares(&path) || filter.spares(&format!("{path}/-"));
            if !spared && self.holds_dir(&path) {
                self.report(&root.with_text(path), Act::Clear);
            }
        }
    }

    fn exec(&mut self, words: &[Field], filter: &Filter, found: &[String]) {
        let mut items = matches(filter, found);
        if items.is_empty() {
            items.push(Field::unknown());
        }
        for item in items {
            self.run_on(words, &item);
        }
    }

    /// Runs a command in which `{}` stands for an entry.
    pub(super) fn run_on(&mut self, words: &[Field], item: &Field) {
        if self.spend(128 + 16 * words.len()) {
            let filled: Vec<Field> = words.iter().map(|word| fill(word, "{}", item)).collect();
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
            shell.run(&[Field::literal("cd"), dir]);
            shell.run_on(words, &name);
            None
        });
    }
}

fn matches(filter: &Filter, found: &[String]) -> Vec<Field> {
    let globbed = filter.names.len() != 1
        || filter
            .names
            .iter()
            .any(|(name, _)| !all_active(name).is_empty());
    let field = |path: &String| Field {
        spelling: if globbed {
            Spelling::Glob {
                matches: Some(found.len()),
            }
        } else {
            Spelling::Literal
        },
        ..Field::literal(path.as_str())
    };
    found.iter().map(field).collect()
}
