//! A small project in memory.

use std::cell::Cell;

use statewarden::base::disk::cache::Disk;
use statewarden::base::path;

/// Files with their text; what stands above them is a directory.
const FILES: &[(&str, &str)] = &[
    (
        "/p/.devt/state/workflow.yaml",
        "active: true\nphase: review\n",
    ),
    ("/p/.devt/state/impl-summary.md", "## Status: DONE\n"),
    ("/p/.claude/orchestration.local.md", "---\nphase: x\n---\n"),
    ("/p/openspec/changes/add-x/tasks.md", "- [ ] 1.1 a\n"),
    ("/p/src/a b.rs", "fn main() {}\n"),
    ("/p/list", ".devt/state/notes.md\nout/b\n"),
    ("/p/run.sh", "echo hi > .devt/state/from-script.md\n"),
    ("/p/run.py", "open('.devt/state/from-python.md', 'w')\n"),
    ("/p/edit.sed", "w .devt/state/from-sed.md\n"),
    ("/home/u/.bashrc", "alias ll=ls\n"),
];

/// Answers from [`FILES`] and counts the questions.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) questions: Cell<usize>,
}

impl Memory {
    fn ask(&self, path: &str) -> String {
        self.questions.set(self.questions.get() + 1);
        path::collapse(path).trim_end_matches('/').to_owned()
    }
}

impl Disk for Memory {
    fn entries(&self, dir: &str) -> Vec<String> {
        let below = format!("{}/", self.ask(dir));
        let rests = FILES
            .iter()
            .filter_map(|(path, _)| path.strip_prefix(&below));
        let mut names: Vec<String> = rests
            .map(|rest| rest.split('/').next().unwrap_or(rest).to_owned())
            .collect();
        names.dedup();
        names
    }

    fn is_dir(&self, path: &str) -> bool {
        let below = format!("{}/", self.ask(path));
        FILES.iter().any(|(path, _)| path.starts_with(&below))
    }

    fn text(&self, path: &str) -> Option<String> {
        let path = self.ask(path);
        let file = FILES.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| (*text).to_owned())
    }
}
