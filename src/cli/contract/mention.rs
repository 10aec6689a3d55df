//! Names and paths as prose and examples write them, with holes for what varies.

use crate::base::text::is_in;
use crate::contract::glob::Pattern;

/// A name or a path in a line.
#[derive(Debug, PartialEq)]
pub(super) struct Mention<'t> {
    /// The line in front of it.
    pub before: &'t str,
    pub text: &'t str,
    pub kind: TextKind,
}

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Prose,
    /// In a block of code: commands are orders, sentences are of a template.
    Code,
}

/// A part of a mention.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    /// `<name>`, `{N}`, `$DIR`, `XX`: something that the text does not say.
    Hole,
    /// `*` and `?`: the same, or nothing.
    Glob,
}

/// Fillings of a hole, so that one of them fits a number, words or a date.
const FILLINGS: [&str; 5] = ["1", "01", "x", "a-b", "260110-add-login"];

/// The words with a dot or a slash in a line.
pub(super) fn mentions(line: &str, kind: TextKind) -> Vec<Mention<'_>> {
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
    let mentions = found.into_iter().map(|(from, to)| Mention {
        before: &line[..from],
        text: without_marks(&line[from..to]),
        kind,
    });
    mentions.filter(Mention::is_name).collect()
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
    let bare = match text.strip_prefix("**") {
        Some(bold) if !bold.starts_with('/') => bold,
        _ => text,
    }
    .trim_end_matches(['.', '?', '_']);
    match bare.strip_suffix("**") {
        Some(bold) if !bold.ends_with('/') => bold.trim_end_matches('.'),
        _ => bare,
    }
}

impl Mention<'_> {
    /// Whether it can be the name of a file of the project, and no words alone.
    fn is_name(&self) -> bool {
        let text = self.text;
        text.contains(['.', '/'])
            && !text.starts_with("~/")
            && !text.contains("...")
            && !text.ends_with('$')
    }

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
        if self.kind == TextKind::Code {
            return false;
        }
        if is_label(self.before) {
            return true;
        }
        let sentence = before
            .rsplit(['.', ';', ':', '|', '('])
            .next()
            .unwrap_or_default();
        let words: Vec<String> = sentence
            .split(|c: char| !c.is_alphanumeric() && c != '\'')
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let mut verbs = words.iter();
        let Some(at) = verbs.rposition(|word| VERBS.contains(&word.as_str())) else {
            return false;
        };
        let before = words[..at].iter().rev();
        let mut leads = before.take_while(|word| !matches!(word.as_str(), "and" | "then"));
        let mut behind = words[at..].iter();
        leads.all(|word| LEADS.contains(&word.as_str()))
            && !behind.any(|word| OTHERWISE.contains(&word.as_str()))
    }
}

/// Whether the words in front are a label such as `**Output**:`, and names behind it at most.
fn is_label(before: &str) -> bool {
    let Some((head, names)) = before.split_once(':') else {
        return false;
    };
    let label = head.trim_matches(|c: char| !c.is_alphanumeric());
    let mut words = names.split([' ', ',', '`']);
    is_in(LABELS, &label.to_ascii_lowercase())
        && words.all(|word| word.contains(['.', '/']) || matches!(word, "" | "and"))
}

const LABELS: &str = "output outputs creates generates produces writes";

/// Files of repositories that no workflow has as its state.
const OF_REPOSITORIES: &str = "\
    agents.md changelog.md claude.md contributing.md gemini.md license.md package.json readme.md \
    security.md skill.md tsconfig.json";

/// Whether a word is the name of a file that a contract could know, without holes.
pub(super) fn is_file_name(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let Some((stem, ending)) = lower.rsplit_once('.') else {
        return false;
    };
    let mut chars = lower.chars();
    stem.starts_with(|c: char| c.is_ascii_alphanumeric())
        && ending.len() <= 5
        && chars.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !is_in(OF_REPOSITORIES, &lower)
}

/// An example of the directories that a glob takes.
pub(super) fn example_of(glob: &str) -> String {
    let candidates = examples(glob).into_iter();
    let pattern = Pattern::parse(glob).ok();
    let mut fitting =
        candidates.filter(|name| pattern.as_ref().is_some_and(|glob| glob.matches(name)));
    fitting.next().unwrap_or_else(|| glob.to_owned())
}

/// The verbs of an order to write.
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

/// The words before such a verb in a sentence that is an order.
const LEADS: [&str; 14] = [
    "you", "must", "should", "will", "then", "and", "to", "always", "finally", "now", "next",
    "also", "step", "please",
];

/// What makes of the mention behind it something else than the object of the word.
const OTHERWISE: [&str; 12] = [
    "from", "per", "using", "with", "in", "as", "based", "read", "see", "than", "like", "for",
];

/// Names that a mention takes, each as one that could be there.
pub(super) fn examples(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    for text in alternatives(text).iter().flat_map(|text| depths(text)) {
        let parts = parts(&text);
        if has_hole(&parts) {
            examples.extend(FILLINGS.map(|filling| fill(&parts, filling, filling)));
            let shortest = fill(&parts, FILLINGS[0], "");
            // No name is empty.
            let is_path = shortest.split('/').all(|part| !part.is_empty());
            examples.extend(is_path.then_some(shortest));
        } else {
            examples.push(text);
        }
    }
    examples
}

/// A glob with `**/` as one directory and as none.
fn depths(text: &str) -> Vec<String> {
    if text.contains("**/") {
        vec![text.replace("**/", "*/"), text.replace("**/", "")]
    } else {
        vec![text.to_owned()]
    }
}

/// A path without a last component of which nothing is known.
pub(super) fn known_part(path: &str) -> &str {
    let at = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    let is_known =
        |part: &Part<'_>| matches!(part, Part::Text(text) if text.contains(char::is_alphanumeric));
    if parts(&path[at..]).iter().any(is_known) {
        path
    } else {
        &path[..at]
    }
}

/// A mention as a glob; `None` where it has no hole.
pub(super) fn glob(text: &str) -> Option<String> {
    let parts = parts(text);
    has_hole(&parts).then(|| fill(&parts, "*", "*"))
}

fn has_hole(parts: &[Part<'_>]) -> bool {
    parts.contains(&Part::Hole) || parts.contains(&Part::Glob)
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
                parts.push(match text.as_bytes()[at] {
                    b'*' | b'?' => Part::Glob,
                    _ => Part::Hole,
                });
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
            let is_word =
                is_edge(text[..at].chars().next_back()) && is_edge(rest[length..].chars().next());
            if is_word { length } else { 0 }
        }
        _ => 0,
    }
}

fn fill(parts: &[Part<'_>], filling: &str, of_glob: &str) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => *text,
        Part::Hole => filling,
        Part::Glob => of_glob,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_what_is_in_the_home_are_left_out() {
        for (line, expected) in [
            (
                "_Full details: .planning/ROADMAP.md_",
                [".planning/ROADMAP.md"].as_slice(),
            ),
            ("**`docs/a.md`**.", &["docs/a.md"]),
            ("kept in ~/.taskmaster/state.json", &[]),
            ("see /x/~/a.md", &["/x/~/a.md"]),
            ("`src/__init__.py`", &["src/__init__.py"]),
        ] {
            let found: Vec<_> = mentions(line, TextKind::Prose)
                .into_iter()
                .map(|found| found.text)
                .collect();
            assert_eq!(found, expected, "{line}");
        }
    }
}
