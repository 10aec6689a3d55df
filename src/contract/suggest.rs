//! The allowed name that is most likely intended by one that is not allowed.

mod words;

use std::borrow::Cow;

use strsim::osa_distance;

use crate::base::path;
use crate::contract::edition::Edition;
use crate::contract::slug::{Shape, Slug};
use crate::contract::table::{Classification, Contract, Name, Row};
use words::Words;

/// No file system takes a longer name, and none resembles it; the distance of
/// two names costs the product of their lengths.
const LONGEST: usize = 255;

/// The most typing errors with which a name is still recognized.
const MOST_EDITS: usize = 3;

/// Finds the nearest allowed name of a contract. A wrong name is read twice: by its letters
/// (case, spelling, ending, slips of the keyboard), then by its words. Prose that fits neither
/// way is led to the contract's place for notes. No name is better than a wrong one.
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
    let rows = contract.rows.iter().filter(|row| row.is_offered(edition));
    let search = Search {
        contract,
        edition,
        rows: rows
            .filter(|row| match row.name {
                Name::Exact(name) => dir_of(name) == dir,
                _ => true,
            })
            .filter(|row| may_write(row))
            .collect(),
        entry,
        dir,
        spelled: path::below(dir, &spell(name)),
    };
    if entry.len() > LONGEST {
        return search.notes();
    }
    let same = search.other_letters(entry);
    if same.is_some() || is_leftover(name) {
        return same;
    }
    // Of a name that the contract has as a wrong one it says itself what is right.
    let is_known = matches!(contract.classify(entry, edition), Classification::Row(_));
    match search.by_letters() {
        Some((edits, meant)) if edits <= 1 => Some(meant),
        _ if is_known || search.is_copy() => None,
        meant => search
            .transposed()
            .or(meant.map(|(_, meant)| meant))
            .or_else(|| search.by_words())
            .or_else(|| search.notes()),
    }
}

/// Whether a name says that the file is a copy, a log or a leftover of another.
fn is_leftover(name: &str) -> bool {
    const ENDINGS: &str = "backup bak diff lock log new old orig out rej swp tmp";
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    name.ends_with('~') || ending.is_some_and(|ending| is_in_any_case(ENDINGS, ending))
}

/// Whether a name is that of a text for people, by its ending; a hidden file is none.
fn is_prose(name: &str) -> bool {
    const ENDINGS: &str = "adoc markdown md org rst text txt";
    const NO_PROSE: &str = "core credentials dockerfile htpasswd id_dsa id_ecdsa id_ed25519 id_rsa makefile netrc \
                            passwd shadow";
    match name.rsplit_once('.') {
        None => !is_in_any_case(NO_PROSE, name),
        Some((stem, ending)) => !stem.is_empty() && is_in_any_case(ENDINGS, ending),
    }
}

/// Whether a file of this name is of a kind that a contract has names for: prose, or what ends
/// as one of them. Pictures, secrets, scripts and leftovers are not.
pub(crate) fn is_document(contract: &Contract<'_>, name: &str) -> bool {
    let (stem, ending) = split_ending(name);
    let mut rows = contract.rows.iter();
    let is_of_kind =
        is_prose(name) || (!stem.is_empty() && rows.any(|row| has_ending(&row.name, ending)));
    is_of_kind && !is_leftover(name)
}

/// Whether files of a row's name end so.
fn has_ending(name: &Name<'_>, ending: &str) -> bool {
    match name {
        Name::Exact(known) | Name::Wild(known) => split_ending(known).1 == ending,
        Name::Slug(slug) => slug
            .endings
            .iter()
            .any(|known| split_ending(known).1 == ending),
        Name::Glob(_) => false,
    }
}

fn is_in_any_case(words: &str, word: &str) -> bool {
    let mut known = words.split_ascii_whitespace();
    known.any(|known| known.eq_ignore_ascii_case(word))
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

/// The words of a name without its ending.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let (stem, _) = split_ending(name);
    stem.split(['-', '.', '_', ' '])
        .filter(|word| !word.is_empty())
}

/// Whether one ending is easily written for another: both of prose, or a slip apart.
fn are_alike(ending: &str, known: &str) -> bool {
    let is_of_prose = |ending: &str| is_prose(&format!("x.{ending}"));
    osa_distance(ending, known) <= 1 || (is_of_prose(ending) && is_of_prose(known))
}

struct Search<'a> {
    contract: &'a Contract<'a>,
    edition: Edition,
    /// Those that are offered, and whose names lie in the entry's directory.
    rows: Vec<&'a Row<'a>>,
    entry: &'a str,
    dir: &'a str,
    /// The entry as contracts write names, in its own case.
    spelled: String,
}

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
        match self.contract.classify(entry, self.edition) {
            Classification::Row(row)
                if self.rows.iter().any(|offered| std::ptr::eq(*offered, row)) =>
            {
                Some(entry.to_owned())
            }
            _ => None,
        }
    }

    /// The contract's place for notes, for prose.
    fn notes(&self) -> Option<String> {
        if !is_prose(self.entry) {
            return None;
        }
        self.allowed(self.contract.fallback?)
    }

    /// `roadmap.md` → `ROADMAP.md`
    fn other_letters(&self, entry: &str) -> Option<String> {
        let mut names = self.names();
        let same = names.find(|name| name.eq_ignore_ascii_case(entry));
        same.map(str::to_owned)
    }

    /// The first reading, with the number of slips in it.
    fn by_letters(&self) -> Option<(usize, String)> {
        let certain = self.by_the_rules().or_else(|| self.other_ending());
        certain.map(|name| (0, name)).or_else(|| self.slip())
    }

    /// `review_auth.md` → `review-auth.md`, `review/group-03.md` → `review/3.md`
    fn by_the_rules(&self) -> Option<String> {
        let lower = self.spelled.to_ascii_lowercase();
        self.allowed(&self.spelled)
            .or_else(|| self.allowed(&lower))
            .or_else(|| self.other_letters(&lower))
            .or_else(|| self.slugs().find_map(|slug| respelled(slug, self.entry)))
    }

    /// `plan.txt` → `plan.md`, `review.jsn` → `review.json`
    fn other_ending(&self) -> Option<String> {
        let (stem, given) = split_ending(&self.spelled);
        self.names()
            .filter(|name| {
                let (known, ending) = split_ending(name);
                known.eq_ignore_ascii_case(stem) && are_alike(given, ending)
            })
            .min_by_key(|name| osa_distance(split_ending(name).1, given))
            .map(str::to_owned)
    }

    /// A name within a few typing errors, one for five letters, or one of a pattern whose prefix
    /// is: the fewest edits and the most alike in length first.
    fn slip(&self) -> Option<(usize, String)> {
        let lower = self.spelled.to_ascii_lowercase();
        let names = self.names().filter_map(|name| {
            let edits = typing_errors(&lower, &lower_case(name))?;
            Some((edits, Cow::Borrowed(name)))
        });
        let variants = self
            .slugs()
            .filter_map(|slug| variant(slug, &lower))
            .map(|(edits, name)| (edits, Cow::Owned(name)));
        let nearest = names
            .chain(variants)
            .filter(|(edits, name)| *edits <= (name.len() / 5).clamp(1, MOST_EDITS))
            .min_by_key(|(edits, name)| (*edits, name.len().abs_diff(lower.len())));
        nearest.map(|(edits, name)| (edits, name.into_owned()))
    }

    /// `auth-review.md` → `review-auth.md`: the name of a pattern whose prefix is at its end.
    fn transposed(&self) -> Option<String> {
        let (stem, ending) = self.spelled.rsplit_once('.')?;
        let mut words: Vec<&str> = stem.split('-').collect();
        (1..words.len().min(6)).find_map(|_| {
            words.rotate_left(1);
            let name = format!("{}.{ending}", words.join("-")).to_ascii_lowercase();
            let mut slugs = self.slugs().filter(|slug| !slug.prefix.is_empty());
            slugs.any(|slug| slug.matches(&name)).then_some(name)
        })
    }

    /// Whether a word says that the file is a copy or a log of another: `plan-old.md`.
    fn is_copy(&self) -> bool {
        const COPY: &str = "backup bak copy log new old orig output tmp";
        words(&self.spelled).any(|word| is_in_any_case(COPY, word))
    }

    /// The second reading: `plan-x.md` → `plan.md`, `summary-impl.md` → `impl-summary.md`,
    /// `scratch.md` → `scratchpad.md`. All words of one are among the other's, and of no other
    /// name's as well.
    fn by_words(&self) -> Option<String> {
        let own = Words::of(self.spelled.get(self.dir.len()..)?);
        let mut alike: Vec<(usize, &str)> = self
            .names()
            .filter_map(|name| {
                let known = Words::of(name.get(self.dir.len()..)?);
                Some((own.apart_from(&known)?, name))
            })
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

fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// How many typing errors are between two names; `None` where they are more than count. Most
/// names share too few letters, which costs less to see than the distance.
fn typing_errors(name: &str, other: &str) -> Option<usize> {
    let is_far = name.len().abs_diff(other.len()) > MOST_EDITS
        || n_foreign(name, other).max(n_foreign(other, name)) > MOST_EDITS;
    if is_far {
        return None;
    }
    Some(osa_distance(name, other)).filter(|errors| *errors <= MOST_EDITS)
}

/// How many letters of a name another one has not, or not as often; of ASCII alone, where a
/// letter is a byte.
fn n_foreign(name: &str, other: &str) -> usize {
    let mut left = [0_u16; 128];
    for byte in other.bytes().filter(u8::is_ascii) {
        left[usize::from(byte)] += 1;
    }
    let foreign = name.bytes().filter(u8::is_ascii).filter(|byte| {
        let left = &mut left[usize::from(*byte)];
        let is_foreign = *left == 0;
        *left = left.saturating_sub(1);
        is_foreign
    });
    foreign.count()
}

/// Writes the middle of a name, between its prefix and its ending, in the pattern's form.
fn respelled(slug: &Slug, entry: &str) -> Option<String> {
    if slug.prefix.is_empty() {
        return None;
    }
    let rest = entry.strip_prefix(slug.prefix)?;
    let (_, given) = split_ending(rest);
    slug.endings.iter().find_map(|ending| {
        let is_near = rest == given || are_alike(given, ending.trim_start_matches('.'));
        let body = rest.strip_suffix(ending).or_else(|| match slug.shape {
            Shape::Positive if is_near => rest.split('.').next(),
            _ => None,
        })?;
        let body = match slug.shape {
            // Another number's file would be wrong.
            Shape::Positive => {
                let digits = body
                    .trim_start_matches(|c: char| !c.is_ascii_digit())
                    .trim_start_matches('0');
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
    let distance = typing_errors(prefix, slug.prefix)?;
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
            ("architecture-plan.md", "scratchpad.md"),
            ("context.md", "scratchpad.md"),
            ("architecture.md", "scratchpad.md"),
            ("test-plan.md", "scratchpad.md"),
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
        for entry in ".env screenshot.png junit.xml coverage.xml run.sh migrate.sh query.sql a.py \
                      0001-y.patch results.csv data.jsonl .gitkeep .DS_Store plan.png review.sh \
                      baseline.json id_rsa.pem dump.sqlite id_rsa id_ed25519 Makefile"
            .split_whitespace()
        {
            check("devt", entry, None);
        }
        check("groups", "review/3.png", None);
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
