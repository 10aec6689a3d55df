//! What has to hold: nothing is lost, and at the end nothing is left that nobody was told of.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use chrono::TimeDelta;

use super::{AGENTS, Run, runs};
use crate::recorder::contents::Contents;
use crate::recorder::entry::BlobId;

impl Run {
    /// The contents of the tree and of the archive.
    pub(super) fn kept(&self) -> BTreeSet<Vec<u8>> {
        let (mut kept, mut dirs) = (BTreeSet::new(), vec![self.scene.path("")]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => dirs.push(entry.path()),
                    _ if entry.file_name() == "manifest.json" => {}
                    _ => drop(kept.insert(fs::read(entry.path()).unwrap_or_default())),
                }
            }
        }
        kept
    }

    /// Nothing that was there is gone.
    pub(super) fn check_kept(&self, before: &BTreeSet<Vec<u8>>) {
        let now = self.kept();
        if let Some(lost) = before.iter().find(|bytes| !now.contains(*bytes)) {
            self.fail(&format!("lost: {:?}", String::from_utf8_lossy(lost)));
        }
    }

    /// All that was begun ends, and two more calls look.
    pub(super) fn settle(&mut self) {
        std::thread::sleep(Duration::from_millis(6));
        while !self.saves.is_empty() {
            self.finish_edit();
        }
        while !self.open.is_empty() {
            self.end();
        }
        for _ in 0..2 {
            let ahead = self.scene.ahead.get();
            self.scene.ahead.set(ahead + TimeDelta::seconds(3));
            for (session, agent) in AGENTS {
                let call = self.scene.begin_of(session, agent, runs("make"));
                let found = self.scene.end(&call);
                self.hear(&found);
            }
        }
        for (path, is_heard) in &self.strays {
            if path.exists() && !is_heard {
                self.fail(&format!("left and not reported: {}", path.display()));
            }
        }
        for (path, is_heard) in &self.forged {
            if !is_heard {
                self.fail(&format!("forged and not reported: {}", path.display()));
            }
        }
        for path in &self.persons {
            if !path.exists() {
                self.fail(&format!("a person's, and gone: {}", path.display()));
            }
        }
        for path in &self.removed {
            if path.exists() {
                self.fail(&format!("a person removed it: {}", path.display()));
            }
        }
        for (name, text) in &self.legal {
            if self.scene.read(name).as_ref() != Some(text) {
                self.fail(&format!("not as it was written: {name}"));
            }
        }
        self.check_memory();
    }

    /// What every recorded change held before and after is kept.
    fn check_memory(&self) {
        let contents = Contents::of(&self.scene.memory());
        for change in self.scene.changes() {
            for blob in [change.before, change.after].into_iter().flatten() {
                let is_kept = |id: BlobId| contents.get(id).is_some();
                if !is_kept(blob) {
                    self.fail(&format!("not kept: {blob} of {}", change.path));
                }
            }
        }
    }
}
