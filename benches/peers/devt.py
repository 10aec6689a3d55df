#!/usr/bin/env python3
"""The devt names alone, as a script of the usual kind: Python."""

import datetime
import json
import os
import re
import sys

event = json.load(sys.stdin)
path = event.get("tool_input", {}).get("file_path")
if not path:
    sys.exit(0)
path = os.path.normpath(os.path.join(event.get("cwd", ""), path))
directory, name = os.path.split(path)
if not directory.endswith("/.devt/state"):
    sys.exit(0)
names = os.path.join(os.path.dirname(__file__), "../../tests/fixtures/devt/names-0.83.txt")
with open(names) as lines:
    known = set(lines.read().split("\n"))
if f"canonical {name}" in known or re.fullmatch(r"[a-z]+(-[a-z]+)*-summary\.md", name):
    sys.exit(0)
reason = f"`{name}` is not in the state contract"
record = {
    "ts": datetime.datetime.now(datetime.timezone.utc).isoformat(),
    "source": "peer",
    "file_path": path,
    "reason": reason,
}
with open(os.path.join(directory, "preflight-denies.jsonl"), "a") as log:
    log.write(json.dumps(record) + "\n")
print(
    json.dumps(
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }
    )
)
