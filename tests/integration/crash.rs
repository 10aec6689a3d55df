//! What a kill or a full disk leaves behind: the old file or the new one, whole.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::support::{DEVT, Sandbox, assert_has, lacks, skip, stride};

const WORKFLOW: &str =
    "active: true\nphase: plan\nstatus: \"DONE\"\n# a comment stays\ntask: keep\n";

const RUN: &str = include_str!("../fixtures/agent-flow/01-orchestration-init-default.md");

const SETTINGS: &str = ".claude/settings.json";

const MODEL: &str = "{ \"model\": \"opus\" }\n";

/// The program under a tracer with this option.
fn traced(option: &[&str], sandbox: &Sandbox, args: &[&str], stdin: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new("strace")
        .args(["-f", "-qq"])
        .args(option)
        .arg(env!("CARGO_BIN_EXE_statewarden"))
        .args(args)
        .current_dir(sandbox.project())
        .env_clear()
        .envs(sandbox.surroundings())
        .env("PATH", "/usr/bin:/bin")
        .env("CLAUDE_PROJECT_DIR", sandbox.project())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A process that is killed early closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

/// The system calls of a whole run, each with how often it was made.
fn system_calls(sandbox: &Sandbox, args: &[&str], stdin: &str) -> BTreeMap<String, u32> {
    let trace = sandbox.base().join("trace");
    traced(&["-o", trace.to_str().unwrap()], sandbox, args, stdin);
    let mut calls = BTreeMap::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let name = line
            .split_whitespace()
            .nth(1)
            .and_then(|call| call.split_once('('));
        if let Some((name, _)) = name {
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    // Nothing is left to kill at the end, and the start is the tracer's own.
    calls.retain(|name, _| name != "execve" && name != "exit_group");
    calls
}

fn can_trace() -> bool {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    let can = probe.is_ok_and(|status| status.success());
    if !can {
        lacks("strace is missing or not permitted");
    }
    can
}

/// Kills at every system call in turn and hands each aftermath to `check`.
fn kill_everywhere(
    args: &[&str],
    stdin: &dyn Fn(&Sandbox) -> String,
    check: &dyn Fn(&Sandbox, &str),
) {
    let fresh = || {
        let sandbox = Sandbox::new();
        sandbox.write(".devt/state/workflow.yaml", WORKFLOW);
        sandbox.write(".devt/state/notes.md", "stray");
        sandbox.write(".claude/orchestration.local.md", RUN);
        sandbox.write(SETTINGS, MODEL);
        let stdin = stdin(&sandbox);
        (sandbox, stdin)
    };
    kill_everywhere_in(&fresh, args, &|sandbox, _, nth| check(sandbox, nth));
}

/// The same in a project that `fresh` makes, with what then stands on stdin.
pub(crate) fn kill_everywhere_in(
    fresh: &dyn Fn() -> (Sandbox, String),
    args: &[&str],
    check: &dyn Fn(&Sandbox, &str, &str),
) {
    if !can_trace() {
        return;
    }
    let (whole, stdin) = fresh();
    let calls = system_calls(&whole, args, &stdin);
    let (mut n_calls, mut n_kills) = (0, 0);
    for (name, count) in &calls {
        for nth in (1..=*count).step_by(stride()) {
            let (sandbox, stdin) = fresh();
            let inject = format!("inject={name}:signal=SIGKILL:when={nth}");
            let option = ["-o", "/dev/null", "-e", &inject];
            let status = traced(&option, &sandbox, args, &stdin).status;
            n_calls += 1;
            n_kills += u32::from(status.signal() == Some(9) || status.code() == Some(137));
            check(&sandbox, &stdin, &format!("{name} {nth}"));
        }
    }
    assert!(
        n_kills > 25 / stride() as u32 && n_kills * 10 >= n_calls * 9,
        "{n_kills} kills at {n_calls} calls"
    );
}

#[test]
fn an_update_killed_at_any_system_call_leaves_the_old_file_or_the_new() {
    kill_everywhere(
        &["update", "phase=test"],
        &|_| String::new(),
        &|sandbox, nth| {
            let text = sandbox.read(".devt/state/workflow.yaml");
            let whole = text == WORKFLOW
                || (text.contains("phase: test\n") && text.contains("task: keep\n"));
            assert!(whole, "killed at {nth}: {text}");
            // The dead process's locks hold nobody up.
            let next = sandbox.run("update phase=verify");
            assert_eq!(next.code(), 0, "killed at {nth}: {}", next.stderr());
        },
    );
}

#[test]
fn a_denial_killed_at_any_system_call_leaves_whole_lines() {
    let event = |sandbox: &Sandbox| sandbox.write_event(".devt/state/todo.md", "x").to_string();
    kill_everywhere(&["hook"], &event, &|sandbox, nth| {
        sandbox.denied(
            &sandbox.write_event(".devt/state/again.md", "x"),
            "ad-hoc-name",
        );
        let text = sandbox.read(DEVT);
        let lines: Vec<_> = text
            .lines()
            .map(serde_json::from_str::<serde_json::Value>)
            .collect();
        let torn = lines.iter().filter(|line| line.is_err()).count();
        assert!(
            torn <= 1 && lines.last().unwrap().is_ok(),
            "killed at {nth}: {text}"
        );
    });
}

#[test]
fn a_gate_change_killed_at_any_system_call_leaves_the_old_state_or_the_new() {
    let event = |sandbox: &Sandbox| {
        json!({
            "session_id": "s", "cwd": sandbox.project(), "hook_event_name": "SubagentStop",
            "agent_type": "agent-flow:Riko", "agent_id": "a", "last_assistant_message": "## Exploration Results",
        })
        .to_string()
    };
    kill_everywhere(&["hook"], &event, &|sandbox, at| {
        let text = sandbox.read(".claude/orchestration.local.md");
        let passed = text.contains("  exploration:\n    status: \"passed\"\n");
        assert!(
            text == RUN || (passed && text.len() > RUN.len() - 10),
            "killed at {at}: {text}"
        );
        assert!(
            statewarden::systems::agent_flow::state::FlowState::read(&text).is_ok(),
            "killed at {at}"
        );
        // The chain of gates goes on, behind a torn line too.
        let next = |id: &str| event(sandbox).replace("\"a\"", &format!("\"{id}\""));
        for id in ["b", "c"] {
            sandbox.hook_bytes(next(id).as_bytes());
        }
        let verified = sandbox.run("verify --json");
        let chain = &verified.json()["chain"];
        assert_eq!(
            (verified.code(), &chain["ok"]),
            (0, &json!(true)),
            "killed at {at}: {chain}"
        );
        assert!(
            chain["lines"].as_u64() >= Some(2),
            "killed at {at}: {chain}"
        );
    });
}

#[test]
fn a_cleanup_killed_at_any_system_call_loses_nothing() {
    kill_everywhere(
        &["cleanup", "--apply"],
        &|_| String::new(),
        &|sandbox, nth| {
            let in_place = sandbox.exists(".devt/state/notes.md");
            let mut archived = Vec::new();
            let archive = sandbox.project().join(".devt/state/.archive");
            for run in fs::read_dir(&archive).into_iter().flatten().flatten() {
                archived.extend(fs::read_to_string(run.path().join("notes.md")).ok());
            }
            assert_eq!(
                usize::from(in_place) + archived.len(),
                1,
                "killed at {nth}: in place {in_place}, {archived:?}"
            );
            assert!(archived.iter().all(|text| text == "stray"));
        },
    );
}

/// The next run ends with nothing but what was there before the first.
fn check_unwired(sandbox: &Sandbox, nth: &str) {
    let next = sandbox.run("uninstall");
    assert_eq!(next.code(), 0, "killed at {nth}: {}", next.stderr());
    assert_eq!(sandbox.read(SETTINGS), MODEL, "killed at {nth}");
    let left = sandbox.names(".claude");
    let before = ["orchestration.local.md", "settings.json"];
    assert_eq!(left, before, "killed at {nth}");
}

#[test]
fn an_install_killed_at_any_system_call_leaves_whole_settings_and_a_whole_backup() {
    kill_everywhere(
        &["install", "--scope", "project"],
        &|_| String::new(),
        &|sandbox, nth| {
            let text = sandbox.read(SETTINGS);
            assert!(
                text == MODEL || (text.contains("opus") && text.contains("SubagentStop")),
                "killed at {nth}: {text}"
            );
            let backup = format!("{SETTINGS}.statewarden-backup");
            assert!(
                !sandbox.exists(&backup) || sandbox.read(&backup) == MODEL,
                "killed at {nth}"
            );
            assert_eq!(
                sandbox.run("install --scope project").code(),
                0,
                "killed at {nth}"
            );
            check_unwired(sandbox, nth);
        },
    );
}

#[test]
fn an_uninstall_killed_at_any_system_call_is_finished_by_the_next() {
    let installed = |sandbox: &Sandbox| {
        sandbox.run("install --scope project").ends(0);
        String::new()
    };
    kill_everywhere(&["uninstall"], &installed, &check_unwired);
}

#[test]
fn a_failure_names_its_place_and_leaves_nothing_half_made() {
    if !can_trace() {
        return;
    }
    let check = |args: &[&str], inject: &str, said: &str| {
        let sandbox = Sandbox::new();
        let inject = format!("inject={inject}");
        let ran = traced(&["-o", "/dev/null", "-e", &inject], &sandbox, args, "");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        let said = said.replace("PROJECT", sandbox.project().to_str().unwrap());
        assert_eq!(ran.status.code(), Some(2), "{stderr}");
        assert_has(&stderr, &said);
        assert!(!sandbox.exists(".claude"), "{args:?} at {inject}");
        assert_eq!(sandbox.names(".devt/state"), [""; 0]);
    };
    let docs = "`PROJECT/.claude/.docs`: No locks available";
    let init = ["session", "init", "x"];
    let full = "state.json`: No space left";
    check(&init, "fdatasync:error=ENOSPC:when=1", full);
    let full = ".docs`: No space left";
    check(&init, "mkdir:error=ENOSPC:when=3+", full);
    check(&init, "flock:error=ENOLCK:when=1", docs);
    // The process id is written into `.lock` itself where there are no hard links.
    let update = ["update", "phase=test"];
    check(&update, "write:error=EDQUOT:when=1..2", "(os error 122)");
    let full = "stdout: No space left";
    check(&["status"], "write:error=ENOSPC:when=1", full);
}

/// Runs a script in a mount namespace in which `$DISK` is a disk of 256 KiB.
pub(crate) fn on_a_full_disk(sandbox: &Sandbox, script: &str) -> Option<String> {
    let disk = sandbox.base().join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mount = "mount -t tmpfs -o size=256k none \"$DISK\" || exit 77\n";
    let ran = Command::new("unshare")
        .args(["-rm", "sh", "-c", &format!("{mount}{script}")])
        .env_clear()
        .envs(sandbox.surroundings())
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("DISK", &disk)
        .env("PROGRAM", env!("CARGO_BIN_EXE_statewarden"))
        .output();
    match ran {
        Ok(ran) if ran.status.success() => Some(String::from_utf8_lossy(&ran.stdout).into_owned()),
        Ok(ran) if ran.status.code() == Some(77) || ran.status.code() == Some(1) => {
            skip("a mount namespace is not permitted");
            None
        }
        Ok(ran) => panic!("{ran:?}"),
        Err(_) => {
            lacks("unshare is missing");
            None
        }
    }
}

#[test]
fn a_full_disk_costs_no_state_and_no_decision() {
    let sandbox = Sandbox::new();
    let event = json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": { "file_path": "DISK/.devt/state/todo.md", "content": "x" },
    });
    fs::write(sandbox.base().join("event.json"), event.to_string()).unwrap();
    let end = json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "SubagentStop", "agent_id": "a",
        "agent_type": "agent-flow:Riko", "last_assistant_message": "Found it.",
    });
    fs::write(sandbox.base().join("end.json"), end.to_string()).unwrap();
    fs::write(sandbox.base().join("run.md"), RUN).unwrap();
    let script = format!(
        r#"
        mkdir -p "$DISK/.devt/state" && cd "$DISK" || exit 2
        printf 'active: true\nphase: plan\n' > .devt/state/workflow.yaml
        mkdir -p .claude && cp '{base}/run.md' .claude/orchestration.local.md
        cat /dev/zero > fill 2>/dev/null
        "$PROGRAM" --project "$DISK" update phase=test >/dev/null 2>&1
        echo "update $?"
        cat .devt/state/workflow.yaml
        sed "s|DISK|$DISK|" '{base}/event.json' | CLAUDE_PROJECT_DIR="$DISK" "$PROGRAM" hook 2> '{base}/stderr'
        echo "hook $?"
        CLAUDE_PROJECT_DIR="$DISK" "$PROGRAM" hook < '{base}/end.json' 2>> '{base}/stderr'
        ls -A .devt/state .claude
        cmp .claude/orchestration.local.md '{base}/run.md' && echo "run kept"
        exit 0
        "#,
        base = sandbox.base().display()
    );
    let Some(out) = on_a_full_disk(&sandbox, &script) else {
        return;
    };
    assert_has(&out, "update 2\nactive: true\nphase: plan\n");
    assert_has(&out, "\"permissionDecision\":\"deny\"");
    assert_has(&out, "hook 0\n");
    assert!(
        !out.contains(".tmp"),
        "a failed write leaves no temporary file: {out}"
    );
    let stderr = fs::read_to_string(sandbox.base().join("stderr")).unwrap();
    for said in ["could not write", "could not change"] {
        assert_has(&stderr, said);
    }
    assert_has(&out, "run kept");
}
