//! The commands of this program that write where an agent may not: two take the
//! hooks or the program out, one makes a page under a name it is given.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::Field;
use super::variable::Value;
use crate::base::target::Act;

pub(super) const SYNTAX: Syntax = Syntax::of(
    "",
    &[
        "agent", "html", "limit", "mode", "project", "rule", "scope", "session", "since", "system",
    ],
);

pub(super) const SCRIPT: Syntax = Syntax::of("", &["from", "prefix", "project", "scope", "sha256"]);

pub(super) fn statewarden(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["dry-run", "help", "h"]) {
        return;
    }
    match args.operands.first().and_then(Field::known) {
        Some("uninstall") => uninstall(shell, args),
        Some("install") if args.value(&["mode"]).is_some() => set_mode(shell, args),
        Some("denies") => shell.report_all(args.value(&["html"]), Act::Write),
        _ => {}
    }
}

/// `statewarden uninstall [--scope SCOPE]`: the settings as if nothing else were in them.
fn uninstall(shell: &mut Shell<'_>, args: &Args<'_>) {
    let scope = args.value(&["scope"]).and_then(Field::known);
    let project = project(shell, args);
    let of_project = |name: &str| project.map(|dir| format!("{dir}/.claude/{name}"));
    let paths = match scope {
        Some("user") => [of_user(shell), None],
        Some("project") => [of_project("settings.json"), None],
        Some("local") => [of_project("settings.local.json"), None],
        _ => ["settings.json", "settings.local.json"].map(of_project),
    };
    for path in paths.into_iter().flatten() {
        shell.report_text(&Field::literal(path), Act::Write, Some("{}".into()));
    }
}

/// `statewarden install --mode MODE`: whether anything is denied is for people to say.
fn set_mode(shell: &mut Shell<'_>, args: &Args<'_>) {
    if let Some(dir) = project(shell, args) {
        let file = Field::literal(format!("{dir}/.claude/statewarden.local.yaml"));
        shell.report(&file, Act::Write);
    }
}

fn project<'s>(shell: &'s Shell<'_>, args: &'s Args<'_>) -> Option<&'s str> {
    match args.value(&["project"]) {
        Some(given) => given.known(),
        None => shell.scene.project_dir.or(shell.cwd.as_deref()),
    }
}

/// `install.sh --uninstall [--prefix DIR]`, as this program comes with it.
pub(super) fn install_script(shell: &mut Shell<'_>, args: &Args<'_>) {
    let prefix = match args.value(&["prefix"]) {
        Some(given) => given.known().map(str::to_owned),
        None => variable(shell, "HOME").map(|home| home + "/.local"),
    };
    let takes_out = args.has(&["uninstall"]) && !args.has(&["dry-run", "help", "h"]);
    if let Some(prefix) = prefix.filter(|_| takes_out) {
        let program = Field::literal(format!("{prefix}/bin/statewarden"));
        shell.report(&program, Act::Remove);
    }
}

/// Claude Code's settings of the user.
fn of_user(shell: &Shell<'_>) -> Option<String> {
    let dir = variable(shell, "CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty());
    let dir = dir.or_else(|| Some(variable(shell, "HOME")? + "/.claude"));
    Some(dir? + "/settings.json")
}

fn variable(shell: &Shell<'_>, name: &str) -> Option<String> {
    match shell.variable(name)? {
        Value::One(field) => field.known().map(str::to_owned),
        Value::Many(_) => None,
    }
}
