#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A directory that goes with the test.
pub(crate) struct Temp(pub(crate) PathBuf);

impl Temp {
    pub(crate) fn new() -> Self {
        static N: AtomicUsize = AtomicUsize::new(0);
        let n = N.fetch_add(1, Ordering::Relaxed);
        let name = format!("statewarden-cmd-{}-{n}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    pub(crate) fn place(&self) -> Place {
        Place {
            project: self.0.join("project"),
            work_tree: None,
            user_dir: Some(self.0.join("home/.claude")),
            managed_settings: self.0.join("etc/managed-settings.json"),
            program: self.0.join("bin/statewarden"),
        }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Every file and directory with its bytes.
    fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        let mut dirs = vec![self.0.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let bytes = fs::read(&path).ok();
                if bytes.is_none() {
                    dirs.push(path.clone());
                }
                tree.insert(path, bytes);
            }
        }
        tree
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type Verb = fn(&Args, &Place, &mut dyn Write) -> Result<()>;

/// What a verb that succeeds prints.
fn printed(verb: Verb, args: &Args, place: &Place) -> String {
    let mut out = Vec::new();
    verb(args, place, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn in_scope(scope: Scope) -> Args {
    Args {
        scope,
        dry_run: false,
    }
}

fn run(verb: Verb, scope: Scope, temp: &Temp) -> String {
    printed(verb, &in_scope(scope), &temp.place())
}

fn unwire(common: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let args = Removal {
        common: *common,
        own: false,
    };
    uninstall(&args, place, out)
}

/// Installs, or uninstalls with `--own`, with the program of that name.
fn run_as(program: &str, verb: Verb, temp: &Temp) -> String {
    let place = Place {
        program: temp.0.join(program),
        ..temp.place()
    };
    printed(verb, &in_scope(Scope::Project), &place)
}

fn unwire_own(common: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let args = Removal {
        common: *common,
        own: true,
    };
    uninstall(&args, place, out)
}

const A: &str = "a/statewarden";
const B: &str = "b/statewarden";

fn backups(temp: &Temp) -> usize {
    temp.tree()
        .keys()
        .filter(|p| p.to_string_lossy().contains("statewarden-backup"))
        .count()
}

#[test]
fn uninstalling_takes_out_exactly_what_installing_put_in() {
    for text in [
        None,
        Some(""),
        Some("{}\n"),
        Some("{\n}\n"),
        Some("{\"hooks\": {}}"),
        Some("{\n\t\"a\": 1\n}"),
    ] {
        for scope in Scope::ALL {
            let temp = Temp::new();
            fs::create_dir(temp.0.join("project")).unwrap();
            fs::create_dir(temp.0.join("home")).unwrap();
            if let Some(text) = text {
                let path = temp.place().settings(scope).unwrap();
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let before = temp.tree();
            assert!(run(install, scope, &temp).contains("wired 11 entries"));
            let installed = temp.tree();
            assert!(run(install, scope, &temp).contains("already wired"));
            assert_eq!(temp.tree(), installed, "idempotent: {text:?} {scope:?}");
            assert_eq!(backups(&temp), usize::from(text.is_some()));
            run(unwire, scope, &temp);
            assert_eq!(temp.tree(), before, "{text:?} {scope:?}");
            assert!(run(unwire, scope, &temp).contains("not wired"));
            assert_eq!(temp.tree(), before, "{text:?} {scope:?}");
        }
    }
}

#[test]
fn an_empty_directory_that_was_there_stays() {
    for scope in [Scope::Project, Scope::Local] {
        let temp = Temp::new();
        fs::create_dir_all(temp.0.join("project/.claude")).unwrap();
        let before = temp.tree();
        run(install, scope, &temp);
        run(unwire, scope, &temp);
        assert_eq!(temp.tree(), before, "{scope:?}");
    }
}

#[test]
fn a_changed_file_keeps_the_change_and_the_first_backup() {
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\n  \"a\": 1\n}\n");
    run(install, Scope::Project, &temp);
    let path = temp.place().settings(Scope::Project).unwrap();
    let wired = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        wired
            .replace("\"a\": 1", "\"a\": 2")
            .replace("/bin/", "/old/"),
    )
    .unwrap();
    assert!(run(install, Scope::Project, &temp).contains("wired 11 entries"));
    assert_eq!(backups(&temp), 1, "a newer path is no new original");
    temp.write("project/.claude/statewarden/denies.jsonl", "{}\n");
    let said = run(unwire, Scope::Project, &temp);
    let backup = "settings.json.statewarden-backup`; delete it";
    assert!(
        said.contains("the logs stay") && said.contains(backup),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"a\": 2\n}\n");
    run(install, Scope::Project, &temp);
    let backup = path.with_file_name("settings.json.statewarden-backup");
    assert_eq!(fs::read_to_string(backup).unwrap(), "{\n  \"a\": 1\n}\n");
    assert_eq!(backups(&temp), 2, "another original gets a name of its own");
}

#[test]
fn a_second_program_leaves_no_trace_of_the_first() {
    for text in [
        None,
        Some("{\n  \"permissions\": {}\n}\n"),
        Some("{\"hooks\": {}}"),
    ] {
        let temp = Temp::new();
        fs::create_dir(temp.0.join("project")).unwrap();
        if let Some(text) = text {
            temp.write("project/.claude/settings.json", text);
        }
        let before = temp.tree();
        run_as(A, install, &temp);
        let said = run_as(B, install, &temp);
        assert!(!said.contains("the file as it was"), "{said}");
        assert_eq!(backups(&temp), usize::from(text.is_some()));
        run_as(A, unwire, &temp);
        assert_eq!(temp.tree(), before, "{text:?}");
    }
}

#[test]
fn a_backup_with_entries_in_it_is_never_put_back() {
    let temp = Temp::new();
    run_as(A, install, &temp);
    let path = temp.place().settings(Scope::Project).unwrap();
    let of_a = fs::read_to_string(&path).unwrap();
    run_as(B, install, &temp);
    temp.write("project/.claude/settings.json.statewarden-backup", &of_a);
    let said = run_as(B, unwire, &temp);
    assert!(said.contains("removed `"), "{said}");
    assert!(
        !path.exists() && backups(&temp) == 0,
        "it says nothing else"
    );
}

#[test]
fn what_is_no_backup_of_ours_stays() {
    for foreign in ["{ // mine\n}", "{\"other\": true}"] {
        let temp = Temp::new();
        temp.write("project/.claude/settings.json.statewarden-backup", foreign);
        let before = temp.tree();
        run_as(A, install, &temp);
        run_as(A, unwire, &temp);
        assert_eq!(temp.tree(), before);
    }
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\"a\": 1}");
    let before = temp.tree();
    run_as(A, install, &temp);
    let path = temp.place().settings(Scope::Project).unwrap();
    fs::remove_file(path.with_file_name("settings.json.statewarden-backup")).unwrap();
    run_as(A, unwire, &temp);
    assert_eq!(temp.tree(), before, "without the backup, too");
}

#[test]
fn its_own_entries_are_all_that_own_takes_out() {
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\"a\": 1}");
    run_as(A, install, &temp);
    run_as(B, install, &temp);
    let wired = temp.tree();
    let said = run_as(A, unwire_own, &temp);
    assert!(
        said.starts_with("not wired: `") && said.contains("still wired in scope project: `"),
        "{said}"
    );
    assert_eq!(temp.tree(), wired);
    assert!(run_as(B, unwire_own, &temp).starts_with("restored `"));
    let path = temp.place().settings(Scope::Project).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "{\"a\": 1}");
    assert_eq!(backups(&temp), 0);
}

#[test]
fn a_program_that_the_script_installed_notes_its_wirings() {
    let temp = Temp::new();
    run(install, Scope::Local, &temp);
    assert!(!temp.0.join("bin").exists(), "no receipt is begun");
    temp.write("bin/.statewarden-receipt", "program p\n");
    run(install, Scope::Local, &temp);
    run(install, Scope::Local, &temp);
    let receipt = fs::read_to_string(temp.0.join("bin/.statewarden-receipt")).unwrap();
    let project = temp.place().project;
    let expected = format!("program p\nwired local {}\n", project.display());
    assert_eq!(receipt, expected);
}

#[test]
fn the_folder_stays_while_another_scope_needs_it() {
    let temp = Temp::new();
    fs::create_dir(temp.0.join("project")).unwrap();
    run(install, Scope::Project, &temp);
    run(install, Scope::Local, &temp);
    let said = run(unwire, Scope::Project, &temp);
    assert!(said.contains("still wired in scope local: `"), "{said}");
    let ignore = temp.0.join("project/.claude/statewarden/.gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    run(unwire, Scope::Local, &temp);
    assert!(!ignore.exists());
}

#[test]
fn a_dry_run_changes_nothing_and_shows_the_lines() {
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\n  \"a\": 1\n}\n");
    let before = temp.tree();
    let args = Args {
        dry_run: true,
        ..in_scope(Scope::Project)
    };
    let out = printed(install, &args, &temp.place());
    assert!(
        out.contains("\n-   \"a\": 1\n+   \"a\": 1,\n+   \"hooks\": {\n"),
        "{out}"
    );
    assert!(out.contains("would make"), "{out}");
    assert_eq!(temp.tree(), before);
}

#[test]
fn a_dry_run_of_another_path_shows_the_paths() {
    let temp = Temp::new();
    run_as(A, install, &temp);
    let args = Args {
        dry_run: true,
        ..in_scope(Scope::Project)
    };
    let out = printed(install, &args, &temp.place());
    for mark in ["\n- ", "\n+ "] {
        assert_eq!(out.matches(mark).count(), ENTRIES.len(), "{out}");
    }
    assert!(out.lines().count() < 60, "{out}");
}

#[test]
fn a_file_that_cannot_be_edited_is_left_alone() {
    let unusable = "an entry of `PreToolUse` has no valid `hooks`; Claude Code ignores";
    for (text, why) in [
        ("{ // mine\n}", "line 1"),
        ("{\"hooks\": 1}", "line 1"),
        ("[", "line 1"),
        ("\u{feff}{\"a\":}", "line 1"),
        (
            "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"X\"}]}}",
            unusable,
        ),
    ] {
        let temp = Temp::new();
        temp.write("project/.claude/settings.json", text);
        let before = temp.tree();
        let args = in_scope(Scope::Project);
        let error = install(&args, &temp.place(), &mut Vec::new()).unwrap_err();
        let error = format!("{error:#}");
        let expected = format!("settings.json`, nothing was changed: {why}");
        assert!(error.contains(&expected), "{error}");
        assert_eq!(temp.tree(), before);
    }
}

#[test]
fn a_program_by_another_name_is_not_wired() {
    let temp = Temp::new();
    let place = Place {
        program: temp.0.join("bin/statewarden-x86_64"),
        ..temp.place()
    };
    let before = temp.tree();
    let error = install(&in_scope(Scope::Project), &place, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("name it `statewarden`"));
    assert_eq!(temp.tree(), before);
}

#[test]
fn the_home_directory_is_no_project() {
    let temp = Temp::new();
    let place = Place {
        project: temp.0.join("home"),
        ..temp.place()
    };
    for scope in Scope::ALL {
        let result = install(
            &Args {
                scope,
                dry_run: true,
            },
            &place,
            &mut Vec::new(),
        );
        assert_eq!(result.is_ok(), scope == Scope::User, "{scope:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_linked_settings_file_is_changed_where_it_is() {
    let temp = Temp::new();
    temp.write("dotfiles/settings.json", "{}\n");
    fs::create_dir_all(temp.place().user_dir.unwrap()).unwrap();
    let link = temp.place().settings(Scope::User).unwrap();
    std::os::unix::fs::symlink(temp.0.join("dotfiles/settings.json"), &link).unwrap();
    let out = run(install, Scope::User, &temp);
    assert!(!out.contains("reads another"), "{out}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let wired = Wiring::read(&fs::read_to_string(&link).unwrap()).unwrap();
    assert!(wired.missing().is_empty());
    fs::remove_file(temp.0.join("dotfiles/settings.json")).unwrap();
    let args = in_scope(Scope::User);
    assert!(
        install(&args, &temp.place(), &mut Vec::new()).is_err(),
        "a dangling link"
    );
}
