//! The allowed name that a refused one most likely meant.

use strsim::damerau_levenshtein;

use crate::base::path;
use crate::contract::edition::Edition;
use crate::contract::slug::Slug;
use crate::contract::table::{Bucket, Classification, Contract, Name, Row, Writer};

/// No file system takes a longer name, and none resembles it; the distance of
/// two names costs the product of their lengths.
const LONGEST: usize = 255;

/// Finds the nearest allowed name of a contract, from the surest reading to the
/// vaguest: the same name spelled by the rules, a slip of the keyboard, the
/// same words in another order, a name whose first word is an artifact's, and
/// at last the contract's place for notes.
///
/// Only names of rows that `may_write` holds for are offered, so that one refusal
/// does not lead to the next.
pub fn nearest(
    contract: &Contract<'_>,
    entry: &str,
    edition: Edition,
    may_write: &dyn Fn(&Row<'_>) -> bool,
) -> Option<String> {
    if entry.len() > LONGEST {
        return contract.fallback.map(str::to_owned);
    }
    let search = Search {
        contract,
        edition,
        may_write,
    };
    let (dir, name) = entry.rsplit_once('/').unwrap_or(("", entry));
    let separated = separate(name);
    let spelled = spell(&separated);
    let in_its_case = || search.allowed(&path::below(dir, &separated));
    let same = (separated != spelled)
        .then(in_its_case)
        .flatten()
        .or_else(|| search.allowed(&path::below(dir, &spelled)))
        .or_else(|| search.other_ending(dir, &spelled));
    if same.is_some() {
        return same;
    }
    let slips = search.slips(entry, &path::below(dir, &spelled));
    slip(&slips, 1)
        .or_else(|| search.reordered(&spelled))
        .or_else(|| slip(&slips, MOST_EDITS))
        .or_else(|| search.same_first_word(&spelled))
        .or_else(|| search.numbered(dir, &spelled))
        .or_else(|| contract.fallback.map(str::to_owned))
}

/// Writes a name as contracts do, but for its case: `-` between words, no blanks.
fn separate(name: &str) -> String {
    let mut separated = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '_' | ' ' | '-' if separated.ends_with('-') => {}
            '_' | ' ' | '-' => separated.push('-'),
            c if c.is_ascii_alphanumeric() || c == '.' => separated.push(c),
            _ => {}
        }
    }
    separated
}

/// Writes a name whose words are separated the way contracts do.
fn spell(separated: &str) -> String {
    let spelled = separated.to_ascii_lowercase();
    // A number is written without leading zeros where a number is all there is.
    let (stem, ending) = spelled.split_once('.').unwrap_or((&spelled, ""));
    match stem.trim_start_matches('0') {
        number if !number.is_empty() && stem.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{number}.{ending}")
        }
        _ => spelled,
    }
}

struct Search<'a> {
    contract: &'a Contract<'a>,
    edition: Edition,
    may_write: &'a dyn Fn(&Row<'_>) -> bool,
}

impl<'a> Search<'a> {
    /// Whether a tool call may be sent to the row's name.
    fn offers(&self, row: &Row<'_>) -> bool {
        row.editions.hold(self.edition)
            && !matches!(row.writer, Writer::Program | Writer::User)
            && !matches!(row.bucket, Bucket::Ephemeral | Bucket::AdHoc)
            && (self.may_write)(row)
    }

    /// The offered names that `holds` is true of. Asking who may write costs more.
    fn exact_names(&self, holds: impl Fn(&str) -> bool) -> impl Iterator<Item = &'a str> {
        self.contract
            .rows
            .iter()
            .filter_map(move |row| match row.name {
                Name::Exact(name) if holds(name) && self.offers(row) => Some(name),
                _ => None,
            })
    }

    /// The offered patterns that `holds` is true of.
    fn slugs(&self, holds: impl Fn(&Slug) -> bool) -> impl Iterator<Item = &'a Slug> {
        self.contract
            .rows
            .iter()
            .filter_map(move |row| match row.name {
                Name::Slug(slug) if holds(slug) && self.offers(row) => Some(slug),
                _ => None,
            })
    }

    /// The entry itself where a tool call may write it.
    fn allowed(&self, entry: &str) -> Option<String> {
        match self.contract.standing(entry, self.edition) {
            Classification::Row(row) if self.offers(row) => Some(entry.to_owned()),
            _ => None,
        }
    }

    /// `review-auth.json` → `review-auth.md`, `plan.txt` → `plan.md`, `review.jsn` →
    /// `review.json`. A pattern without a prefix takes nearly any words and would
    /// hide a slip.
    fn other_ending(&self, dir: &str, name: &str) -> Option<String> {
        let (stem, given) = name.rsplit_once('.').unwrap_or((name, ""));
        let stem = path::below(dir, stem);
        let known = |row: &&Row<'_>| match row.name {
            Name::Exact(name) => name.starts_with(&stem),
            _ => true,
        };
        // Few rows begin so, and each ending asks them all.
        let rows: Vec<_> = self.contract.rows.iter().filter(known).collect();
        let is_vague = |slug: &Slug, entry: &str| slug.prefix.is_empty() && slug.matches(entry);
        let mut known: Vec<_> = ["md", "json", "yaml", "txt"]
            .into_iter()
            .map(|ending| (ending, format!("{stem}.{ending}")))
            .filter(|(_, entry)| rows.iter().any(|row| row.matches(entry)))
            .filter(|(_, entry)| self.slugs(|slug| is_vague(slug, entry)).next().is_none())
            .collect();
        known.sort_by_cached_key(|(ending, _)| damerau_levenshtein(ending, given));
        known
            .into_iter()
            .find_map(|(_, entry)| self.allowed(&entry))
    }

    /// The names within a few typing errors, and the patterns whose prefix is:
    /// the fewest edits and the most alike in length first.
    fn slips(&self, entry: &str, whole: &str) -> Vec<(usize, String)> {
        let (chars, letters) = (n_chars(whole), letters(whole));
        let is_near = |name: &str| {
            let most = tolerance(name, MOST_EDITS);
            n_chars(name).abs_diff(chars) <= most && are_within(most, letters, self::letters(name))
        };
        let names = self
            .exact_names(is_near)
            .map(|name| (damerau_levenshtein(whole, name), name.to_owned()));
        let variants = self.slugs(|_| true).filter_map(|slug| variant(slug, whole));
        let mut slips: Vec<_> = names
            .chain(variants)
            .filter(|(_, name)| name != entry)
            .collect();
        slips.sort_by_key(|(edits, name)| (*edits, name.len().abs_diff(whole.len())));
        slips
    }

    /// `auth-review.md` → `review-auth.md`, `summary-impl.md` → `impl-summary.md`.
    fn reordered(&self, name: &str) -> Option<String> {
        let (stem, ending) = name.rsplit_once('.')?;
        let mut words: Vec<&str> = stem.split('-').collect();
        if words.len() < 2 || words.len() > 6 {
            return None;
        }
        (1..words.len()).find_map(|_| {
            words.rotate_left(1);
            let turned = format!("{}.{ending}", words.join("-"));
            let is_topical = words.ends_with(&["summary"]);
            if is_topical && self.exact_names(|known| known == turned).next().is_none() {
                return None;
            }
            self.allowed(&turned)
        })
    }

    /// `plan-x.md` → `plan.md`, `test-results.md` → `test-summary.md`.
    fn same_first_word(&self, name: &str) -> Option<String> {
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let first = stem.split('-').next().filter(|word| word.len() >= 4)?;
        let begins_with = |known: &str| {
            if known.as_bytes().first() != first.as_bytes().first() {
                return false;
            }
            let end = known.bytes().position(|byte| matches!(byte, b'-' | b'.'));
            let known_first = &known[..end.unwrap_or(known.len())];
            first == known_first
                || (known_first.len() >= 4
                    && (first.starts_with(known_first) || known_first.starts_with(first)))
        };
        let mut alike: Vec<&str> = self.exact_names(begins_with).collect();
        alike.sort_by_cached_key(|known| {
            let other_ending = known
                .rsplit_once('.')
                .is_none_or(|(_, known_ending)| known_ending != ending);
            (other_ending, damerau_levenshtein(known, name))
        });
        alike.first().map(|known| (*known).to_owned())
    }

    /// `review/group-2.md` → `review/2.md`: in a directory of numbered files, the
    /// one with the number that the name holds. Another number's would be wrong.
    fn numbered(&self, dir: &str, name: &str) -> Option<String> {
        let start = name.find(|c: char| c.is_ascii_digit())?;
        let rest = name[start..].trim_start_matches('0');
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let number = &rest[..end.unwrap_or(rest.len())];
        let prefix = format!("{dir}/");
        self.slugs(|slug| slug.prefix == prefix)
            .flat_map(|slug| slug.endings)
            .find_map(|ending| self.allowed(&format!("{prefix}{number}{ending}")))
    }
}

/// The most typing errors that still let a name be meant.
const MOST_EDITS: usize = 3;

/// How many edits a name may be away.
fn tolerance(name: &str, at_most: usize) -> usize {
    (name.len() / 5).clamp(1, at_most)
}

/// The first of the slips that is near enough.
fn slip(slips: &[(usize, String)], at_most: usize) -> Option<String> {
    let mut near = slips
        .iter()
        .filter(|(edits, name)| *edits <= tolerance(name, at_most));
    near.next().map(|(_, name)| name.clone())
}

/// How many characters a name has.
fn n_chars(name: &str) -> usize {
    if name.is_ascii() {
        name.len()
    } else {
        name.chars().count()
    }
}

/// The letters of a name, as bits; some share one.
fn letters(name: &str) -> u64 {
    name.chars()
        .fold(0, |letters, c| letters | 1 << (u32::from(c) % 64))
}

/// Whether names with these letters can be so few edits apart: an edit brings
/// and takes one letter at most.
fn are_within(edits: usize, one: u64, other: u64) -> bool {
    let missing = (one & !other).count_ones().max((other & !one).count_ones());
    missing as usize <= edits
}

/// Reads a name as a variant of a pattern whose prefix or ending is misspelled.
fn variant(slug: &Slug, name: &str) -> Option<(usize, String)> {
    let dashes = slug.prefix.matches('-').count();
    if slug.prefix.len() < 5 || dashes == 0 || slug.prefix.contains('/') {
        return None;
    }
    let (cut, _) = name.match_indices('-').nth(dashes - 1)?;
    let (prefix, rest) = name.split_at(cut + 1);
    let body = rest.rsplit_once('.').map_or(rest, |(body, _)| body);
    let repaired = slug
        .endings
        .iter()
        .map(|ending| format!("{}{body}{ending}", slug.prefix));
    let distance = damerau_levenshtein(prefix, slug.prefix);
    repaired
        .filter(|candidate| slug.matches(candidate))
        .map(|candidate| {
            (
                distance + usize::from(!candidate.ends_with(rest)),
                candidate,
            )
        })
        .min_by_key(|(distance, _)| *distance)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::systems::system;

    proptest! {
        #[test]
        fn no_name_is_nearer_than_its_letters(one in "[a-e.é-]{0,9}", other in "[a-e.é-]{0,9}") {
            let edits = damerau_levenshtein(&one, &other);
            prop_assert!(are_within(edits, letters(&one), letters(&other)));
        }
    }

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
            ("test-results.md", "test-summary.md"),
            ("plan.txt", "plan.md"),
            ("verification-rerun.txt", "verification-rerun.md"),
            ("scratch.md", "scratchpad.md"),
            ("debug-notes.md", "debug-context.md"),
            ("decision.md", "decisions.md"),
        ] {
            check("devt", entry, Some(expected));
        }
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
