//! What scripts make of texts: times, parts, other letters, replacements.

use super::field::{ANY_ONE, Field};
use super::made::one;
use super::value::Given;
use super::{substitute, utility};

/// A time that stands for all of them.
pub(super) fn moment(format: &str) -> Vec<Field> {
    let spelling = ANY_ONE;
    one(utility::moment(format).map(|text| Field { text, spelling }))
}

/// `text.slice(0, 10)`.
pub(super) fn sliced(own: &[Field], arguments: &[Given<'_>]) -> Vec<Field> {
    let number = |at: usize| arguments.get(at)?.first().known()?.parse::<usize>().ok();
    let (Some(from), to) = (number(0), number(1)) else {
        return Vec::new();
    };
    if arguments.len() > 1 && to.is_none() {
        return Vec::new();
    }
    let part = |field: &Field| {
        let text = field.known()?;
        let part = text.get(from..to.unwrap_or(text.len()).min(text.len()))?;
        Some(field.with_text(part))
    };
    own.iter().filter_map(part).collect()
}

pub(super) fn in_case(own: &[Field], change: fn(&str) -> String) -> Vec<Field> {
    let changed = |field: &Field| Some(field.with_text(change(field.known()?)));
    own.iter().filter_map(changed).collect()
}

/// `re.sub(FROM, TO, text)`.
pub(super) fn substituted(arguments: &[Given<'_>]) -> Vec<Field> {
    let [from, to, text, ..] = arguments else {
        return Vec::new();
    };
    let (from, to) = (from.first(), to.first());
    let (Some(from), Some(to)) = (from.known(), to.known()) else {
        return Vec::new();
    };
    let changed = |text: &Field| {
        let changed = substitute::replaced(text.known()?, from, to)?;
        Some(text.with_text(changed))
    };
    text.bound.values.iter().filter_map(changed).collect()
}
