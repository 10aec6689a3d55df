//! Names and paths as prose and examples write them, with holes for what varies.

/// A name or a path in a line.
#[derive(Debug, PartialEq)]
pub(super) struct Mention<'t> {
    /// The line in front of it.
    pub before: &'t str,
    pub text: &'t str,
}

/// A part of a mention.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    /// `<name>`, `{N}`, `$DIR`, `*`, `XX`: something that the text does not say.
    Hole,
}

/// What may stand in a hole, so that one of them fits where numbers, words or dates are meant.
const FILLINGS: [&str; 5] = ["1", "01", "x", "a-b", "260110-add-login"];

/// The words with a dot or a slash in a line.
pub(super) fn mentions(line: &str) -> Vec<Mention<'_>> {
    let (mut found, mut start) = (Vec::new(), None);
    let mut at = 0;
    while at <= line.len() {
        let rest = &line[at..];
        let length = match rest.chars().next() {
            Some('<' | '{' | '[') => bracketed(rest),
            Some(c) if c.is_alphanumeric() || "_.~*?$+-/".contains(c) => Some(c.len_utf8()),
            _ => None,
        };
        match (length, start) {
            (Some(_), None) => start = Some(at),
            (None, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
        let skipped = rest.chars().next().map_or(1, char::len_utf8);
        at += length.unwrap_or(skipped);
    }
    let mention = |(from, to): (usize, usize)| {
        let text = without_marks(&line[from..to]);
        let is_name = text.contains(['.', '/']) && !text.contains("...") && !text.ends_with('$');
        is_name.then_some(Mention {
            before: &line[..from],
            text,
        })
    };
    found.into_iter().filter_map(mention).collect()
}

/// The length of `<…>`, `{…}`, `${…}` or `[…]` in front, if it is closed soon and no closing tag.
fn bracketed(text: &str) -> Option<usize> {
    const LONGEST: usize = 60;
    let close = match text.as_bytes()[0] {
        b'<' => '>',
        b'{' => '}',
        _ => ']',
    };
    let end = text.find(close).filter(|end| *end <= LONGEST)?;
    // `{{name}}`
    let doubled = usize::from(text.starts_with("{{") && text[end + 1..].starts_with('}'));
    (!text[1..end].contains('/')).then_some(end + 1 + doubled)
}

/// A mention without the marks of bold type and the end of the sentence.
fn without_marks(text: &str) -> &str {
    let text = text
        .strip_prefix("**")
        .filter(|rest| !rest.starts_with('/'))
        .unwrap_or(text);
    let text = text.trim_end_matches(['.', '?']);
    match text.strip_suffix("**") {
        Some(bold) if !bold.ends_with('/') => bold.trim_end_matches('.'),
        _ => text,
    }
}

impl<'t> Mention<'t> {
    /// The places at which a path below the root may begin in it.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> {
        let behind = self.text.match_indices(['/', '>', '}']);
        std::iter::once(0).chain(behind.map(|(at, _)| at + 1))
    }

    /// Whether the words in front say that whoever reads them is to write it.
    pub(super) fn is_to_be_written(&self) -> bool {
        let before = self
            .before
            .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '>');
        if before.ends_with('>') || before.ends_with("tee") {
            return true;
        }
        let sentence = before
            .rsplit(['.', ';', ':', '|', '('])
            .next()
            .unwrap_or_default();
        let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'');
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let is_verb = |word: &String| VERBS.contains(&word.as_str());
        let Some(at) = words.iter().rposition(is_verb) else {
            return false;
        };
        let starts = |word: &&String| !matches!(word.as_str(), "and" | "then");
        let mut leads = words[..at].iter().rev().take_while(starts);
        let leads = leads.all(|word| LEADS.contains(&word.as_str()));
        let is_object = !words[at..]
            .iter()
            .any(|word| OTHERWISE.contains(&word.as_str()));
        leads && is_object
    }
}

/// What tells somebody to write.
const VERBS: [&str; 9] = [
    "write",
    "create",
    "save",
    "update",
    "append",
    "produce",
    "output",
    "generate",
    "overwrite",
];

/// What may stand in front of such a word in a sentence that is an order.
const LEADS: [&str; 14] = [
    "you", "must", "should", "will", "then", "and", "to", "always", "finally", "now", "next",
    "also", "step", "please",
];

/// What makes of the mention behind it something else than the object of the word.
const OTHERWISE: [&str; 12] = [
    "from", "per", "using", "with", "in", "as", "based", "read", "see", "than", "like", "for",
];

/// What a mention may stand for, each as a name that could be there.
pub(super) fn examples(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    for text in alternatives(text) {
        let parts = parts(&text);
        match parts.contains(&Part::Hole) {
            true => examples.extend(FILLINGS.map(|filling| fill(&parts, filling))),
            false => examples.push(text),
        }
    }
    examples
}

/// A path without a last component of which nothing is known.
pub(super) fn known_part(path: &str) -> &str {
    let at = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    let is_known =
        |part: &Part<'_>| matches!(part, Part::Text(text) if text.contains(char::is_alphanumeric));
    match parts(&path[at..]).iter().any(is_known) {
        true => path,
        false => &path[..at],
    }
}

/// The glob that a mention stands for; `None` where it has no hole.
pub(super) fn glob(text: &str) -> Option<String> {
    let parts = parts(text);
    parts.contains(&Part::Hole).then(|| fill(&parts, "*"))
}

/// A text for each of its `{a,b}`.
pub(super) fn alternatives(text: &str) -> Vec<String> {
    let braces = text.match_indices('{').find_map(|(open, _)| {
        let inner = text[open + 1..].split('}').next()?;
        let is_list =
            inner.contains(',') && !inner.contains('{') && text[open + 1..].len() > inner.len();
        is_list.then_some((open, inner))
    });
    let Some((open, inner)) = braces else {
        return vec![text.to_owned()];
    };
    let behind = &text[open + inner.len() + 2..];
    let each = inner.split(',');
    each.flat_map(|word| alternatives(&format!("{}{word}{behind}", &text[..open])))
        .collect()
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut at, mut from) = (Vec::new(), 0, 0);
    while at < text.len() {
        let length = hole(text, at);
        match length {
            0 => at += text[at..].chars().next().map_or(1, char::len_utf8),
            length => {
                parts.push(Part::Text(&text[from..at]));
                parts.push(Part::Hole);
                at += length;
                from = at;
            }
        }
    }
    parts.push(Part::Text(&text[from..]));
    parts
}

/// The length of the hole at a place of a text; 0 where there is none.
fn hole(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let run = |is_in: &dyn Fn(char) -> bool| rest.find(|c| !is_in(c)).unwrap_or(rest.len());
    match rest.as_bytes()[0] {
        b'$' if rest.starts_with("${") => 1 + bracketed(&rest[1..]).unwrap_or(0),
        b'$' => {
            1 + rest[1..]
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len() - 1)
        }
        b'<' | b'{' | b'[' => bracketed(rest).unwrap_or(0),
        b'*' | b'?' => run(&|c| matches!(c, '*' | '?')),
        b'D' | b'H' | b'M' | b'N' | b'S' | b'X' | b'Y' => {
            let length = run(&|c| rest.starts_with(c));
            let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            let stands_alone =
                is_edge(text[..at].chars().next_back()) && is_edge(rest[length..].chars().next());
            if stands_alone { length } else { 0 }
        }
        _ => 0,
    }
}

fn fill(parts: &[Part<'_>], filling: &str) -> String {
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Hole => filling.to_owned(),
    };
    parts.iter().map(part).collect()
}
