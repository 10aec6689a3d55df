//! Whether what a gate needs is there.

use serde_json::Value;

use super::gates::missing;
use crate::base::path;
use crate::base::text;
use crate::formats::markdown::{self, Checkbox};
use crate::formats::verdict;
use crate::settings::gates::{GateRule, Need};
use crate::systems::system::{Files, MissingArtifact};
use crate::systems::workflow::Proof;

/// What was found of all that a gate needs, in one site.
#[derive(Default)]
pub(super) struct Findings {
    pub shown: Shown,
    /// The line that says that the gate has not passed.
    pub refuted: Option<String>,
    pub missing: Vec<MissingArtifact>,
    /// What nobody saw happen.
    pub unseen: Vec<String>,
}

#[derive(Default)]
pub(super) struct Shown {
    pub lines: Vec<String>,
    pub proof: Vec<Proof>,
}

impl Findings {
    fn show(&mut self, line: String, proof: impl IntoIterator<Item = Proof>) {
        self.shown.lines.push(line);
        self.shown.proof.extend(proof);
    }

    fn miss(&mut self, file: &str, why: impl Into<String>) {
        self.missing.push(missing(file, why.into()));
    }

    /// How far a site is from a gate that has passed.
    fn distance(&self) -> (usize, bool) {
        (self.missing.len(), self.refuted.is_some())
    }
}

/// Judges a gate in the site that is nearest to passing it. The times are those at which the
/// run and the gate began.
pub(super) fn judge(
    rule: &GateRule,
    reply: &str,
    files: &dyn Files,
    state_file: &str,
    times: (Option<&str>, Option<&str>),
) -> Findings {
    let sites = files.sites();
    let in_site = |site: &String| {
        let mut look = Look {
            files,
            site,
            run: times.0,
            findings: Findings::default(),
        };
        for need in &rule.needs {
            match need {
                Need::File { name, min_words } => look.file(name, *min_words),
                Need::Verdict { words, place } => look.verdict(words, place.as_deref(), reply),
                Need::Command(line) => {
                    let ran = files.last_command(state_file, &rule.name, times.1.or(times.0));
                    look.command(line, ran);
                }
                Need::Boxes(name) => look.boxes(name),
            }
        }
        look.findings
    };
    let findings = sites.iter().map(in_site);
    findings.min_by_key(Findings::distance).unwrap_or_default()
}

struct Look<'a> {
    files: &'a dyn Files,
    site: &'a str,
    run: Option<&'a str>,
    findings: Findings,
}

impl Look<'_> {
    /// The text of a file that this agent has left in this run.
    fn left(&mut self, file: &str) -> Option<String> {
        let Some(text) = self.files.text(file) else {
            self.findings.miss(file, format!("`{file}` is missing"));
            return None;
        };
        match self.files.left_over(file, self.run) {
            Some(why) => {
                self.findings.miss(file, why);
                None
            }
            None => Some(text),
        }
    }

    fn file(&mut self, name: &str, min_words: usize) {
        let file = path::below(self.site, name);
        let Some(text) = self.left(&file) else {
            return;
        };
        let n_words = text.split_whitespace().count();
        if n_words < min_words {
            let why = format!("`{file}` has {n_words} of at least {min_words} words");
            return self.findings.miss(&file, why);
        }
        let words = text::count(n_words as u64, "word", "words");
        let proof = Proof::artifact(&file);
        self.findings.show(format!("`{file}` has {words}"), [proof]);
    }

    fn verdict(&mut self, words: &[String], place: Option<&str>, reply: &str) {
        let (text, at) = match place {
            None => (reply.to_owned(), "reply".to_owned()),
            Some(name) => {
                let file = path::below(self.site, name);
                let Some(text) = self.left(&file) else {
                    return;
                };
                (text, file)
            }
        };
        let found = match at.ends_with(".json") {
            true => of_json(&text),
            false => verdict::last(&markdown::lines(&text))
                .and_then(|found| Some((found.word?.to_owned(), found.line.to_owned()))),
        };
        let Some((word, line)) = found else {
            let word = words.join("` or `");
            return match place {
                None => {
                    let why = format!("the report has no line `Verdict: {word}`");
                    self.findings.miss("", why);
                }
                Some(_) => {
                    let why = format!("`{at}` has no verdict such as `{word}`");
                    self.findings.miss(&at, why);
                }
            };
        };
        if !words.contains(&word) {
            self.findings.refuted.get_or_insert(line);
            return;
        }
        let artifact = place.map(|_| Proof::artifact(&at));
        let said = Proof::Verdict {
            line: line.clone(),
            at,
        };
        self.findings.show(line, [said].into_iter().chain(artifact));
    }

    fn command(&mut self, line: &str, ran: Option<Proof>) {
        match ran {
            Some(
                ran @ Proof::Command {
                    status: Some(0), ..
                },
            ) => {
                self.findings
                    .show(format!("`{line}` ended with status 0"), [ran]);
            }
            Some(_) => {
                let why = format!("the last `{line}` did not end with status 0");
                self.findings.refuted.get_or_insert(why);
            }
            None => {
                let why = format!("`{line}` was not seen to pass since the gate began");
                self.findings.unseen.push(why);
            }
        }
    }

    fn boxes(&mut self, name: &str) {
        let file = path::below(self.site, name);
        let Some(text) = self.files.text(&file) else {
            return self.findings.miss(&file, format!("`{file}` is missing"));
        };
        let boxes: Vec<Checkbox> = markdown::outside_fences(&text)
            .filter_map(|line| Some(markdown::checkbox(line)?.0))
            .collect();
        let (of, is_done) = (boxes.len(), |it: &&Checkbox| **it == Checkbox::Checked);
        let done = boxes.iter().filter(is_done).count();
        match of {
            0 => self.findings.miss(&file, format!("`{file}` has no boxes")),
            of if done < of => {
                let open = format!("{} of {of} boxes are open in `{file}`", of - done);
                self.findings.miss("", open);
            }
            of => {
                let proof = Proof::Boxes { done, of };
                self.findings
                    .show(format!("{of} of {of} boxes in `{file}`"), [proof]);
            }
        }
    }
}

/// The verdict of a sidecar, and how it says it.
fn of_json(text: &str) -> Option<(String, String)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut keys = ["verdict", "status"].into_iter();
    keys.find_map(|key| {
        let word = value.get(key)?.as_str()?;
        Some((word.to_owned(), format!("\"{key}\": \"{word}\"")))
    })
}
