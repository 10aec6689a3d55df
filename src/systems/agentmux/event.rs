//! `tool_events.jsonl` and the cursor that says how much of it was applied.

use serde::Serialize;
use serde_json::Value;

/// What `agentmux events` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Events {
    /// Bytes of the log that are applied.
    pub cursor: u64,
    pub unapplied: Vec<Event>,
    /// The log ends in the middle of a line, which AgentMux would lose.
    pub torn: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Where its line starts in the log, in bytes.
    pub offset: u64,
    pub tool: String,
    pub timestamp: Option<String>,
    pub payload: Value,
}

/// The cursor in `tool_event_state.json`: `applied_cursor` as the program
/// writes it, or else `applied_offset` as its documents name it. Both are the
/// byte offset behind the last applied line. As in the original whatever cannot
/// be read is 0, so that events are seen twice rather than never.
pub fn cursor(state_text: Option<&str>) -> u64 {
    let state = state_text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let number = |key| {
        let value = state.as_ref()?.get(key)?;
        value
            .as_u64()
            .or_else(|| value.as_str()?.trim().parse().ok())
    };
    match &state {
        Some(Value::Object(state)) if state.contains_key("applied_cursor") => {
            number("applied_cursor").unwrap_or(0)
        }
        _ => number("applied_offset").unwrap_or(0),
    }
}

/// The events behind the cursor. A cursor beyond the end starts over. Only whole
/// lines count; a line that is no JSON object is passed over.
pub fn read(log: &[u8], cursor: u64) -> Events {
    let start = usize::try_from(cursor)
        .ok()
        .filter(|start| *start <= log.len())
        .unwrap_or(0);
    let mut events = Events {
        cursor: start as u64,
        unapplied: Vec::new(),
        torn: false,
    };
    let mut offset = start;
    for line in log[start..].split_inclusive(|byte| *byte == b'\n') {
        if line.ends_with(b"\n") {
            events.unapplied.extend(parse(line, offset as u64));
        } else {
            events.torn = !line.trim_ascii().is_empty();
        }
        offset += line.len();
    }
    events
}

fn parse(line: &[u8], offset: u64) -> Option<Event> {
    let Value::Object(mut entry) = serde_json::from_slice(line).ok()? else {
        return None;
    };
    let text = |value: Option<&Value>| Some(value?.as_str()?.to_owned());
    Some(Event {
        offset,
        tool: text(entry.get("tool")).unwrap_or_else(|| "unknown".to_owned()),
        timestamp: text(entry.get("timestamp")),
        payload: entry.remove("payload").unwrap_or(Value::Null),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = include_str!("../../../tests/fixtures/agentmux/happy-tool_events.jsonl");
    const STATE: &str =
        include_str!("../../../tests/fixtures/agentmux/happy-tool_event_state.json");

    #[test]
    fn the_cursor_is_read_under_both_names() {
        for (text, expected) in [
            (Some(STATE), 1545),
            (Some(r#"{"applied_offset": 1024}"#), 1024),
            (Some(r#"{"applied_offset": 1024, "applied_cursor": 7}"#), 7),
            (
                Some(r#"{"applied_offset": 1024, "applied_cursor": null}"#),
                0,
            ),
            (Some(r#"{"applied_cursor": "12"}"#), 12),
            (Some(r#"{"applied_cursor": -3}"#), 0),
            (Some("[1]"), 0),
            (Some("{"), 0),
            (None, 0),
        ] {
            assert_eq!(cursor(text), expected, "{text:?}");
        }
    }

    /// `expected`: offsets of the unapplied events, and torn.
    #[track_caller]
    fn check(log: &[u8], cursor: u64, expected: (&[u64], bool)) {
        let events = read(log, cursor);
        let offsets: Vec<u64> = events.unapplied.iter().map(|event| event.offset).collect();
        assert_eq!((offsets.as_slice(), events.torn), expected);
    }

    #[test]
    fn whole_lines_behind_the_cursor_are_unapplied() {
        let log = b"{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n";
        check(log, 0, (&[0, 13], false));
        check(log, 13, (&[13], false));
        check(log, 26, (&[], false));
        check(log, 27, (&[0, 13], false));
        check(log, u64::MAX, (&[0, 13], false));
        check(log, 5, (&[13], false));
        check(&log[..20], 13, (&[], true));
        check(&log[..25], 13, (&[], true));
        check(b"nonsense\n\n[1]\n\xff\n{}\r\n  ", 0, (&[16], false));
        check(b"", 0, (&[], false));
    }

    #[test]
    fn a_real_log_is_read() {
        let all = read(LOG.as_bytes(), 0);
        assert_eq!((all.unapplied.len(), all.torn), (14, false));
        check(LOG.as_bytes(), cursor(Some(STATE)), (&[], false));
        let last = serde_json::to_value(&all.unapplied[13]).unwrap();
        let expected = serde_json::json!({
            "offset": 1436, "tool": "submit_review", "timestamp": "2026-11-21T09:02:32+00:00",
            "payload": {"role": "reviewer_quality"},
        });
        assert_eq!(last, expected);
    }
}
