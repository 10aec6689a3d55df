//! File systems whose times are whole seconds: an edit of the same size within the second of the
//! look before is seen, and laid to the right one.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::{Sandbox, lacks, skip};

/// Of ext4 with small inodes; made in a file, which takes root.
const SCRIPT: &str = r#"
    truncate -s 16M "$BASE/image" && mkfs.ext4 -q -I 128 "$BASE/image" 2> /dev/null || exit 77
    mkdir "$BASE/disk" && mount -o loop "$BASE/image" "$BASE/disk" 2> /dev/null || exit 77
    mkdir -p "$BASE/disk/.devt/state" && cd "$BASE/disk" || exit 2
    export XDG_STATE_HOME="$BASE/disk/state"
    hook() { sed "s|DISK|$BASE/disk|; s|TURN|$2|" "$BASE/$1.json" | "$PROGRAM" hook; }
    printf 0 > .devt/state/review.md
    for turn in 1 2 3 4 5 6 7 8 9 10 11 12; do
        hook PreToolUse $turn
        printf $((turn % 10)) > .devt/state/review.md
        hook PostToolUse $turn
        echo "turn $turn"
    done
"#;

#[test]
fn an_edit_within_a_second_is_seen_where_times_are_whole_seconds() {
    let sandbox = Sandbox::new();
    for kind in ["PreToolUse", "PostToolUse"] {
        let event = json!({
            "session_id": "s", "cwd": "DISK", "hook_event_name": kind, "tool_name": "Bash",
            "agent_id": "a", "agent_type": "programmer", "tool_input": { "command": "./gen" },
            "tool_use_id": "toolu_TURN", "duration_ms": 1_000, "tool_response": {},
        });
        let file = sandbox.base().join(format!("{kind}.json"));
        fs::write(file, event.to_string()).unwrap();
    }
    let ran = Command::new("unshare")
        .args(["--mount", "sh", "-c", SCRIPT])
        .env_clear()
        .envs(sandbox.surroundings())
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("BASE", sandbox.base())
        .env("PROGRAM", env!("CARGO_BIN_EXE_statewarden"))
        .output();
    let printed = match ran {
        Ok(ran) if ran.status.success() => String::from_utf8_lossy(&ran.stdout).into_owned(),
        Ok(_) => return skip("a file system cannot be made and mounted here"),
        Err(_) => return lacks("unshare is missing"),
    };
    let turns: Vec<&str> = printed.split_inclusive("turn ").collect();
    let unseen: Vec<usize> = (0..12)
        .filter(|turn| !turns[*turn].contains("`.devt/state/review.md` (wrong-writer"))
        .collect();
    assert_eq!(unseen, [0; 0], "{printed}");
}
