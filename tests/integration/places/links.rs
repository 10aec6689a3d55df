//! Links on the way to a site, out of one and into one.

use std::os::unix::fs::symlink;

use super::*;
use crate::support::DEVT;

fn link(sandbox: &Sandbox, below: &str, to: &str) {
    let path = sandbox.project().join(below);
    make(path.parent().unwrap());
    symlink(to, path).unwrap();
}

#[test]
fn a_linked_devt_directory_is_a_site_under_both_names() {
    let sandbox = Sandbox::new();
    make(&sandbox.base().join("shared/state"));
    link(&sandbox, "a/.devt", "../../shared");
    link(&sandbox, "b/.devt/state", "../../../shared/state");
    link(&sandbox, "c/.devt", "../.devt");
    check(
        &sandbox,
        &[
            ("a/.devt/state/notes.md", "ad-hoc-name"),
            ("a/.devt/state/plan.md", "allow"),
            ("a/.devt/memory/notes.md", "allow"),
            ("b/.devt/state/notes.md", "ad-hoc-name"),
            ("b/.devt/state/plan.md", "allow"),
            ("c/.devt/state/notes.md", "ad-hoc-name"),
            ("c/.devt/state/plan.md", "allow"),
        ],
    );
}

#[test]
fn a_commands_way_up_starts_where_the_link_before_it_leads_to() {
    let sandbox = Sandbox::new();
    make(&sandbox.project().join(".devt/state/sub"));
    link(&sandbox, "deep", ".devt/state/sub");
    link(&sandbox, "notes", ".devt/state");
    for (path, expected) in [
        ("deep/../a.md", "ad-hoc-name"),
        ("deep/../plan.md", "allow"),
        ("deep/../../../src/a.md", "allow"),
        ("src/../notes/a.md", "ad-hoc-name"),
        // What is missing before a way up hides no link behind it.
        ("gone/../notes/a.md", "ad-hoc-name"),
        ("gone/../src/a.md", "allow"),
    ] {
        let event = sandbox.bash_event(&format!("echo x > {path}"));
        sandbox.expect(&event, expected);
    }
}

#[test]
fn a_link_elsewhere_that_leads_in_is_judged_where_it_lands() {
    let sandbox = Sandbox::new();
    link(&sandbox, "notes", ".devt/state");
    link(&sandbox, "src/twice", "../notes");
    link(&sandbox, "todo.md", ".devt/state/todo.md");
    link(&sandbox, "current-plan.md", ".devt/state/plan.md");
    link(&sandbox, "denials", DEVT);
    check(
        &sandbox,
        &[
            ("notes/a.md", "ad-hoc-name"),
            ("notes/plan.md", "allow"),
            ("notes/deep/a.md", "undeclared-directory"),
            ("src/twice/a.md", "ad-hoc-name"),
            ("todo.md", "ad-hoc-name"),
            ("current-plan.md", "allow"),
            ("denials", "program-owned"),
        ],
    );
    check_by(
        &sandbox,
        "tester",
        &[("notes/workflow.yaml", "wrong-writer")],
    );
    // From outside the project, too.
    symlink(
        sandbox.project().join(".devt/state"),
        sandbox.base().join("door"),
    )
    .unwrap();
    let outside = sandbox.base().join("door/a.md");
    check(&sandbox, &[(outside.to_str().unwrap(), "ad-hoc-name")]);
}

#[test]
fn a_link_in_a_site_that_leads_out_is_an_escape() {
    let sandbox = Sandbox::new();
    let elsewhere = text(&sandbox.base().join("elsewhere"));
    make(Path::new(&elsewhere));
    sandbox.write("src/a.rs", "fn main() {}\n");
    link(&sandbox, ".devt/state/plan.md", "../../src/a.rs");
    link(&sandbox, ".devt/state/spec.md", "../../src/new.rs");
    link(
        &sandbox,
        ".devt/state/scope.md",
        &format!("{elsewhere}/gone/scope.md"),
    );
    link(&sandbox, ".devt/state/out", &elsewhere);
    link(&sandbox, ".devt/state/up", "..");
    check(
        &sandbox,
        &[
            (".devt/state/plan.md", "path-escape"),
            (".devt/state/spec.md", "path-escape"),
            (".devt/state/scope.md", "path-escape"),
            (".devt/state/out/plan.md", "path-escape"),
            (".devt/state/out/deep/plan.md", "path-escape"),
            (".devt/state/up/notes.md", "path-escape"),
        ],
    );
}

#[test]
fn a_link_within_a_site_is_judged_by_the_name_it_leads_to() {
    let sandbox = Sandbox::new();
    link(&sandbox, ".devt/state/plan.md", "spec.md");
    link(&sandbox, ".devt/state/review.md", "notes.md");
    link(&sandbox, ".devt/state/scope.md", "./../state/.lock");
    check(
        &sandbox,
        &[
            (".devt/state/plan.md", "allow"),
            (".devt/state/review.md", "ad-hoc-name"),
            (".devt/state/scope.md", "program-owned"),
        ],
    );
}

#[test]
fn the_project_may_be_named_through_a_link() {
    let sandbox = Sandbox::new();
    let alias = sandbox.base().join("alias");
    symlink(sandbox.project(), &alias).unwrap();
    for (project, path) in [
        (&alias, sandbox.project().join(".devt/state/notes.md")),
        (&alias, alias.join(".devt/state/notes.md")),
        (&sandbox.project(), alias.join(".devt/state/notes.md")),
        (&alias, alias.join("lib/.devt/state/notes.md")),
    ] {
        let found = sandbox.hook_of_project(project, &event(&sandbox, &text(&path)));
        assert_eq!(found.decision(), "ad-hoc-name", "{path:?} in {project:?}");
    }
}

/// Of a directory that many targets lie in the disk is asked once; that must
/// lose neither a link in it nor a tree, however many entries it has.
#[test]
fn among_many_targets_of_a_directory_none_is_overlooked() {
    for n_others in [0, 40, 2000] {
        let sandbox = Sandbox::new();
        make(&sandbox.project().join(".devt/state"));
        make(&sandbox.project().join("many/tree/.devt/state"));
        make(&sandbox.project().join("many/plain/tree"));
        for n in 0..n_others {
            sandbox.write(&format!("many/other-{n}"), "");
        }
        link(&sandbox, "many/door", "../.devt/state");
        link(&sandbox, "many/todo", "../.devt/state/todo.md");
        link(&sandbox, "many/tödö", "../.devt/state/todo.md");
        link(&sandbox, "many/back", "tree");
        let files: String = (0..20).map(|n| format!("many/new-{n}.md ")).collect();
        for (command, expected) in [
            (format!("touch {files}"), "allow"),
            (format!("touch {files} many/todo"), "ad-hoc-name"),
            (format!("touch {files} many/tödö"), "ad-hoc-name"),
            (format!("touch {files} many/door/notes.md"), "ad-hoc-name"),
            (format!("touch {files} many/door/plan.md"), "allow"),
            (format!("rm -rf {files} many/plain"), "allow"),
            (format!("rm -rf {files} many/tree"), "bulk-removal"),
            (format!("rm -rf {files} many/back/.devt"), "bulk-removal"),
            (format!("mv {files} many/tree /tmp"), "bulk-removal"),
            (format!("mv {files} many/door"), "ad-hoc-name"),
            (format!("mv {files} many/plain"), "allow"),
        ] {
            let ran = sandbox.hook(&sandbox.bash_event(&command));
            assert_eq!(ran.decision(), expected, "{n_others} others: {command}");
        }
    }
}
