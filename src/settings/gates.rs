//! The gates of a declared system, as a contract writes them.

use std::fmt;

use serde::Deserialize;

use crate::base::actor::AgentName;
use crate::contract::glob::Pattern;
use crate::formats::verdict::is_word;
use crate::settings::file::Words;
use crate::settings::names::glob;

/// A checkpoint of a declared system.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRule {
    pub name: String,
    /// Those whose end says whether it has passed.
    pub agents: Vec<AgentName>,
    /// The gates that have to pass before it; they stand above it in the list.
    pub after: Vec<String>,
    /// All that it needs to pass, at least one thing.
    pub needs: Vec<Need>,
}

/// What shows that a gate has passed. Files are those of the site.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    File {
        name: String,
        min_words: usize,
    },
    /// One of these words as the verdict in a file, or else in the agent's report.
    Verdict {
        words: Vec<String>,
        place: Option<String>,
    },
    /// A command that ended with status 0 since the gate began.
    Command(String),
    /// A file of which every box is checked.
    Boxes(String),
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, min_words: 1 } => write!(f, "`{name}`"),
            Self::File { name, min_words } => write!(f, "`{name}` of {min_words} words"),
            Self::Verdict { words, place } => {
                let place = place
                    .as_ref()
                    .map_or("the report".to_owned(), |name| format!("`{name}`"));
                write!(f, "verdict {} in {place}", words.join(" or "))
            }
            Self::Command(line) => write!(f, "`{line}` with status 0"),
            Self::Boxes(name) => write!(f, "every box of `{name}`"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateFile {
    name: String,
    agent: Words,
    after: Option<Words>,
    needs: Vec<NeedFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeedFile {
    file: Option<String>,
    min_words: Option<u32>,
    verdict: Option<Words>,
    r#in: Option<String>,
    command: Option<String>,
    boxes: Option<String>,
}

/// The gates of a system with these sites.
///
/// # Errors
/// What cannot hold, and what to write.
pub(super) fn gates(files: &[GateFile], sites: &[Pattern]) -> Result<Vec<GateRule>, String> {
    let mut gates: Vec<GateRule> = Vec::new();
    for file in files {
        let gate = gate(file, &gates, sites);
        gates.push(gate.map_err(|why| format!("`gates`: `{}`: {why}", file.name.escape_debug()))?);
    }
    Ok(gates)
}

fn gate(file: &GateFile, above: &[GateRule], sites: &[Pattern]) -> Result<GateRule, String> {
    let is_above = |name: &String| above.iter().any(|gate| gate.name == *name);
    if file.name.is_empty()
        || file
            .name
            .contains(|c: char| c.is_control() || c.is_whitespace())
    {
        return Err("a gate's name is one word".to_owned());
    }
    if is_above(&file.name) {
        return Err("there are two gates of that name".to_owned());
    }
    let Words(agents) = &file.agent;
    if agents.is_empty()
        || agents
            .iter()
            .any(|agent| agent.starts_with('@') || agent == "main")
    {
        return Err("`agent` names the agent whose end passes it".to_owned());
    }
    let after = file.after.iter().flat_map(|Words(after)| after);
    if let Some(unknown) = after.clone().find(|name| !is_above(name)) {
        return Err(format!("`after`: no gate `{unknown}` stands above it"));
    }
    if file.needs.is_empty() {
        return Err("`needs` is empty; say what shows that it has passed".to_owned());
    }
    let needs = file.needs.iter().map(|need| need.parse(sites));
    Ok(GateRule {
        name: file.name.clone(),
        agents: agents.iter().map(|agent| AgentName::parse(agent)).collect(),
        after: after.cloned().collect(),
        needs: needs.collect::<Result<_, _>>()?,
    })
}

impl NeedFile {
    fn parse(&self, sites: &[Pattern]) -> Result<Need, String> {
        let name = |name: &String| plain_name(name, sites);
        let is_said = |text: &String| !text.trim().is_empty();
        let kinds = (&self.file, &self.verdict, &self.command, &self.boxes);
        let need = match kinds {
            (Some(file), None, None, None) => Need::File {
                name: name(file)?,
                min_words: self.min_words.unwrap_or(1) as usize,
            },
            (None, Some(Words(words)), None, None)
                if words.iter().all(|word| is_word(word)) && !words.is_empty() =>
            {
                Need::Verdict {
                    words: words.clone(),
                    place: self.r#in.as_ref().map(name).transpose()?,
                }
            }
            (None, None, Some(line), None) if is_said(line) => Need::Command(line.clone()),
            (None, None, None, Some(boxes)) => Need::Boxes(name(boxes)?),
            _ => return Err(FORMS.to_owned()),
        };
        let is_stray = self.min_words.is_some() && self.file.is_none()
            || self.r#in.is_some() && self.verdict.is_none();
        match is_stray {
            true => Err(FORMS.to_owned()),
            false => Ok(need),
        }
    }
}

const FORMS: &str = "each of `needs` is one of `{file: NAME, min_words: N}`, \
                     `{verdict: WORD, in: NAME}`, `{command: LINE}`, `{boxes: NAME}`";

fn plain_name(name: &str, sites: &[Pattern]) -> Result<String, String> {
    match glob("needs", name, sites)?.as_name() {
        Some(name) => Ok(name.to_owned()),
        None => Err(format!("`needs`: `{name}` is a glob; name one file")),
    }
}
