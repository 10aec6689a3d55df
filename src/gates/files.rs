//! The files of a state: as they are on the disk, and as a plan saw them.

use std::cell::{OnceCell, RefCell};
use std::fs;
use std::path::Path;

use crate::path;
use crate::project::read_text;
use crate::systems::Files;

/// The files below a directory on the disk. One that is there and cannot be
/// read as text counts as empty, so that nothing takes it for missing.
pub struct InDir<'a> {
    pub dir: &'a Path,
}

impl Files for InDir<'_> {
    fn text(&self, name: &str) -> Option<String> {
        read_text(&path::from_os(&self.dir.join(name))).unwrap_or_else(|_| Some(String::new()))
    }

    fn dirs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir).into_iter().flatten().flatten();
        let dirs = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = dirs
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// The files of a state, each asked for once. What a plan says follows from
/// these answers alone, so it holds for as long as they do.
pub(super) struct Asked<'f> {
    files: &'f dyn Files,
    texts: RefCell<Vec<(String, Option<String>)>>,
    dirs: OnceCell<Vec<String>>,
}

impl<'f> Asked<'f> {
    pub(super) fn new(files: &'f dyn Files) -> Self {
        Self {
            files,
            texts: RefCell::default(),
            dirs: OnceCell::new(),
        }
    }

    /// Whether every answer would be the same now, to the byte.
    pub(super) fn holds(&self) -> bool {
        let texts = self.texts.borrow();
        let mut texts = texts.iter();
        texts.all(|(name, text)| self.files.text(name) == *text)
            && self
                .dirs
                .get()
                .is_none_or(|dirs| self.files.dirs() == *dirs)
    }
}

impl Files for Asked<'_> {
    fn text(&self, name: &str) -> Option<String> {
        if let Some((_, text)) = self.texts.borrow().iter().find(|(known, _)| known == name) {
            return text.clone();
        }
        let text = self.files.text(name);
        let answer = (name.to_owned(), text.clone());
        self.texts.borrow_mut().push(answer);
        text
    }

    fn dirs(&self) -> Vec<String> {
        self.dirs.get_or_init(|| self.files.dirs()).clone()
    }
}
