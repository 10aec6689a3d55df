//! Whether what a gate needs is there.

use serde_json::Value;

use crate::base::path;
use crate::base::text;
use crate::formats::markdown::{self, Checkbox};
use crate::formats::verdict;
use crate::settings::gates::{GateRule, Need};
use crate::systems::system::{Files, Missing};
use crate::systems::tested::{Freshness, TestNeed, Tested};
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

/// What was found of all that a gate needs.
#[derive(Default)]
pub(super) struct Findings {
    /// What shows that the gate has passed, in words and as proof.
    pub lines: Vec<String>,
    pub proof: Vec<Proof>,
    /// Whether it could be asked what has changed since a test.
    pub freshness: Freshness,
    /// The line that says that it has not.
    pub refuted: Option<String>,
    /// What is not there, and which of it the agent owes.
    pub missing: Vec<String>,
    pub owed: Vec<Missing>,
}

impl Findings {
    fn show(&mut self, line: String, proof: impl IntoIterator<Item = Proof>) {
        self.lines.push(line);
        self.proof.extend(proof);
    }

    fn owe(&mut self, file: &str, why: String) {
        self.missing.push(why.clone());
        self.owed.push(Missing {
            file: file.to_owned(),
            why,
        });
    }
}

/// Judges a gate in a state directory.
pub(super) fn judge(rule: &GateRule, site: &str, ending: AgentEnd<'_>) -> Findings {
    let mut look = Look {
        ending,
        site,
        findings: Findings::default(),
    };
    rule.needs.iter().for_each(|need| look.at(need, rule));
    look.findings
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
            Need::Verdict { words, place, key } => {
                self.verdict(words, place.as_deref(), key.as_deref());
            }
            Need::Command(line) => self.command(line, &rule.name),
            Need::Boxes(name) => self.boxes(name),
        }
    }

    /// The text of a file that this agent has left in this run.
    fn left(&mut self, file: &str) -> Option<String> {
        let files = self.ending.files;
        let text = files.text(file);
        let why = match &text {
            Some(text) => {
                unmerged(file, text).or_else(|| files.left_over(file, self.ending.run_began))
            }
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
        let n_words = text::words(&text).count();
        if n_words < min_words {
            let why = format!("`{file}` has {n_words} of at least {min_words} words");
            return self.findings.owe(&file, why);
        }
        let words = text::count(n_words as u64, "word", "words");
        let proof = Proof::artifact(&file);
        self.findings.show(format!("`{file}` has {words}"), [proof]);
    }

    fn verdict(&mut self, words: &[String], place: Option<&str>, key: Option<&str>) {
        let file = place.map(|name| path::below(self.site, name));
        let text = match &file {
            None => Some(self.ending.reply.to_owned()),
            Some(file) => self.left(file),
        };
        let Some(text) = text else {
            return;
        };
        let wanted = words.join("` or `");
        let said = said_in(&text, file.as_deref(), words, key);
        match (said, file) {
            (Said::Undecided(why), _) => self.findings.missing.push(why),
            (Said::Word { word, line }, _) if !words.contains(&word) => {
                self.findings.refuted.get_or_insert(line);
            }
            (Said::Word { line, .. }, file) => {
                let artifact = file.as_deref().map(Proof::artifact);
                let said = Proof::Verdict {
                    line: line.clone(),
                    at: file.unwrap_or_else(|| "reply".to_owned()),
                };
                self.findings.show(line, [said].into_iter().chain(artifact));
            }
            (Said::Nothing, Some(file)) => {
                let why = format!("`{file}` has no verdict such as `{wanted}`");
                self.findings.owe(&file, why);
            }
            (Said::Nothing, None) => {
                let label = key.unwrap_or("Verdict");
                let why = format!("the report has no line `{label}: {wanted}`");
                self.findings.missing.push(why);
            }
        }
    }

    fn command(&mut self, line: &str, gate: &str) {
        let AgentEnd {
            files, state_file, ..
        } = self.ending;
        let need = TestNeed {
            gate: Some(gate),
            run_began: self.ending.run_began,
            gate_began: self.ending.gate_began,
        };
        match files.tested(state_file, &need) {
            Tested::Passed { proof, freshness } => {
                self.findings.freshness = freshness;
                let line = format!("`{line}` ended with status 0");
                self.findings.show(line, [proof]);
            }
            Tested::Failed { .. } => {
                let why = format!("the last `{line}` did not end with status 0");
                self.findings.refuted.get_or_insert(why);
            }
            Tested::Stale { file } => self.findings.missing.push(format!("stale: {file}")),
            Tested::Unseen(why) => {
                let reason = why.map_or_else(String::new, |why| format!(": {why}"));
                let missing = format!("`{line}` was not seen to pass in this run{reason}");
                self.findings.missing.push(missing);
            }
        }
    }

    fn boxes(&mut self, name: &str) {
        let file = path::below(self.site, name);
        let Some(text) = self.ending.files.text(&file) else {
            return self.findings.owe(&file, format!("`{file}` is missing"));
        };
        if let Some(why) = unmerged(&file, &text) {
            return self.findings.owe(&file, why);
        }
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

/// Why half of a file may be another's.
fn unmerged(file: &str, text: &str) -> Option<String> {
    let line = markdown::merge_conflict(text)?;
    Some(format!("a merge was left undone in `{file}` (`{line}`)"))
}

/// What a text says of a verdict.
enum Said {
    Nothing,
    /// Its word, and the line that holds it.
    Word {
        word: String,
        line: String,
    },
    /// Two words that exclude each other, in words.
    Undecided(String),
}

/// The verdict of a report: by its key, of a sidecar by `verdict` or `status`, else by the line
/// that decides.
fn said_in(text: &str, file: Option<&str>, words: &[String], key: Option<&str>) -> Said {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_json = file.is_some_and(|file| file.ends_with(".json"));
    let word = |(word, line): (String, String)| Said::Word { word, line };
    match key {
        None if is_json => from_json(text, &words),
        Some(key) if is_json => keyed(text, key).map_or(Said::Nothing, word),
        Some(key) => verdict::of_key(text, key).map_or(Said::Nothing, word),
        None => from_lines(text, &words),
    }
}

fn from_lines(text: &str, words: &[&str]) -> Said {
    let lines = markdown::lines(text);
    let Some(found) = verdict::last(&lines) else {
        return Said::Nothing;
    };
    let Some(word) = found.word else {
        return Said::Nothing;
    };
    let denying: Vec<&str> = if words.contains(&word) {
        verdict::BAD
            .iter()
            .filter(|bad| !words.contains(*bad))
            .copied()
            .collect()
    } else {
        words.to_vec()
    };
    match verdict::contradiction(&lines, &found, &denying) {
        Some(line) => Said::Undecided(verdict::undecided(word, line)),
        None => Said::Word {
            word: word.to_owned(),
            line: found.line.to_owned(),
        },
    }
}

/// The verdict of a sidecar. A `status` that denies it leaves it undecided.
fn from_json(text: &str, words: &[&str]) -> Said {
    let (verdict, status) = (keyed(text, "verdict"), keyed(text, "status"));
    match (verdict, status) {
        (Some((word, _)), Some((status, line)))
            if words.contains(&&*word)
                && !words.contains(&&*status)
                && verdict::BAD.contains(&&*status) =>
        {
            Said::Undecided(verdict::undecided(&word, &line))
        }
        (Some((word, line)), _) | (None, Some((word, line))) => Said::Word { word, line },
        (None, None) => Said::Nothing,
    }
}

/// The value of a key of a JSON object, and how it says it.
fn keyed(text: &str, key: &str) -> Option<(String, String)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let word = value.get(key)?.as_str()?;
    Some((word.to_owned(), format!("\"{key}\": \"{word}\"")))
}
