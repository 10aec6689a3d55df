//! Which contents of the settings are in force. What a call may have changed is kept out of force
//! until a person accepts it; the memory holds what was there before.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read::read_text;
use crate::base::env::Env;
use crate::formats::json;
use crate::project::roots::Project;
use crate::store::replace::replace_private;

/// The file in the memory.
pub const FILE: &str = "settings.json";

/// The settings files that were looked at, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Accepted(BTreeMap<String, Entry>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// What is in force; `None` where that is no file.
    text: Option<String>,
    /// What a call may have put in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    text: Option<String>,
    /// Whether the user knows of it.
    is_told: bool,
}

/// Who can have changed the settings since they were last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspects {
    None,
    /// Calls that ran code.
    Calls,
}

impl Accepted {
    fn read(project: &Project) -> Option<Self> {
        let text = read_text(&project.memory().join(FILE)).ok()??;
        serde_json::from_str(&text).ok()
    }

    /// The same, once for each project; nothing is held where none was kept.
    pub fn of(project: &Project) -> &Self {
        project
            .accepted
            .get_or_init(|| Self::read(project).unwrap_or_default())
    }

    fn write(&self, project: &Project) -> io::Result<()> {
        replace_private(&project.memory().join(FILE), json::line(self).as_bytes())
    }

    /// What is in force of a file in place of what is in it now, where that is held.
    pub(super) fn former(
        &self,
        path: &str,
        present: &Result<Option<String>, String>,
    ) -> Option<Option<String>> {
        let entry = self.0.get(path)?;
        let is_held = present.as_ref().ok()? == &entry.held.as_ref()?.text;
        is_held.then(|| entry.text.clone())
    }

    /// The files of which a former content is in force.
    pub fn held(&self) -> impl Iterator<Item = &str> {
        let held = self.0.iter().filter(|(_, entry)| entry.held.is_some());
        held.map(|(path, _)| path.as_str())
    }

    /// Compares the files with what is known of them. Says whether anything has changed.
    fn compare(
        &mut self,
        present: BTreeMap<String, Option<String>>,
        suspects: &dyn Fn() -> Suspects,
    ) -> bool {
        let before = self.clone();
        // What has gone is still known by its path.
        let known: Vec<String> = self.0.keys().cloned().collect();
        let gone = known.into_iter().map(|path| (path, None));
        let all: BTreeMap<_, _> = gone.chain(present).collect();
        for (path, text) in all {
            let entry = self.0.entry(path).or_default();
            let is_held = entry.held.as_ref().is_some_and(|held| held.text == text);
            if entry.text == text {
                entry.held = None;
            } else if !is_held {
                match suspects() {
                    Suspects::Calls => {
                        let is_told = false;
                        entry.held = Some(Held { text, is_told });
                    }
                    Suspects::None => *entry = Entry { text, held: None },
                }
            }
        }
        self.0
            .retain(|_, entry| entry.text.is_some() || entry.held.is_some());
        *self != before
    }
}

/// Looks at the settings files of a project: what calls may have changed is held, the rest is in
/// force. Gives the files that have not been reported to the user yet.
///
/// Nothing is kept of a project that has no memory. Who are suspects is asked only where a file
/// has changed.
///
/// # Errors
/// The memory cannot be written.
pub fn review(
    project: &Project,
    env: &Env,
    suspects: &dyn Fn() -> Suspects,
) -> io::Result<Vec<String>> {
    if !project.has_memory()
        || (project.kept_settings(env).is_some() && project.memory().join(FILE).exists())
    {
        // Of settings that are held none are kept.
        let _ = project.accepted.set(Accepted::default());
        return Ok(Vec::new());
    }
    let present = project
        .read_settings(env)
        .iter()
        .filter_map(|file| {
            let text = file.text.as_ref().ok()?.clone()?;
            Some((file.path.clone(), Some(text)))
        })
        .collect();
    let known = Accepted::read(project);
    let (is_new, mut accepted) = (known.is_none(), known.unwrap_or_default());
    let asked: &dyn Fn() -> Suspects = if is_new { &|| Suspects::None } else { suspects };
    if accepted.compare(present, asked) || is_new {
        accepted.write(project)?;
    }
    if accepted.held().next().is_some() {
        project.forget_settings();
    }
    let mut untold = Vec::new();
    for (path, entry) in &accepted.0 {
        if entry.held.as_ref().is_some_and(|held| !held.is_told) {
            untold.push(path.clone());
        }
    }
    let _ = project.accepted.set(accepted);
    Ok(untold)
}

/// Remembers what is in force where the memory was made since a review.
///
/// # Errors
/// The memory cannot be written.
pub fn begin(project: &Project, env: &Env) -> io::Result<()> {
    if !project.had_memory() && !project.memory().join(FILE).exists() {
        review(project, env, &|| Suspects::None)?;
    }
    Ok(())
}

/// Remembers that the user knows of what is held.
///
/// # Errors
/// The memory cannot be written.
pub fn note_told(project: &Project) -> io::Result<()> {
    let mut accepted = Accepted::read(project).unwrap_or_default();
    for held in accepted
        .0
        .values_mut()
        .filter_map(|entry| entry.held.as_mut())
    {
        held.is_told = true;
    }
    accepted.write(project)
}

/// Puts what is held in force; gives the files.
///
/// # Errors
/// The memory cannot be written.
pub fn accept(project: &Project) -> io::Result<Vec<String>> {
    let mut accepted = Accepted::read(project).unwrap_or_default();
    let files: Vec<String> = accepted.held().map(str::to_owned).collect();
    for entry in accepted.0.values_mut() {
        if let Some(held) = entry.held.take() {
            entry.text = held.text;
        }
    }
    accepted.0.retain(|_, entry| entry.text.is_some());
    if !files.is_empty() {
        accepted.write(project)?;
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(texts: &[(&str, &str)]) -> BTreeMap<String, Option<String>> {
        let texts = texts.iter();
        texts
            .map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned())))
            .collect()
    }

    #[track_caller]
    fn check(accepted: &Accepted, path: &str, present: Option<&str>, expected: Option<&str>) {
        let text = present.map(str::to_owned);
        let found = accepted.former(path, &Ok(text.clone())).unwrap_or(text);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn what_a_call_may_have_changed_is_held_until_it_is_accepted_or_taken_back() {
        let mut accepted = Accepted::default();
        accepted.compare(now(&[("a", "1")]), &|| Suspects::None);
        assert!(!accepted.compare(now(&[("a", "1")]), &|| Suspects::Calls));
        // Changed, made and removed by a call.
        assert!(accepted.compare(now(&[("a", "2"), ("b", "x")]), &|| Suspects::Calls));
        check(&accepted, "a", Some("2"), Some("1"));
        check(&accepted, "b", Some("x"), None);
        assert!(!accepted.compare(now(&[("a", "2"), ("b", "x")]), &|| Suspects::None));
        check(&accepted, "a", Some("2"), Some("1"));
        accepted.compare(now(&[("b", "x")]), &|| Suspects::Calls);
        check(&accepted, "a", None, Some("1"));
        assert!(accepted.held().eq(["a", "b"]));
        // Taken back, and changed by a person while no call ran.
        accepted.compare(now(&[("a", "1"), ("b", "y")]), &|| Suspects::None);
        check(&accepted, "a", Some("1"), Some("1"));
        check(&accepted, "b", Some("y"), Some("y"));
        assert!(accepted.held().next().is_none());
    }
}
