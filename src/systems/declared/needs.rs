//! Whether what a gate needs is there.

use serde_json::Value;

use crate::base::path;
use crate::base::text;
use crate::formats::markdown::{self, Checkbox};
use crate::formats::verdict;
use crate::settings::gates::{GateRule, Need};
use crate::systems::system::{Files, MissingArtifact};
use crate::systems::workflow::Proof;

/// The end of an agent, and what is there then.
#[derive(Clone, Copy)]
pub(super) struct AgentEnd<'a> {
    pub reply: &'a str,
    pub files: &'a dyn Files,
    pub state_file: &'a str,
    /// When the run and the gate began: RFC 3339.
    pub run_began: Option<&'a str>,
    pub gate_began: Option<&'a str>,
}

/// What was found of all that a gate needs, in one site.
#[derive(Default)]
pub(super) struct Findings {
    /// What shows that the gate has passed, in words and as proof.
    pub lines: Vec<String>,
    pub proof: Vec<Proof>,
    /// The line that says that it has not.
    pub refuted: Option<String>,
    /// What is not there, and which of it the agent owes.
    pub missing: Vec<String>,
    pub owed: Vec<MissingArtifact>,
    /// What nobody saw happen.
    pub unseen: Vec<String>,
}

impl Findings {
    fn show(&mut self, line: String, proof: impl IntoIterator<Item = Proof>) {
        self.lines.push(line);
        self.proof.extend(proof);
    }

    fn owe(&mut self, file: &str, why: String) {
        self.missing.push(why.clone());
        let file = file.to_owned();
        self.owed.push(MissingArtifact { file, why });
    }
}

/// Judges a gate in the site that is nearest to passing it.
pub(super) fn judge(rule: &GateRule, ending: AgentEnd<'_>) -> Findings {
    let sites = ending.files.sites();
    let in_site = |site: &String| {
        let findings = Findings::default();
        let mut look = Look {
            ending,
            site,
            findings,
        };
        rule.needs.iter().for_each(|need| look.at(need, rule));
        look.findings
    };
    let distance = |it: &Findings| (it.missing.len(), it.refuted.is_some());
    let findings = sites.iter().map(in_site);
    findings.min_by_key(distance).unwrap_or_default()
}

/// A look at one site.
struct Look<'a> {
    ending: AgentEnd<'a>,
    site: &'a str,
    findings: Findings,
}

impl Look<'_> {
    fn at(&mut self, need: &Need, rule: &GateRule) {
        match need {
            Need::File { name, min_words } => self.file(name, *min_words),
            Need::Verdict { words, place } => self.verdict(words, place.as_deref()),
            Need::Command(line) => self.command(line, &rule.name),
            Need::Boxes(name) => self.boxes(name),
        }
    }

    /// The text of a file that this agent has left in this run.
    fn left(&mut self, file: &str) -> Option<String> {
        let files = self.ending.files;
        let text = files.text(file);
        let why = match text {
            Some(_) => files.left_over(file, self.ending.run_began),
            None => Some(format!("`{file}` is missing")),
        };
        match why {
            Some(why) => {
                self.findings.owe(file, why);
                None
            }
            None => text,
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
            return self.findings.owe(&file, why);
        }
        let words = text::count(n_words as u64, "word", "words");
        let proof = Proof::artifact(&file);
        self.findings.show(format!("`{file}` has {words}"), [proof]);
    }

    fn verdict(&mut self, words: &[String], place: Option<&str>) {
        let file = place.map(|name| path::below(self.site, name));
        let text = match &file {
            None => Some(self.ending.reply.to_owned()),
            Some(file) => self.left(file),
        };
        let Some(text) = text else {
            return;
        };
        let found = match &file {
            Some(file) if file.ends_with(".json") => from_json(&text),
            _ => verdict::last(&markdown::lines(&text))
                .and_then(|found| Some((found.word?.to_owned(), found.line.to_owned()))),
        };
        let wanted = words.join("` or `");
        match (found, file) {
            (Some((word, line)), _) if !words.contains(&word) => {
                self.findings.refuted.get_or_insert(line);
            }
            (Some((_, line)), file) => {
                let artifact = file.as_deref().map(Proof::artifact);
                let said = Proof::Verdict {
                    line: line.clone(),
                    at: file.unwrap_or_else(|| "reply".to_owned()),
                };
                self.findings.show(line, [said].into_iter().chain(artifact));
            }
            (None, Some(file)) => {
                let why = format!("`{file}` has no verdict such as `{wanted}`");
                self.findings.owe(&file, why);
            }
            (None, None) => {
                let why = format!("the report has no line `Verdict: {wanted}`");
                self.findings.missing.push(why);
            }
        }
    }

    fn command(&mut self, line: &str, gate: &str) {
        let AgentEnd {
            files, state_file, ..
        } = self.ending;
        let since = self.ending.gate_began.or(self.ending.run_began);
        match files.last_command(state_file, gate, since) {
            Some(
                ran @ Proof::Command {
                    status: Some(0), ..
                },
            ) => {
                let line = format!("`{line}` ended with status 0");
                self.findings.show(line, [ran]);
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
        let Some(text) = self.ending.files.text(&file) else {
            return self.findings.owe(&file, format!("`{file}` is missing"));
        };
        let boxes: Vec<Checkbox> = markdown::outside_fences(&text)
            .filter_map(|line| Some(markdown::checkbox(line)?.0))
            .collect();
        let (of, is_done) = (boxes.len(), |it: &&Checkbox| **it == Checkbox::Checked);
        let done = boxes.iter().filter(is_done).count();
        match of {
            0 => self.findings.owe(&file, format!("`{file}` has no boxes")),
            of if done < of => {
                let open = format!("{} of {of} boxes are open in `{file}`", of - done);
                self.findings.missing.push(open);
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
fn from_json(text: &str) -> Option<(String, String)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut keys = ["verdict", "status"].into_iter();
    keys.find_map(|key| {
        let word = value.get(key)?.as_str()?;
        Some((word.to_owned(), format!("\"{key}\": \"{word}\"")))
    })
}
