//! The commands of this program that write where an agent may not: two take the hooks or the
//! program out, one makes a page under a name it is given.

use super::args::Args;
use super::eval::Shell;
use super::field::Field;
use crate::base::target::Act;

pub(super) const OPTIONS: &str =
    "agent from html limit mode prefix project rule scope session sha256 since system";

pub(super) fn run(shell: &mut Shell<'_>, args: &Args<'_>) {
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
    let project = project(shell, args);
    let config = shell
        .variable_text("CLAUDE_CONFIG_DIR")
        .filter(|dir| !dir.is(""));
    let user = config
        .cloned()
        .unwrap_or(shell.home().join(&Field::literal(".claude")));
    let user = user.join(&Field::literal("settings.json"));
    let of_project = |name: &str| project.join(&Field::literal(name));
    let files = match args.value("scope").map_or("", |scope| &scope.text) {
        "user" => vec![user],
        "project" => vec![of_project(".claude/settings.json")],
        "local" => vec![of_project(".claude/settings.local.json")],
        _ => [".claude/settings.json", ".claude/settings.local.json"]
            .map(of_project)
            .to_vec(),
    };
    for file in files {
        shell.write(&file, Act::Write, Some(&Field::literal("{}")));
    }
}

/// `statewarden install --mode MODE`: whether anything is denied is for people to say.
fn set_mode(shell: &mut Shell<'_>, args: &Args<'_>) {
    let file = Field::literal(".claude/statewarden.local.yaml");
    shell.report(&project(shell, args).join(&file), Act::Write);
}

fn project(shell: &Shell<'_>, args: &Args<'_>) -> Field {
    let here = Field::of(shell.place.cwd.as_ref());
    let project = shell.variable_text("CLAUDE_PROJECT_DIR").unwrap_or(&here);
    args.value("project").unwrap_or(project).clone()
}

/// `install.sh --uninstall [--prefix DIR]`, as this program comes with it.
pub(super) fn install_script(shell: &mut Shell<'_>, args: &Args<'_>) {
    let local = shell.home().join(&Field::literal(".local"));
    let prefix = args.value("prefix").cloned().unwrap_or(local);
    if args.has("uninstall") && !args.has("dry-run help h") {
        shell.report(
            &prefix.join(&Field::literal("bin/statewarden")),
            Act::Remove,
        );
    }
}
