//! Tools of MCP servers: judged by their names and by the names of their arguments.

use serde_json::{Value, json};

use crate::support::{DENIES, DEVT, Sandbox, assert_has};

#[track_caller]
fn check(sandbox: &Sandbox, tool: &str, input: Value, expected: &str) {
    sandbox.expect(&sandbox.event(tool, input), expected);
}

#[test]
fn a_tool_that_changes_files_is_known_by_a_word_of_its_name() {
    let sandbox = Sandbox::new();
    let path = sandbox.path(".devt/state/notes.md");
    let tools = "mcp__filesystem__write_file mcp__filesystem__edit_file mcp__fs__create_file \
                 mcp__fs__append_to_file mcp__fs__append mcp__fs__patch_file mcp__fs__apply_patch \
                 mcp__fs__save_file mcp__fs__save_document mcp__fs__upload_file \
                 mcp__fs__writeFile mcp__fs__WriteFile mcp__fs__file-write mcp__fs__write \
                 mcp__fs__writefile mcp__fs__rewrite mcp__fs__truncate_file \
                 mcp__fs__store_document mcp__fs__get_or_create_file mcp__fs__read_write_file \
                 mcp__fs__search_replace mcp__fs__str_replace mcp__serena__create_text_file \
                 mcp__serena__replace_regex mcp__serena__insert_at_line \
                 mcp__plugin_x_fs__write_file mcp__my__server__write_file \
                 mcp__claude_ai_Drive__update_file mcp__playwright__browser_take_screenshot";
    for tool in tools.split(' ') {
        check(&sandbox, tool, json!({ "path": path }), "ad-hoc-name");
    }
}

#[test]
fn reading_tools_are_never_judged() {
    let sandbox = Sandbox::new();
    let tools = "mcp__filesystem__read_file mcp__filesystem__read_multiple_files \
                 mcp__filesystem__list_directory mcp__filesystem__directory_tree \
                 mcp__filesystem__search_files mcp__filesystem__get_file_info mcp__fs__stat \
                 mcp__fs__readfile mcp__git__get_patch mcp__fs__get_upload_url \
                 mcp__fs__preview_edit mcp__fs__file mcp__fs__grep mcp__fs__open \
                 mcp__writer__read mcp__write_server__list mcp__fs__list_written_files \
                 mcp__fs__get_created_files mcp__fs__rewriter_status mcp__fs__ mcp__";
    for tool in tools.split(' ') {
        for path in [
            ".devt/state/notes.md",
            ".devt/state/.lock",
            ".claude/statewarden.yaml",
        ] {
            let input = json!({ "path": sandbox.path(path), "paths": [sandbox.path(path)] });
            check(&sandbox, tool, input, "allow");
        }
    }
}

#[test]
fn a_path_is_known_by_its_key_or_by_its_look() {
    let sandbox = Sandbox::new();
    let notes = sandbox.path(".devt/state/notes.md");
    for input in [
        json!({ "path": notes }),
        json!({ "file_path": notes }),
        json!({ "filePath": notes }),
        json!({ "file": notes }),
        json!({ "filename": notes }),
        json!({ "FileName": notes }),
        json!({ "relative_path": notes }),
        json!({ "target": notes }),
        json!({ "output": notes }),
        json!({ "uri": format!("file://{notes}") }),
        json!({ "uri": format!("FILE://localhost{notes}") }),
        json!({ "uri": format!("file://{}#L3", notes.replace("state", "st%61te")) }),
        json!({ "uri": "file://.devt/state/notes.md" }),
        json!({ "directory": ".devt/state", "filename": "notes.md" }),
        json!({ "folder_path": sandbox.path(".devt/state"), "name": "notes.md" }),
        json!({ "where": notes }),
        json!({ "paths": ["a.txt", notes] }),
        json!({ "files": [{ "path": notes, "content": "x" }] }),
        json!({ "options": { "deep": { "path": notes } } }),
        json!({ "path": ".devt/state/notes.md" }),
        json!({ "path": "./.devt/../.devt/state/notes.md" }),
        json!({ "path": r".devt\state\notes.md" }),
        json!({ "path": "~/../project/.devt/state/notes.md" }),
        json!({ "path": " .devt/state/notes.md " }),
        json!({ "path": "src/a.rs", "to": notes }),
    ] {
        check(&sandbox, "mcp__fs__write_file", input, "ad-hoc-name");
    }
}

#[test]
fn a_uri_is_shown_as_the_path_that_it_is() {
    let sandbox = Sandbox::new();
    let uri = format!("file://localhost{}", sandbox.path(".devt/st%61te/notes.md"));
    let event = sandbox.event("mcp__fs__write_file", json!({ "uri": uri }));
    let reason = sandbox.denied(&event, "ad-hoc-name");
    assert!(reason.starts_with("`.devt/state/notes.md`"), "{reason}");
    for (input, expected) in [
        // No escape, and one that comes to no text.
        (json!({ "uri": "file:///tmp/100%/%zz/%ff" }), "allow"),
        // Escapes are for URIs alone.
        (json!({ "path": ".devt/st%61te/notes.md" }), "allow"),
        (
            json!({ "directory": ".devt/state", "name": "plan.md" }),
            "allow",
        ),
        (json!({ "directory": "src", "name": "notes.md" }), "allow"),
    ] {
        check(&sandbox, "mcp__fs__write_file", input, expected);
    }
}

#[test]
fn more_pairs_of_directories_and_names_than_can_be_judged_are_refused() {
    let sandbox = Sandbox::new();
    let input = |n: usize, dir: &str| {
        let dirs: Vec<String> = (0..n).map(|at| format!("{dir}/{at}")).collect();
        let names: Vec<String> = (0..n).map(|at| format!("{at}.md")).collect();
        sandbox.event("mcp__fs__write_file", json!({ "dir": dirs, "name": names }))
    };
    let reason = sandbox.hook(&input(65, ".devt/state")).reason();
    assert_has(&reason, "more than 4096 files");
    sandbox.hook(&input(65, "src")).is_silent();
    sandbox.hook(&input(64, "src")).is_silent();
}

#[test]
fn text_is_no_path() {
    let sandbox = Sandbox::new();
    let notes = sandbox.path(".devt/state/notes.md");
    for input in [
        json!({ "path": "src/a.rs", "content": notes }),
        json!({ "path": "src/a.rs", "text": notes }),
        json!({ "path": "src/a.rs", "body": format!("write {notes}\nnow") }),
        json!({ "path": "src/a.rs", "old_string": notes, "new_string": notes }),
        json!({ "path": "src/a.rs", "edits": [{ "oldText": notes, "newText": notes }] }),
        json!({ "relative_path": "src/a.rs", "needle": notes, "repl": notes }),
        json!({ "path": "src/a.rs", "search": notes, "replace": notes, "pattern": notes }),
        json!({ "title": "state", "description": format!("see {notes}") }),
        json!({ "message": notes }),
        json!({ "query": notes }),
        json!({ "prompt": notes }),
        json!({ "entities": [{ "name": "notes", "observations": [notes] }] }),
        json!({ "branch": "fix/openspec/changes/x", "from_branch": "main" }),
        json!({ "note": format!("the file {notes} is wrong") }),
        json!({ "path": 7, "file": null, "files": [true] }),
        json!({ "path": "" }),
        json!({}),
        json!("text"),
        Value::Null,
    ] {
        check(&sandbox, "mcp__fs__write_file", input, "allow");
    }
}

#[test]
fn an_address_of_the_net_is_no_path() {
    let sandbox = Sandbox::new();
    let address = "https://github.com/o/r/blob/main/.devt/state/notes.md";
    for (tool, input) in [
        ("create_attachment", json!({ "url": address })),
        ("create_link", json!({ "link": address })),
        ("save_bookmark", json!({ "name": address })),
        (
            "download_file",
            json!({ "source": address, "path": "src/a.rs" }),
        ),
        (
            "store_object",
            json!({ "uri": "s3://b/.devt/state/notes.md" }),
        ),
    ] {
        let tool = format!("mcp__net__{tool}");
        check(&sandbox, &tool, input, "allow");
    }
    let input = json!({ "url": address, "path": ".devt/state/notes.md" });
    check(&sandbox, "mcp__net__download_file", input, "ad-hoc-name");
}

#[test]
fn what_lies_on_a_server_is_no_file_whatever_it_is_named_after() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/deferred.md", "later");
    let (name, kept) = (".devt/state/notes.md", ".devt/state/deferred.md");
    for (tool, input) in [
        (
            "mcp__memory__create_entities",
            json!({ "entities": [{ "name": name, "entityType": "file" }] }),
        ),
        (
            "mcp__memory__create_relations",
            json!({ "relations": [{ "from": kept, "to": name }] }),
        ),
        (
            "mcp__memory__delete_entities",
            json!({ "entityNames": [kept] }),
        ),
        ("mcp__jira__update_issue", json!({ "summary": name })),
        ("mcp__linear__create_comment", json!({ "name": name })),
        (
            "mcp__github__create_pull_request_review",
            json!({ "comments": [{ "path": name, "position": 1 }] }),
        ),
    ] {
        check(&sandbox, tool, input, "allow");
    }
}

#[test]
fn what_lies_in_a_repository_of_a_forge_is_no_file_here() {
    let sandbox = Sandbox::new();
    let notes = ".devt/state/notes.md";
    for (tool, input) in [
        (
            "mcp__github__create_or_update_file",
            json!({ "owner": "ann", "repo": "app", "branch": "main", "path": notes, "content": "x" }),
        ),
        (
            "mcp__github__delete_file",
            json!({ "owner": "ann", "repo": "app", "branch": "main", "path": notes }),
        ),
        (
            "mcp__gitlab__create_or_update_file",
            json!({ "project_id": "7", "branch": "main", "file_path": notes, "content": "x" }),
        ),
    ] {
        check(&sandbox, tool, input, "allow");
    }
    let input = json!({ "path": notes, "branch": "main", "owner": "ann" });
    check(&sandbox, "mcp__fs__write_file", input, "ad-hoc-name");
}

#[test]
fn relative_paths_are_resolved_in_the_events_directory() {
    let sandbox = Sandbox::new();
    for (cwd, path, expected) in [
        ("src", "../.devt/state/notes.md", "ad-hoc-name"),
        ("src", "notes.md", "allow"),
        (".devt/state", "notes.md", "ad-hoc-name"),
        (".devt/state", "plan.md", "allow"),
    ] {
        std::fs::create_dir_all(sandbox.project().join(cwd)).unwrap();
        let mut event = sandbox.event("mcp__fs__write_file", json!({ "path": path }));
        event["cwd"] = sandbox.path(cwd).into();
        sandbox.expect(&event, expected);
    }
}

#[rustfmt::skip]
const MOVES: &[(&str, &str, &str, &str)] = &[
    ("mcp__fs__move_file", "src/a.rs", ".devt/state/a.rs", "ad-hoc-name"),
    ("mcp__fs__move_file", "src/a.rs", ".devt/state/plan.md", "allow"),
    ("mcp__fs__move_file", ".devt/state/junk.md", "src/a.rs", "allow"),
    ("mcp__fs__move_file", ".devt/state/.lock", "src/a.rs", "program-owned"),
    ("mcp__fs__rename_file", ".devt/state/.lock", "src/a.rs", "program-owned"),
    ("mcp__fs__move_directory", ".devt/state", "old-state", "bulk-removal"),
    ("mcp__fs__copy_file", ".devt/state/.lock", "src/a.rs", "allow"),
    ("mcp__fs__copy_file", "src/a.rs", ".devt/state/a.rs", "ad-hoc-name"),
];

#[test]
fn moving_and_copying_are_judged_at_both_ends() {
    let sandbox = Sandbox::new();
    for name in ["plan.md", ".lock", "junk.md"] {
        sandbox.write(&format!(".devt/state/{name}"), "x");
    }
    for &(tool, from, to, expected) in MOVES {
        for (source, destination) in [
            ("source", "destination"),
            ("from", "to"),
            ("old_path", "new_path"),
            ("sourcePath", "destPath"),
        ] {
            let input = json!({ source: from, destination: to });
            check(&sandbox, tool, input, expected);
        }
    }
}

#[test]
fn deleting_and_making_directories_obey_the_rules_of_the_shell() {
    let sandbox = Sandbox::new();
    for name in ["plan.md", ".lock", "junk.md", "deferred.md"] {
        sandbox.write(&format!(".devt/state/{name}"), "x");
    }
    for (tool, path, expected) in [
        ("mcp__fs__delete_file", ".devt/state/junk.md", "allow"),
        ("mcp__fs__delete_file", ".devt/state/plan.md", "allow"),
        ("mcp__fs__delete_file", ".devt/state/.lock", "program-owned"),
        (
            "mcp__fs__delete_file",
            ".devt/state/deferred.md",
            "bulk-removal",
        ),
        ("mcp__fs__delete_directory", ".devt/state", "bulk-removal"),
        ("mcp__fs__remove_path", ".devt", "bulk-removal"),
        (
            "mcp__fs__create_directory",
            ".devt/state/notes",
            "undeclared-directory",
        ),
        (
            "mcp__fs__createDirectory",
            ".devt/state/notes",
            "undeclared-directory",
        ),
        (
            "mcp__fs__make_dir",
            ".devt/state/notes",
            "undeclared-directory",
        ),
        (
            "mcp__fs__mkdir",
            ".devt/state/notes",
            "undeclared-directory",
        ),
        ("mcp__fs__create_directory", ".devt/state", "allow"),
        ("mcp__fs__create_directory", "src/notes", "allow"),
    ] {
        check(&sandbox, tool, json!({ "path": path }), expected);
    }
    let event = sandbox.event(
        "mcp__fs__delete_file",
        json!({ "path": ".devt/state/plan.md" }),
    );
    sandbox.expect(&sandbox.by("tester", event), "wrong-writer");
}

#[test]
fn actors_and_names_count_as_for_every_tool() {
    let sandbox = Sandbox::new();
    for (actor, path, expected) in [
        ("tester", ".devt/state/plan.md", "wrong-writer"),
        ("architect", ".devt/state/plan.md", "allow"),
        ("tester", ".devt/state/workflow.yaml", "wrong-writer"),
        ("tester", ".devt/state/a.tmp", "ephemeral-name"),
        ("tester", DENIES, "protected-file"),
        (
            "coder",
            ".agentmux/.sessions/s/tool_events.jsonl",
            "program-owned",
        ),
    ] {
        let event = sandbox.event("mcp__fs__write_file", json!({ "path": path }));
        sandbox.expect(&sandbox.by(actor, event), expected);
    }
    let record = &sandbox.records(DEVT)[0];
    assert_eq!(record["tool"], "mcp__fs__write_file");
    assert_eq!(record["action"], "write");
}

#[test]
fn what_is_copied_or_moved_counts_where_it_comes_to_lie() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.md", "x");
    sandbox.write("drafts/review/1.md", "x");
    for (tool, from, to, expected) in [
        ("move_file", "src/a.md", ".devt/state", "ad-hoc-name"),
        ("move_file", "src/a.md", ".devt/state/plan.md", "allow"),
        ("move_file", "drafts", "openspec/changes/c9", "wrong-writer"),
        (
            "copy_file",
            "drafts",
            ".devt/state/x",
            "undeclared-directory",
        ),
        ("copy_file", "drafts", "src/drafts", "allow"),
    ] {
        let tool = format!("mcp__fs__{tool}");
        let input = json!({ "source": from, "destination": to });
        check(&sandbox, &tool, input, expected);
    }
}

#[test]
fn many_and_odd_arguments_are_borne() {
    let sandbox = Sandbox::new();
    let mut paths: Vec<String> = (0..2_000).map(|n| format!("src/{n}.rs")).collect();
    check(
        &sandbox,
        "mcp__fs__write_files",
        json!({ "paths": paths }),
        "allow",
    );
    paths.push(".devt/state/notes.md".to_owned());
    check(
        &sandbox,
        "mcp__fs__write_files",
        json!({ "paths": paths }),
        "ad-hoc-name",
    );
    for (path, expected) in [
        ("x".repeat(5_000_000), "allow"),
        (format!(".devt/state/{}", "n".repeat(4_000)), "ad-hoc-name"),
        (".devt/state/a\u{0}b".to_owned(), "path-escape"),
        (".devt/state/plan.md\n".to_owned(), "path-escape"),
    ] {
        check(
            &sandbox,
            "mcp__fs__write_file",
            json!({ "path": path }),
            expected,
        );
    }
}

#[test]
fn the_settings_that_hold_the_guard_are_not_removed_or_emptied() {
    let sandbox = Sandbox::new();
    sandbox.run("install --scope project").ends(0);
    let path = sandbox.path(".claude/settings.json");
    for (tool, input) in [
        ("mcp__fs__delete_file", json!({ "path": path })),
        (
            "mcp__fs__write_file",
            json!({ "path": path, "content": "{}" }),
        ),
    ] {
        sandbox.denied(&sandbox.event(tool, input), "protected-file");
    }
    let kept = sandbox.read(".claude/settings.json");
    let input = json!({ "path": path, "content": kept });
    sandbox
        .hook(&sandbox.event("mcp__fs__write_file", input))
        .is_silent();
}

#[test]
fn a_tool_that_runs_commands_is_read_like_bash() {
    let sandbox = Sandbox::new();
    sandbox.write(".devt/state/plan.md", "x");
    let rm = "rm -rf .devt/state";
    for (tool, input, expected) in [
        (
            "desktop__start_process",
            json!({ "command": rm }),
            "bulk-removal",
        ),
        ("x__execute_command", json!({ "cmd": rm }), "bulk-removal"),
        (
            "x__runScript",
            json!({ "script": format!("true\n{rm}") }),
            "bulk-removal",
        ),
        (
            "x__bash",
            json!({ "command": ["bash", "-lc", rm] }),
            "bulk-removal",
        ),
        (
            "x__exec",
            json!({ "command": "rm", "args": ["-rf", ".devt/state"] }),
            "bulk-removal",
        ),
        (
            "x__run_in_terminal",
            json!({ "commands": ["ls", rm] }),
            "bulk-removal",
        ),
        (
            "x__shell",
            json!({ "commands": ["cd .devt", "rm -r state"] }),
            "bulk-removal",
        ),
        (
            "x__run",
            json!({ "commands": [{ "command": "ls" }, { "cmd": rm }] }),
            "bulk-removal",
        ),
        (
            "x__run",
            json!({ "options": { "command": rm, "host": "localhost" } }),
            "bulk-removal",
        ),
        (
            "x__run",
            json!({ "command": "echo x > notes.md", "cwd": ".devt/state" }),
            "ad-hoc-name",
        ),
        (
            "x__run",
            json!({ "workingDirectory": sandbox.path(".devt"), "command": "rm -r state" }),
            "bulk-removal",
        ),
        (
            "x__powershell",
            json!({ "command": "Set-Content .devt\\state\\notes.md x" }),
            "ad-hoc-name",
        ),
        (
            "x__run",
            json!({ "shell": "pwsh", "command": "Set-Content .devt\\state\\notes.md x" }),
            "ad-hoc-name",
        ),
        // A shell may make temporary files.
        (
            "x__run",
            json!({ "command": "date > .devt/state/a.tmp" }),
            "allow",
        ),
        (
            "x__run",
            json!({ "command": "cat .devt/state/plan.md" }),
            "allow",
        ),
        (
            "x__run",
            json!({ "command": "date > notes.md", "cwd": "src" }),
            "allow",
        ),
        // No command, or no tool that runs one.
        (
            "x__run",
            json!({ "query": rm, "code": rm, "command": 7 }),
            "allow",
        ),
        ("x__explain", json!({ "command": rm }), "allow"),
        ("x__pretrunc", json!({ "command": rm }), "allow"),
        // On another machine.
        ("ssh__execute_command", json!({ "command": rm }), "allow"),
        ("x__docker_exec", json!({ "command": rm }), "allow"),
        (
            "x__exec",
            json!({ "container_id": "web", "command": rm }),
            "allow",
        ),
        (
            "x__exec",
            json!({ "host": "db1", "commands": [{ "command": rm }] }),
            "allow",
        ),
    ] {
        check(&sandbox, &format!("mcp__{tool}"), input, expected);
    }
}

/// What a command leaves behind is told as after Bash, wherever the arguments say it ran.
#[test]
fn a_command_of_a_tool_is_looked_after() {
    for (kind, input) in [
        ("PostToolUse", json!({ "script": "./gen .devt/state" })),
        (
            "PostToolUseFailure",
            json!({ "command": "./gen", "cwd": "packages/a" }),
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("packages/a/.devt/state/notes.md", "x");
        sandbox.write(".devt/state/notes.md", "x");
        let mut event = sandbox.event("mcp__x__run", input);
        event["hook_event_name"] = kind.into();
        event["duration_ms"] = 60_000.into();
        let place = event["tool_input"]["cwd"].as_str().unwrap_or(".");
        let expected = format!("{place}/.devt/state/notes.md");
        let told = sandbox.hook(&event).json().to_string();
        assert_has(&told, expected.trim_start_matches("./"));
    }
}
