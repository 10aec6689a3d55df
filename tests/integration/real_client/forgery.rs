//! Gates and a gate log that an agent forges by a program that cannot be read before it runs.

use super::api::{Block, Script};
use super::client::Mode;
use super::namespace::isolated;
use super::project::Project;
use super::{bash, dispatch};

/// Passes all gates of the run, and writes a record of it that follows the last one.
const FORGE: &str = r#"
import hashlib, json
state = ".claude/orchestration.local.md"
text = open(state).read().replace('"pending"', '"passed"').replace('"in_progress"', '"passed"')
open(state, "w").write(text)
log = ".claude/statewarden/gates.jsonl"
last = open(log).read().splitlines()[-1]
record = json.loads(last)
record.update(prev=hashlib.sha256(last.encode()).hexdigest(), id="forged", gate="verification", to="passed")
record["proof"] = [{"kind": "boxes", "done": 1, "of": 1}]
open(log, "a").write(json.dumps(record, separators=(",", ":")) + "\n")
"#;

#[test]
fn a_forged_run_stays_open_and_is_called_so() {
    let name = "real_client::forgery::a_forged_run_stays_open_and_is_called_so";
    isolated(name, |client| {
        let project = Project::new("forged");
        project.add_agent("riko");
        project.put("forge.py", FORGE);
        project.install();
        project.statewarden(&["flow", "init", "Add a parser"]);
        let forge = vec![bash("python3 forge.py")];
        let script = Script {
            main: vec![vec![dispatch("riko", "QUOKKA")], vec![Block::Text("done")]],
            subagents: vec![("QUOKKA", vec![forge, vec![Block::Text("explored")]])],
        };
        let run = client.run(&project, Mode::SkipPermissions, script);
        run.assert_sound();
        let state = project.read(".claude/orchestration.local.md");
        assert!(state.contains("\nactive: true\n"), "{state}");
        let log = project.read(".claude/statewarden/gates.jsonl");
        assert!(!log.contains("forged"), "{log}");
        assert!(log.contains("the run stays open"), "{log}");
        let verified = project.statewarden(&["verify"]);
        let line = "verification: only in the file (last changed by riko)";
        assert!(verified.contains(line), "{verified}");
        assert!(verified.contains("gate log: whole"), "{verified}");
    });
}
