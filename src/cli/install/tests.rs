#![allow(clippy::disallowed_methods)]

mod other_tools;

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::uninstall::commands;
use super::*;
use crate::base::path;
use crate::host::settings_json::Wiring;

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
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
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

pub(crate) type Verb = fn(&Args, &Place, &mut dyn Write) -> Result<()>;

/// What a verb that succeeds prints.
fn printed(verb: Verb, args: &Args, place: &Place) -> String {
    let mut out = Vec::new();
    verb(args, place, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn in_scope(scope: Scope) -> Args {
    Args {
        scope: Some(scope),
        dry_run: false,
    }
}

pub(crate) fn wire(common: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let args = Addition {
        common: *common,
        mode: None,
    };
    install(&args, place, &project(place), out)
}

/// The project of a place.
pub(crate) fn project(place: &Place) -> Project {
    let project = path::from_os(&place.project);
    Project::discover(Some(&project), &Env::default(), &project)
}

pub(crate) fn run(verb: Verb, scope: Scope, temp: &Temp) -> String {
    printed(verb, &in_scope(scope), &temp.place())
}

pub(crate) fn unwire(common: &Args, place: &Place, out: &mut dyn Write) -> Result<()> {
    let args = Removal {
        common: *common,
        own: false,
    };
    uninstall(&args, place, &project(place), out)
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
    uninstall(&args, place, &project(place), out)
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
            assert!(run(wire, scope, &temp).contains("wired 12 entries"));
            let installed = temp.tree();
            assert!(run(wire, scope, &temp).contains("already wired"));
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
        run(wire, scope, &temp);
        run(unwire, scope, &temp);
        assert_eq!(temp.tree(), before, "{scope:?}");
    }
}

#[test]
fn a_changed_file_keeps_the_change_and_the_first_backup() {
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\n  \"a\": 1\n}\n");
    run(wire, Scope::Project, &temp);
    let path = temp.place().settings(Scope::Project).unwrap();
    let wired = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        wired
            .replace("\"a\": 1", "\"a\": 2")
            .replace("/bin/", "/old/"),
    )
    .unwrap();
    assert!(run(wire, Scope::Project, &temp).contains("wired 12 entries"));
    assert_eq!(backups(&temp), 1, "a newer path is no new original");
    temp.write("project/.claude/statewarden/denies.jsonl", "{}\n");
    let said = run(unwire, Scope::Project, &temp);
    let backup = "settings.json.statewarden-backup`; delete it";
    assert!(
        said.contains("the logs stay") && said.contains(backup),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"a\": 2\n}\n");
    run(wire, Scope::Project, &temp);
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
        run_as(A, wire, &temp);
        let said = run_as(B, wire, &temp);
        assert!(!said.contains("the file as it was"), "{said}");
        assert_eq!(backups(&temp), usize::from(text.is_some()));
        run_as(A, unwire, &temp);
        assert_eq!(temp.tree(), before, "{text:?}");
    }
}

#[test]
fn a_backup_with_entries_in_it_is_never_put_back() {
    let temp = Temp::new();
    run_as(A, wire, &temp);
    let path = temp.place().settings(Scope::Project).unwrap();
    let of_a = fs::read_to_string(&path).unwrap();
    run_as(B, wire, &temp);
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
        run_as(A, wire, &temp);
        run_as(A, unwire, &temp);
        assert_eq!(temp.tree(), before);
    }
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\"a\": 1}");
    let before = temp.tree();
    run_as(A, wire, &temp);
    let path = temp.place().settings(Scope::Project).unwrap();
    fs::remove_file(path.with_file_name("settings.json.statewarden-backup")).unwrap();
    run_as(A, unwire, &temp);
    assert_eq!(temp.tree(), before, "without the backup, too");
}

#[test]
fn its_own_entries_are_all_that_own_takes_out() {
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\"a\": 1}");
    run_as(A, wire, &temp);
    run_as(B, wire, &temp);
    let wired = temp.tree();
    let said = run_as(A, unwire_own, &temp);
    assert!(
        said.contains("not wired in scope project\n")
            && said.contains("still wired in scope project: `"),
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
    run(wire, Scope::Local, &temp);
    assert!(!temp.0.join("bin").exists(), "no receipt is begun");
    temp.write("bin/.statewarden-receipt", "program p\n");
    run(wire, Scope::Local, &temp);
    run(wire, Scope::Local, &temp);
    let receipt = fs::read_to_string(temp.0.join("bin/.statewarden-receipt")).unwrap();
    let project = temp.place().project;
    let expected = format!("program p\nwired local {}\n", project.display());
    assert_eq!(receipt, expected);
}

#[test]
fn the_folder_stays_while_another_scope_needs_it() {
    let temp = Temp::new();
    fs::create_dir(temp.0.join("project")).unwrap();
    run(wire, Scope::Project, &temp);
    run(wire, Scope::Local, &temp);
    let said = run(unwire, Scope::Project, &temp);
    assert!(said.contains("still wired in scope local: `"), "{said}");
    let ignore = temp.0.join("project/.claude/statewarden/.gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    run(unwire, Scope::Local, &temp);
    assert!(!ignore.exists());
}

#[test]
fn a_dry_run_changes_nothing() {
    let temp = Temp::new();
    temp.write("project/.claude/settings.json", "{\n  \"a\": 1\n}\n");
    temp.write("project/.git/HEAD", "");
    let before = temp.tree();
    let args = Addition {
        common: Args {
            scope: None,
            dry_run: true,
        },
        mode: Some(Trial::Warn),
    };
    let mut out = Vec::new();
    let place = temp.place();
    install(&args, &place, &project(&place), &mut out).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert_eq!(said.matches("would ").count(), 3, "{said}");
    assert_eq!(temp.tree(), before);
}

/// Without a scope the entries are renewed where they are, and are the person's own where
/// there are none; what that writes besides goes with them.
#[test]
fn without_a_scope_the_entries_stay_where_they_are() {
    let bare = Args {
        scope: None,
        dry_run: false,
    };
    for scope in Scope::ALL.map(Some).into_iter().chain([None]) {
        let temp = Temp::new();
        temp.write("project/.git/info/exclude", "# mine\n");
        fs::create_dir(temp.0.join("home")).unwrap();
        let before = temp.tree();
        if let Some(scope) = scope {
            run_as_in(B, scope, &temp);
        }
        printed(wire, &bare, &temp.place());
        let program = temp.place().program;
        let is_wired = |scope: &Scope| {
            let file = temp.place().settings(*scope).unwrap();
            let found = commands(&file).unwrap();
            found == [program.to_str().unwrap()]
        };
        let wired: Vec<_> = Scope::ALL.into_iter().filter(is_wired).collect();
        assert_eq!(wired, [scope.unwrap_or(Scope::Local)]);
        if scope == Some(Scope::User) {
            printed(unwire, &in_scope(Scope::User), &temp.place());
        }
        printed(unwire, &bare, &temp.place());
        assert_eq!(temp.tree(), before, "{scope:?}");
    }
}

fn run_as_in(program: &str, scope: Scope, temp: &Temp) {
    let place = Place {
        program: temp.0.join(program),
        ..temp.place()
    };
    printed(wire, &in_scope(scope), &place);
}

#[test]
fn a_program_of_a_package_cache_is_not_wired() {
    for (dir, is_cache) in [
        (".npm/_npx/1", true),
        (".cache/uv", true),
        (".local/bin", false),
    ] {
        let temp = Temp::new();
        let program = temp.0.join(dir).join("statewarden");
        let place = Place {
            program,
            ..temp.place()
        };
        let result = wire(&in_scope(Scope::Project), &place, &mut Vec::new());
        assert_eq!(result.is_err(), is_cache, "{dir}");
    }
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
        let error = wire(&args, &temp.place(), &mut Vec::new()).unwrap_err();
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
    let error = wire(&in_scope(Scope::Project), &place, &mut Vec::new()).unwrap_err();
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
        let result = wire(
            &Args {
                scope: Some(scope),
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
    let out = run(wire, Scope::User, &temp);
    assert!(!out.contains("reads another"), "{out}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let wired = Wiring::read(&fs::read_to_string(&link).unwrap()).unwrap();
    assert!(wired.missing().is_empty());
    fs::remove_file(temp.0.join("dotfiles/settings.json")).unwrap();
    let args = in_scope(Scope::User);
    assert!(
        wire(&args, &temp.place(), &mut Vec::new()).is_err(),
        "a dangling link"
    );
}
