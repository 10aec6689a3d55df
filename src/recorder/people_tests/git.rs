//! What a person does with git by hand: another branch with an entry that is tracked under a
//! name nobody may use, stashes, merges.

use std::fs;
use std::process::{Command, Stdio};

use super::{COMMON, Run};

/// Tracked on the other branch.
const TRACKED_STRAY: &str = "meeting-notes.md";

const IGNORED: &str = ".claude/\n.devt/state/.archive/\n.devt/state/workflow.yaml\n*.jsonl\n*-summary.md\n/.devt/state/review.md\n";

impl Run {
    /// Runs git; gives whether it did what it was asked.
    fn git(&self, words: &[&str]) -> bool {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=p", "-c", "user.email=p@localhost"]);
        git.args(words).current_dir(&self.scene.dir);
        git.envs([("HOME", "/nowhere"), ("GIT_CONFIG_NOSYSTEM", "1")]);
        let quiet = git.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().unwrap().success()
    }

    /// A repository with two branches; both have changed a file.
    pub(super) fn set_up_git(&mut self) {
        fs::write(self.scene.dir.join(".gitignore"), IGNORED).unwrap();
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "one"]);
        self.git(&["checkout", "-qb", "feat"]);
        self.scene.write(TRACKED_STRAY, "tracked");
        self.scene.write("spec.md", "# Spec of the branch\n");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "two"]);
        self.git(&["checkout", "-q", "main"]);
        self.scene.write("spec.md", "# Another spec\n");
        self.git(&["commit", "-qam", "three"]);
        self.has_git = true;
    }

    /// A person's git, by hand. An editor in the middle of a save is not one's own.
    pub(super) fn person_uses_git(&mut self) {
        if !self.has_git || !self.saves.is_empty() {
            return;
        }
        let git_dir = self.scene.dir.join(".git");
        let is_merging = git_dir.join("MERGE_HEAD").exists();
        let is_stashed = git_dir.join("refs/stash").exists();
        let branch = self.random.of(&["main", "feat"]);
        let words: &[&str] = match self.random.below(5) {
            0 if is_merging => &["merge", "--abort"],
            _ if is_merging => &["commit", "-qam", "merged"],
            0 => &["checkout", "-q", branch],
            1 => &["checkout", "-qf", branch],
            2 => &["merge", "-q", "--no-edit", "feat"],
            _ if is_stashed => &["stash", "pop", "-q"],
            3 => &["stash", "-q"],
            _ => &["stash", "-qu"],
        };
        let is_done = self.git(words);
        self.say(format!("a person runs git {}: {is_done}", words.join(" ")));
        for name in COMMON {
            match self.scene.read(name) {
                Some(text) => drop(self.legal.insert(name, text)),
                None => drop(self.legal.remove(name)),
            }
        }
        // What a person put aside is not the recorder's; what git tracks it never touches.
        self.persons.retain(|path| path.exists());
        let tracked = self.scene.path(TRACKED_STRAY);
        if tracked.exists() {
            self.persons.insert(tracked);
        }
    }
}
