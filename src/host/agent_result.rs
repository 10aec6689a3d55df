//! The end of an agent's run as it arrives: who ended, and with which words.

use std::io::Read as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::base::disk::bounded_read;
use crate::base::text;
use crate::formats::surrogates;
use crate::host::event::{Event, Kind, Raw, Tool};
use crate::host::task_news::TaskNews;

/// One end of one run of an agent. A foreground run brings two events of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentResult {
    /// As the event has it, with a plugin's prefix.
    pub agent_type: String,
    pub agent_id: Option<String>,
    /// The agent's final text; empty where the event does not bring it.
    pub reply: String,
    pub ended: Ended,
    pub reported_by: ReportedBy,
    /// The agent's own work tree, where the event was sent from elsewhere.
    pub work_tree: Option<String>,
    transcript: Option<String>,
}

/// How the run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The agent said its last word itself.
    ByItself,
    /// The client ended it at a limit, after an error or by the user's wish; and its words.
    CutOff(String),
    /// The launching call failed, with its error.
    Failed(String),
}

impl Ended {
    /// Why such an end moves nothing.
    pub fn objection(&self) -> Option<String> {
        match self {
            Self::ByItself => None,
            Self::CutOff(note) => Some(format!("the agent was cut off: {note}")),
            Self::Failed(error) => Some(format!("the agent failed: {error}")),
        }
    }
}

/// Which event reported the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedBy {
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
            (Kind::PostToolUseFailure, Tool::Agent) => from_failure(event),
            _ => None,
        }
    }

    /// The agent's task: from the call that launched it, or from the head of its
    /// transcript.
    pub fn task(&self, event: &Event<'_>) -> String {
        if self.reported_by == ReportedBy::Launcher {
            return event.input.prompt.as_str().to_owned();
        }
        self.transcript
            .as_deref()
            .map(first_words)
            .unwrap_or_default()
    }

    /// The final text from the agent's transcript, where the event brings none.
    /// That takes time, so it is asked for ends that matter.
    pub fn reply_in_transcript(&self) -> Option<String> {
        let transcript = self.transcript.as_deref()?;
        let is_asked = self.ended == Ended::ByItself && self.reply.trim().is_empty();
        is_asked.then(|| last_words(transcript))
    }
}

fn from_stop(event: &Event<'_>) -> AgentResult {
    let reply = event.last_assistant_message.as_str();
    AgentResult {
        agent_type: event.agent_type.as_str().to_owned(),
        agent_id: event.agent_id.get().map(str::to_owned),
        reply: reply.to_owned(),
        ended: words_of_client(reply).map_or(Ended::ByItself, Ended::CutOff),
        work_tree: None,
        transcript: event.agent_transcript_path.get().map(str::to_owned),
        reported_by: if event.is_held() {
            ReportedBy::SecondStop
        } else {
            ReportedBy::Stop
        },
    }
}

fn from_launcher(event: &Event<'_>) -> Option<AgentResult> {
    let response = &event.response;
    if response.status.as_str() != "completed" {
        return None;
    }
    let named = response.agent_type.get();
    let agent_type = named.or(event.input.subagent_type.get())?;
    let report = response.handback_report.value();
    let handed_back = report["text"].as_str().map(str::to_owned);
    let content = response.content.value();
    let blocks: Vec<&str> = texts(&content).collect();
    let count = |raw: Raw<'_>| raw.value().as_u64().map_or(0, |n| n as usize);
    let n_notes = count(response.harness_note_count).min(blocks.len());
    let (notes, words) = blocks.split_at(n_notes);
    let n_words = words
        .len()
        .saturating_sub(count(response.harness_tail_count));
    let cut_off = notes
        .iter()
        .find(|note| names_a_limit(note))
        .map(|note| first_line(note));
    let reply = handed_back.unwrap_or_else(|| words[..n_words].join("\n"));
    Some(AgentResult {
        agent_type: agent_type.to_owned(),
        agent_id: response.agent_id.get().map(str::to_owned),
        ended: cut_off
            .or_else(|| words_of_client(&reply))
            .map_or(Ended::ByItself, Ended::CutOff),
        reply,
        reported_by: ReportedBy::Launcher,
        work_tree: response.worktree_path.get().map(str::to_owned),
        transcript: None,
    })
}

/// The launching call failed, and with it the agent.
fn from_failure(event: &Event<'_>) -> Option<AgentResult> {
    Some(AgentResult {
        agent_type: event.input.subagent_type.get()?.to_owned(),
        agent_id: event.response.agent_id.get().map(str::to_owned),
        reply: String::new(),
        ended: Ended::Failed(first_line(event.error.as_str())),
        reported_by: ReportedBy::Launcher,
        work_tree: None,
        transcript: None,
    })
}

/// A background agent that did not come to its own end.
pub struct Failure {
    /// The client's id for it, which is the agent's.
    pub task: String,
    pub why: String,
}

/// The background tasks that failed or were ended by the news of the client in a prompt.
pub fn failures(event: &Event<'_>) -> Vec<Failure> {
    let failed = TaskNews::all(event).filter_map(|news| {
        let status = news.status().filter(|status| *status != "completed")?;
        let summary = news.summary();
        let more = summary.map_or_else(String::new, |text| format!(": {}", first_line(text)));
        Some(Failure {
            task: news.task()?.to_owned(),
            why: format!("the agent did not come to its end, it is `{status}`{more}"),
        })
    });
    failed.collect()
}

/// The text blocks of a content array.
fn texts(content: &Value) -> impl Iterator<Item = &str> {
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str())
}

/// Whether a note of the client says that the agent did not come to its end.
fn names_a_limit(note: &str) -> bool {
    let lower = note.to_lowercase();
    let names_tools = lower
        .trim_start()
        .starts_with("<tools-used-before-summary>");
    let signs = ["limit", "partial", "incomplete", "interrupted", "cut off"];
    !names_tools && signs.iter().any(|sign| lower.contains(sign))
}

/// What the client says of an error or an interruption in the agent's place.
fn words_of_client(reply: &str) -> Option<String> {
    const BEGINNINGS: [&str; 4] = [
        "API Error: ",
        "API Error (",
        "[Request interrupted by user",
        "Prompt is too long",
    ];
    let line = first_line(reply);
    let is_of_client = BEGINNINGS.iter().any(|begin| line.starts_with(begin));
    is_of_client.then_some(line)
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    text::truncate(lines.find(|line| !line.is_empty()).unwrap_or_default(), 200)
}

/// How much of a transcript's end is searched. The last words of an agent are
/// far shorter.
const TAIL: u64 = 8 * 1024 * 1024;

/// A transcript is written while the event is sent, so it may lag.
const TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// The first line of a transcript, which is the agent's task, is hardly longer.
const HEAD: u64 = 256 * 1024;

fn first_words(path: &str) -> String {
    let mut head = Vec::new();
    let file = bounded_read::open(Path::new(path));
    if let Ok((file, _)) = file {
        // What could not be read is not looked at.
        let _ = file.take(HEAD).read_to_end(&mut head);
    }
    let head = String::from_utf8_lossy(&head);
    let mut lines = head
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let told = lines
        .find(|line| line["type"] == "user")
        .unwrap_or_default();
    let content = &told["message"]["content"];
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => texts(content).collect::<Vec<_>>().join("\n"),
    }
}

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
    let mut words = LastWords::default();
    bounded_read::tail(Path::new(path), TAIL, &mut |line| words.read_line(line)).ok()?;
    words
        .handed_back
        .pop()
        .map(|(_, message)| message)
        .or(words.said)
        .filter(|words| !words.trim().is_empty())
}

/// What an agent said last, as its transcript is read.
#[derive(Default)]
struct LastWords {
    /// The ids of the calls that handed something back, with their messages.
    handed_back: Vec<(String, String)>,
    said: Option<String>,
}

impl LastWords {
    fn read_line(&mut self, line: &str) {
        let mut bytes = line.as_bytes().to_vec();
        surrogates::repair(&mut bytes);
        let line: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        // The client puts its own words about a failure into the agent's mouth.
        let is_said = line["type"] == "assistant" && line["isApiErrorMessage"] != true;
        let content = &line["message"]["content"];
        if let Some(text) = content.as_str() {
            self.said = is_said.then(|| text.to_owned());
        }
        for block in content.as_array().into_iter().flatten() {
            self.read_block(block, is_said);
        }
    }

    fn read_block(&mut self, block: &Value, is_said: bool) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("tool_use") if block["name"] == "SubagentHandback" => {
                let message = text(&block["input"]["message"]);
                self.handed_back.push((text(&block["id"]), message));
            }
            Some("tool_result") if block["is_error"] == true => {
                self.handed_back
                    .retain(|(id, _)| block["tool_use_id"] != id.as_str());
            }
            // Words before a call or an interruption say what comes next.
            Some("tool_use") => self.said = None,
            Some("text") if is_said => self.said = block["text"].as_str().map(str::to_owned),
            Some("text") => self.said = None,
            _ => {}
        }
    }
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
                .map(|ending| ending.reported_by)
                .collect::<Vec<_>>()
        };
        let foreground = told(FIXTURES[0]);
        assert!(
            foreground.ends_with(&[ReportedBy::Stop, ReportedBy::Launcher]),
            "{foreground:?}"
        );
        let background = told(FIXTURES[1]);
        assert!(
            !background.is_empty() && background.iter().all(|by| *by == ReportedBy::Stop),
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

    #[track_caller]
    fn check_launched(response: &str, reply: &str, ended: &Ended) {
        let event = format!(
            r#"{{"hook_event_name":"PostToolUse","tool_name":"Agent",
            "tool_input":{{"subagent_type":"Riko"}},"tool_response":{response}}}"#
        );
        let event = Event::parse(event.as_bytes()).expect("an event");
        let found = AgentResult::of(&event).expect("an end");
        assert_eq!((&*found.reply, &found.ended), (reply, ended), "{response}");
    }

    #[test]
    fn notes_of_the_client_are_no_reply_and_tell_of_a_cut_off() {
        let response = |n, blocks: &[&str]| {
            let content: Vec<Value> = blocks
                .iter()
                .map(|text| serde_json::json!({"type": "text", "text": text}))
                .collect();
            let response = serde_json::json!({"status": "completed", "harnessNoteCount": n, "content": content});
            response.to_string()
        };
        let tools = "<tools-used-before-summary>mcp__x__limit</tools-used-before-summary>\n";
        let note = "NOTE: this agent stopped at its 1-turn limit before finishing. The text below \
                    is PARTIAL output; treat it as incomplete.";
        check_launched(&response(1, &[tools, "found"]), "found", &Ended::ByItself);
        check_launched(&response(0, &["a", "b"]), "a\nb", &Ended::ByItself);
        check_launched(&response(9, &[tools]), "", &Ended::ByItself);
        let cut_off = Ended::CutOff(note.to_owned());
        check_launched(&response(2, &[tools, note, "I look"]), "I look", &cut_off);
        // An agent may say such words itself.
        check_launched(&response(0, &[note]), note, &Ended::ByItself);
        let error = "API Error: 529 Overloaded";
        let cut_off = Ended::CutOff(error.to_owned());
        check_launched(&response(0, &[error]), error, &cut_off);
    }

    #[test]
    fn a_handed_back_report_is_the_reply() {
        let launcher = endings(FIXTURES[2])
            .into_iter()
            .find(|ending| ending.reported_by == ReportedBy::Launcher);
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
