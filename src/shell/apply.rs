//! What a writing call does with the values of its arguments.

use super::bind::Bound;
use super::calls::Script;
use super::code::{Language, read};
use super::effects::Effect;
use super::field::Field;
use super::transfer::inside;
use super::value::{MAX_DEPTH, Reader, Span, product};
use crate::base::target::Act;

impl Script<'_, '_, '_, '_> {
    pub(super) fn apply(&mut self, effect: Effect, own: &[Field], arguments: &[Span]) {
        match effect {
            Effect::First(act) => {
                let act = self.appending(act, arguments);
                self.report_argument(arguments, 0, act);
            }
            Effect::Second(act) => self.report_argument(arguments, 1, act),
            Effect::Third(act) => self.report_argument(arguments, 2, act),
            Effect::Named(name, act) => {
                let values = self.named(arguments, &[name]);
                self.shell.report_all(&values, act);
            }
            Effect::MadeUp(n, act) => self.made_up(arguments, n, act),
            Effect::Archive => self.archive(arguments),
            // Perl takes what is to be done without arguments for `$_`.
            Effect::Each(act) if arguments.is_empty() => {
                let values = self.variable("$_").unwrap_or_default().values;
                self.shell.report_all(&values, act);
            }
            Effect::Each(act) => {
                for n in 0..arguments.len() {
                    self.report_argument(arguments, n, act);
                }
            }
            Effect::Open => self.open(arguments),
            Effect::OpenAt(n) => self.open_at(arguments, n),
            Effect::Own(act) => self.shell.report_all(own, act),
            Effect::OwnOpen => {
                if let Some(act) = self.mode(arguments, 0) {
                    self.shell.report_all(own, act);
                }
            }
            Effect::Run => self.run_in(arguments),
            Effect::Code => {
                for code in self.argument(arguments, 0) {
                    self.run_code(&code.text);
                }
            }
            Effect::InPlace => self.in_place(arguments),
            Effect::ChangeDir => self.change_dir(arguments),
            _ => self.apply_pair(effect, own, arguments),
        }
    }

    /// What has two ends: where it comes from, and where it goes or leads.
    fn apply_pair(&mut self, effect: Effect, own: &[Field], arguments: &[Span]) {
        match effect {
            Effect::Copy
            | Effect::CopyTo
            | Effect::Move
            | Effect::Rename
            | Effect::Symlink
            | Effect::HardLink => {
                let from = self.argument(arguments, 0);
                let to = self.argument(arguments, 1);
                self.pair(effect, &from, &to);
            }
            Effect::OwnRename if arguments.len() == 1 => {
                let to = self.argument(arguments, 0);
                self.pair(Effect::Rename, own, &to);
            }
            Effect::OwnSymlink => {
                let target = self.argument(arguments, 0);
                self.pair(Effect::Symlink, &target, own);
            }
            _ => {}
        }
    }

    /// `fileinput.input(FILES, inplace=True, backup=SUFFIX)`.
    fn in_place(&mut self, arguments: &[Span]) {
        let mut spans = arguments.iter();
        if spans.any(|span| self.has_word(*span, &["inplace"])) {
            let files = self.argument(arguments, 0);
            self.shell.report_all(&files, Act::Edit);
            let suffixes = self.named(arguments, &["backup"]);
            let backups = product(&files, &suffixes, "");
            self.shell.report_all(&backups, Act::Write);
        }
    }

    fn change_dir(&mut self, arguments: &[Span]) {
        let dir = self.argument(arguments, 0).into_iter().next();
        let dir = dir.unwrap_or_else(Field::unknown);
        self.shell.change_dir(Some(&dir));
    }

    fn argument(&mut self, arguments: &[Span], n: usize) -> Vec<Field> {
        let plain = arguments.get(n).map(|span| self.values(*span));
        if let Some(values) = plain.filter(|values| !values.is_empty()) {
            return values;
        }
        let names: &[&str] = match n {
            _ if self.language != Language::Python => return Vec::new(),
            0 => &["file", "src", "path", "name", "filename", "target"],
            1 => &["dst", "extract_dir"],
            _ => &[],
        };
        self.named(arguments, names)
    }

    fn run_code(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH || !self.shell.spend(text.len()) {
            return;
        }
        let code = read(self.language, text);
        let mut inner = Script::new(&code, self.language, self.shell);
        (inner.depth, inner.room) = (self.depth + 1, self.room);
        inner.walk((0, code.tokens.len()));
        self.room = inner.room;
    }

    /// Runs a command, perhaps in a directory of its own.
    fn run_in(&mut self, arguments: &[Span]) {
        let dirs = match (self.language, arguments.last()) {
            (Language::Script, Some(last)) => self.item_of(last.0, "cwd").values,
            _ => self.named(arguments, &["cwd"]),
        };
        let outer = self.shell.cwd.clone();
        if let Some(dir) = dirs.first() {
            self.shell.change_dir(Some(dir));
        }
        // A script may run itself.
        self.shell.repeats += 1;
        self.run(arguments);
        self.shell.repeats -= 1;
        if !dirs.is_empty() {
            self.shell.cwd = outer;
        }
    }

    /// The value of `name=value`.
    fn named(&mut self, arguments: &[Span], names: &[&str]) -> Vec<Field> {
        let span = self.place_of(arguments, names);
        span.map_or_else(Vec::new, |span| self.values(span))
    }

    /// Where the value of `name=value` or `name: value` stands.
    fn place_of(&self, arguments: &[Span], names: &[&str]) -> Option<Span> {
        let is = |span: &&Span| {
            let named = matches!(self.mark(span.0 + 1), Some('=' | ':'));
            let name = self.word(span.0).filter(|_| named);
            name.is_some_and(|name| names.contains(&name))
        };
        let span = arguments.iter().find(is)?;
        Some((span.0 + 2, span.1))
    }

    /// `tempfile`: a name that the program makes up. Suffix, prefix and directory are the
    /// arguments from the one at `n` on, or bear these names.
    fn made_up(&mut self, arguments: &[Span], n: usize, act: Act) {
        let [suffix, prefix, dirs] = [("suffix", ""), ("prefix", "tmp"), ("dir", "")];
        let suffixes = self.part(arguments, n, suffix);
        let prefixes = self.part(arguments, n + 1, prefix);
        let names = product(&prefixes, &[Field::literal("XXXXXXXX")], "");
        let names = product(&names, &suffixes, "");
        for dir in self.part(arguments, n + 2, dirs) {
            for name in names.iter().filter(|_| !dir.text.is_empty()) {
                let path = inside(&dir, name);
                self.shell.report(&path, act);
                self.made_up.push(path);
            }
        }
    }

    /// The argument with a name, or at a place; the usual one where there is none.
    fn part(&mut self, arguments: &[Span], n: usize, (name, usual): (&str, &str)) -> Vec<Field> {
        let plain = || {
            let span = arguments.get(n).copied()?;
            (self.mark(span.0 + 1) != Some('=')).then_some(span)
        };
        let span = self.place_of(arguments, &[name]).or_else(plain);
        let mut values = match span.filter(|span| self.word(span.0) != Some("None")) {
            Some(span) => self.values(span),
            None => vec![Field::literal(usual)],
        };
        if values.is_empty() {
            values.push(Field::unknown());
        }
        values
    }

    /// `make_archive(BASE, FORMAT)`.
    fn archive(&mut self, arguments: &[Span]) {
        let format = self.argument(arguments, 1).into_iter().next();
        let suffix = match format.as_ref().and_then(Field::known) {
            Some("zip") => ".zip",
            Some("tar") => ".tar",
            Some("gztar") => ".tar.gz",
            Some("bztar") => ".tar.bz2",
            Some("xztar") => ".tar.xz",
            _ => return,
        };
        let bases = self.argument(arguments, 0);
        let files = product(&bases, &[Field::literal(suffix)], "");
        self.shell.report_all(&files, Act::Write);
    }

    fn report_argument(&mut self, arguments: &[Span], n: usize, act: Act) {
        let mut values = Vec::new();
        if self.language == Language::R {
            values = self.named(arguments, &["file", "con", "path", "filename"]);
        }
        if values.is_empty() {
            values = self.argument(arguments, n);
        }
        self.shell.report_all(&values, act);
    }

    /// PHP's `FILE_APPEND`, and `append: true` of Deno.
    fn appending(&self, act: Act, arguments: &[Span]) -> Act {
        let (Some(first), Some(last)) = (arguments.get(1), arguments.last()) else {
            return act;
        };
        if act == Act::Write && self.has_word((first.0, last.1), &["FILE_APPEND"]) {
            Act::Edit
        } else {
            act
        }
    }

    fn has_word(&self, span: Span, words: &[&str]) -> bool {
        (span.0..span.1).any(|at| self.word(at).is_some_and(|word| words.contains(&word)))
    }

    fn open(&mut self, arguments: &[Span]) {
        // Perl names a handle first; with two arguments the mode is in the path.
        if self.language == Language::Perl {
            if arguments.len() == 2 {
                for value in self.argument(arguments, 1) {
                    let path = value.text.trim_start_matches(['>', '+', '<', ' ']);
                    let skipped = value.text.len() - path.len();
                    if value.text.trim_start().starts_with("|") {
                        let command = value.text.trim_start_matches(['|', ' ']);
                        self.shell.run_again(command);
                    } else if let Some(act) = perl_act(&value.text[..skipped]) {
                        self.shell.report(&value.behind(skipped), act);
                    }
                }
                return;
            }
            let mode = self.argument(arguments, 1);
            let act = mode.first().and_then(|mode| perl_act(&mode.text));
            if let Some(act) = act {
                self.report_argument(arguments, 2, act);
            }
            return;
        }
        self.open_at(arguments, 0);
    }

    fn open_at(&mut self, arguments: &[Span], n: usize) {
        if let Some(act) = self.mode(arguments, n + 1) {
            self.report_argument(arguments, n, act);
        }
    }

    /// What the mode argument says: the one at `n`, or the one named `mode`.
    fn mode(&mut self, arguments: &[Span], n: usize) -> Option<Act> {
        let named = self.place_of(arguments, &["mode", "flag", "flags"]);
        let span = named.or_else(|| arguments.get(n).copied())?;
        if self.has_word(span, &["O_CREAT", "O_TRUNC", "O_WRONLY", "O_RDWR"]) {
            return Some(Act::Write);
        }
        let mode = self.values(span);
        let mode = mode.first()?.known()?;
        if mode.len() > 4 {
            return None;
        }
        match mode {
            _ if mode.contains(['w', 'x', 'c']) => Some(Act::Write),
            _ if mode.contains(['a', '+']) => Some(Act::Edit),
            _ => perl_act(mode),
        }
    }

    fn pair(&mut self, effect: Effect, from: &[Field], to: &[Field]) {
        // A file with a name that was made up is most often the one that takes another's place.
        let made_up = match from.iter().any(|from| from.gap().is_none()) {
            true => Vec::new(),
            false => std::mem::take(&mut self.made_up),
        };
        let from = if made_up.is_empty() { from } else { &made_up };
        if matches!(effect, Effect::Move | Effect::Rename) {
            self.shell.report_all(from, Act::MoveAway);
        }
        for to in to {
            let unknown = [Field::unknown()];
            let sources = if from.is_empty() { &unknown } else { from };
            for from in sources {
                match effect {
                    Effect::Symlink => self.shell.report_link(to, from),
                    Effect::HardLink => self.shell.report_hard_link(to, from),
                    Effect::Copy | Effect::Move => {
                        let place = self.shell.destination(from, to);
                        self.shell.carry(from, &place);
                    }
                    _ => self.shell.carry(from, to),
                }
            }
        }
    }

    /// A command line goes to the shell, a list of words runs as it is.
    fn run(&mut self, arguments: &[Span]) {
        let Some(first) = arguments.first().copied() else {
            return;
        };
        let several = arguments.len() > 1
            && matches!(
                self.language,
                Language::Ruby | Language::Perl | Language::Script
            );
        if self.mark(first.0) == Some('[') {
            let words = Reader::new(self, first).items();
            self.shell.again(&words);
        } else if several {
            let mut words = self.argument(arguments, 0);
            for span in &arguments[1..] {
                match self.mark(span.0) {
                    Some('[') => words.extend(Reader::new(self, *span).items()),
                    Some('{') => {}
                    _ => words.extend(self.values(*span)),
                }
            }
            // `execSync(line, {…})` has one word and is a line.
            match words.as_slice() {
                [line] => drop(self.shell.run_again(&line.text)),
                words => drop(self.shell.again(words)),
            }
        } else {
            let Bound { values, shape } = Reader::new(self, first).whole();
            if shape.is_list() {
                self.shell.again(&values);
                return;
            }
            for line in values {
                self.shell.run_again(&line.text);
            }
        }
    }
}

fn perl_act(mode: &str) -> Option<Act> {
    let mode = mode.trim();
    match mode {
        _ if mode.starts_with(">>") || mode.starts_with("+<") => Some(Act::Edit),
        _ if mode.starts_with('>') || mode.starts_with("+>") => Some(Act::Write),
        _ => None,
    }
}
