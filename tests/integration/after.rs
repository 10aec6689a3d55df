//! Events after a call, for tests of what got past the guard.

use serde_json::{Value, json};

use crate::support::Sandbox;

pub(crate) fn after(sandbox: &Sandbox, tool: &str, input: Value, response: Value) -> Value {
    let mut event = sandbox.event(tool, input);
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = response;
    event["duration_ms"] = 50.into();
    event
}

/// After a command that printed nothing.
pub(crate) fn after_command(sandbox: &Sandbox, command: &str) -> Value {
    after(sandbox, "Bash", json!({ "command": command }), json!({}))
}
