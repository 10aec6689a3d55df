//! Heredocs: announced on one line, read behind it.

use std::borrow::Cow;

use super::lex::{Cursor, Part, Word};

#[derive(Debug)]
pub(super) struct Heredoc<'a> {
    pub(super) body: Cow<'a, str>,
    pub(super) quote: HeredocQuote,
}

/// A quoted delimiter makes the body literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeredocQuote {
    Expand,
    Literal,
}

/// What `<<-` does to the tabs that begin a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tabs {
    Kept,
    Stripped,
}

/// A heredoc whose body is still to come.
pub(super) struct Pending {
    id: usize,
    delimiter: String,
    tabs: Tabs,
}

impl<'a> Cursor<'a> {
    /// Notes a heredoc whose body follows the line, and gives its place.
    pub(super) fn expect_heredoc(&mut self, delimiter: &Word<'_>, tabs: Tabs) -> usize {
        let id = self.heredocs.len();
        let mut quote = HeredocQuote::Expand;
        let mut text = String::new();
        for part in delimiter.parts.iter() {
            match part {
                Part::Bare(bare) => text.push_str(bare),
                Part::Text(quoted) => {
                    text.push_str(quoted);
                    quote = HeredocQuote::Literal;
                }
                _ => {}
            }
        }
        self.heredocs.push(Heredoc {
            body: Cow::Borrowed(""),
            quote,
        });
        self.pending.push(Pending {
            id,
            delimiter: text,
            tabs,
        });
        id
    }

    /// Reads the bodies due after the newline just consumed.
    pub(super) fn read_heredocs(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        for pending in std::mem::take(&mut self.pending) {
            let body = self.heredoc_body(&pending);
            if let Some(slot) = self.heredocs.get_mut(pending.id) {
                slot.body = body;
            }
        }
    }

    fn heredoc_body(&mut self, pending: &Pending) -> Cow<'a, str> {
        let start = self.at;
        let mut end = self.text.len();
        while self.at < self.text.len() {
            let line_start = self.at;
            let line = self.until(b'\n');
            let bare = if pending.tabs == Tabs::Stripped {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if bare == pending.delimiter {
                end = line_start;
                break;
            }
        }
        let body = self.text.get(start..end).unwrap_or("");
        if pending.tabs == Tabs::Stripped && body.contains('\t') {
            let stripped = body.split_inclusive('\n');
            Cow::Owned(stripped.map(|line| line.trim_start_matches('\t')).collect())
        } else {
            Cow::Borrowed(body)
        }
    }
}
