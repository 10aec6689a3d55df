//! Saves of a person's editor, by the names that it uses on the way.

use std::fs;

use super::{COMMON, Run};

#[derive(Clone, Copy, Debug)]
enum Editor {
    Vim,
    JetBrains,
    Emacs,
    Code,
    Kate,
    /// A temporary name that is renamed over the file.
    Atomic,
    /// git's mergetool: both sides, the base and a copy beside the file.
    Mergetool,
}

const EDITORS: &[Editor] = &[
    Editor::Vim,
    Editor::JetBrains,
    Editor::Emacs,
    Editor::Code,
    Editor::Kate,
    Editor::Atomic,
    Editor::Mergetool,
];

/// A save that has begun: the files that are the editor's, and what is renamed at the end.
pub(super) struct Save {
    name: &'static str,
    text: String,
    files: Vec<String>,
    renames: Option<String>,
}

impl Run {
    /// A person's editor begins to save.
    pub(super) fn edit(&mut self) {
        let (name, editor) = (self.random.of(COMMON), self.random.of(EDITORS));
        if self.saves.iter().any(|save| save.name == name) {
            return;
        }
        let text = self.text();
        self.say(format!("a person begins to save {name} with {editor:?}"));
        let number = 20_000 + self.texts;
        let (files, renames): (Vec<String>, Option<String>) = match editor {
            Editor::Vim if self.scene.path("4913").exists() => (vec![format!(".{name}.swp")], None),
            Editor::Vim => (vec![format!(".{name}.swp"), "4913".to_owned()], None),
            Editor::JetBrains => (Vec::new(), Some(format!("{name}___jb_tmp___"))),
            Editor::Emacs => (vec![format!("#{name}#"), format!(".#{name}")], None),
            Editor::Code => (Vec::new(), None),
            Editor::Kate => (vec![format!(".{name}.kate-swp")], None),
            Editor::Atomic => (Vec::new(), Some(format!("{name}.{number}"))),
            Editor::Mergetool => {
                let (stem, end) = name.rsplit_once('.').unwrap();
                let sides = ["LOCAL", "REMOTE", "BASE", "BACKUP"];
                let files = sides.map(|side| format!("{stem}_{side}_{number}.{end}"));
                (files.to_vec(), None)
            }
        };
        for file in files.iter().chain(&renames) {
            self.scene.write(file, &text);
        }
        self.saves.push(Save {
            name,
            text,
            files,
            renames,
        });
    }

    /// The save ends: what the editor made is there until then.
    pub(super) fn finish_edit(&mut self) {
        let Some(save) = self.saves.pop() else {
            return;
        };
        self.say(format!("the save of {} ends", save.name));
        for file in &save.files {
            if fs::remove_file(self.scene.path(file)).is_err() {
                self.fail(&format!("the editor's `{file}` is gone"));
            }
        }
        match &save.renames {
            Some(temp) => {
                let to = self.scene.path(save.name);
                if fs::rename(self.scene.path(temp), to).is_err() {
                    self.fail(&format!("`{temp}` is gone in the middle of a save"));
                }
            }
            None => self.scene.write(save.name, &save.text),
        }
        self.legal.insert(save.name, save.text);
    }
}
