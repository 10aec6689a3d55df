//! The allowed name that a refused one most likely meant.

use strsim::damerau_levenshtein;

use crate::base::path;
use crate::base::text::is_in;
use crate::contract::edition::Edition;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Classification, Contract, Name, Row};

/// No file system takes a longer name, and none resembles it; the distance of
/// two names costs the product of their lengths.
const LONGEST: usize = 255;

/// Finds the nearest allowed name of a contract, from the surest reading to the vaguest: the
/// same name in other letters, spelled by the rules, with another ending, a slip of the
/// keyboard, the same words, and at last the contract's place for notes. What is no document
/// has none, and no name is better than a wrong one.
///
/// Only names of rows that `may_write` holds for are offered, so that one refusal
/// does not lead to the next.
pub fn nearest(
    contract: &Contract<'_>,
    entry: &str,
    edition: Edition,
    may_write: &dyn Fn(&Row<'_>) -> bool,
) -> Option<String> {
    let (dir, name) = entry.rsplit_once('/').unwrap_or(("", entry));
    let is_near = |row: &&Row<'_>| match row.name {
        Name::Exact(name) => dir_of(name) == dir,
        _ => true,
    };
    let rows = contract.rows.iter().filter(|row| row.is_offered(edition));
    let search = Search {
        contract,
        edition,
        rows: rows.filter(is_near).filter(|row| may_write(row)).collect(),
        dir,
        spelled: path::below(dir, &spell(name)),
    };
    let notes = || search.allowed(contract.fallback?);
    if entry.len() > LONGEST {
        return notes();
    }
    let same = search.other_letters(entry);
    if same.is_some() || is_leftover(entry) {
        return same;
    }
    let sure = search
        .by_the_rules(entry)
        .or_else(|| search.other_ending())
        .or_else(|| search.slip(1));
    // Of a name that the contract has as a wrong one it says itself what is right.
    let is_known = matches!(contract.standing(entry, edition), Classification::Row(_));
    if sure.is_some() || is_known || search.is_copy() {
        return sure;
    }
    search
        .turned()
        .or_else(|| search.slip(MOST_EDITS))
        .or_else(|| search.same_words())
        .or_else(notes)
}

/// Whether a name says that the file is a copy, a log or a leftover of another.
pub(crate) fn is_leftover(name: &str) -> bool {
    const ENDINGS: &str = "backup bak diff lock log new old orig out rej swp tmp";
    let name = name.to_ascii_lowercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    name.ends_with('~') || ending.is_some_and(|ending| is_in(ENDINGS, ending))
}

/// The directory of an entry; empty for the site itself.
pub(crate) fn dir_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Writes a name as contracts do: `-` between words, and nothing else but letters, digits and
/// dots.
fn spell(name: &str) -> String {
    let mut spelled = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '_' | ' ' | '-' if spelled.ends_with('-') => {}
            '_' | ' ' | '-' => spelled.push('-'),
            c if c.is_ascii_alphanumeric() || c == '.' => spelled.push(c),
            _ => {}
        }
    }
    spelled
}

/// A name and its ending, without the dot.
fn split_ending(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// The words of a name, in lower case and without its ending, and the ending.
fn words(name: &str) -> (Vec<String>, String) {
    let name = spell(name).to_ascii_lowercase();
    let (stem, ending) = split_ending(&name);
    let words = stem.split(['-', '.']).filter(|word| !word.is_empty());
    (words.map(str::to_owned).collect(), ending.to_owned())
}

struct Search<'a> {
    contract: &'a Contract<'a>,
    edition: Edition,
    /// Those that are offered, and whose names lie in the entry's directory.
    rows: Vec<&'a Row<'a>>,
    dir: &'a str,
    /// The entry as contracts write names, in its own case.
    spelled: String,
}

/// The most typing errors that still let a name be meant.
const MOST_EDITS: usize = 3;

impl<'a> Search<'a> {
    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.rows.iter().filter_map(|row| match row.name {
            Name::Exact(name) => Some(name),
            _ => None,
        })
    }

    fn slugs(&self) -> impl Iterator<Item = &'a Slug> {
        self.rows.iter().filter_map(|row| match row.name {
            Name::Slug(slug) => Some(slug),
            _ => None,
        })
    }

    /// The entry itself where a tool call may write it.
    fn allowed(&self, entry: &str) -> Option<String> {
        match self.contract.standing(entry, self.edition) {
            Classification::Row(row)
                if self.rows.iter().any(|offered| std::ptr::eq(*offered, row)) =>
            {
                Some(entry.to_owned())
            }
            _ => None,
        }
    }

    /// `roadmap.md` → `ROADMAP.md`
    fn other_letters(&self, entry: &str) -> Option<String> {
        let mut names = self.names();
        let same = names.find(|name| name.eq_ignore_ascii_case(entry));
        same.map(str::to_owned)
    }

    /// `review_auth.md` → `review-auth.md`, `review/group-03.md` → `review/3.md`
    fn by_the_rules(&self, entry: &str) -> Option<String> {
        let lower = self.spelled.to_ascii_lowercase();
        self.allowed(&self.spelled)
            .or_else(|| self.allowed(&lower))
            .or_else(|| self.other_letters(&lower))
            .or_else(|| self.slugs().find_map(|slug| respelled(slug, entry)))
    }

    /// `plan.txt` → `plan.md`, `review.jsn` → `review.json`
    fn other_ending(&self) -> Option<String> {
        let (stem, given) = split_ending(&self.spelled);
        let of_stem = |name: &&str| split_ending(name).0.eq_ignore_ascii_case(stem);
        let edits = |name: &&str| damerau_levenshtein(split_ending(name).1, given);
        let nearest = self.names().filter(of_stem).min_by_key(edits);
        nearest.map(str::to_owned)
    }

    /// A name within a few typing errors, one for five letters, or one of a pattern whose prefix
    /// is: the fewest edits and the most alike in length first.
    fn slip(&self, at_most: usize) -> Option<String> {
        let lower = self.spelled.to_ascii_lowercase();
        let is_alike = |name: &&str| name.len().abs_diff(lower.len()) <= MOST_EDITS;
        let names = self.names().filter(is_alike).map(|name| {
            let edits = damerau_levenshtein(&lower, &name.to_ascii_lowercase());
            (edits, name.to_owned())
        });
        let variants = self.slugs().filter_map(|slug| variant(slug, &lower));
        let nearest = names
            .chain(variants)
            .filter(|(edits, name)| *edits <= (name.len() / 5).clamp(1, at_most))
            .min_by_key(|(edits, name)| (*edits, name.len().abs_diff(lower.len())));
        nearest.map(|(_, name)| name)
    }

    /// `auth-review.md` → `review-auth.md`: the name of a pattern whose prefix stands behind.
    fn turned(&self) -> Option<String> {
        let (stem, ending) = self.spelled.rsplit_once('.')?;
        let mut words: Vec<&str> = stem.split('-').collect();
        (1..words.len().min(6)).find_map(|_| {
            words.rotate_left(1);
            let turned = format!("{}.{ending}", words.join("-")).to_ascii_lowercase();
            let mut slugs = self.slugs().filter(|slug| !slug.prefix.is_empty());
            slugs.any(|slug| slug.matches(&turned)).then_some(turned)
        })
    }

    /// Whether a word says that the file is a copy or a log of another: `plan-old.md`.
    fn is_copy(&self) -> bool {
        const COPY: &str = "backup bak copy log new old orig output tmp";
        let (words, _) = words(&self.spelled);
        words.iter().any(|word| is_in(COPY, word))
    }

    /// `plan-x.md` → `plan.md`, `summary-impl.md` → `impl-summary.md`, `scratch.md` →
    /// `scratchpad.md`: all words of one are among the other's, and of no other name's as well.
    fn same_words(&self) -> Option<String> {
        let (own, ending) = words(self.spelled.get(self.dir.len()..)?);
        if own.is_empty() {
            return None;
        }
        let distance = |name: &str| {
            let (known, known_ending) = words(name.get(self.dir.len()..)?);
            let shared = |from: &[String], among: &[String]| {
                let is_among = |word: &&String| among.iter().any(|other| are_one(word, other));
                from.iter().filter(is_among).count()
            };
            let (here, there) = (shared(&own, &known), shared(&known, &own));
            let is_within = here == own.len() || there == known.len() && !known.is_empty();
            let others = own.len() - here + known.len() - there;
            let is_other = known_ending != ending;
            // A few of its words in a file of another kind say nothing.
            (is_within && !(is_other && others > 0)).then_some((others, is_other))
        };
        let mut alike: Vec<_> = self
            .names()
            .filter_map(|name| Some((distance(name)?, name)))
            .collect();
        alike.sort_unstable();
        match alike.as_slice() {
            [(first, name), rest @ ..] if rest.first().is_none_or(|(next, _)| next != first) => {
                Some((*name).to_owned())
            }
            _ => None,
        }
    }
}

/// Whether two words are the same, or one is short for the other.
fn are_one(word: &str, other: &str) -> bool {
    let is_short = |short: &str, long: &str| short.len() >= 4 && long.starts_with(short);
    word == other || is_short(word, other) || is_short(other, word)
}

/// Writes what stands between a pattern's prefix and its ending as the pattern wants it.
fn respelled(slug: &Slug, entry: &str) -> Option<String> {
    let rest = entry
        .strip_prefix(slug.prefix)
        .filter(|_| !slug.prefix.is_empty())?;
    slug.endings.iter().find_map(|ending| {
        let body = rest.strip_suffix(ending).or_else(|| match slug.shape {
            Shape::Positive => rest.split('.').next(),
            _ => None,
        })?;
        let body = match slug.shape {
            // Another number's file would be wrong.
            Shape::Positive => {
                let digits = body.trim_start_matches(|c: char| !c.is_ascii_digit());
                let digits = digits.trim_start_matches('0');
                let end = digits.find(|c: char| !c.is_ascii_digit());
                digits[..end.unwrap_or(digits.len())].to_owned()
            }
            _ => spell(body).trim_matches('-').to_ascii_lowercase(),
        };
        let name = format!("{}{body}{ending}", slug.prefix);
        slug.matches(&name).then_some(name)
    })
}

/// Reads a name as a variant of a pattern whose prefix or ending is misspelled.
fn variant(slug: &Slug, name: &str) -> Option<(usize, String)> {
    let dashes = slug.prefix.matches('-').count();
    if slug.prefix.len() < 5 || dashes == 0 || slug.prefix.contains('/') {
        return None;
    }
    let (cut, _) = name.match_indices('-').nth(dashes - 1)?;
    let (prefix, rest) = name.split_at(cut + 1);
    let (body, given) = split_ending(rest);
    let distance = damerau_levenshtein(prefix, slug.prefix);
    let variants = slug.endings.iter().map(|ending| {
        let is_other = ending.trim_start_matches('.') != given;
        (
            distance + usize::from(is_other),
            format!("{}{body}{ending}", slug.prefix),
        )
    });
    variants
        .filter(|(_, name)| slug.matches(name))
        .min_by_key(|(edits, _)| *edits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::system;

    #[track_caller]
    fn check(system: &str, entry: &str, expected: Option<&str>) {
        let system = system::by_id(system).expect("a built-in system");
        let found = nearest(system.contract(), entry, Edition::V083, &|_| true);
        assert_eq!(found.as_deref(), expected, "{entry}");
    }

    #[test]
    fn devt_names() {
        for (entry, expected) in [
            ("notes.md", "scratchpad.md"),
            ("todo.txt", "scratchpad.md"),
            ("review_auth.md", "review-auth.md"),
            ("Review.md", "review.md"),
            ("slice_A.md", "slice-A.md"),
            ("review_PR367.md", "review-PR367.md"),
            ("impl-summry.json", "impl-summary.json"),
            ("impl_summary.json", "impl-summary.json"),
            ("implementation-summary.json", "impl-summary.json"),
            ("reveiw-auth.md", "review-auth.md"),
            ("review-auth.json", "review-auth.md"),
            ("verification.jsn", "verification.json"),
            ("review.jsonl", "review.json"),
            ("review.markdown", "review.md"),
            ("workflow.yml", "workflow.yaml"),
            ("review-lane-api.json", "review-lane-api.md"),
            ("plan-x.md", "plan.md"),
            ("research-x.md", "research.md"),
            ("spec-x.md", "spec.md"),
            ("auth-review.md", "review-auth.md"),
            ("summary-impl.md", "impl-summary.md"),
            ("architecture-plan.md", "plan.md"),
            ("test-results.md", "scratchpad.md"),
            ("plan.txt", "plan.md"),
            ("verification-rerun.txt", "verification-rerun.md"),
            ("scratch.md", "scratchpad.md"),
            ("debug-notes.md", "scratchpad.md"),
            ("impl.json", "impl-summary.json"),
            ("summary.md", "scratchpad.md"),
            ("decision.md", "decisions.md"),
            ("nonexist.md", "scratchpad.md"),
            ("plan2.md", "plan.md"),
        ] {
            check("devt", entry, Some(expected));
        }
    }

    /// Neither an artifact nor the notes may be written over by a copy or a log.
    #[test]
    fn what_is_no_document_has_none() {
        for entry in "plan.md.bak plan.md~ review.md.orig plan.old.md plan-new.md plan-copy.md \
                      test-output.log test-summary.out review.diff .plan.md.tmp .plan.md.swp \
                      workflow.lock x.LOG"
            .split_whitespace()
        {
            check("devt", entry, None);
        }
        check("devt", "scaner-output.txt", Some("scanner-output.txt"));
    }

    #[test]
    fn other_systems() {
        check("groups", "review/03.md", Some("review/3.md"));
        check("groups", "review/group-2.md", Some("review/2.md"));
        check("groups", "review/12-notes.md", Some("review/12.md"));
        check(
            "groups",
            "test-reports/Group_7.txt",
            Some("test-reports/7.md"),
        );
        check("groups", "review/notes.md", None);
        check("session", "State.json", Some("state.json"));
        check("session", "research.md", Some("research-report.md"));
        check("session", "notes.md", None);
        check("groups", "stuck.md", Some("STUCK.md"));
        check("groups", "Tasks.md", Some("tasks.md"));
        for (entry, expected) in [
            (
                "03_research/code-Token_Refresh/summary.md",
                "03_research/code-token-refresh/summary.md",
            ),
            (
                "07_review/review_reviewer_Logic.yaml",
                "07_review/review_reviewer_logic.yaml",
            ),
        ] {
            check("agentmux", entry, Some(expected));
        }
        check("agentmux", "07_review/review_reviewer_speed.yaml", None);
        check(
            "agent-flow",
            "team_orchestration.local.md",
            Some("team-orchestration.local.md"),
        );
        check(
            "agent-flow",
            "deep_dive.local.md",
            Some("deep-dive.local.md"),
        );
    }
}
