// The devt names alone, as a script of the usual kind: Node.
const fs = require("node:fs");
const path = require("node:path");

const event = JSON.parse(fs.readFileSync(0, "utf8"));
const given = event.tool_input?.file_path;
if (given) {
  const file = path.resolve(event.cwd ?? "", given);
  const directory = path.dirname(file);
  const name = path.basename(file);
  if (directory.endsWith("/.devt/state")) {
    const names = fs.readFileSync(path.join(__dirname, "../../tests/fixtures/devt/names-0.83.txt"), "utf8").split("\n");
    if (!names.includes(`canonical ${name}`) && !/^[a-z]+(-[a-z]+)*-summary\.md$/.test(name)) {
      const reason = `\`${name}\` is not in the state contract`;
      const record = { ts: new Date().toISOString(), source: "peer", file_path: file, reason };
      fs.appendFileSync(path.join(directory, "preflight-denies.jsonl"), JSON.stringify(record) + "\n");
      console.log(
        JSON.stringify({
          hookSpecificOutput: {
            hookEventName: "PreToolUse",
            permissionDecision: "deny",
            permissionDecisionReason: reason,
          },
        }),
      );
    }
  }
}
