//! What an event's effects on a state were found by: they follow as long as it is the same.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// What reading a file gave.
pub(super) type ReadText = Result<Option<String>, String>;

/// The files that were read, and the directories that were listed.
#[derive(Default)]
pub(super) struct Basis {
    texts: RefCell<BTreeMap<String, ReadText>>,
    dirs: RefCell<Option<Vec<String>>>,
}

impl Basis {
    /// What was noted up to here; nothing is left.
    pub(super) fn take(&self) -> Self {
        Self {
            texts: RefCell::new(self.texts.take()),
            dirs: RefCell::new(self.dirs.take()),
        }
    }

    pub(super) fn note_text(&self, name: &str, text: &ReadText) {
        let mut texts = self.texts.borrow_mut();
        texts.insert(name.to_owned(), text.clone());
    }

    pub(super) fn note_dirs(&self, dirs: &[String]) {
        self.dirs.replace(Some(dirs.to_vec()));
    }

    /// Whether all of it is as it was.
    pub(super) fn still_holds(
        &self,
        text_of: impl Fn(&str) -> ReadText,
        dirs_now: impl Fn() -> Vec<String>,
    ) -> bool {
        let (texts, dirs) = (self.texts.borrow(), self.dirs.borrow());
        texts.iter().all(|(name, text)| text_of(name) == *text)
            && dirs.as_ref().is_none_or(|dirs| *dirs == dirs_now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_is_of_one_plan_and_holds_until_a_file_or_a_directory_changes() {
        let noted = Basis::default();
        noted.note_text("state.md", &Ok(Some("a".to_owned())));
        noted.note_text("review.md", &Ok(None));
        noted.note_dirs(&["one".to_owned()]);
        let basis = noted.take();
        // A second plan reads what it reads, and takes nothing from the first.
        noted.note_text("state.md", &Ok(Some("b".to_owned())));
        let now = |state: &str, review: Option<&str>, dirs: &[&str]| {
            let text_of = |name: &str| match name {
                "state.md" => Ok(Some(state.to_owned())),
                _ => Ok(review.map(str::to_owned)),
            };
            let dirs_now = || dirs.iter().map(|dir| (*dir).to_owned()).collect();
            basis.still_holds(text_of, dirs_now)
        };
        assert!(now("a", None, &["one"]));
        assert!(!now("b", None, &["one"]));
        assert!(!now("a", Some(""), &["one"]));
        assert!(!now("a", None, &["one", "two"]));
    }
}
