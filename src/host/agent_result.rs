//! The end of an agent's run as it arrives: who ended, and with which words.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::base::disk::bounded_read;
use crate::formats::surrogates;
use crate::host::event::{Event, Kind, Tool};

/// One end of one run of an agent. A foreground run brings two events of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentResult {
    /// As the event has it, with a plugin's prefix.
    pub agent_type: String,
    pub agent_id: Option<String>,
    /// The agent's final text; empty where the event does not bring it.
    pub reply: String,
    pub told_by: ToldBy,
    /// The agent's own work tree, where the event was sent from elsewhere.
    pub work_tree: Option<String>,
    transcript: Option<String>,
}

/// Which event told of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldBy {
    /// `SubagentStop`, which can still send the agent back to work.
    Stop,
    /// `SubagentStop` of an agent that a hook has sent back once already.
    SecondStop,
    /// The result of the launching call.
    Launcher,
}

impl AgentResult {
    /// Reads the end of a run; `None` for an event that is none. The launch of
    /// a background agent is no end.
    pub fn of(event: &Event<'_>) -> Option<Self> {
        match (event.kind(), event.tool()) {
            (Kind::SubagentStop, _) => Some(from_stop(event)),
            (Kind::PostToolUse, Tool::Agent) => from_launcher(event),
            _ => None,
        }
    }

    /// The final text from the agent's transcript, where the event brings none.
    /// That takes time, so it is asked for ends that matter.
    pub fn reply_in_transcript(&self) -> Option<String> {
        let transcript = self.transcript.as_deref()?;
        self.reply.trim().is_empty().then(|| last_words(transcript))
    }
}

fn from_stop(event: &Event<'_>) -> AgentResult {
    AgentResult {
        agent_type: event.agent_type.as_str().to_owned(),
        agent_id: event.agent_id.get().map(str::to_owned),
        reply: event.last_assistant_message.as_str().to_owned(),
        work_tree: None,
        transcript: event.agent_transcript_path.get().map(str::to_owned),
        told_by: match event.is_held() {
            true => ToldBy::SecondStop,
            false => ToldBy::Stop,
        },
    }
}

fn from_launcher(event: &Event<'_>) -> Option<AgentResult> {
    let response = &event.response;
    if response.status.as_str() != "completed" {
        return None;
    }
    let told = response.agent_type.get();
    let agent_type = told.or(event.input.subagent_type.get())?;
    let report = response.handback_report.value();
    let report = report["text"].as_str().map(str::to_owned);
    Some(AgentResult {
        agent_type: agent_type.to_owned(),
        agent_id: response.agent_id.get().map(str::to_owned),
        reply: report.unwrap_or_else(|| texts(&response.content.value())),
        told_by: ToldBy::Launcher,
        work_tree: response.worktree_path.get().map(str::to_owned),
        transcript: None,
    })
}

/// The text blocks of a content array, one after the other.
fn texts(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    blocks
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// How much of a transcript's end is searched. The last words of an agent are
/// far shorter.
const TAIL: u64 = 8 * 1024 * 1024;

/// A transcript is written while the event is sent, so it may lag.
const TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// The last report in a transcript: what was handed back and not refused, else
/// the last text, where nothing follows it.
fn last_words(path: &str) -> String {
    for attempt in 0..TRIES {
        if attempt > 0 {
            thread::sleep(BETWEEN_TRIES);
        }
        if let Some(words) = search(path) {
            return words;
        }
    }
    String::new()
}

fn search(path: &str) -> Option<String> {
    let mut handed_back: Vec<(String, String)> = Vec::new();
    let mut said = None;
    let mut take = |line: &str| {
        let mut line = line.as_bytes().to_vec();
        surrogates::repair(&mut line);
        let line: Value = serde_json::from_slice(&line).unwrap_or_default();
        // The client puts its own words about a failure into the agent's mouth.
        let is_said = line["type"] == "assistant" && line["isApiErrorMessage"] != true;
        let content = &line["message"]["content"];
        if let Some(text) = content.as_str() {
            said = is_said.then(|| text.to_owned());
        }
        for block in content.as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") if block["name"] == "SubagentHandback" => handed_back.push((
                    block["id"].as_str().unwrap_or_default().to_owned(),
                    block["input"]["message"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                )),
                Some("tool_result") if block["is_error"] == true => {
                    handed_back.retain(|(id, _)| block["tool_use_id"] != id.as_str());
                }
                // Words before a call or an interruption say what comes next.
                Some("tool_use") => said = None,
                Some("text") => {
                    let text = block["text"].as_str().filter(|_| is_said);
                    said = text.map(str::to_owned);
                }
                _ => {}
            }
        }
    };
    bounded_read::tail(Path::new(path), TAIL, &mut take).ok()?;
    handed_back
        .pop()
        .map(|(_, message)| message)
        .or(said)
        .filter(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURES: [&str; 3] = [
        include_str!("../../tests/fixtures/claude-code/foreground.jsonl"),
        include_str!("../../tests/fixtures/claude-code/background-parallel.jsonl"),
        include_str!("../../tests/fixtures/claude-code/auto-handback.jsonl"),
    ];

    fn endings(fixture: &str) -> Vec<AgentResult> {
        let events = fixture
            .lines()
            .map(|line| Event::parse(line.as_bytes()).expect("an event"));
        events.filter_map(|event| AgentResult::of(&event)).collect()
    }

    #[test]
    fn recorded_runs_end_as_often_as_they_should() {
        let told = |fixture: &str| {
            endings(fixture)
                .iter()
                .map(|ending| ending.told_by)
                .collect::<Vec<_>>()
        };
        let foreground = told(FIXTURES[0]);
        assert!(
            foreground.ends_with(&[ToldBy::Stop, ToldBy::Launcher]),
            "{foreground:?}"
        );
        let background = told(FIXTURES[1]);
        assert!(
            !background.is_empty() && background.iter().all(|by| *by == ToldBy::Stop),
            "{background:?}"
        );
    }

    #[test]
    fn a_result_without_a_type_is_of_the_agent_that_was_called() {
        let event = r#"{"hook_event_name":"PostToolUse","tool_name":"Agent",
            "tool_input":{"subagent_type":"Riko"},
            "tool_response":{"status":"completed","content":[{"type":"text","text":"a"}]}}"#;
        let event = Event::parse(event.as_bytes()).expect("an event");
        let ending = AgentResult::of(&event).expect("an end");
        assert_eq!(
            (ending.agent_type.as_str(), ending.reply.as_str()),
            ("Riko", "a")
        );
    }

    #[test]
    fn a_handed_back_report_is_the_reply() {
        let launcher = endings(FIXTURES[2])
            .into_iter()
            .find(|ending| ending.told_by == ToldBy::Launcher);
        let launcher = launcher.expect("a foreground run");
        let event = FIXTURES[2]
            .lines()
            .find(|line| line.contains("handbackReport"))
            .expect("a report");
        let event: Value = serde_json::from_str(event).expect("JSON");
        assert_eq!(
            launcher.reply,
            event["tool_response"]["handbackReport"]["text"]
        );
    }
}
