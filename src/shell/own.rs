//! The commands that take this program or its hooks out, and those of its own that write.

use super::args::{Args, Options};
use super::eval::Shell;
use super::field::Field;
use crate::base::target::Act;
use crate::base::text::is_in;

pub(super) const OPTIONS: &str =
    "agent from html limit mode prefix project rule scope session sha256 since system";

pub(super) fn run(shell: &mut Shell<'_>, args: &Args<'_>) {
    shell.unknown_write();
    match args.operands.first().map_or("", |verb| &verb.text) {
        _ if args.has("dry-run help h") => {}
        "uninstall" => overwrite_settings(shell, args, "{}"),
        "install" if args.value("mode").is_some() => set_mode(shell, args),
        "denies" => shell.report_all(args.value("html"), Act::Write),
        _ => {}
    }
}

/// Claude Code's settings files as if nothing but a text were in them: the user's, and the
/// project's. Where the program is not, that takes nothing out.
fn overwrite_settings(shell: &mut Shell<'_>, args: &Args<'_>, text: &str) {
    let config = shell
        .variable_text("CLAUDE_CONFIG_DIR")
        .filter(|dir| !dir.is(""));
    let of_user = config
        .cloned()
        .unwrap_or(shell.home().join(&Field::literal(".claude")));
    let of_projects = projects(shell, args);
    let of_projects = of_projects.iter();
    let dirs = of_projects.map(|project| project.join(&Field::literal(".claude")));
    let dirs: Vec<Field> = dirs.chain([of_user]).collect();
    for name in ["settings.json", "settings.local.json"].map(Field::literal) {
        for dir in &dirs {
            shell.write(&dir.join(&name), Act::Write, Some(&Field::literal(text)));
        }
    }
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
    let switched_off = r#"{"enabledPlugins":{"statewarden":false}}"#;
    let text = if name == "claude" { switched_off } else { "{}" };
    let args = Args::parse(args, Options::default());
    overwrite_settings(shell, &args, text);
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
        overwrite_settings(shell, args, "{}");
        local
    });
    let program = prefix.join(&Field::literal("bin/statewarden"));
    shell.report(&program, Act::Remove);
}
