//! The gates of a declared system, as a contract writes them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::actor::AgentName;
use crate::base::{path, text};
use crate::contract::glob::Pattern;
use crate::formats::verdict::is_word;
use crate::settings::content::ContentRule;
use crate::settings::file::{Bounded, MAX_COUNT, Words};
use crate::settings::model::{Declared, Openness, Owner, SystemSettings};
use crate::settings::names::glob;
#[cfg(test)]
use crate::settings::tests::shapes;

/// A checkpoint of a declared system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    pub name: String,
    /// Those whose end says whether it has passed.
    pub agents: Vec<AgentName>,
    /// Whether the main thread passes it, when it writes a needed file and at its Stop.
    pub main: bool,
    /// The gates that have to pass before it; they are above it in the list.
    pub after: Vec<String>,
    /// All that it needs to pass, at least one thing.
    pub needs: Vec<Need>,
}

/// What shows that a gate has passed. Files are those of the site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Need {
    File {
        name: String,
        min_words: usize,
    },
    /// One of these words as the verdict in a file, or else in the agent's report.
    Verdict {
        words: Vec<String>,
        place: Option<String>,
        /// The key that holds it: of JSON, YAML or front matter, or in front of the colon of a
        /// line. Without one, `verdict` and `status` of JSON and `Verdict` and `Overall` of text.
        key: Option<String>,
    },
    /// A command that ended with status 0 in this run, as a whole line.
    Command(String),
    /// A file of which every box is checked.
    Boxes(String),
}

impl GateRule {
    /// Those by whose end it passes: agents, and [`MAIN`].
    pub(super) fn by_whose_ends(&self) -> impl Iterator<Item = AgentName> {
        let main = self.main.then(|| AgentName::parse(MAIN));
        self.agents.iter().cloned().chain(main)
    }

    pub(super) fn needs_command(&self) -> bool {
        let mut needs = self.needs.iter();
        needs.any(|need| matches!(need, Need::Command(_)))
    }
}

/// The main thread, where an agent's name is asked; no agent can be called so.
pub const MAIN: &str = "@main";

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, min_words: 1 } => write!(f, "`{name}`"),
            Self::File { name, min_words } => write!(f, "`{name}` of {min_words} words"),
            Self::Verdict { words, place, key } => {
                let (key, words) = (key.as_deref().unwrap_or("verdict"), words.join(" or "));
                match place {
                    Some(name) => write!(f, "{key} {words} in `{name}`"),
                    None => write!(f, "{key} {words} in the report"),
                }
            }
            Self::Command(line) => write!(f, "`{line}` with status 0"),
            Self::Boxes(name) => write!(f, "every box of `{name}`"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct GateFile {
    #[cfg_attr(test, schemars(with = "shapes::Word"))]
    name: String,
    /// The agent whose end passes it, `@main` for the main thread, or several
    agent: Words,
    /// Gates above it in the list that have to pass first
    after: Option<Words>,
    #[cfg_attr(test, schemars(length(min = 1)))]
    needs: Vec<NeedFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(
        extend("oneOf" = [
            { "required": ["file"] },
            { "anyOf": [{ "required": ["verdict"] }, { "required": ["in"] }, { "required": ["key"] }] },
            { "required": ["command"] },
            { "required": ["boxes"] },
        ]),
        extend("dependencies" = { "min_words": ["file"] }),
    )
)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeedFile {
    #[cfg_attr(test, schemars(with = "Option<shapes::NameGlob>"))]
    file: Option<String>,
    min_words: Option<Bounded<0, MAX_COUNT>>,
    /// The word that passes, or several. Default: approved, pass, passed, verified, also in capitals
    verdict: Option<Words>,
    /// The file with the verdict; without it the agent's report
    #[cfg_attr(test, schemars(with = "Option<shapes::NameGlob>"))]
    r#in: Option<String>,
    /// The key that holds the verdict: of JSON, YAML or front matter, or of a line `KEY: WORD`
    #[cfg_attr(test, schemars(with = "Option<shapes::Trimmed>"))]
    key: Option<String>,
    /// Is never run, only seen
    #[cfg_attr(test, schemars(with = "Option<shapes::Line>"))]
    command: Option<String>,
    #[cfg_attr(test, schemars(with = "Option<shapes::NameGlob>"))]
    boxes: Option<String>,
}

/// The gates of a system with these sites.
///
/// # Errors
/// What cannot hold, and what to write.
pub(super) fn gates(files: &[GateFile], sites: &[Pattern]) -> Result<Vec<GateRule>, String> {
    let mut gates: Vec<GateRule> = Vec::new();
    for file in files {
        let parsed = gate(file, &gates, sites);
        gates
            .push(parsed.map_err(|why| format!("`gates`: `{}`: {why}", file.name.escape_debug()))?);
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
    let is_main = |agent: &&String| matches!(agent.as_str(), "@main" | "main");
    let mut others = agents.iter().filter(|agent| !is_main(agent));
    if agents.is_empty() || others.any(|agent| agent.is_empty() || agent.starts_with('@')) {
        return Err("`agent` takes agents by their names, and `@main`".to_owned());
    }
    let after = file.after.iter().flat_map(|Words(after)| after);
    if let Some(unknown) = after.clone().find(|name| !is_above(name)) {
        return Err(format!("`after`: no gate `{unknown}` is above it"));
    }
    if file.needs.is_empty() {
        return Err("`needs` is empty; say what shows that it has passed".to_owned());
    }
    let needs = file.needs.iter().map(|need| need.parse(sites));
    Ok(GateRule {
        name: file.name.clone(),
        agents: agents
            .iter()
            .filter(|agent| !is_main(agent))
            .map(|agent| AgentName::parse(agent))
            .collect(),
        main: agents.iter().any(|agent| is_main(&agent)),
        after: after.cloned().collect(),
        needs: needs.collect::<Result<_, _>>()?,
    })
}

impl NeedFile {
    fn parse(&self, sites: &[Pattern]) -> Result<Need, String> {
        let is_verdict = self.verdict.is_some() || self.r#in.is_some() || self.key.is_some();
        let kinds = (&self.file, is_verdict, &self.command, &self.boxes);
        match kinds {
            (Some(file), false, None, None) => Ok(Need::File {
                name: plain_name(file, sites)?,
                min_words: self.min_words.map_or(1, |Bounded(words)| words as usize),
            }),
            _ if self.min_words.is_some() => Err(FORMS.to_owned()),
            (None, true, None, None) => self.verdict(sites),
            (None, false, Some(line), None) if !line.trim().is_empty() => {
                Ok(Need::Command(line.clone()))
            }
            (None, false, None, Some(boxes)) => Ok(Need::Boxes(plain_name(boxes, sites)?)),
            _ => Err(FORMS.to_owned()),
        }
    }

    fn verdict(&self, sites: &[Pattern]) -> Result<Need, String> {
        let words = match &self.verdict {
            Some(Words(words)) if !words.is_empty() => words.clone(),
            _ => GOOD_WORDS.split(' ').map(str::to_owned).collect(),
        };
        let place = self.r#in.as_ref().map(|name| plain_name(name, sites));
        let key = self.key.as_deref();
        let is_key = key.is_none_or(|key| !key.is_empty() && key.trim() == key);
        if !is_key || !words.iter().all(|word| is_word(word)) {
            return Err(FORMS.to_owned());
        }
        Ok(Need::Verdict {
            words,
            place: place.transpose()?,
            key: self.key.clone(),
        })
    }
}

/// The verdicts that pass a gate that names none.
const GOOD_WORDS: &str = "APPROVED PASS PASSED VERIFIED approved pass passed verified";

const FORMS: &str = "each of `needs` is one of `{file: NAME, min_words: N}`, \
                     `{verdict: WORD, in: NAME, key: KEY}`, `{command: LINE}`, `{boxes: NAME}`";

/// Whether every gate of a declared system can pass. Its schemas are loaded.
///
/// # Errors
/// The first that cannot, with the reason and what to write.
pub(super) fn check_can_pass(system: &SystemSettings, declared: &Declared) -> Result<(), String> {
    for rule in &declared.gates {
        for need in &rule.needs {
            let file = match need {
                Need::File { name, .. } | Need::Boxes(name) => Some(name),
                Need::Verdict { place, .. } => place.as_ref(),
                Need::Command(_) => None,
            };
            let Some(file) = file else { continue };
            check_name(file, system, declared)
                .and_then(|()| check_writer(rule, file, declared, &system.programs))
                .and_then(|()| check_verdict(need, file, declared))
                .map_err(|why| format!("`gates`: `{}` cannot pass: {why}", rule.name))?;
        }
    }
    Ok(())
}

/// Whether a file that a gate needs has a name that may be written.
fn check_name(file: &str, system: &SystemSettings, declared: &Declared) -> Result<(), String> {
    let (canonical, patterns) = (&declared.canonical, &declared.patterns);
    let globs = [
        canonical,
        patterns,
        &declared.ephemeral,
        &system.extra_globs,
    ];
    let mut dirs = system.subdirectories.iter();
    let is_known = globs.into_iter().flatten().any(|glob| glob.matches(file))
        || system.extra_names.iter().any(|name| name == file)
        || dirs.any(|dir| path::relative(file, dir).is_some());
    // A program of the system may write what no list has.
    if is_known || declared.open != Openness::Closed || !system.programs.is_empty() {
        return Ok(());
    }
    let names = canonical.iter().filter_map(Pattern::as_name);
    let near = match text::nearest(file, names) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Err(format!(
        "`{file}` is neither in `canonical` nor in `patterns`{near}"
    ))
}

/// Whether one of those whose end passes a gate may write a file that it needs.
fn check_writer(
    rule: &GateRule,
    file: &str,
    declared: &Declared,
    programs: &[String],
) -> Result<(), String> {
    let Some(owners) = declared.owners_of(file) else {
        return Ok(());
    };
    let may_write = owners.iter().any(|owner| match owner {
        Owner::Agent(agent) => rule.main || rule.agents.contains(agent),
        Owner::Main => rule.main,
        Owner::Program => !programs.is_empty(),
        Owner::User => false,
    });
    if may_write {
        return Ok(());
    }
    let names = owners.iter().map(|owner| format!("`{owner}`"));
    let owners = names.collect::<Vec<_>>().join(", ");
    let who = match rule.agents.first() {
        Some(agent) => agent.to_string(),
        None => "@main".to_owned(),
    };
    Err(format!(
        "`{file}` is owned by {owners}, and the gate is passed by `{who}`; name `{who}` in \
         `owners` of `{file}`, or an owner as the gate's `agent`"
    ))
}

/// Whether the content rule of a file lets the verdict of a need be written.
fn check_verdict(need: &Need, file: &str, declared: &Declared) -> Result<(), String> {
    let Need::Verdict { words, key, .. } = need else {
        return Ok(());
    };
    let is_text = file.ends_with(".md") || file.ends_with(".txt");
    let is_allowed = match (declared.content_of(file), key.as_deref()) {
        (Some(ContentRule::Schema(rule)), key) if !(is_text && key.is_none()) => {
            let keys = key.map_or(vec!["verdict", "status"], |key| vec![key]);
            let mut values = keys.iter().flat_map(|key| {
                words
                    .iter()
                    .map(move |word| serde_json::json!({ *key: word }))
            });
            values.any(|value| rule.schema.check("", &value).into_result().is_ok())
        }
        (Some(ContentRule::StatusLine(values)), Some(key))
            if key.eq_ignore_ascii_case("status") =>
        {
            words.iter().any(|word| values.contains(word))
        }
        _ => true,
    };
    if is_allowed {
        return Ok(());
    }
    let (words, key) = (words.join("` or `"), key.as_deref().unwrap_or("verdict"));
    Err(format!(
        "the content rule of `{file}` takes no `{words}` as its `{key}`; add the word there"
    ))
}

fn plain_name(name: &str, sites: &[Pattern]) -> Result<String, String> {
    match glob("needs", name, sites)?.as_name() {
        Some(name) => Ok(name.to_owned()),
        None => Err(format!("`needs`: `{name}` is a glob; name one file")),
    }
}
