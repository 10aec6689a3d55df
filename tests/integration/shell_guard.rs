//! Shell commands, from the event to the answer.

mod removals;

use serde_json::json;

use crate::support::Sandbox;

/// A project in the middle of a workflow.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in [
        (".devt/state/workflow.yaml", "active: true\n"),
        (".devt/state/plan.md", "plan\n"),
        (".devt/state/spec.md", "spec\n"),
        (".devt/state/handoff.json", "{}"),
        (".devt/state/junk-1.md", "x"),
        (".devt/state/junk-2.md", "x"),
        (".devt/state/old.tmp", "x"),
        (".devt/state/deferred.md", "x"),
        (".devt/state/.lock", "1"),
        (".devt/state/.archive/cleanup-1/a.md", "x"),
        (".claude/orchestration.local.md", "x"),
        (".claude/settings.json", "{}"),
        (".agentmux/.sessions/s/state.json", "{}"),
        ("openspec/changes/add/review/1.md", "x"),
        ("openspec/changes/add/tasks.md", "x"),
        ("src/a.rs", "fn main() {}\n"),
        ("src/plan.md", "x\n"),
        ("build/out.txt", "x"),
    ] {
        sandbox.write(path, text);
    }
    sandbox
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    check_by("main", cases);
}

#[track_caller]
fn check_by(actor: &str, cases: &[(&str, &str)]) {
    let sandbox = project();
    for (command, expected) in cases {
        let event = sandbox.by_actor(actor, sandbox.bash_event(command));
        assert_eq!(
            sandbox.hook(&event).decision(),
            *expected,
            "{actor}: {command}"
        );
    }
}

#[test]
fn redirections_write() {
    check(&[
        ("echo hi > .devt/state/notes.md", "ad-hoc-name"),
        ("echo hi >> .devt/state/notes.md", "ad-hoc-name"),
        ("echo hi >| .devt/state/notes.md", "ad-hoc-name"),
        ("make &> .devt/state/build.log", "ad-hoc-name"),
        ("make > /tmp/x 2> .devt/state/build.log", "ad-hoc-name"),
        (": > .devt/state/.lock", "program-owned"),
        (
            "echo hi > \"$CLAUDE_PROJECT_DIR/.devt/state/notes.md\"",
            "ad-hoc-name",
        ),
        ("echo hi > $PWD/.devt/state/notes.md", "ad-hoc-name"),
        ("cd .devt && cd state && echo hi > notes.md", "ad-hoc-name"),
        ("(cd .devt/state; echo hi > notes.md)", "ad-hoc-name"),
        (
            "pushd .devt/state >/dev/null; date > notes.md; popd",
            "ad-hoc-name",
        ),
        ("D=.devt/state; echo hi > \"$D/notes.md\"", "ad-hoc-name"),
        ("echo hi > .devt/'state'/no\"tes\".md", "ad-hoc-name"),
        ("touch .de\"vt/st\"ate/notes.md", "ad-hoc-name"),
        ("touch .d\\evt/'s't\\ate/notes.md", "ad-hoc-name"),
        ("echo hi > .devt/state/{plan,notes}.md", "allow"),
        (
            "for n in a b; do echo > .devt/state/$n.md; done",
            "ad-hoc-name",
        ),
        ("echo hi > .devt/state/plan.md", "allow"),
        ("date >> .devt/state/scratchpad.md", "allow"),
        ("echo hi > notes.md; cd .devt/state; cat plan.md", "allow"),
    ]);
}

#[test]
fn here_documents_write_and_their_text_is_judged() {
    check(&[
        ("cat > .devt/state/notes.md <<'EOF'\nhi\nEOF", "ad-hoc-name"),
        (
            "cat <<EOF | tee .devt/state/notes.md\nhi\nEOF",
            "ad-hoc-name",
        ),
        (
            "cat > .devt/state/plan.md <<EOF\necho > .devt/state/notes.md\nEOF",
            "allow",
        ),
        ("cat <<'EOF'\necho hi > .devt/state/notes.md\nEOF", "allow"),
        (
            "bash <<'EOF'\necho hi > .devt/state/notes.md\nEOF",
            "ad-hoc-name",
        ),
        ("sh <<< 'echo hi > .devt/state/notes.md'", "ad-hoc-name"),
        (
            "python3 - <<'EOF'\nopen('.devt/state/notes.md', 'w').write('x')\nEOF",
            "ad-hoc-name",
        ),
    ]);
}

#[test]
fn programs_that_write_are_known() {
    check(&[
        ("echo hi | tee .devt/state/notes.md", "ad-hoc-name"),
        (
            "echo hi | tee -a /tmp/x .devt/state/notes.md",
            "ad-hoc-name",
        ),
        ("cp src/a.rs .devt/state/", "ad-hoc-name"),
        ("cp src/a.rs .devt/state/notes.md", "ad-hoc-name"),
        ("cp -t .devt/state src/a.rs", "ad-hoc-name"),
        ("cp src/plan.md .devt/state/", "allow"),
        ("mv src/a.rs .devt/state/", "ad-hoc-name"),
        ("install -m 644 src/a.rs .devt/state/a.rs", "ad-hoc-name"),
        ("rsync src/a.rs .devt/state/", "ad-hoc-name"),
        (
            "dd if=/dev/zero of=.devt/state/notes.md count=1",
            "ad-hoc-name",
        ),
        ("touch .devt/state/notes.md", "ad-hoc-name"),
        ("truncate -s 0 .devt/state/.lock", "program-owned"),
        ("mkdir -p .devt/state/notes", "undeclared-directory"),
        ("sort -o .devt/state/notes.md src/a.rs", "ad-hoc-name"),
        ("sed -i s/a/b/ .devt/state/.lock", "program-owned"),
        ("sed -i.bak s/a/b/ .devt/state/plan.md", "ad-hoc-name"),
        ("sed -n 'w .devt/state/notes.md' src/a.rs", "ad-hoc-name"),
        ("perl -pi -e s/a/b/ .devt/state/.lock", "program-owned"),
        ("curl -o .devt/state/notes.md https://h/x", "ad-hoc-name"),
        (
            "cd .devt/state && curl -O https://h/notes.md",
            "ad-hoc-name",
        ),
        ("wget -O .devt/state/notes.md https://h/x", "ad-hoc-name"),
        ("tar -cf .devt/state/all.tar src", "ad-hoc-name"),
        ("split -l 10 src/a.rs .devt/state/part-", "ad-hoc-name"),
        (
            "xargs -I{} touch .devt/state/notes.md < list",
            "ad-hoc-name",
        ),
        (
            "find src -name '*.rs' -exec cp {} .devt/state/notes.md \\;",
            "ad-hoc-name",
        ),
        ("git show HEAD:a > .devt/state/notes.md", "ad-hoc-name"),
        (
            "sqlite3 .devt/state/notes.db 'create table t(x)'",
            "ad-hoc-name",
        ),
    ]);
}

#[test]
fn wrappers_and_nested_shells_hide_nothing() {
    check(&[
        ("sudo -u me tee .devt/state/notes.md", "ad-hoc-name"),
        ("env A=1 touch .devt/state/notes.md", "ad-hoc-name"),
        ("time touch .devt/state/notes.md", "ad-hoc-name"),
        ("nohup touch .devt/state/notes.md &", "ad-hoc-name"),
        ("timeout 5 touch .devt/state/notes.md", "ad-hoc-name"),
        ("sh -c 'touch .devt/state/notes.md'", "ad-hoc-name"),
        (
            "bash -lc \"cd .devt/state && touch notes.md\"",
            "ad-hoc-name",
        ),
        ("eval 'touch .devt/state/notes.md'", "ad-hoc-name"),
        ("echo \"$(touch .devt/state/notes.md)\"", "ad-hoc-name"),
        (
            "true && { false || touch .devt/state/notes.md; }",
            "ad-hoc-name",
        ),
        (
            "f() { touch \"$1\"; }; f .devt/state/notes.md",
            "ad-hoc-name",
        ),
        (
            "if true; then touch .devt/state/notes.md; fi",
            "ad-hoc-name",
        ),
        ("touch \\\n  .devt/state/notes.md", "ad-hoc-name"),
        ("echo .devt/state/notes.md | xargs touch", "ad-hoc-name"),
        (
            "python3 -c \"open('.devt/state/notes.md','w')\"",
            "ad-hoc-name",
        ),
        (
            "node -e \"require('fs').writeFileSync('.devt/state/notes.md','')\"",
            "ad-hoc-name",
        ),
        (
            "ruby -e 'File.write(\".devt/state/notes.md\", 1)'",
            "ad-hoc-name",
        ),
        (
            "perl -e 'open(F, \">\", \".devt/state/notes.md\")'",
            "ad-hoc-name",
        ),
        (
            "awk '{print > \".devt/state/notes.md\"}' src/a.rs",
            "ad-hoc-name",
        ),
    ]);
}

#[test]
fn reads_and_prose_are_no_writes() {
    check(&[
        ("cat .devt/state/.lock", "allow"),
        ("head -5 .devt/state/junk-1.md | tee /tmp/x", "allow"),
        ("cp .devt/state/junk-1.md /tmp/x", "allow"),
        ("cp .devt/state/.lock src/", "allow"),
        ("grep -rn TODO .devt/state/", "allow"),
        ("ls -la .devt/state .claude/statewarden", "allow"),
        ("wc -l < .devt/state/preflight-denies.jsonl", "allow"),
        ("diff .devt/state/plan.md .devt/state/junk-1.md", "allow"),
        ("find .devt/state -name '*.md'", "allow"),
        ("jq . .devt/state/handoff.json", "allow"),
        ("tar -cf /tmp/x.tar .devt/state", "allow"),
        (
            "python3 -c \"print(open('.devt/state/junk-1.md').read())\"",
            "allow",
        ),
        ("sed -n 1,5p .devt/state/.lock", "allow"),
        ("[ -f .devt/state/notes.md ] && echo yes", "allow"),
        ("echo 'echo hi > .devt/state/notes.md'", "allow"),
        ("echo \"write to .devt/state/notes.md > now\"", "allow"),
        (
            "git commit -m 'rm -rf .devt/state; echo > .devt/state/notes.md'",
            "allow",
        ),
        (
            "git commit -m \"$(cat <<'EOF'\ntouch .devt/state/notes.md\nEOF\n)\"",
            "allow",
        ),
        ("ls # > .devt/state/notes.md", "allow"),
        ("grep '> .devt/state/notes.md' src/a.rs", "allow"),
        (
            "gh issue create --body 'touch .devt/state/notes.md'",
            "allow",
        ),
        ("statewarden explain .devt/state/notes.md", "allow"),
        ("cd .devt/state && ls && cd - && touch notes.md", "allow"),
    ]);
}

#[cfg(unix)]
#[test]
fn links_are_seen_through() {
    check(&[
        ("ln -s /etc/passwd .devt/state/plan.md", "path-escape"),
        ("ln -s ../../src/a.rs .devt/state/plan.md", "path-escape"),
        ("ln -s plan.md .devt/state/notes.md", "ad-hoc-name"),
        ("ln -sf spec.md .devt/state/plan.md", "allow"),
        ("ln -s .devt/state n && touch n/notes.md", "ad-hoc-name"),
        ("ln -s .devt/state/plan.md link-to-plan", "allow"),
    ]);
    let sandbox = project();
    std::os::unix::fs::symlink(".devt/state/.archive", sandbox.project().join("attic")).unwrap();
    // The shell takes `..` after the link, the client before it.
    for (event, expected) in [
        (sandbox.bash_event("touch attic/../notes.md"), "ad-hoc-name"),
        (sandbox.write_event("attic/../notes.md", "x"), "allow"),
        (sandbox.bash_event("touch attic/x"), "program-owned"),
        (sandbox.bash_event("cp a.txt attic"), "program-owned"),
    ] {
        assert_eq!(sandbox.hook(&event).decision(), expected, "{event}");
    }
}

#[test]
fn actors_count_in_the_shell_as_well() {
    check_by(
        "agent-flow:Loid",
        &[
            (
                "sed -i s/a/b/ .claude/orchestration.local.md",
                "wrong-writer",
            ),
            ("echo > .claude/skip-test-verification", "protected-file"),
            ("echo > .devt/state/workflow.yaml", "wrong-writer"),
        ],
    );
    check_by(
        "reviewer",
        &[(
            "sed -i 's/\\[ \\]/[x]/' openspec/changes/add/tasks.md",
            "wrong-writer",
        )],
    );
    check(&[
        (
            "echo '{}' > .agentmux/.sessions/s/state.json",
            "program-owned",
        ),
        ("touch .claude/orchestration-2.local.md", "ad-hoc-name"),
        ("touch .claude/test-command", "protected-file"),
        (
            "echo hi >> .claude/statewarden.local.yaml",
            "protected-file",
        ),
        ("rm -rf .claude/statewarden", "protected-file"),
        (
            "echo '**Status:** APPROVED' > openspec/changes/add/review/2.md",
            "wrong-writer",
        ),
    ]);
}

#[test]
fn monitors_and_powershell_are_shells_too() {
    let sandbox = project();
    for (tool, command, expected) in [
        (
            "Monitor",
            "tail -f x | tee .devt/state/notes.md",
            "ad-hoc-name",
        ),
        ("Monitor", "tail -f .devt/state/plan.md", "allow"),
        (
            "PowerShell",
            "Set-Content -Path .devt/state/notes.md -Value hi",
            "ad-hoc-name",
        ),
        (
            "PowerShell",
            "'hi' | Out-File .devt\\state\\notes.md",
            "ad-hoc-name",
        ),
        (
            "PowerShell",
            "\"hi\" > .devt\\state\\notes.md",
            "ad-hoc-name",
        ),
        (
            "PowerShell",
            "New-Item -ItemType Directory .devt/state/notes",
            "undeclared-directory",
        ),
        (
            "PowerShell",
            "Remove-Item -Recurse -Force .devt/state",
            "bulk-removal",
        ),
        (
            "PowerShell",
            "Copy-Item src/a.rs .devt/state/",
            "ad-hoc-name",
        ),
        ("PowerShell", "Get-Content .devt/state/plan.md", "allow"),
        (
            "PowerShell",
            "Write-Host 'Set-Content .devt/state/notes.md'",
            "allow",
        ),
    ] {
        let event = sandbox.event(tool, json!({ "command": command }));
        assert_eq!(
            sandbox.hook(&event).decision(),
            expected,
            "{tool}: {command}"
        );
    }
}

#[test]
fn the_command_runs_in_the_events_directory() {
    let sandbox = project();
    for (cwd, command, expected) in [
        ("src", "touch ../.devt/state/notes.md", "ad-hoc-name"),
        ("src", "touch .devt/state/notes.md", "ad-hoc-name"),
        ("src", "touch notes.md", "allow"),
        (".devt/state", "touch notes.md", "ad-hoc-name"),
        (".devt/state", "rm -f *", "bulk-removal"),
        (".devt/state", "cd .. && touch notes.md", "allow"),
        (".devt", "touch state/notes.md", "ad-hoc-name"),
        (".claude", "touch orchestration-2.local.md", "ad-hoc-name"),
        (".", "cd /tmp && touch .devt/state/notes.md", "allow"),
        (".", "cd ~ && touch notes.md", "allow"),
    ] {
        let mut event = sandbox.bash_event(command);
        event["cwd"] = sandbox.path(cwd).into();
        assert_eq!(
            sandbox.hook(&event).decision(),
            expected,
            "{command} in {cwd}"
        );
    }
}

#[test]
fn a_command_that_names_no_target_gets_no_denial() {
    check(&[
        ("echo hi > \"$(mktemp)\"", "allow"),
        ("echo hi > $UNKNOWN/notes.md", "allow"),
        ("make state", "allow"),
        ("", "allow"),
        ("   ", "allow"),
        ("'unterminated", "allow"),
        ("echo $((1 >", "allow"),
    ]);
}
