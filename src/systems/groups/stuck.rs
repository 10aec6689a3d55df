//! `STUCK.md`: the groups that wait for a person.

use crate::base::text::is_in;

/// What `STUCK.md` stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// The numbers of the groups, as inclusive ranges.
    groups: Vec<(u32, u32)>,
    /// Why it does not tell which groups it stops.
    pub unclear: Option<String>,
}

impl Stops {
    pub fn contains(&self, group: u32) -> bool {
        let mut ranges = self.groups.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&group))
    }
}

/// Whole numbers after the word "group": `Group 1` is not `Group 10`, and `Group 1.2` is a
/// task of group 1. Lists join with `,` `and` `&`, ranges with `-` or `–`. Text struck
/// through with `~~` and lines with the word RESOLVED stop nothing. Where no line names a
/// group, `Task 1.2` stops group 1.
pub fn read(stuck: Result<Option<String>, String>) -> Stops {
    let text = match stuck {
        Ok(text) => text.unwrap_or_default(),
        Err(why) => {
            return Stops {
                unclear: Some(format!("`STUCK.md` cannot be read: {why}")),
                ..Stops::default()
            };
        }
    };
    let lines: Vec<String> = text
        .lines()
        .filter(|line| !is_resolved(line))
        .map(without_struck)
        .collect();
    let open = lines.join("\n");
    let mut words = [("group", Decimal::Dropped), ("task", Decimal::Needed)].into_iter();
    let word = words.find(|word| !named(&text, *word).is_empty());
    let is_unclear = word.is_none() && !text.trim().is_empty();
    Stops {
        groups: word.map_or(Vec::new(), |word| named(&open, word)),
        unclear: is_unclear.then(|| "`STUCK.md` names no `Group N`".to_owned()),
    }
}

/// The part behind a number's decimal point, which numbers a task.
#[derive(Clone, Copy)]
enum Decimal {
    Dropped,
    Needed,
}

/// The groups in the numbers that follow a word, in any case.
fn named(text: &str, (word, part): (&str, Decimal)) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for line in text.lines() {
        // Emphasis, code marks and `#` may be around a number.
        let plain = line.to_lowercase().replace(['*', '_', '`', '#'], " ");
        for (at, word) in plain.match_indices(word) {
            if !plain[..at].ends_with(char::is_alphanumeric) {
                numbers(&plain[at + word.len()..], part, &mut found);
            }
        }
    }
    found
}

/// Words before RESOLVED that say that it is still to come; `t` ends `isn't`.
const TO_COME: &str = "not t cannot never until unless if once when be";

/// Only the capital word counts, and not where a word before it takes it back: a
/// line wrongly taken as resolved would let work go on past a stop.
fn is_resolved(line: &str) -> bool {
    let words = line.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.collect();
    let mark = words.iter().position(|word| *word == "RESOLVED");
    mark.is_some_and(|at| {
        let mut before = words[..at].iter();
        !before.any(|word| is_in(TO_COME, &word.to_ascii_lowercase()))
    })
}

fn without_struck(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("~~")
        && let Some((_, behind)) = after.split_once("~~")
    {
        kept.push_str(before);
        kept.push(' ');
        rest = behind;
    }
    kept + rest
}

/// Reads the list behind a word, in lower case.
fn numbers(text: &str, part: Decimal, found: &mut Vec<(u32, u32)>) {
    let after_s = text.strip_prefix('s');
    let dash = match after_s {
        Some(_) => Dash::Spaced,
        None => Dash::Tight,
    };
    let text = after_s.unwrap_or(text);
    let mut cursor = text.trim_start_matches([' ', '\t', ':', '-']);
    let mut is_first = true;
    while let Some((number, rest)) = number(cursor, part) {
        let (item, rest) = match range_end(rest, dash) {
            None => (Some((number, number)), rest),
            Some((last, rest)) if range_end(rest, Dash::Tight).is_none() => {
                (Some((number.min(last), number.max(last))), rest)
            }
            // A date or another dashed number; it cannot be a list's item.
            Some(_) => (is_first.then_some((number, number)), ""),
        };
        found.extend(item);
        is_first = false;
        let Some(next) = separator(rest) else { break };
        cursor = next;
    }
}

/// A number that no letter follows, and the text after it.
fn number(text: &str, part: Decimal) -> Option<(u32, &str)> {
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = text.split_at(n_digits);
    let mut rest = after;
    while let Some(task) = rest
        .strip_prefix('.')
        .filter(|t| t.starts_with(|c: char| c.is_ascii_digit()))
    {
        rest = task.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let fits = match part {
        Decimal::Dropped => true,
        Decimal::Needed => rest.len() < after.len(),
    };
    let is_whole = fits && !rest.starts_with(char::is_alphanumeric);
    is_whole.then_some((number.parse().ok()?, rest))
}

/// Whether spaces may be around the dash of a range.
#[derive(Clone, Copy)]
enum Dash {
    Tight,
    Spaced,
}

/// The end of a range. Spaces around the dash need the plural: in
/// `Group 3 - 5 tests fail` the dash joins sentences.
fn range_end(text: &str, dash: Dash) -> Option<(u32, &str)> {
    let trim = |text| match dash {
        Dash::Spaced => str::trim_start(text),
        Dash::Tight => text,
    };
    number(trim(trim(text).strip_prefix(['-', '–'])?), Decimal::Dropped)
}

fn separator(text: &str) -> Option<&str> {
    let start = text.trim_start();
    let after_comma = start.strip_prefix(',').map(str::trim_start);
    let rest = after_comma.unwrap_or(start);
    let after_word = rest.strip_prefix('&').or_else(|| rest.strip_prefix("and "));
    after_word.map(str::trim_start).or(after_comma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[u32]) {
        let stops = read(Ok(Some(text.to_owned())));
        let found: Vec<u32> = (0..3000).filter(|group| stops.contains(*group)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn tasks_count_where_no_group_is_named() {
        check("task 3.2 and Tasks **4.1**, 5.2.1 wait", &[3, 4, 5]);
        check("Tasks 3.1-3.4 & 6.1-7.2", &[3, 6, 7]);
        check("task 3 of 7, Task 3.x, multitask 3.1", &[]);
        check("Group 1 waits\nTask 3.2 fails", &[1]);
        check("Group 3: RESOLVED\nTask 3.2 failed", &[]);
        check(
            "Task 3.2: RESOLVED\n~~Task 4.1~~\nthe group of Task 5.1",
            &[5],
        );
    }

    #[test]
    fn a_text_that_names_nothing_is_unclear() {
        let unclear = |stuck| read(stuck).unclear;
        let text = |text: &str| Ok(Some(text.to_owned()));
        for clear in [
            Ok(None),
            text(" \n"),
            text("~~Group 3~~"),
            text("Task 3.1: RESOLVED"),
        ] {
            assert_eq!(unclear(clear.clone()), None, "{clear:?}");
        }
        for vague in ["# Stuck\nthe login fails", "3.2 fails", "Group A, task 3"] {
            let expected = "`STUCK.md` names no `Group N`";
            assert_eq!(unclear(text(vague)).as_deref(), Some(expected), "{vague}");
        }
        let why = unclear(Err("it is not UTF-8".to_owned())).unwrap();
        assert_eq!(why, "`STUCK.md` cannot be read: it is not UTF-8");
    }

    #[test]
    fn whole_numbers_after_the_word_count() {
        check("# Group 10 is stuck", &[10]);
        check("GROUP 3, group 4", &[3, 4]);
        check("**Group** `3`: blocked since 2026-05-15", &[3]);
        check("Group #3 / group-4 / group_5 / group: 6", &[3, 4, 5, 6]);
        check("task 1.2 of Group 1.2.", &[1]);
        check("3 groups, 2 tests", &[]);
        check("group 3rd, group x, grouping 4, subgroup 5, Gruppe 6", &[]);
        check("3 tests of 12 fail since 2026-05-15", &[]);
        check("Group 99999999999", &[]);
        check("Łódź group 3 — ok", &[3]);
    }

    #[test]
    fn lists_and_ranges_count() {
        check("Groups 1, 2 and 4", &[1, 2, 4]);
        check("Groups 1, 2, and 4 & 6", &[1, 2, 4, 6]);
        check("Groups **1** and **3**", &[1, 3]);
        check("Groups 2-4, 7", &[2, 3, 4, 7]);
        check("Groups 4-2", &[2, 3, 4]);
        check("Groups 2 – 4", &[2, 3, 4]);
        check("Group 2–3", &[2, 3]);
        check("Group 3 - 5 tests fail", &[3]);
        check("Group 3, 2026-05-15", &[3]);
        check("Group 3-2026-05-15", &[3]);
        check("Groups 3 - 2026-05-15", &[3]);
        check("Group 1 and the rest of group 2", &[1, 2]);
        check("Groups 3.2 and 4.1", &[3, 4]);
    }

    #[test]
    fn struck_and_resolved_lines_do_not_count() {
        check("- ~~Group 3: blocked~~\nGroup 4", &[4]);
        check("~~Group 3~~ Group 4 ~~ Group 5", &[4, 5]);
        check("Group 2 ~~since May~~ waits", &[2]);
        check("gro~~x~~up 3", &[]);
        check("Group 3: RESOLVED by hand", &[]);
        check("[RESOLVED] Group 3\nGroup 4 is UNRESOLVED", &[4]);
        for line in [
            "Group 3 is NOT: RESOLVED",
            "Group 3 is NOT YET RESOLVED",
            "# GROUP 3 CANNOT BE RESOLVED WITHOUT A DECISION",
            "Group 3 stops until RESOLVED",
            "Group 3 isn't RESOLVED",
            // Prose says it often, and seldom means that the stop is over.
            "Group 3: resolved",
        ] {
            check(line, &[3]);
        }
        check(
            "Group 3 is NOT RESOLVED\nGroup 4 cannot be resolved",
            &[3, 4],
        );
    }
}
