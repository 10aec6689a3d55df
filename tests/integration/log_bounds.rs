//! That the logs stay within their bounds, and lose nothing in a crowd.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use statewarden::log::append::Logs;
use statewarden::store::lock::IN_COMMAND;

use crate::support::{DENIES, DEVT, GATES, Ran, Sandbox, assert_has, feed, serve};

#[test]
fn a_line_is_never_longer_than_its_bound() {
    let sandbox = Sandbox::new();
    for filler in ["x", "é", "\u{1f980}", "\"", "\\", "\n", "\u{1}", "a b"] {
        let long = filler.repeat(20_000);
        let mut event = sandbox.bash_event(&format!(
            "echo '{}' > .devt/state/notes.md",
            long.replace('\'', "")
        ));
        for key in ["session_id", "tool_use_id", "agent_type", "agent_id"] {
            event[key] = long.clone().into();
        }
        sandbox.expect(&event, "ad-hoc-name");
        let mut event = sandbox.write_event(&format!(".devt/state/n{long}n"), "x");
        event["agent_type"] = long.clone().into();
        event["agent_id"] = "a-1".into();
        event["session_id"] = long.into();
        assert_ne!(sandbox.hook(&event).decision(), "allow");
    }
    let names = format!("touch .devt/state/{}{{1..50}}.md", "n".repeat(150));
    sandbox.denied(&sandbox.bash_event(&names), "ad-hoc-name");
    let log = sandbox.read(DEVT);
    assert_eq!(log.lines().count(), 17);
    for line in log.lines() {
        assert!(line.len() < 4_032, "{} bytes", line.len());
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["decision"], "deny");
        assert_eq!(record["system"], "devt");
        assert!(
            ["ad-hoc-name", "path-escape", "undeclared-directory"]
                .iter()
                .any(|rule| record["rule"] == *rule)
        );
        assert_eq!(record["ts"].as_str().unwrap().len(), 24);
        assert!(record["id"].as_str().unwrap().len() > 20);
    }
}

#[test]
fn a_full_log_that_cannot_be_moved_grows_on() {
    let sandbox = Sandbox::new();
    let old = "{\"x\":1}\n".repeat(8_000);
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    sandbox.write(DEVT, &(old.clone() + &old));
    sandbox.write(".devt/state/.archive", "a file");
    let ran = sandbox.hook(&sandbox.write_event(".devt/state/a.md", "x"));
    assert_has(&ran.stdout(), "ad-hoc-name");
    assert_has(&ran.stderr(), ".archive");
    let last = sandbox.records(DEVT).pop().unwrap();
    assert_eq!(last["name"], "a.md");
}

/// The kernel ends a process that goes past it, and with it the answer.
#[cfg(unix)]
#[test]
fn a_log_at_the_limit_of_file_sizes_changes_no_decision() {
    let sandbox = Sandbox::new();
    sandbox.write(DEVT, &"{}\n".repeat(20_000));
    let event = sandbox.write_event(".devt/state/a.md", "x").to_string();
    let hook = sandbox.command("hook");
    for (blocks, fits) in [(100, false), (1_000, true)] {
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" hook")]);
        limited
            .arg(hook.get_program())
            .envs(sandbox.surroundings())
            .current_dir(sandbox.project());
        let ran = serve(limited, event.as_bytes());
        assert_has(&ran.stdout(), "ad-hoc-name");
        let told = ran.stderr();
        assert_eq!(!told.contains("could not write"), fits, "{told}");
        assert_eq!(sandbox.records(DEVT).len(), 20_000 + usize::from(fits));
    }
}

#[test]
fn logs_that_are_full_in_one_moment_are_kept_in_their_order() {
    let sandbox = Sandbox::new();
    let log = Logs::devt(&sandbox.project().join(".devt/state"));
    for foreign in ["notes.jsonl", "2026-01-01.txt"] {
        let path = format!(".devt/state/.archive/preflight-denies-{foreign}");
        sandbox.write(&path, "no generation");
    }
    for line in ["a\n", "b\n", "c\n", "d\n"] {
        log.append(line, 3, "2026-01-01T00:00:00.000Z", IN_COMMAND)
            .unwrap();
    }
    let kept = log.generations();
    let texts = kept.iter().map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(texts.collect::<String>(), "a\nb\nc\n", "{kept:?}");
    let first = "preflight-denies-2026-01-01T00-00-00-000Z.jsonl";
    assert!(kept[0].ends_with(first), "{kept:?}");
    assert_eq!(sandbox.read(DEVT), "d\n");
}

#[test]
fn a_torn_last_line_is_mended_by_the_next_record_and_left_out_by_readers() {
    let sandbox = Sandbox::new();
    sandbox.hook(&sandbox.write_event(".devt/state/a.md", "x"));
    for (n, torn) in ["{\"v\":1,\"id\":\"0006", "x", "\u{e9}\u{e9}", "{}"]
        .iter()
        .enumerate()
    {
        let text = format!("{}{torn}", sandbox.read(DEVT));
        sandbox.write(DEVT, &text);
        sandbox.hook(&sandbox.write_event(&format!(".devt/state/b{n}.md"), "x"));
        let after = sandbox.read(DEVT);
        assert!(after.starts_with(&format!("{text}\n{{\"v\":1")), "{after}");
        assert!(after.ends_with("}\n"));
        let listed = sandbox.run("denies list --json");
        assert_eq!(listed.code(), 0);
        assert_eq!(
            listed.json()["denies"].as_array().unwrap().len(),
            n + 2,
            "{torn}"
        );
    }
    // Torn in the middle of a character.
    let mut bytes = fs::read(sandbox.project().join(DEVT)).unwrap();
    bytes.extend_from_slice(b"{\"reason\":\"\xc3");
    fs::write(sandbox.project().join(DEVT), bytes).unwrap();
    sandbox.hook(&sandbox.write_event(".devt/state/c.md", "x"));
    let listed = sandbox.run("denies --json").json();
    assert_eq!(listed["denies"].as_array().unwrap().len(), 6);
}

/// Lines of `bytes` bytes in all, each a record of its own.
fn filler(bytes: usize, tag: &str) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let n = text.len();
        text += &format!(
            "{{\"v\":1,\"id\":\"{tag}-{n:08}\",\"ts\":\"2026-01-01T00:00:00.000Z\",\"source\":\"statewarden\",\"decision\":\"deny\",\"rule\":\"ad-hoc-name\",\"system\":\"devt\",\"reason\":\"r\"}}\n"
        );
    }
    text
}

/// The rotated files of a log, oldest first.
fn generations(sandbox: &Sandbox, dir: &str, stem: &str) -> Vec<String> {
    let entries = fs::read_dir(sandbox.project().join(dir))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.starts_with(&format!("{stem}-2")));
    names.sort();
    names
}

#[test]
fn a_full_log_moves_to_the_archive_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    for (log, path, dir, stem) in [
        (
            DEVT,
            ".devt/state/notes.md",
            ".devt/state/.archive",
            "preflight-denies",
        ),
        (
            DENIES,
            ".claude/statewarden.yaml",
            ".claude/statewarden",
            "denies",
        ),
    ] {
        let old = filler(65_400, "old");
        sandbox.write(log, &old);
        sandbox.hook(&sandbox.write_event(path, "x"));
        assert_eq!(sandbox.records(log).len(), 1, "{log} begins anew");
        let archived = generations(&sandbox, dir, stem);
        assert_eq!(archived.len(), 1, "{archived:?}");
        assert_eq!(sandbox.read(&format!("{dir}/{}", archived[0])), old);
        let now = fs::metadata(sandbox.project().join(log)).unwrap().len();
        assert!(now < 65_536);
        let all = sandbox.run("denies --all --json").json();
        let newest = sandbox.run("denies --json").json();
        let len = |document: &Value| document["denies"].as_array().unwrap().len();
        assert!(
            len(&all) > 300 && len(&newest) <= 2,
            "{} {}",
            len(&all),
            len(&newest)
        );
    }
}

#[test]
fn a_full_log_of_gates_moves_as_the_others_do() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    sandbox.run("flow init t").ends(0);
    let old = filler(65_500, "old");
    sandbox.write(GATES, &old);
    let update = ["flow", "update", "--gate-result", "passed"];
    sandbox.run(&update).ends(0);
    assert_eq!(sandbox.records(GATES).len(), 1);
    let moved = generations(&sandbox, ".claude/statewarden", "gates");
    assert_eq!(moved.len(), 1, "{moved:?}");
    let moved = format!(".claude/statewarden/{}", moved[0]);
    assert_eq!(sandbox.read(&moved), old);
}

#[test]
fn a_log_below_its_bound_does_not_move() {
    let sandbox = Sandbox::new();
    let old = filler(60_000, "old");
    sandbox.write(DEVT, &old);
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    assert!(sandbox.read(DEVT).starts_with(&old));
    assert!(!sandbox.exists(".devt/state/.archive"));
}

#[test]
fn every_full_generation_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "log: {max_bytes: 65536}\narchive: {runs: 1}\n",
    );
    let dir = ".devt/state/.archive";
    for n in 0..4 {
        sandbox.write(DEVT, &filler(65_500, &format!("g{n}")));
        sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    }
    let kept = generations(&sandbox, dir, "preflight-denies");
    assert_eq!(kept.len(), 4, "{kept:?}");
    for (n, name) in kept.iter().enumerate() {
        assert!(
            sandbox
                .read(&format!("{dir}/{name}"))
                .contains(&format!("\"g{n}-"))
        );
    }
}

/// Starts the hook with its event written, but does not wait for it.
fn start(sandbox: &Sandbox, event: &Value) -> Child {
    let mut command = sandbox.hook_command();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    feed(&mut command, event.to_string().as_bytes())
}

/// Has 64 processes refuse at once; the names in the log and its archive.
fn crowd(sandbox: &Sandbox, log: &str, events: impl Fn(usize) -> Value) -> Vec<Value> {
    let children: Vec<Child> = (0..64).map(|n| start(sandbox, &events(n))).collect();
    for child in children {
        assert_ne!(
            Ran::from(child.wait_with_output().unwrap()).decision(),
            "allow"
        );
    }
    sandbox.records(log)
}

fn distinct(records: &[Value], key: &str) -> usize {
    records
        .iter()
        .map(|record| record[key].as_str().unwrap())
        .collect::<BTreeSet<_>>()
        .len()
}

#[test]
fn sixty_four_processes_at_once_lose_nothing_and_tear_nothing() {
    let sandbox = Sandbox::new();
    let records = crowd(&sandbox, DEVT, |n| {
        sandbox.write_event(&format!(".devt/state/n{n}.md"), "x")
    });
    assert_eq!(
        (
            records.len(),
            distinct(&records, "id"),
            distinct(&records, "name")
        ),
        (64, 64, 64)
    );
    // Here they also make the folder at once.
    let records = crowd(&sandbox, DENIES, |n| {
        sandbox.write_event(&format!(".agentmux/.sessions/s{n}/state.json"), "x")
    });
    assert_eq!(
        (
            records.len(),
            distinct(&records, "id"),
            distinct(&records, "file_path")
        ),
        (64, 64, 64)
    );
    let entries: BTreeSet<String> = fs::read_dir(sandbox.project().join(".claude/statewarden"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        entries,
        [".gitignore", "denies.jsonl"].map(str::to_owned).into()
    );
}

#[test]
fn rotation_in_a_crowd_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/statewarden.yaml", "log: {max_bytes: 65536}\n");
    // Some 3 KB a record: several rotations.
    let long = "long/".repeat(120);
    crowd(&sandbox, DEVT, |n| {
        let mut event = sandbox.write_event(&format!(".devt/state/n{n}/{long}x.md"), "x");
        for key in ["session_id", "agent_type"] {
            event[key] = "s".repeat(700).into();
        }
        event
    });
    let mut records = sandbox.records(DEVT);
    let archived = generations(&sandbox, ".devt/state/.archive", "preflight-denies");
    assert!(
        archived.len() > 1,
        "{archived:?} {} {}",
        sandbox.records(DEVT).len(),
        sandbox.read(DEVT).len()
    );
    for name in archived {
        records.extend(sandbox.records(&format!(".devt/state/.archive/{name}")));
    }
    assert_eq!(
        (
            records.len(),
            distinct(&records, "id"),
            distinct(&records, "name")
        ),
        (64, 64, 64)
    );
}

/// The record stands without the lock; the answer does not wait for it.
#[cfg(unix)]
#[test]
fn a_busy_lock_costs_neither_the_record_nor_the_answer() {
    let sandbox = Sandbox::new();
    // A crash left half a line.
    sandbox.write(DEVT, "{\"v\":1,\"id\":\"to");
    let mut lock =
        fd_lock::RwLock::new(fs::File::open(sandbox.project().join(".devt/state")).unwrap());
    let guard = lock.write().unwrap();
    let begun = std::time::Instant::now();
    sandbox.denied(
        &sandbox.write_event(".devt/state/notes.md", "x"),
        "ad-hoc-name",
    );
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    let log = sandbox.read(DEVT);
    let (torn, record) = log.split_once('\n').unwrap();
    assert_eq!(torn, "{\"v\":1,\"id\":\"to");
    let record: Value = serde_json::from_str(record).unwrap();
    assert_eq!(record["decision"], "deny");
    drop(guard);
}

/// A pipe in a log's place keeps nobody, and swallows no record in silence.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_logs_place_is_an_error() {
    let sandbox = Sandbox::new();
    crate::support::make_pipe(sandbox.path(DEVT));
    let ran = sandbox.hook(&sandbox.write_event(".devt/state/notes.md", "x"));
    ran.reason();
    let told = [ran, sandbox.run("denies")];
    for ran in told {
        assert_has(&ran.stderr(), "it is no regular file");
    }
}

/// Nor does one in the place of another file that a command opens.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_an_error() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path(".claude/deep-dive.local.md");
    fs::create_dir(sandbox.path(".claude")).unwrap();
    crate::support::make_pipe(&pipe);
    for args in [&["deep-dive", "init", "--refresh"][..], &["replay", &pipe]] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code(), 2, "{args:?}");
        let told = ran.stderr();
        assert!(told.contains("it is no regular file"), "{args:?}: {told}");
    }
    assert_eq!(sandbox.names(".claude"), ["deep-dive.local.md"]);
}
