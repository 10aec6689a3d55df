//! Names under which a script imports what writes files.

use super::calls::Script;
use super::code::{Language, Token};
use super::literal::Piece;
use super::value::{MAX_VALUES, Span};

impl<'c> Script<'c, '_, '_, '_> {
    /// What an imported name stands for: the name here, its own, and its module's.
    pub(super) fn imported(&self, name: &str) -> Option<[&'c str; 3]> {
        let mut imports = self.imported.iter().rev();
        imports.find(|import| import[0] == name).copied()
    }

    fn add_import(&mut self, name: &'c str, own: &'c str, module: &'c str) {
        let is_news = self.imported(name) != Some([name, own, module]);
        if is_news && self.imported.len() < MAX_VALUES {
            self.imported.push([name, own, module]);
        }
    }

    /// The module that a text names: `fs` of `"node:fs/promises"`.
    pub(super) fn module(&self, at: usize) -> &'c str {
        let code = self.code;
        let Some(Token::Text(pieces)) = code.tokens.get(at) else {
            return "";
        };
        let Some(Piece::Literal(text)) = pieces.first() else {
            return "";
        };
        let name = text.strip_prefix("node:").unwrap_or(text);
        name.split('/').next().unwrap_or(name)
    }

    /// `from m import a as b`, `import m as b`, `import {a as b} from "m"`.
    pub(super) fn import(&mut self, at: usize) {
        let end = (at..at + MAX_VALUES).find(|at| {
            matches!(self.code.tokens.get(*at), None | Some(Token::End))
                || self.word(*at) == Some("from")
        });
        let Some(end) = end else { return };
        let module = match self.language {
            Language::Python if at > 1 && self.word(at - 2) == Some("from") => self.word(at - 1),
            Language::Python => Some(""),
            _ => Some(self.module(end + 1)),
        };
        self.import_from((at + 1, end), module.unwrap_or(""));
    }

    /// The names between two places.
    pub(super) fn import_from(&mut self, (from, end): Span, module: &'c str) {
        let mut own = module;
        let end = end.min(from + MAX_VALUES);
        for at in from..end {
            let Some(word) = self.word(at).filter(|word| *word != "as") else {
                continue;
            };
            // In JavaScript's braces a colon renames, too.
            let before = at.checked_sub(1).filter(|at| *at >= from);
            let renames =
                before.is_some_and(|at| self.word(at) == Some("as") || self.mark(at) == Some(':'));
            if renames {
                self.add_import(word, own, module);
            } else {
                own = word;
                let is_default = self.language == Language::Script && at == from;
                let is_default = is_default
                    && matches!(self.mark(end), None | Some(','))
                    && self.before(at).is_none();
                if !module.is_empty() {
                    self.add_import(word, if is_default { module } else { word }, module);
                }
            }
        }
    }

    /// `name = require("m")`, `name = require("m").member`.
    pub(super) fn import_as(&mut self, name: &'c str, (from, end): Span) {
        let module = self.module(from + 2);
        let behind = self.after(from + 1);
        let member = self.word(behind + 1).filter(|_| behind + 2 == end);
        if behind == end || member.is_some() {
            self.add_import(name, member.unwrap_or(module), module);
        }
    }
}
