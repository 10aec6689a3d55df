//! Commands as the logs may hold them: short, without credentials and without
//! the text of here-documents. Pure.
//!
//! A credential is known by its own form, by the word before it, or by its
//! place in an address. Hiding too much costs a reader a word; hiding too
//! little costs a user a key.

use crate::base::text::truncate;

/// The most characters of an excerpt.
const MAX_EXCERPT: usize = 200;

/// More bytes have more characters than that.
const SHOWN: usize = 4 * MAX_EXCERPT + 1;

/// What of a command a log may hold.
pub fn excerpt(command: &str) -> String {
    // Far more than is shown, so that no truncate takes away the word before a secret.
    let command = truncate(command, 20 * MAX_EXCERPT);
    truncate(&begin(without_here_document(&command), SHOWN), MAX_EXCERPT)
}

/// The command up to the text of its first here-document, which is a file's content.
fn without_here_document(command: &str) -> &str {
    let mut starts = command.match_indices("<<").map(|(at, _)| at);
    let start =
        starts.find(|at| !command[*at..].starts_with("<<<") && !command[..*at].ends_with('<'));
    let end = start.and_then(|start| Some(start + command[start..].find('\n')?));
    end.map_or(command, |end| &command[..end])
}

/// Puts `***` in the place of what looks like a credential.
pub fn redact(text: &str) -> String {
    begin(text, usize::MAX)
}

/// The same, until that many bytes are there.
fn begin(text: &str, enough: usize) -> String {
    let mut scan = Scan {
        text,
        at: 0,
        hidden: String::new(),
        quote: None,
        program: None,
    };
    while scan.hidden.len() < enough
        && let Some(next) = scan.rest().chars().next()
    {
        if is_word(next) {
            scan.word();
        } else {
            scan.mark(next);
        }
    }
    scan.hidden
}

const MASK: &str = "***";

/// Parts of names whose values are secret; the last is kubectl's for a name and its value.
const SECRET: &str = "\
    password passwd passphrase token secret authorization credential signature cookie apikey \
    bearer _pw _pass from-literal";

/// What the tokens of well-known services begin with.
const FORMS: &str = "\
    ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- sk- sk_ rk_ xox xapp- AKIA ASIA AIza ya29. eyJ \
    npm_ pypi- hf_ dop_v1_ SG. AGE-SECRET-KEY-";

/// The shortest token of any of the forms.
const SHORTEST: usize = 16;

/// Programs, or their verbs, and what stands before their secret: an option, or a word.
const PROGRAMS: &[(&str, &str)] = &[
    ("mysql", "-p"),
    ("mysqldump", "-p"),
    ("mysqladmin", "-p"),
    ("mariadb", "-p"),
    ("sshpass", "-p"),
    ("login", "-p"),
    ("redis-cli", "-a"),
    ("curl", "-b"),
    ("openssl", "-k"),
    ("vault", "login"),
    ("secret set", "-b"),
    ("secret set", "--body"),
];

/// Commands that read a secret which is piped to them.
const READERS: &[&str] = &["sudo -S", "docker login", "gh auth login", "gh secret set"];

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn names_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    SECRET.split(' ').any(|part| word.contains(part))
        || (word.ends_with("key") && word.len() > 3)
        || matches!(word.rsplit(['-', '.']).next(), Some("pass" | "pw"))
}

/// Whether a bare word followed by a blank announces a value: an option, or a
/// name as variables have it. In prose, `token` is only a word.
fn is_name(word: &str) -> bool {
    let is_variable = word.contains('_') || word.chars().all(|c| c.is_ascii_uppercase());
    word.starts_with('-') || (is_variable && !word.contains('.'))
}

/// `-u`, `-sSu`, `--user` or `--auth`, whose value is a secret when it is `user:password`.
fn takes_user(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--") && word.ends_with('u');
    is_cluster || word.ends_with("-user") || word == "--auth"
}

#[derive(Clone, Copy, PartialEq)]
enum Gap {
    Blank,
    Equals,
    Colon,
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    hidden: String,
    /// The quote around the present place.
    quote: Option<char>,
    /// The program of this command, if it is one of [`PROGRAMS`].
    program: Option<&'static str>,
}

impl<'t> Scan<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn copy(&mut self, bytes: usize) {
        self.hidden += &self.rest()[..bytes];
        self.at += bytes;
    }

    fn hide(&mut self, bytes: usize) {
        if bytes > 0 {
            self.hidden += MASK;
            self.at += bytes;
        }
    }

    /// How long the value is that begins here; between quotes a backslash may be the text's own.
    fn value_len(&self) -> usize {
        let rest = self.rest();
        match self.quote {
            None => unescaped(rest, ends_value),
            Some(_) => rest.find(ends_value).unwrap_or(rest.len()),
        }
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.copy(rest.len() - rest.trim_start_matches([' ', '\t']).len());
    }

    fn track(&mut self, mark: char) {
        match mark {
            '\'' | '"' if self.quote == Some(mark) => self.quote = None,
            '\'' | '"' if self.quote.is_none() => self.quote = Some(mark),
            _ => {}
        }
    }

    /// A character that is part of no word.
    fn mark(&mut self, mark: char) {
        self.track(mark);
        if matches!(mark, ';' | '|' | '&' | '\n') {
            self.program = None;
        }
        if let Some(address) = self.rest().strip_prefix("://") {
            self.copy(3);
            let host = address
                .find(|c: char| c == '/' || ends_value(c))
                .unwrap_or(address.len());
            self.hide(address[..host].rfind('@').unwrap_or(0));
        } else {
            self.copy(mark.len_utf8());
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if word.starts_with("-----BEGIN") && rest.contains("PRIVATE KEY") {
            return self.hide(rest.len());
        }
        if word.len() >= SHORTEST && FORMS.split(' ').any(|form| word.starts_with(form)) {
            let more = |c: char| is_word(c) || matches!(c, '+' | '/' | '=');
            return self.hide(rest.find(|c| !more(c)).unwrap_or(rest.len()));
        }
        if matches!(word, "echo" | "printf")
            && let Some((said, reader)) = rest.split_once('|')
            && !said.contains([';', '&', '\n'])
            && READERS
                .iter()
                .any(|known| reader.trim_start().starts_with(known))
        {
            let end = self.at + said.trim_end().len();
            self.copy(word.len());
            self.blanks();
            return self.hide(end.saturating_sub(self.at));
        }
        match self.flag(word) {
            Some(flag) if word.len() > flag.len() => {
                self.copy(flag.len());
                self.hide(self.value_len());
            }
            _ => {
                self.copy(word.len());
                self.after(word);
            }
        }
        let is_it = |program: &str| {
            let behind = rest.strip_prefix(program);
            behind.is_some_and(|behind| !behind.starts_with(is_word))
        };
        // `login` is a word of `vault` and a program, so it is one only from here on.
        if let Some((program, _)) = PROGRAMS.iter().find(|(program, _)| is_it(program)) {
            self.program = Some(program);
        }
    }

    /// The option of the program with which a word begins.
    fn flag(&self, word: &str) -> Option<&'static str> {
        let of_program = PROGRAMS
            .iter()
            .filter(|(program, _)| self.program == Some(program));
        let mut flags = of_program.map(|(_, flag)| *flag);
        flags.find(|flag| word.starts_with(flag) && !word.starts_with("-key"))
    }

    /// Hides the value that a word announces, and where that was an announcement
    /// itself, what follows it.
    fn after(&mut self, mut word: &'t str) {
        while let Some(hidden) = self.value_after(word) {
            word = hidden;
        }
    }

    /// The value, when it was hidden.
    fn value_after(&mut self, word: &str) -> Option<&'t str> {
        let is_flag = self.flag(word) == Some(word);
        let (bytes, gap) = match gap(self.rest()) {
            None if is_flag => (0, Gap::Blank),
            gap => gap?,
        };
        let is_bearer = word.eq_ignore_ascii_case("bearer");
        let is_marked = gap != Gap::Blank || word.ends_with([':', '=']);
        let is_secret = is_flag || is_bearer || names_secret(word) && (is_marked || is_name(word));
        let is_attached_user = gap == Gap::Colon && word.starts_with("-u");
        let is_user = takes_user(word) && gap != Gap::Colon;
        if !(is_secret || is_attached_user || is_user) {
            return None;
        }
        self.rest()[..bytes]
            .chars()
            .for_each(|mark| self.track(mark));
        self.copy(bytes);
        let of_user = is_user && !is_secret;
        Some(self.value(gap, |value| !of_user || value.contains(':'))).filter(|v| !v.is_empty())
    }

    /// Hides the value at the present place, between its quotes where it has
    /// some, and returns it; empty where nothing was hidden.
    fn value(&mut self, gap: Gap, is_secret: impl Fn(&str) -> bool) -> &'t str {
        if gap == Gap::Blank {
            self.blanks();
            if self.rest().starts_with("<<<") {
                self.copy(3);
                self.blanks();
            }
        }
        for scheme in ["bearer ", "basic ", "token ", "digest "] {
            let rest = self.rest();
            if rest
                .get(..scheme.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(scheme))
            {
                self.copy(scheme.len());
                self.blanks();
            }
        }
        // What follows a quote that closes still belongs to the word.
        if let Some(around) = self.quote.filter(|around| self.rest().starts_with(*around)) {
            self.track(around);
            self.copy(around.len_utf8());
        }
        // `$'a\'b'`
        if self.quote.is_none() && self.rest().starts_with("$'") {
            self.copy(1);
        }
        let rest = self.rest();
        let quote = ["\\\"", "\\'", "\"", "'"]
            .into_iter()
            .find(|quote| rest.starts_with(quote));
        let is_own = |quote: &&str| self.quote.is_none_or(|around| !quote.starts_with(around));
        let (begin, end) = match (quote.filter(is_own), self.quote) {
            (Some(quote), _) => {
                let inner = &rest[quote.len()..];
                let len = match quote {
                    "\"" | "'" => unescaped(inner, |c| quote.starts_with(c)),
                    _ => inner.find(quote).unwrap_or(inner.len()),
                };
                (quote.len(), quote.len() + len)
            }
            // A header's value ends with the header.
            (None, Some(around)) if gap == Gap::Colon => {
                (0, rest.find([around, '\n']).unwrap_or(rest.len()))
            }
            (None, _) => (0, self.value_len()),
        };
        let value = &rest[begin..end];
        if !is_secret(value) {
            return "";
        }
        self.copy(begin);
        self.hide(end - begin);
        // The quote that closes the value opens nothing.
        self.copy(begin.min(self.rest().len()));
        value
    }
}

/// What stands between a name and its value: its bytes, and what it is.
fn gap(rest: &str) -> Option<(usize, Gap)> {
    let named = rest.trim_start_matches(['"', '\'', ']', ')', '\\']);
    let marked = named.trim_start_matches([' ', '\t']);
    let (after, gap) = match marked.chars().next() {
        Some('=') => (marked.trim_start_matches(['=', '>']), Gap::Equals),
        Some(':') if !marked.starts_with("::") && !marked.starts_with("://") => {
            (&marked[1..], Gap::Colon)
        }
        _ if named.len() == rest.len() && marked.len() < named.len() => {
            return Some((0, Gap::Blank));
        }
        _ => return None,
    };
    // `NAME= command` is an empty value.
    let is_spread = gap == Gap::Colon || marked.len() < named.len();
    let value = if is_spread {
        after.trim_start_matches([' ', '\t'])
    } else {
        after
    };
    Some((rest.len() - value.len(), gap))
}

fn ends_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '&' | ';' | '|' | ')' | '}' | '<' | '>')
}

/// Where the first such character stands that no backslash takes its meaning from.
fn unescaped(text: &str, is_it: impl Fn(char) -> bool) -> usize {
    let mut is_escaped = false;
    let found = text.find(|c| {
        let counts = !is_escaped && is_it(c);
        is_escaped = c == '\\' && !is_escaped;
        counts
    });
    found.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        assert_eq!(excerpt(command), expected);
    }

    #[test]
    fn only_the_secret_is_hidden() {
        check("A=1 PASSWORD='a b' make x", "A=1 PASSWORD='***' make x");
        check("curl -H 'Cookie: a=b; c=d' h", "curl -H 'Cookie: ***' h");
        check("curl -u me:pw -o x h", "curl -u *** -o x h");
        check("curl 'h?api_key=k&page=2'", "curl 'h?api_key=***&page=2'");
        check(
            r#"curl -d "{\"token\":\"t\",\"a\":1}""#,
            r#"curl -d "{\"token\":\"***\",\"a\":1}""#,
        );
        check(
            "git clone https://u:p@h/x.git",
            "git clone https://***@h/x.git",
        );
        check("mysql -proot db; mkdir -p a", "mysql -p*** db; mkdir -p a");
        check("Authorization: Bearer abc x", "Authorization: Bearer *** x");
        check("TOKEN= make", "TOKEN= make");
        check("mysql -p --password pw", "mysql -p *** ***");
        check("sshpass -p Cookie: pw x", "sshpass -p *** *** x");
        check(
            r#"curl -d "{"token":"t"}" h"#,
            r#"curl -d "{"token":"***"}" h"#,
        );
        check(
            r#"echo {"password": "a b"} x"#,
            r#"echo {"password": "***"} x"#,
        );
        check("TOKEN=$'a\\'b c' make", "TOKEN=$'***' make");
        check(r#"TOKEN="a\"b c" make"#, r#"TOKEN="***" make"#);
        check(r"PASSWORD=a\ b\;c make", "PASSWORD=*** make");
        check("curl --oauth2-bearer x h", "curl --oauth2-bearer *** h");
        check("curl -b 's=a b' -o x h", "curl -b '***' -o x h");
        check(
            "kubectl create secret generic x --from-literal=a=b --from-literal 'c=d e' -o yaml",
            "kubectl create secret generic x --from-literal=*** --from-literal '***' -o yaml",
        );
        check("vault kv put kv/x pw=a", "vault kv put kv/x pw=***");
        check("cargo test tokens::bucket", "cargo test tokens::bucket");
        check(
            "gh secret set A_KEY -b x -R o/r",
            "gh secret set A_KEY *** *** -R o/r",
        );
        check(
            "gh secret list; gh pr create --body x",
            "gh secret list; gh pr create --body x",
        );
    }

    #[test]
    fn a_here_document_is_cut_and_a_here_string_is_not() {
        check("cat > a <<EOF\nbody\nEOF", "cat > a <<EOF");
        check("cat > a <<< word\nls", "cat > a <<< word\nls");
        check("cat > a <<E", "cat > a <<E");
    }
}
