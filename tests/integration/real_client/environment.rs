//! What the client is told so that it stays on this machine.

/// `IS_SANDBOX` lets root skip the permissions; the key is never looked at.
pub(crate) const ENVIRONMENT: [(&str, &str); 8] = [
    ("TERM", "dumb"),
    ("LANG", "C.UTF-8"),
    ("IS_SANDBOX", "1"),
    ("ANTHROPIC_API_KEY", "not-a-key"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];
