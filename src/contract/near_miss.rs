//! Misspelled forms of a contract's names, in a directory whose other names are free.

use strsim::damerau_levenshtein;

use crate::base::text::is_in;
use crate::contract::edition::Edition;
use crate::contract::glob::branches;
use crate::contract::table::{Contract, Name, Row};

/// The name of the contract that an entry which no row takes is a misspelled form of: one
/// component differs, and only in case, separators, a plural s, slips of the keyboard, or a mark
/// of a version.
pub(super) fn intended(contract: &Contract<'_>, entry: &str, edition: Edition) -> Option<String> {
    let parts: Vec<&str> = entry.split('/').collect();
    let mut rows = contract.rows.iter().filter(|row| row.is_offered(edition));
    rows.find_map(|row| of_row(row, &parts))
}

fn of_row(row: &Row<'_>, parts: &[&str]) -> Option<String> {
    let texts = match &row.name {
        Name::Exact(name) => vec![(*name).to_owned()],
        Name::Glob(glob) => branches(glob.as_str()),
        Name::Slug(_) | Name::Wild(_) => return None,
    };
    texts.iter().find_map(|text| {
        let known: Vec<&str> = text.split('/').collect();
        let at = parts.iter().zip(&known).position(|(part, known)| {
            part != known && !known.contains(['*', '?', '[', '\\']) && is_near(part, known)
        })?;
        let mut corrected = parts.to_vec();
        corrected[at] = known[at];
        let right = corrected.join("/");
        (row.matches(&right) || row.leads_below(&right)).then_some(right)
    })
}

fn is_near(given: &str, known: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', ' '], "-");
    let (given, known) = (plain(given), plain(known));
    let (given, ending) = split_ending(&given);
    let (known, known_ending) = split_ending(&known);
    if ending != known_ending {
        return false;
    }
    let is_plural = given.trim_end_matches('s') == known.trim_end_matches('s');
    given == known || is_plural || is_slip(given, known) || is_version(given, known, MARKS)
}

/// What says that a file is another version of one.
const MARKS: &str = "backup bak copy final my new old orig updated";

fn split_ending(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// One typing error, or two in a long name. Another number is another file.
fn is_slip(given: &str, known: &str) -> bool {
    let without_digits = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let most = match known.len() {
        0..4 => return false,
        4..10 => 1,
        _ => 2,
    };
    given.len().abs_diff(known.len()) <= most
        && without_digits(given) != without_digits(known)
        && damerau_levenshtein(given, known) <= most
}

/// `deep-dive-v2`, `my-deep-dive.old`: the name with a number or one of the marks, set off.
pub(crate) fn is_version(given: &str, known: &str, marks: &str) -> bool {
    const BETWEEN: [char; 2] = ['-', '.'];
    let Some((before, after)) = given.split_once(known) else {
        return false;
    };
    let is_number = |text: &str| text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit());
    let is_apart = (before.is_empty() || before.ends_with(BETWEEN))
        && (is_number(after) || after.starts_with(BETWEEN));
    let mut parts = before.split(BETWEEN).chain(after.split(BETWEEN));
    is_apart && parts.all(|part| is_in(marks, part) || is_number(part.trim_start_matches('v')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(known: &str, near: &[&str], free: &[&str]) {
        for name in near {
            assert!(is_near(name, known), "`{name}` is near `{known}`");
        }
        for name in free {
            assert!(!is_near(name, known), "`{name}` is not near `{known}`");
        }
    }

    #[test]
    fn a_misspelled_name_is_near_and_a_note_is_not() {
        check(
            "spec.md",
            &[
                "Spec.md",
                "sepc.md",
                "specs.md",
                "spce.md",
                "spec_updated.md",
                "spec-v2.md",
                "spec2.md",
                "my-spec.md",
                "spec.old.md",
                "SPEC-FINAL.md",
            ],
            &[
                "spec.txt",
                "spec-auth.md",
                "aspect.md",
                "special.md",
                "notes.md",
                "spec-2025-10-12.md",
                "spec.md.bak",
            ],
        );
        check(
            "research.md",
            &["reserach.md", "Research.md"],
            &["search.md", "market-research.md"],
        );
        check(
            "data-model.md",
            &["data_model.md", "datamodel.md", "Data-Modle.md"],
            &["model.md"],
        );
        check("checklists", &["checklist", "Checklists"], &["lists"]);
        check("task-1.md", &["tsak-1.md"], &["task-2.md"]);
        check("a.md", &["A.md"], &["b.md"]);
    }
}
