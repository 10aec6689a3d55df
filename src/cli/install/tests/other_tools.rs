use std::fs;

use super::{Temp, run, unwire, wire};
use crate::cli::install::Scope;
use crate::host::settings_json::Wiring;

/// What other tools write into these files, each in its own hand.
const OTHERS: [&str; 10] = [
    // A formatter's hook, by a serializer with two blanks.
    "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\n        \"matcher\": \"Edit|Write\",\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"npx prettier --write .\" }\n        ]\n      }\n    ]\n  }\n}\n",
    // The same event and matcher as ours, in exec form, on one line.
    "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"/opt/lint\",\"args\":[\"hook\"]}]}]}}",
    // Permissions alone, with tabs and without a break at the end.
    "{\n\t\"permissions\": {\n\t\t\"allow\": [\"Bash(git status:*)\"],\n\t\t\"deny\": []\n\t}\n}",
    // A Windows editor's breaks, and its mark at the begin.
    "\u{feff}{\r\n    \"model\": \"opus\",\r\n    \"env\": { \"A\": \"1\" }\r\n}\r\n",
    // A sound at the end of each turn.
    "{ \"hooks\": { \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] } ],\n             \"Notification\": [] } }\n",
    // Marketplaces and plugins, as the client writes them.
    "{\n  \"enabledPlugins\": {\n    \"a@b\": true\n  },\n  \"extraKnownMarketplaces\": {}\n}\n",
    // A status line, numbers with their digits, a key twice escaped.
    "{\"statusLine\": {\"type\": \"command\", \"command\": \"~/.claude/line.sh\"}, \"cleanupPeriodDays\": 30.0, \"n\\u00f6te\": 1e2}\n",
    // Another guard's hooks in every event of ours.
    "{\n  \"hooks\": {\n    \"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"guard\"}]}],\n    \"PostToolUse\": [],\n    \"SubagentStop\": [],\n    \"SessionStart\": [\n    ]\n  },\n  \"outputStyle\": \"brief\"\n}\n",
    // Blank lines and a key behind the hooks.
    "\n{\n\n  \"hooks\": {\n  },\n\n  \"includeCoAuthoredBy\": false\n\n}\n\n",
    // Half a character, which the client takes.
    "{\"env\": {\"EMOJI\": \"\\ud83d\"}, \"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"log\"}]}]}}\n",
];

#[test]
fn ten_files_of_other_tools_come_back_byte_for_byte() {
    for text in OTHERS {
        let temp = Temp::new();
        temp.write("project/.claude/settings.local.json", text);
        let before = temp.tree();
        run(wire, Scope::Local, &temp);
        let file = temp.place().settings(Scope::Local).unwrap();
        let wired = fs::read_to_string(file).unwrap();
        assert!(Wiring::read(&wired).unwrap().missing().is_empty(), "{text}");
        run(unwire, Scope::Local, &temp);
        assert_eq!(temp.tree(), before, "{text}");
    }
}
