//! Lists of counts in closing lines: `3 passed, 1 failed` and `Failures: 1, Errors: 0`.

use crate::base::text::is_in;

/// The numbers of a list such as `3 passed, 1 failed`, each with the words behind it.
pub(super) fn counted(list: &str, separator: char) -> impl Iterator<Item = (u64, &str)> + Clone {
    list.split(separator).filter_map(|item| {
        let (number, words) = item.trim().split_once(' ')?;
        Some((number.parse().ok()?, words.trim_start()))
    })
}

/// The sum of the numbers whose first word is one of these; `None` without any.
pub(super) fn sum<'l>(items: impl Iterator<Item = (u64, &'l str)>, words: &str) -> Option<u64> {
    let numbers = items.filter_map(|(number, item)| {
        let first = item.split(' ').next()?;
        is_in(words, first).then_some(number)
    });
    numbers.reduce(u64::saturating_add)
}

/// The same of a list such as `Failures: 1, Errors: 0`, or `failures=1, errors=1`.
pub(super) fn keyed(list: &str, mark: char) -> impl Iterator<Item = (u64, &str)> + Clone {
    list.split(',').filter_map(move |item| {
        let (key, number) = item.split_once(mark)?;
        let digits = number.trim().trim_end_matches('.');
        Some((digits.parse().ok()?, key.trim()))
    })
}
