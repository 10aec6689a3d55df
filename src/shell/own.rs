//! The one command of this program that an agent must not run: it takes the hooks
//! out of Claude Code's settings.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::Field;
use crate::target::Act;

pub(super) const SYNTAX: Syntax = Syntax {
    short: "",
    attached: "",
    long: &["project", "scope", "system"],
};

/// `statewarden uninstall [--scope SCOPE]`: the settings as if nothing else were in them.
pub(super) fn statewarden(shell: &mut Shell<'_>, args: &Args<'_>) {
    let verb = args.operands.first().and_then(Field::known);
    if verb != Some("uninstall") || args.has(&["dry-run", "help", "h"]) {
        return;
    }
    let scope = args.value(&["scope"]).and_then(Field::known);
    let dir = match (scope, args.value(&["project"])) {
        (Some("user"), _) => shell.scene.home,
        (_, Some(given)) => given.known(),
        _ => shell.scene.project_dir.or(shell.cwd.as_deref()),
    };
    let file = match scope {
        Some("local") => "settings.local.json",
        _ => "settings.json",
    };
    if let Some(dir) = dir {
        let path = Field::literal(format!("{dir}/.claude/{file}"));
        shell.report_text(&path, Act::Write, Some("{}".into()));
    }
}
