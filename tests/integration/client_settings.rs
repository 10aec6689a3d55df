//! Claude Code's own settings files, which hold the entries of the hook, and this
//! program's files: what an agent may do to them.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, chown};
#[cfg(unix)]
use std::{path::Path, process::Command};

use serde_json::{Value, json};

#[cfg(unix)]
use crate::support::serve;
use crate::support::{EVENTS, Sandbox, assert_has};

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

#[test]
fn the_clients_settings_may_be_edited_around_our_entries() {
    let sandbox = wired();
    let text = sandbox.read(CLIENT);
    let mut more: Value = serde_json::from_str(&text).unwrap();
    more["permissions"] = json!({ "allow": ["Bash(ls)"] });
    more["hooks"]["Notification"] = json!([]);
    for event in [
        sandbox.edit_event(CLIENT, "\"opus\"", "\"sonnet\""),
        sandbox.edit_event(CLIENT, "  \"model\": \"opus\",\n", ""),
        sandbox.edit_event(CLIENT, "not there", "x"),
        sandbox.write_event(CLIENT, &text),
        sandbox.write_event(CLIENT, &more.to_string()),
        sandbox.write_event(".claude/settings.local.json", "{\"model\": \"opus\"}"),
        sandbox.bash_event("cat .claude/settings.json"),
    ] {
        sandbox.hook(&event).is_silent();
    }
}

/// The plugin is switched on by a key of the client's settings.
#[test]
fn an_agent_does_not_switch_the_plugin_off() {
    let sandbox = wired();
    let with = |plugin: &str| {
        let mut text: Value = serde_json::from_str(&sandbox.read(CLIENT)).unwrap();
        text["enabledPlugins"] = serde_json::from_str(plugin).unwrap();
        text.to_string()
    };
    let on = with(r#"{"statewarden@a":true,"other@a":true}"#);
    let write = |text: &str| sandbox.hook(&sandbox.write_event(CLIENT, text));
    for off in [
        r#"{"statewarden@a":false,"other@a":true}"#,
        r#"{"other@a":true}"#,
    ] {
        sandbox.write(CLIENT, &on);
        write(&with(off)).is_denied("protected-file");
    }
    write(&with(r#"{"statewarden@a":true}"#)).is_silent();
    let local = ".claude/settings.local.json";
    let off = r#"{"enabledPlugins":{"statewarden@a":false}}"#;
    sandbox.denied(&sandbox.write_event(local, off), "protected-file");
}

/// Where the session names no project, it is looked for as `uninstall` does.
#[test]
fn an_agent_does_not_uninstall_from_below_the_project() {
    let sandbox = wired();
    sandbox.write("src/a.rs", "");
    for command in [
        "statewarden uninstall",
        "cd src && statewarden uninstall",
        "(cd src && ../install.sh --uninstall)",
    ] {
        let event = sandbox.bash_event(command);
        let ran = sandbox.hook_without_project_dir(&event);
        ran.is_denied("protected-file");
    }
}

fn config_change(sandbox: &Sandbox, file: &str, source: &str) -> Value {
    let mut event = sandbox.event_of("ConfigChange");
    event["source"] = source.into();
    event["file_path"] = file.into();
    event
}

/// A running session keeps its hooks where no settings file would run them any more.
#[test]
fn a_change_that_takes_the_hooks_out_is_held() {
    let mut sandbox = wired();
    let text = sandbox.read(CLIENT);
    let with = |edit: &dyn Fn(&mut Value)| {
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        edit(&mut settings);
        settings.to_string()
    };
    let matching =
        |matcher: Value| with(&|it| it["hooks"]["PreToolUse"][0]["matcher"] = matcher.clone());
    let is_held = |sandbox: &Sandbox, now: &str| {
        sandbox.write(CLIENT, now);
        let event = config_change(sandbox, &sandbox.path(CLIENT), "project_settings");
        let said = sandbox.hook(&event).ends(0).stdout();
        assert!(
            said.is_empty() || said.contains("\"decision\":\"block\""),
            "{said}"
        );
        !said.is_empty()
    };
    for (now, held) in [
        (text.clone(), false),
        (with(&|it| it["model"] = "haiku".into()), false),
        (matching(json!("*")), false),
        (matching(json!("Write|Edit")), false),
        (matching(json!("^Nothing$")), true),
        (with(&|it| it["hooks"]["PreToolUse"] = json!([])), true),
        (with(&|it| it["disableAllHooks"] = true.into()), true),
        (with(&|it| it["model"] = 3.into()), true),
        ("{}".to_owned(), true),
        ("{".to_owned(), true),
    ] {
        assert_eq!(is_held(&sandbox, &now), held, "{now}");
    }
    let record = sandbox.records(EVENTS).pop().unwrap();
    let seen = [&record["decision"], &record["rule"], &record["name"]];
    assert_eq!(seen, ["detected", "protected-file", "settings.json"]);
    // The set counts, and what else runs the hook.
    sandbox.write(".claude/settings.local.json", &text);
    assert!(!is_held(&sandbox, "{}"));
    fs::remove_file(sandbox.path(".claude/settings.local.json")).unwrap();
    assert!(is_held(&sandbox, "{}"));
    sandbox.env.push(("CLAUDE_PLUGIN_ROOT", "/p".to_owned()));
    assert!(!is_held(&sandbox, "{}"));
    assert!(is_held(&sandbox, "{\"disableAllHooks\": true}"));
    sandbox.env.clear();
    // A person's `uninstall` takes them out, and nobody holds what was never there.
    sandbox.run("install --scope project").ends(0);
    sandbox.run("uninstall").ends(0);
    assert!(!is_held(&sandbox, "{}"));
    // What the user's settings ran when the session began is kept as well.
    sandbox.run("install --scope user").ends(0);
    sandbox.hook(&sandbox.event_of("SessionStart")).is_silent();
    assert!(!is_held(&sandbox, "{}"));
    let user = sandbox.home().join(".claude/settings.json");
    fs::write(&user, "{}").unwrap();
    let event = config_change(&sandbox, user.to_str().unwrap(), "user_settings");
    assert_has(&sandbox.hook(&event).stdout(), "this session keeps");
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

#[test]
fn the_users_settings_are_kept_where_the_client_has_them() {
    let mut sandbox = Sandbox::new();
    let uninstall = |sandbox: &Sandbox, command| sandbox.hook(&sandbox.bash_event(command));
    sandbox.run("install --scope user").ends(0);
    let of_home = "CLAUDE_CONFIG_DIR= statewarden uninstall --scope user";
    uninstall(&sandbox, of_home).is_denied("protected-file");

    let elsewhere = sandbox.home().join("elsewhere").display().to_string();
    sandbox.env.push(("CLAUDE_CONFIG_DIR", elsewhere));
    let of_user = "statewarden uninstall --scope user";
    uninstall(&sandbox, of_user).is_silent();
    sandbox.run("install --scope user").ends(0);
    uninstall(&sandbox, of_user).is_denied("protected-file");
}

#[test]
fn an_edit_that_drops_our_entries_is_refused() {
    let sandbox = wired();
    let text = sandbox.read(CLIENT);
    let settings: Value = serde_json::from_str(&text).unwrap();
    let mut contents = vec![
        "{}".to_owned(),
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        format!("// {text}"),
        text.replacen('{', "{\"disableAllHooks\": true,", 1),
    ];
    for event in ["PreToolUse", "SubagentStop"] {
        let mut settings = settings.clone();
        let hooks = settings["hooks"].as_object_mut().unwrap();
        hooks.remove(event).unwrap();
        contents.push(settings.to_string());
    }
    for (key, value) in [
        ("", json!({})),
        ("/PreToolUse/0/matcher", json!("^Nothing$")),
        ("/PreToolUse/0/hooks/0/command", json!("/bin/true")),
        ("/PreToolUse/0/hooks/0/args", json!(["--version"])),
        ("/PreToolUse/0/hooks/0/timeout", json!("x")),
        ("/PreToolUse/0/hooks/0/onFailure", json!("continue")),
    ] {
        let mut settings = settings.clone();
        *settings["hooks"].pointer_mut(key).unwrap() = value;
        contents.push(settings.to_string());
    }
    let written = contents.iter();
    let written = written.map(|content| sandbox.write_event(CLIENT, content));
    let mut events: Vec<Value> = written.collect();
    events.push(sandbox.edit_event(CLIENT, "PreToolUse", "PreToolUseX"));
    events.push(sandbox.edit_event(CLIENT, "\"hook\"", "\"help\""));
    events.push(sandbox.event(
        "MultiEdit",
        json!({ "file_path": sandbox.path(CLIENT), "edits": [
            { "old_string": "opus", "new_string": "sonnet" },
            { "old_string": "PreToolUse", "new_string": "Pre" },
        ] }),
    ));
    events.push(sandbox.bash_event("cat > .claude/settings.json <<'EOF'\n{}\nEOF"));
    for event in &events {
        let reason = sandbox.denied(event, "protected-file");
        assert_has(&reason, "statewarden uninstall");
        sandbox.denied(&sandbox.by("programmer", event.clone()), "protected-file");
    }
    assert_eq!(sandbox.read(CLIENT), text);
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

/// Claude Code ignores a file for one entry that it cannot load.
#[test]
fn an_edit_for_which_the_client_ignores_the_file_is_refused_by_its_key() {
    let sandbox = wired();
    let mut settings: Value = serde_json::from_str(&sandbox.read(CLIENT)).unwrap();
    let hook = json!({ "type": "command", "command": "x", "timeout": "5" });
    let entries = settings["hooks"]["PreToolUse"].as_array_mut().unwrap();
    entries.push(json!({ "matcher": "X", "hooks": [hook] }));
    let event = sandbox.write_event(CLIENT, &settings.to_string());
    let reason = sandbox.denied(&event, "protected-file");
    assert_has(&reason, "`PreToolUse` has no valid `timeout`");
}

#[test]
fn the_users_settings_are_where_the_client_has_them() {
    let mut sandbox = Sandbox::new();
    let config = sandbox.base().join("config").to_str().unwrap().to_owned();
    let home = sandbox.home().to_str().unwrap().to_owned();
    for (dir, env) in [
        (format!("{home}/.claude"), None),
        (config.clone(), Some(format!("{config}/"))),
        // In the project, and not where a system has a site.
        (sandbox.path("config"), Some(sandbox.path("config"))),
    ] {
        sandbox.env = env
            .map(|dir| ("CLAUDE_CONFIG_DIR", dir))
            .into_iter()
            .collect();
        let file = format!("{dir}/settings.json");
        let write = |content: &str| {
            let input = json!({ "file_path": file, "content": content });
            sandbox.hook(&sandbox.event("Write", input))
        };
        write("{}").is_silent();
        sandbox.run("install --scope user").ends(0);
        let reason = write("{}").is_denied("protected-file");
        assert_has(&reason, &format!("`{file}`"));
        write(&fs::read_to_string(&file).unwrap()).is_silent();
        let doctor = sandbox.run("doctor --json").json().to_string();
        let wired = format!("wired in scope user: `{file}`");
        assert_has(&doctor, &wired);
    }
}

#[cfg(unix)]
#[test]
fn linked_settings_of_the_client_are_judged_where_they_are() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    let real = sandbox.base().join("dots.json");
    fs::write(&real, "{\"model\": \"opus\"}").unwrap();
    fs::create_dir(sandbox.project().join(".claude")).unwrap();
    symlink(&real, sandbox.project().join(CLIENT)).unwrap();
    let write = |content: &str| sandbox.hook(&sandbox.write_event(CLIENT, content));
    write("{}").is_silent();
    sandbox
        .hook(&sandbox.edit_event(CLIENT, "opus", "sonnet"))
        .is_silent();
    sandbox.run("install --scope project").ends(0);
    sandbox
        .hook(&sandbox.edit_event(CLIENT, "opus", "sonnet"))
        .is_silent();
    write("{}").is_denied("protected-file");
    // To make such a link is the user's, and a link leads past no other rule.
    sandbox.denied(
        &sandbox.bash_event("ln -sf /tmp/x .claude/settings.json"),
        "path-escape",
    );
    let local = ".claude/settings.local.json";
    for (to, code) in [
        (".claude/statewarden.yaml", "protected-file"),
        (".devt/state/notes.md", "ad-hoc-name"),
    ] {
        symlink(sandbox.path(to), sandbox.project().join(local)).unwrap();
        sandbox.denied(&sandbox.write_event(local, "{}"), code);
        fs::remove_file(sandbox.project().join(local)).unwrap();
    }
}
