//! No credential of a command reaches a log, whatever its form and its place.

use crate::support::{DEVT, Sandbox};

/// Commands, with `§` for what must not be logged and `␤` for the end of a line; `# ` begins a
/// remark.
const COMMANDS: &str = include_str!("../fixtures/redaction/commands.txt");

/// Credentials that are known by their own form.
const TOKENS: &str = include_str!("../fixtures/redaction/tokens.txt");

/// All that is logged after the command was denied for what follows it.
fn logged(sandbox: &Sandbox, command: &str) -> String {
    let command = format!("{command}\ntrue > .devt/state/notes.md");
    sandbox.denied(&sandbox.bash_event(&command), "ad-hoc-name");
    let log = sandbox.read(DEVT);
    log.lines().next_back().unwrap().to_owned()
}

#[track_caller]
fn check_hidden(commands: impl Iterator<Item = String>, secret: &str) {
    let sandbox = Sandbox::new();
    let shown: Vec<_> = commands
        .filter(|command| logged(&sandbox, command).contains(secret))
        .collect();
    assert!(shown.is_empty(), "in clear:\n{}", shown.join("\n"));
}

#[test]
fn no_secret_of_a_command_is_in_its_record() {
    const SECRET: &str = "hunter2tr0ub4dorhunter2tr0ub4dorhunter2";
    let commands = COMMANDS.lines().filter(|line| !line.starts_with("# "));
    let filled = commands.map(|line| line.replace('§', SECRET).replace('␤', "\n"));
    check_hidden(filled, SECRET);
}

#[test]
fn no_token_of_a_service_is_in_a_record() {
    for token in TOKENS.lines() {
        let commands = [
            format!("./deploy {token}"),
            format!("./deploy '{token}'"),
            format!("x=({token}) ./deploy"),
            format!("curl https://{token}@h/x"),
        ];
        check_hidden(commands.into_iter(), &token[12..]);
    }
}

#[test]
fn a_private_key_is_hidden() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n-----END OPENSSH PRIVATE KEY-----";
    check_hidden([format!("echo '{key}'")].into_iter(), "b3BlbnNz");
}

/// In a state directory, and beside one, each word could be the name of a file there.
#[test]
fn no_secret_of_a_command_in_a_state_directory_is_in_its_record() {
    const SECRET: &str = "hunter2tr0ub4dorhunter2tr0ub4dorhunter2";
    let sandbox = Sandbox::new();
    for (dir, begin) in [
        ("", "cd .devt/state &&"),
        ("", "cd .devt; cd state;"),
        ("", "cd openspec/changes;"),
        (".devt/state", ""),
        ("openspec/changes", ""),
    ] {
        let command = format!(
            "{begin} mysql {SECRET} {SECRET}/{SECRET} > {}/notes.md",
            sandbox.path(".devt/state")
        );
        let mut event = sandbox.bash_event(&command);
        event["cwd"] = sandbox.path(dir).into();
        sandbox.denied(&event, "ad-hoc-name");
        let log = sandbox.read(DEVT);
        let last = log.lines().next_back().unwrap();
        assert!(last.contains(".devt/state/notes.md"), "{last}");
        assert!(!last.contains(SECRET), "{last}");
    }
}

/// Texts that other tools than Bash run are read as far as they can be, and no further.
#[test]
fn no_secret_of_another_language_is_in_a_record() {
    const SECRET: &str = "hunter2tr0ub4dorhunter2tr0ub4dorhunter2";
    let sandbox = Sandbox::new();
    for command in [
        "$env:TOKEN = \"§\"; Set-Content -Path .devt\\state\\notes.md -Value '§'",
        "$h = @{ token = '§'; b = \"§\" }\nSet-Content .devt/state/notes.md -Value §",
        "@\"\nHe said \"§\"\n§\n\"@ | Set-Content .devt/state/notes.md",
    ] {
        let input = serde_json::json!({ "command": command.replace('§', SECRET) });
        sandbox.denied(&sandbox.event("PowerShell", input), "ad-hoc-name");
    }
    let log = sandbox.read(DEVT);
    assert_eq!(log.lines().count(), 3);
    assert!(!log.contains(SECRET), "{log}");
}
