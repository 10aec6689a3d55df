//! One line of a transcript → the tool calls and results in it. Decodes only
//! what says whether a call matters; texts are skipped in place.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::base::path;
use crate::host::event::Text;

/// A line of a conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'l"))]
pub(crate) struct Line<'l> {
    #[serde(rename = "type")]
    kind: Text<'l>,
    pub(crate) cwd: Text<'l>,
    #[serde(rename = "sessionId")]
    pub(crate) session: Text<'l>,
    pub(crate) timestamp: Text<'l>,
    #[serde(rename = "isSidechain")]
    pub(crate) is_sidechain: bool,
    /// In transcripts of subagents.
    #[serde(rename = "agentId")]
    pub(crate) agent_id: Text<'l>,
    /// The agent's type; also that of a session that runs as an agent.
    #[serde(rename = "attributionAgent")]
    pub(crate) agent: Text<'l>,
    message: Message<'l>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'l"))]
struct Message<'l> {
    content: Vec<Block<'l>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'l"))]
pub(crate) struct Block<'l> {
    #[serde(rename = "type")]
    kind: Text<'l>,
    pub(crate) id: Text<'l>,
    /// The tool's name.
    pub(crate) name: Text<'l>,
    /// The arguments, unread: most calls are of tools that change nothing.
    input: Option<&'l RawValue>,
    /// In a result: the id of its call.
    tool_use_id: Text<'l>,
    is_error: Option<bool>,
}

/// The arguments that name a file or hold a command.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'l"))]
pub(crate) struct Input<'l> {
    pub(crate) file_path: Text<'l>,
    pub(crate) notebook_path: Text<'l>,
    pub(crate) path: Text<'l>,
    pub(crate) command: Text<'l>,
}

impl<'l> Block<'l> {
    /// The arguments as they are on the line.
    pub(crate) fn input(&self) -> &'l RawValue {
        self.input.unwrap_or(RawValue::NULL)
    }

    /// The arguments that are looked at; those of other types read as empty.
    pub(crate) fn arguments(&self) -> Input<'l> {
        serde_json::from_str(self.input().get()).unwrap_or_default()
    }
}

/// Whether a line is one that the client writes: an object with its type.
pub(crate) fn is_record(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Typed<'l> {
        #[serde(borrow, rename = "type")]
        kind: Text<'l>,
    }
    let typed = serde_json::from_str::<Typed<'_>>(line);
    typed.is_ok_and(|typed| !typed.kind.as_str().is_empty())
}

/// Whether a line may hold a tool call, without parsing it.
pub(crate) fn may_call(line: &str) -> bool {
    line.contains("\"tool_use\"")
}

/// Whether a line may say that a hook refused a call.
pub(crate) fn may_refuse(line: &str) -> bool {
    line.contains("\"tool_result\"")
        && (line.contains("hook error") || line.contains("statewarden"))
}

/// The directory a line names, whatever else it holds.
pub(crate) fn cwd(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Where {
        cwd: String,
    }
    if !line.contains("\"cwd\":") {
        return None;
    }
    let named: Where = serde_json::from_str(line).ok()?;
    let cwd = path::slashed(&named.cwd);
    path::is_absolute(&cwd).then(|| cwd.into_owned())
}

/// What could be made of a line.
pub(crate) enum Parsed<'l> {
    Line(Box<Line<'l>>),
    /// JSON of another shape: not the conversation.
    Other,
    Unreadable,
}

pub(crate) fn parse(line: &str) -> Parsed<'_> {
    match serde_json::from_str(line) {
        Ok(line) => Parsed::Line(Box::new(line)),
        Err(_) if serde_json::from_str::<IgnoredAny>(line).is_ok() => Parsed::Other,
        Err(_) => Parsed::Unreadable,
    }
}

impl<'l> Line<'l> {
    /// The calls. The client repeats messages in its records of what it sent; only
    /// the conversation's own lines count.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Block<'l>> {
        let blocks = self.message.content.iter();
        let own = self.kind.as_str() == "assistant";
        blocks.filter(move |block| own && block.kind.as_str() == "tool_use")
    }

    /// The ids of the calls that failed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &str> {
        let blocks = self.message.content.iter();
        blocks
            .filter(|block| block.kind.as_str() == "tool_result" && block.is_error == Some(true))
            .map(|block| block.tool_use_id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of a line as `tool path command`, `-` for other JSON.
    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let found: Vec<String> = match parse(line) {
            Parsed::Line(line) => line
                .calls()
                .map(|call| {
                    let input = call.arguments();
                    let texts = [&call.name, &input.file_path, &input.command];
                    texts.map(Text::as_str).join(" ")
                })
                .collect(),
            Parsed::Other => vec!["-".to_owned()],
            Parsed::Unreadable => vec!["!".to_owned()],
        };
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn calls_are_found_in_lines_of_every_shape() {
        check(
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"},
                {"type":"tool_use","name":"Write","input":{"content":"{\"tool_use\"}","file_path":"/a"}},
                {"type":"tool_use","name":"Bash","input":{"command":"a\nb"}}]}}"#,
            &["Write /a ", "Bash  a\nb"],
        );
        check(
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__a__b",
                "input":{"path":[1,{"a":2.5e300}],"command":-7,"file_path":null}}]}}"#,
            &["mcp__a__b  "],
        );
        check(
            r#"{"type":"api-request-blob","message":{"content":[{"type":"tool_use","name":"Write","input":{}}]}}"#,
            &[],
        );
        check(
            r#"{"type":"user","message":{"content":"tool_use"}}"#,
            &["-"],
        );
        check(r#"{"type":"assistant","message":{"#, &["!"]);
    }
}
