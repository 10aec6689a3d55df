//! No test sees what is above its sandbox, or this machine's settings: tests of each kind run
//! where the directory of temporary files is a project, and managed settings switch all off.

use std::env;
use std::process::Command;

use crate::support::{Sandbox, lacks};

/// Nothing outside of the namespace changes: `/etc` is a copy in there.
const HOSTILE: &str = r#"
    mkdir -p "$BASE/copy" && cp -a /etc/. "$BASE/copy" && mount --bind "$BASE/copy" /etc || exit 77
    mkdir -p /etc/claude-code/managed-settings.d /etc/statewarden
    echo '{"allowManagedHooksOnly": true, "disableAllHooks": true}' > /etc/claude-code/managed-settings.json
    cp /etc/claude-code/managed-settings.json /etc/claude-code/managed-settings.d/all.json
    echo 'mode: off' > /etc/statewarden/config.yaml
    export TMPDIR="$BASE/shared"
    mkdir -p "$TMPDIR/.claude" "$TMPDIR/.devt/state" "$TMPDIR/openspec/changes/x" "$TMPDIR/.git"
    echo 'ref: refs/heads/main' > "$TMPDIR/.git/HEAD"
    echo '# A plan' > "$TMPDIR/.devt/state/plan.md"
    echo mine > "$TMPDIR/.devt/state/notes.md"
    "$@" || exit
    cat "$TMPDIR/.devt/state/plan.md" "$TMPDIR/.devt/state/notes.md"
    [ -z "$(ls -A "$TMPDIR/.claude")" ] && echo untouched
"#;

/// Of each way in which tests run the program.
const TESTS: &[&str] = &[
    "cleanup::",
    "reset::",
    "sweep::",
    "settings_hook::check_tells",
    "work_trees::what_changes",
    "git_index::a_submodule",
    "commands::",
    "recorder::memory",
];

#[test]
fn no_test_sees_the_machine() {
    let sandbox = Sandbox::new();
    let ran = ["-m", "-rm"].iter().find_map(|way| {
        let mut inside = Command::new("unshare");
        inside.args([way, "sh", "-c", HOSTILE, "sh"]);
        inside.arg(env::current_exe().unwrap()).args(TESTS);
        let ran = inside.env("BASE", sandbox.base()).output().ok()?;
        (ran.status.code() != Some(77) && !ran.stdout.is_empty()).then_some(ran)
    });
    let Some(ran) = ran else {
        return lacks("a mount namespace is not permitted");
    };
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("test result: ok."), "{said}{errors}");
    assert!(
        said.ends_with("# A plan\nmine\nuntouched\n"),
        "a test changed what is above its sandbox: {said}{errors}"
    );
}
