//! The commands of this program that write where an agent may not: one takes the
//! hooks out of Claude Code's settings, one makes a page under a name it is given.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::Field;
use super::variable::Value;
use crate::base::target::Act;

pub(super) const SYNTAX: Syntax = Syntax::of(
    "",
    &[
        "agent", "html", "limit", "project", "rule", "scope", "session", "since", "system",
    ],
);

pub(super) fn statewarden(shell: &mut Shell<'_>, args: &Args<'_>) {
    if args.has(&["dry-run", "help", "h"]) {
        return;
    }
    match args.operands.first().and_then(Field::known) {
        Some("uninstall") => uninstall(shell, args),
        Some("denies") => shell.report_all(args.value(&["html"]), Act::Write),
        _ => {}
    }
}

/// `statewarden uninstall [--scope SCOPE]`: the settings as if nothing else were in them.
fn uninstall(shell: &mut Shell<'_>, args: &Args<'_>) {
    let scope = args.value(&["scope"]).and_then(Field::known);
    let project = match args.value(&["project"]) {
        Some(given) => given.known(),
        None => shell.scene.project_dir.or(shell.cwd.as_deref()),
    };
    let path = match (scope, project) {
        (Some("user"), _) => of_user(shell),
        (Some("local"), Some(dir)) => Some(format!("{dir}/.claude/settings.local.json")),
        (_, dir) => dir.map(|dir| format!("{dir}/.claude/settings.json")),
    };
    if let Some(path) = path {
        shell.report_text(&Field::literal(path), Act::Write, Some("{}".into()));
    }
}

/// Claude Code's settings of the user.
fn of_user(shell: &Shell<'_>) -> Option<String> {
    let known = |name| match shell.variable(name)? {
        Value::One(field) => field.known().map(str::to_owned),
        Value::Many(_) => None,
    };
    let dir = known("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty());
    let dir = dir.or_else(|| Some(known("HOME")? + "/.claude"));
    Some(dir? + "/settings.json")
}
