//! The expression of `find`: which entries come to which of its actions.

use super::Kind;
use super::field::{Field, UNKNOWN, base_name, join};
use super::glob::Glob;
use super::regexp::{self, Span};

/// How deep parentheses are followed; a test in deeper ones counts as one of its own.
const MAX_NESTING: usize = 32;

/// How a test comes out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    No,
    Maybe,
    Yes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Exact,
    Ignored,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Name,
    Path,
}

struct Text {
    part: Part,
    case: Case,
    glob: Glob,
}

enum Test {
    Text(Text),
    Kind(Kind),
    /// What is not judged here.
    Open,
    Never,
    Prune,
    /// The action at this place.
    Act(usize),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

pub(super) enum Action {
    Delete,
    Exec(Vec<Field>),
    /// In the directory of each entry.
    ExecDir(Vec<Field>),
    Print,
    /// Into a file.
    PrintTo(Field),
}

pub(super) struct Expression {
    test: Test,
    pub(super) actions: Vec<Action>,
    pub(super) max_depth: Option<usize>,
    min_depth: usize,
    /// `-depth`: what is in a directory comes before it, so that nothing is pruned.
    bottom_up: bool,
    /// Something leaves entries out by what is known here.
    narrows: bool,
    /// What it costs to judge an entry.
    pub(super) n_tests: usize,
}

/// What an expression says of an entry.
#[derive(Default)]
pub(super) struct Judged {
    /// The places of the actions it comes to.
    pub(super) actions: Vec<usize>,
    pub(super) is_pruned: bool,
    /// The expression has its whole name or path.
    pub(super) is_named: bool,
}

impl Expression {
    pub(super) fn parse(words: &[Field]) -> Self {
        let mut parser = Parser {
            rest: words.iter(),
            read: Self::default(),
        };
        let test = parser.alternatives(0);
        let mut read = parser.read;
        read.test = test;
        match read.actions.is_empty() {
            true => read.printing(),
            false => read,
        }
    }

    /// Files with names of these patterns.
    pub(super) fn files(names: &mut dyn Iterator<Item = &Field>, max_depth: Option<usize>) -> Self {
        let name = |name: &Field| {
            let glob = Glob::all(name.known()?);
            let (part, case) = (Part::Name, Case::Exact);
            Some(Test::Text(Text { part, case, glob }))
        };
        let names: Vec<Test> = names.filter_map(name).collect();
        let mut tests = vec![Test::Kind(Kind::File)];
        if !names.is_empty() {
            tests.push(Test::Any(names));
        }
        let files = Self {
            test: Test::All(tests),
            max_depth,
            ..Self::default()
        };
        files.printing()
    }

    /// The same, with `-print` behind all of it.
    fn printing(mut self) -> Self {
        self.test = Test::All(vec![self.test, Test::Act(self.actions.len())]);
        self.actions.push(Action::Print);
        self
    }

    pub(super) fn judge(&self, path: &str, depth: usize, kind: Kind) -> Judged {
        let mut judged = Judged::default();
        if depth >= self.min_depth {
            self.test.holds(path, kind, Holds::Yes, &mut judged);
        }
        judged.is_pruned &= !self.bottom_up;
        judged
    }

    /// Whether an action takes all below a root: nothing is left out that is known here.
    pub(super) fn is_open(&self) -> bool {
        !self.narrows && self.max_depth.is_none()
    }

    /// Whether a file of no special name comes to an action.
    pub(super) fn takes_any(&self, root: &str, action: usize) -> bool {
        let path = join(root, UNKNOWN.encode_utf8(&mut [0; 4]));
        let mut judged = Judged::default();
        self.test.holds(&path, Kind::File, Holds::Yes, &mut judged);
        judged.actions.contains(&action)
    }
}

impl Default for Expression {
    fn default() -> Self {
        Self {
            test: Test::All(Vec::new()),
            actions: Vec::new(),
            max_depth: None,
            min_depth: 0,
            bottom_up: false,
            narrows: false,
            n_tests: 1,
        }
    }
}

impl Text {
    fn holds(&self, path: &str) -> bool {
        let text = match self.part {
            Part::Name => base_name(path),
            Part::Path => path,
        };
        match self.case {
            Case::Exact => self.glob.matches(text),
            Case::Ignored => self.glob.matches(&text.to_lowercase()),
        }
    }
}

impl Test {
    /// `reached`: whether `find` asks it at all.
    fn holds(&self, path: &str, kind: Kind, reached: Holds, judged: &mut Judged) -> Holds {
        let sure = |holds| if holds { Holds::Yes } else { Holds::No };
        match self {
            Self::Text(text) => {
                let holds = text.holds(path);
                judged.is_named |= holds && text.glob.is_plain();
                sure(holds)
            }
            Self::Kind(wanted) => sure(*wanted == kind),
            Self::Open => Holds::Maybe,
            Self::Never => Holds::No,
            Self::Prune => {
                judged.is_pruned |= reached == Holds::Yes;
                Holds::Yes
            }
            Self::Act(action) => {
                judged.actions.push(*action);
                Holds::Yes
            }
            Self::Not(test) => match test.holds(path, kind, reached, judged) {
                Holds::No => Holds::Yes,
                Holds::Maybe => Holds::Maybe,
                Holds::Yes => Holds::No,
            },
            Self::All(tests) => {
                let mut all = Holds::Yes;
                for test in tests {
                    all = all.min(test.holds(path, kind, reached.min(all), judged));
                    if all == Holds::No {
                        break;
                    }
                }
                all
            }
            Self::Any(tests) => {
                let mut any = Holds::No;
                for test in tests {
                    let reached = match any {
                        Holds::No => reached,
                        _ => Holds::Maybe,
                    };
                    any = any.max(test.holds(path, kind, reached, judged));
                    if any == Holds::Yes {
                        break;
                    }
                }
                any
            }
        }
    }
}

/// What an action does besides printing.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    Deletes,
    PrintsTo,
    Runs,
    RunsBeside,
}

const DEEDS: &[(&str, Deed)] = &[
    ("-delete", Deed::Deletes),
    ("-exec", Deed::Runs),
    ("-execdir", Deed::RunsBeside),
    ("-fls", Deed::PrintsTo),
    ("-fprint", Deed::PrintsTo),
    ("-fprint0", Deed::PrintsTo),
    ("-fprintf", Deed::PrintsTo),
    ("-ok", Deed::Runs),
    ("-okdir", Deed::RunsBeside),
];

/// The actions by which `find` may change files.
pub(super) const DEED_NAMES: [&str; DEEDS.len()] = names!(DEEDS, 0);

pub(super) fn deed(word: &str) -> Option<Deed> {
    let mut deeds = DEEDS.iter();
    deeds.find(|(name, _)| *name == word).map(|(_, deed)| *deed)
}

struct Parser<'f> {
    rest: std::slice::Iter<'f, Field>,
    read: Expression,
}

impl<'f> Parser<'f> {
    /// What stands up to the end, or to the closing parenthesis.
    fn alternatives(&mut self, nesting: usize) -> Test {
        let (mut any, mut all) = (Vec::new(), Vec::new());
        let mut is_negated = false;
        while let Some(word) = self.rest.next() {
            let test = match word.known().unwrap_or("") {
                ")" if nesting > 0 => break,
                "(" if nesting < MAX_NESTING => Some(self.alternatives(nesting + 1)),
                "!" | "-not" => {
                    is_negated = !is_negated;
                    continue;
                }
                "-o" | "-or" => {
                    any.push(Test::All(std::mem::take(&mut all)));
                    continue;
                }
                // What stands before a comma decides nothing.
                "," => {
                    all.push(Test::Open);
                    any.push(Test::All(std::mem::take(&mut all)));
                    continue;
                }
                word => self.test(word),
            };
            let Some(test) = test else { continue };
            all.push(match std::mem::take(&mut is_negated) {
                true => Test::Not(Box::new(test)),
                false => test,
            });
        }
        any.push(Test::All(all));
        Test::Any(any)
    }

    fn deed(&mut self, deed: Deed) -> Option<Test> {
        let action = match deed {
            Deed::Deletes => Action::Delete,
            Deed::PrintsTo => Action::PrintTo(self.rest.next()?.clone()),
            Deed::Runs => Action::Exec(self.command()),
            Deed::RunsBeside => Action::ExecDir(self.command()),
        };
        Some(self.act(action))
    }

    /// The test or action a word begins; `None` for what always holds, and for the
    /// value of a test that is not judged.
    fn test(&mut self, word: &str) -> Option<Test> {
        self.read.n_tests += 1;
        let test = match word {
            "-name" => self.text(Part::Name, Case::Exact),
            "-iname" => self.text(Part::Name, Case::Ignored),
            "-path" | "-wholename" => self.text(Part::Path, Case::Exact),
            "-ipath" | "-iwholename" => self.text(Part::Path, Case::Ignored),
            "-type" | "-xtype" => match self.value() {
                Some("f") => Test::Kind(Kind::File),
                Some("d") => Test::Kind(Kind::Dir),
                // No state is a link, a pipe, a socket or a device.
                Some("l" | "p" | "s" | "b" | "c") => Test::Never,
                _ => Test::Open,
            },
            "-regex" => self.expression(Case::Exact),
            "-iregex" => self.expression(Case::Ignored),
            // One file, which hardly is a state that goes by its name.
            "-inum" | "-samefile" => {
                self.rest.next();
                Test::Never
            }
            "-maxdepth" => {
                self.read.max_depth = self.number();
                return None;
            }
            "-mindepth" => {
                self.read.min_depth = self.number().unwrap_or(0);
                return None;
            }
            "-depth" | "-d" => {
                self.read.bottom_up = true;
                return None;
            }
            "-a" | "-and" | "-true" | "-xdev" | "-mount" | "-daystart" | "-follow" => return None,
            "-false" => Test::Never,
            "-prune" => Test::Prune,
            "-print" | "-print0" | "-printf" | "-ls" => self.act(Action::Print),
            other => match deed(other) {
                Some(deed) => self.deed(deed)?,
                None => return other.starts_with('-').then_some(Test::Open),
            },
        };
        self.read.narrows |= matches!(
            test,
            Test::Text(..) | Test::Kind(Kind::Dir) | Test::Never | Test::Prune
        );
        Some(test)
    }

    fn value(&mut self) -> Option<&'f str> {
        self.rest.next().and_then(Field::known)
    }

    fn number(&mut self) -> Option<usize> {
        self.value()?.parse().ok()
    }

    fn text(&mut self, part: Part, case: Case) -> Test {
        let Some(pattern) = self.value() else {
            return Test::Open;
        };
        let glob = match case {
            Case::Exact => Glob::all(pattern),
            Case::Ignored => Glob::all(&pattern.to_lowercase()),
        };
        Test::Text(Text { part, case, glob })
    }

    /// What a regular expression of whole paths comes to.
    fn expression(&mut self, case: Case) -> Test {
        let text = self.value().map(|text| match case {
            Case::Exact => text.to_owned(),
            Case::Ignored => text.to_lowercase(),
        });
        let mut globs = Vec::new();
        let read = text.and_then(|text| regexp::add_globs(&mut globs, &text, Span::Line));
        if read.is_none() {
            return Test::Open;
        }
        self.read.narrows = true;
        let part = Part::Path;
        let tests = globs
            .into_iter()
            .map(|glob| Test::Text(Text { part, case, glob }));
        Test::Any(tests.collect())
    }

    fn act(&mut self, action: Action) -> Test {
        let runs = matches!(action, Action::Exec(_) | Action::ExecDir(_));
        let act = Test::Act(self.read.actions.len());
        self.read.actions.push(action);
        match runs {
            // How the command ends is not known.
            true => Test::All(vec![act, Test::Open]),
            false => act,
        }
    }

    fn command(&mut self) -> Vec<Field> {
        let ends = |word: &&Field| !matches!(word.known(), Some(";" | "+"));
        self.rest.by_ref().take_while(ends).cloned().collect()
    }
}
