#!/usr/bin/env bash
# The devt names alone, as a script of the usual kind: bash and jq.
set -euo pipefail

event=$(cat)
path=$(jq -r '.tool_input.file_path // empty' <<<"$event")
cwd=$(jq -r '.cwd // empty' <<<"$event")
[[ $path == /* ]] || path=$cwd/$path
[[ $path == */.devt/state/* ]] || exit 0
name=${path##*/.devt/state/}
grep -qxF -- "canonical $name" "${0%/*}/../../tests/fixtures/devt/names-0.83.txt" && exit 0
[[ $name =~ ^[a-z]+(-[a-z]+)*-summary\.md$ ]] && exit 0
reason="\`$name\` is not in the state contract"
jq -cn --arg ts "$(date -u +%FT%TZ)" --arg path "$path" --arg reason "$reason" \
    '{ts: $ts, source: "peer", file_path: $path, reason: $reason}' >>"${path%/*}/preflight-denies.jsonl"
jq -cn --arg reason "$reason" '{hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "deny",
    permissionDecisionReason: $reason}}'
