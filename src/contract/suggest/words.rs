//! How alike two names are by their words.

use super::{are_alike, split_ending, words};

/// A name without its directory, as words and an ending.
pub(super) struct Words<'n> {
    words: Vec<&'n str>,
    ending: &'n str,
}

impl<'n> Words<'n> {
    pub(super) fn of(name: &'n str) -> Self {
        let plain = name.trim_start_matches('/');
        Self {
            words: words(plain).collect(),
            ending: split_ending(plain).1,
        }
    }

    /// How many words of two names are not the other's; `None` where they are not alike. One word
    /// that both have is no likeness, unless both begin with it and one has no other.
    pub(super) fn apart_from(&self, known: &Self) -> Option<usize> {
        let (n_own, n_known) = (self.words.len(), known.words.len());
        let here = self.n_shared(known);
        let there = known.n_shared(self);
        let others = n_own - here + n_known - there;
        let firsts = self.words.first().zip(known.words.first());
        let begin_alike = firsts.is_some_and(|(own, known)| own.eq_ignore_ascii_case(known));
        let is_within = here > 0 && (here == n_own || there == n_known);
        let is_alike = match (others, here.max(there)) {
            (0, _) => are_alike(self.ending, known.ending),
            // A few of its words in a file of another kind say nothing.
            _ if !self.ending.eq_ignore_ascii_case(known.ending) => false,
            (_, 1) => n_own.min(n_known) == 1 && begin_alike,
            _ => true,
        };
        (is_within && is_alike).then_some(others)
    }

    /// How many of a name's words another has as well.
    fn n_shared(&self, other: &Self) -> usize {
        let shared = self.words.iter().filter(|word| {
            let mut known = other.words.iter();
            known.any(|known| are_one(word, known))
        });
        shared.count()
    }
}

/// Whether two words are the same, or one is short for the other.
fn are_one(word: &str, other: &str) -> bool {
    let is_short = |short: &str, long: &str| {
        let start = long.get(..short.len());
        short.len() >= 4 && start.is_some_and(|start| start.eq_ignore_ascii_case(short))
    };
    word.eq_ignore_ascii_case(other) || is_short(word, other) || is_short(other, word)
}
