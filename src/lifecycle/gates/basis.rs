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
    pub(super) fn clear(&self) {
        self.texts.take();
        self.dirs.take();
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
