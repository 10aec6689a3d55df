//! Sessions: agents start phases, the main thread's reports complete them.

use super::*;

fn phases(stage: &Stage, id: &str) -> Value {
    let text = stage.read(&format!(".claude/.docs/{id}/state.json"));
    let state: Value = serde_json::from_str(&text).unwrap();
    state["phases"].clone()
}

fn session(stage: &Stage, task: &str) -> String {
    let answer = stage.run(&["session", "init", task, "--json"]).json();
    answer["file"]
        .as_str()
        .unwrap()
        .split('/')
        .nth(2)
        .unwrap()
        .to_owned()
}

fn wrote(stage: &Stage, kind: &str, id: &str, report: &str) -> Value {
    let mut event = stage.event_of(kind);
    event["tool_name"] = "Write".into();
    event["tool_use_id"] = "toolu_1".into();
    let path = stage.path(&format!(".claude/.docs/{id}/{report}"));
    event["tool_input"] = json!({ "file_path": path, "content": "# Report\n" });
    event
}

#[test]
fn a_report_by_a_literal_command_completes_its_phase() {
    let heredoc = "mkdir -p x && cat > REPORT <<'EOF'\n# Found\nIt is here.\nEOF\n";
    for (command, status) in [
        (heredoc, "completed"),
        ("cat >> REPORT <<EOF\n# Found\nEOF", "completed"),
        ("printf '# Found\\n' | tee REPORT", "completed"),
        ("echo '# Found' > REPORT", "completed"),
        ("cat > REPORT <<EOF\n\nEOF", "pending"),
        (": > REPORT", "pending"),
        ("grep -q x REPORT", "pending"),
        ("sed -i s/a/b/ REPORT", "pending"),
    ] {
        let stage = Stage::new();
        let id = session(&stage, "a task");
        let report = format!(".claude/.docs/{id}/research-report.md");
        let command = command.replace("REPORT", &report);
        std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(stage.project())
            .output()
            .unwrap();
        let mut event = stage.bash_event(&command);
        event["hook_event_name"] = "PostToolUse".into();
        let mut of_agent = stage.by("scouter", event.clone());
        of_agent["tool_use_id"] = "toolu_2".into();
        stage.hook(&of_agent).is_silent();
        assert_eq!(phases(&stage, &id)["research"]["status"], "pending");
        stage.hook(&stage.bash_event(&command)).is_silent();
        stage.hook(&event).is_silent();
        let research = &phases(&stage, &id)["research"];
        assert_eq!(research["status"], status, "{command}");
    }
}

#[test]
fn a_report_completes_the_phase_of_its_own_session() {
    let stage = Stage::new();
    let (old, new) = (session(&stage, "old"), session(&stage, "new"));
    stage.write(
        &format!(".claude/.docs/{old}/research-report.md"),
        "# Report\n",
    );
    for kind in ["PreToolUse", "PostToolUse"] {
        let event = wrote(&stage, kind, &old, "research-report.md");
        stage.hook(&event).is_silent();
    }
    assert_eq!(phases(&stage, &old)["research"]["status"], "completed");
    assert_eq!(phases(&stage, &new)["research"]["status"], "pending");
}

#[test]
fn a_tie_moves_nothing() {
    let stage = Stage::new();
    let ids = [session(&stage, "one"), session(&stage, "two")];
    for id in &ids {
        let file = format!(".claude/.docs/{id}/state.json");
        let mut state: Value = serde_json::from_str(&stage.read(&file)).unwrap();
        state["updated_at"] = "2030-01-01T00:00:00Z".into();
        stage.write(&file, &state.to_string());
    }
    stage.start("scouter", "a-1");
    for id in &ids {
        assert_eq!(phases(&stage, id)["research"]["status"], "pending");
    }
    assert!(stage.skipped().contains("same time"));
}

#[test]
fn a_state_that_another_process_writes_is_no_stray() {
    let stage = Stage::new();
    let id = session(&stage, "a task");
    let temp = format!(".claude/.docs/{id}/.state.json.4711.tmp");
    stage.write(&temp, "{");
    let mut event = stage.bash_event("make");
    event["hook_event_name"] = "PostToolUse".into();
    stage.hook(&event).is_silent();
    stage.run("audit").ends(0);
    let write = stage.write_event(&temp, "{}");
    stage.hook(&write).is_denied("ephemeral-name");
}

#[cfg(unix)]
#[test]
fn what_clears_a_session_waits_for_the_hook() {
    use statewarden::store::lock::{IN_COMMAND, with_lock};
    let stage = Stage::new();
    session(&stage, "a task");
    let docs = stage.project().join(".claude/.docs");
    let clear = || {
        let mut reset = stage.command("reset --system session");
        reset.stdout(std::process::Stdio::null()).spawn()
    };
    let mut reset = with_lock(&docs, IN_COMMAND, |_| {
        let mut reset = clear()?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(reset.try_wait()?.is_none(), "it did not wait");
        Ok(reset)
    })
    .unwrap();
    assert!(reset.wait().unwrap().success());
}
