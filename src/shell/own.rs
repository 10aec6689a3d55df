//! The commands that take this program or its hooks out, and those of its own that write.

use super::args::{Args, Options, is_in};
use super::eval::Shell;
use super::field::Field;
use crate::base::target::Act;

pub(super) const OPTIONS: &str =
    "agent from html limit mode prefix project rule scope session sha256 since system";

pub(super) fn run(shell: &mut Shell<'_>, args: &Args<'_>) {
    shell.unknown_write();
    match args.operands.first().map_or("", |verb| &verb.text) {
        _ if args.has("dry-run help h") => {}
        "uninstall" => uninstall(shell, args),
        "install" if args.value("mode").is_some() => set_mode(shell, args),
        "denies" => shell.report_all(args.value("html"), Act::Write),
        _ => {}
    }
}

/// `statewarden uninstall [--scope SCOPE]`: the settings as if nothing else were in them.
fn uninstall(shell: &mut Shell<'_>, args: &Args<'_>) {
    let scope = args.value("scope").map_or("", |scope| &scope.text);
    empty(shell, &settings(shell, args, scope));
}

fn empty(shell: &mut Shell<'_>, files: &[Field]) {
    for file in files {
        shell.write(file, Act::Write, Some(&Field::literal("{}")));
    }
}

/// Claude Code's settings files of the scope that is given, or of the project.
fn settings(shell: &Shell<'_>, args: &Args<'_>, scope: &str) -> Vec<Field> {
    let projects = projects(shell, args);
    let config = shell
        .variable_text("CLAUDE_CONFIG_DIR")
        .filter(|dir| !dir.is(""));
    let user = config
        .cloned()
        .unwrap_or(shell.home().join(&Field::literal(".claude")));
    let user = user.join(&Field::literal("settings.json"));
    let names: &[&str] = match scope {
        "user" => return vec![user],
        "project" => &[".claude/settings.json"],
        "local" => &[".claude/settings.local.json"],
        _ => &[".claude/settings.json", ".claude/settings.local.json"],
    };
    let files = projects.iter().flat_map(|project| {
        let files = names.iter();
        files.map(|name| project.join(&Field::literal(*name)))
    });
    files.collect()
}

/// Programs that take out a package, or a plugin of Claude Code.
const MANAGERS: &str = "brew bun cargo claude npm pip pip3 pipx pnpm uv yarn";

/// Their verbs for it, and those that switch a plugin off.
const REMOVES: &str = "disable remove rm un uninstall unlink";

/// `npm uninstall -g statewarden`, `claude plugin disable statewarden@MARKETPLACE`.
pub(super) fn removal_of_package(shell: &mut Shell<'_>, name: &str, args: &[Field]) {
    let is_ours = |arg: &Field| arg.text.split('@').next() == Some("statewarden");
    // `claude plugin marketplace remove`
    let mut verbs = args.iter().filter(|arg| !arg.is_option()).take(3);
    let removes = verbs.any(|verb| is_in(REMOVES, &verb.text));
    if !is_in(MANAGERS, name) || !removes || !args.iter().any(is_ours) {
        return;
    }
    let args = Args::parse(args, Options::of("s", "scope"));
    if name != "claude" {
        let of_user = settings(shell, &args, "user");
        empty(shell, &[of_user, settings(shell, &args, "")].concat());
        return;
    }
    let switched_off = Field::literal(r#"{"enabledPlugins":{"statewarden":false}}"#);
    let scope = args.value("s scope").map_or("user", |scope| &scope.text);
    for file in settings(shell, &args, scope) {
        shell.write(&file, Act::Write, Some(&switched_off));
    }
}

/// `statewarden install --mode MODE`: whether anything is denied is for people to say.
fn set_mode(shell: &mut Shell<'_>, args: &Args<'_>) {
    let file = Field::literal(".claude/statewarden.local.yaml");
    for project in projects(shell, args) {
        shell.report(&project.join(&file), Act::Write);
    }
}

/// The project that is named, else the directories in which the program looks for one.
fn projects(shell: &Shell<'_>, args: &Args<'_>) -> Vec<Field> {
    let of_session = shell.variable_text("CLAUDE_PROJECT_DIR");
    if let Some(named) = args.value("project").or(of_session) {
        return vec![named.clone()];
    }
    let mut dirs = vec![Field::of(shell.place.cwd.as_ref())];
    while let Some((above, _)) = dirs.last().and_then(|dir| dir.text.rsplit_once('/')) {
        dirs.push(Field::literal(above));
    }
    dirs
}

/// `install.sh --uninstall [--prefix DIR]`, as this program comes with it.
pub(super) fn install_script(shell: &mut Shell<'_>, args: &Args<'_>) {
    if !args.has("uninstall") || args.has("dry-run help h") {
        return;
    }
    let local = shell.home().join(&Field::literal(".local"));
    let prefix = args.value("prefix").cloned().unwrap_or_else(|| {
        uninstall(shell, args);
        local
    });
    let program = prefix.join(&Field::literal("bin/statewarden"));
    shell.report(&program, Act::Remove);
}
