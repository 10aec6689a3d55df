//! Claude Code's own settings files, which hold the entries of the hook, and this
//! program's files: what an agent may do to them.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, chown};
#[cfg(unix)]
use std::{path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::Sandbox;
#[cfg(unix)]
use crate::support::serve;

const CLIENT: &str = ".claude/settings.json";

/// A project whose hooks are wired as `install` does it.
fn wired() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        CLIENT,
        "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
    );
    sandbox.run("install --scope project").ends(0);
    assert!(sandbox.read(CLIENT).contains("PreToolUse"));
    sandbox
}

/// The hook fails open, or stops every call, without its program.
#[cfg(unix)]
#[test]
fn an_agent_neither_replaces_nor_removes_the_program_that_is_registered() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().display().to_string();
    let program = format!("{home}/.local/bin/statewarden");
    let link = format!("{home}/bin/statewarden");
    for path in [&program, &link] {
        fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
    }
    // A process of its own, so that no thread has the program open for writing.
    let mut copy = Command::new("cp");
    copy.args([env!("CARGO_BIN_EXE_statewarden"), &program]);
    assert!(copy.status().unwrap().success());
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let hook = |event: &Value| {
        let mut command = Command::new(&link);
        command.arg("hook").env_clear().envs(sandbox.surroundings());
        command.env("CLAUDE_PROJECT_DIR", sandbox.project());
        serve(command, event.to_string().as_bytes())
    };
    for event in [
        sandbox.event("Write", json!({ "file_path": program, "content": "x" })),
        sandbox.event(
            "Edit",
            json!({ "file_path": link, "old_string": "a", "new_string": "b" }),
        ),
        sandbox.event(
            "mcp__fs__move_file",
            json!({ "source": program, "destination": "/x" }),
        ),
    ] {
        hook(&event).is_denied("protected-file");
    }
    for (command, decision) in [
        ("rm ~/.local/bin/statewarden", "protected-file"),
        ("rm -f ~/bin/statewarden", "protected-file"),
        ("cp x ~/bin/statewarden", "protected-file"),
        ("cd ~/.local/bin && : > statewarden", "protected-file"),
        ("mv ~/.local/bin/statewarden /tmp/s", "protected-file"),
        ("ln -sf /bin/true ~/bin/statewarden", "protected-file"),
        ("cp x ~/.local/bin", "allow"),
        ("./install.sh --uninstall", "protected-file"),
        (
            "sh ../x/install.sh --uninstall --prefix=$HOME/.local",
            "protected-file",
        ),
        ("rm -rf ~/.local", "bulk-removal"),
        ("./install.sh --uninstall --prefix /opt", "allow"),
        ("./install.sh --uninstall --dry-run", "allow"),
        ("./install.sh", "allow"),
        ("rm -rf /tmp/statewarden target/debug/statewarden", "allow"),
        (
            "cp ~/.local/bin/statewarden /tmp/s; ~/bin/statewarden doctor",
            "allow",
        ),
    ] {
        let answer = hook(&sandbox.bash_event(command));
        assert_eq!(answer.decision(), decision, "{command}");
    }
}

#[cfg(unix)]
#[test]
fn what_root_makes_in_a_users_project_is_the_users() {
    const NOBODY: u32 = 65_534;
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/old.md", "x");
    for made in ["", ".devt", ".devt/state", ".devt/state/old.md"] {
        let given = chown(sandbox.project().join(made), Some(NOBODY), Some(NOBODY));
        if let Err(error) = given {
            return eprintln!("skipped: only root gives files away: {error}");
        }
    }
    sandbox.run("install --scope project").ends(0);
    for path in [".devt/state/notes.md", ".claude/.docs/260110-a/notes.md"] {
        sandbox.denied(&sandbox.write_event(path, "x"), "ad-hoc-name");
    }
    sandbox.run("cleanup --apply").ends(0);
    let (mut dirs, mut n_files) = (vec![sandbox.project().to_owned()], 0);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            assert_eq!((meta.uid(), meta.gid()), (NOBODY, NOBODY), "{path:?}");
            n_files += usize::from(meta.is_file());
            dirs.extend(meta.is_dir().then_some(path));
        }
    }
    assert!(n_files >= 7, "settings, logs, archive: {n_files}");
}

/// What cannot be read is not taken for a file without our entries.
#[test]
fn settings_that_may_hold_our_entries_are_not_emptied() {
    let sandbox = wired();
    let text = sandbox.read(CLIENT);
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
    };
    let deep = format!("{{\"x\": {}{},", "[".repeat(200), "]".repeat(200));
    for present in [
        text.replacen('{', "{\"x\": \"\\ud800\",", 1).into_bytes(),
        text.replacen('{', &deep, 1).into_bytes(),
        text.replacen('{', "{ // x\n", 1).into_bytes(),
        [&b"{\"x\": \"\xe9\","[..], &text.as_bytes()[1..]].concat(),
        [&b"\xff\xfe"[..], &utf16(&text)].concat(),
    ] {
        fs::write(sandbox.path(CLIENT), &present).unwrap();
        for content in ["{}", "", "{"] {
            sandbox.hook(&sandbox.write_event(CLIENT, content)).reason();
        }
        sandbox
            .hook(&sandbox.bash_event("echo {} > .claude/settings.json"))
            .reason();
    }
    fs::write(sandbox.path(CLIENT), format!("// {text}")).unwrap();
    sandbox
        .hook(&sandbox.write_event(CLIENT, &text))
        .is_silent();
}
