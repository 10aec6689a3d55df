//! The plugin, as a person installs it: from a marketplace, with the program from npm.

use std::fs;
use std::path::{Path, PathBuf};

use super::api::{Block, Script};
use super::client::{Client, Mode, Run};
use super::namespace::isolated;
use super::project::Project;
use super::{Fate, check_told};
use crate::npm;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A session that writes a name that is wrong and one that is right.
fn write_both(client: &Client, args: &[&str], project: &Project) -> Run {
    let main = vec![
        vec![project.write("notes.md", "x\n")],
        vec![project.write("scratchpad.md", "x\n")],
        vec![Block::Text("done")],
    ];
    let script = Script {
        main,
        ..Script::default()
    };
    client.run_with(args, project, Mode::SkipPermissions, script)
}

const ONE_DENIED: [(&str, Option<&str>, Fate); 2] = [
    ("Write", None, Fate::Refused("ad-hoc-name")),
    ("Write", None, Fate::Done),
];

/// The files below a directory, but not those that npm brought.
fn files(dir: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = list.map(|entry| entry.path());
    let own = paths.filter(|path| !path.ends_with("node_modules"));
    own.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    })
    .collect()
}

/// A repository with the marketplace, at an address that git finds on this machine. The client
/// runs a plugin of a directory where it lies, and one of a repository from its cache.
fn publish(project: &Project) -> &'static str {
    let at = project.home().join("server/statewarden.git");
    fs::create_dir_all(&at).unwrap();
    let script = "cp -R \"$1/.claude-plugin\" \"$1/plugin\" . && git init --quiet && git add . &&
        git -c user.name=x -c user.email=x commit --quiet --message x &&
        git config --global \"url.file://${PWD%/*}/.insteadOf\" https://example.invalid/";
    project.sh(&at, script, &[ROOT]);
    "https://example.invalid/statewarden.git"
}

#[test]
fn the_plugin_alone_brings_a_native_hook() {
    let name = "real_client::plugin::the_plugin_alone_brings_a_native_hook";
    isolated(name, |client| {
        let project = Project::new("plugin");
        npm::serve_packages(&project.home()).unwrap();
        let plugin = format!("{ROOT}/plugin");
        let told = client.plugin(
            &project,
            &["validate", "--strict", "--profile", "directory", &plugin],
        );
        assert!(told.contains("found nothing to report"), "{told}");
        client.plugin(&project, &["marketplace", "add", publish(&project)]);
        client.plugin(&project, &["install", "statewarden@statewarden"]);
        let cache = project
            .home()
            .join(".claude/plugins/cache/statewarden/statewarden");
        let cache = cache.join(env!("CARGO_PKG_VERSION"));
        let size = |file: &PathBuf| fs::metadata(file).map_or(0, |meta| meta.len());
        let bytes: u64 = files(&cache).iter().map(size).sum();
        assert!((1..100_000).contains(&bytes), "{bytes} bytes in the cache");

        check_told(&write_both(client, &[], &project), &ONE_DENIED);
        assert_eq!(project.denies().len(), 1);
        // From the second call on no shell stands between.
        let program = fs::canonicalize(cache.join("bin/statewarden")).unwrap();
        let npms = Path::new("node_modules/@statewarden").join(npm::platform());
        assert_eq!(program, cache.join(npms).join("statewarden"));
        let found = project.statewarden(&["doctor"]);
        assert!(found.contains("wired by the plugin"), "{found}");

        client.plugin(&project, &["uninstall", "statewarden@statewarden"]);
        let run = write_both(client, &[], &project);
        check_told(&run, &[("Write", None, Fate::Done); 2]);
    });
}

/// The checkout was the plugin once, and who starts the client with it still is guarded.
#[test]
fn a_checkout_is_a_plugin_without_npm() {
    let name = "real_client::plugin::a_checkout_is_a_plugin_without_npm";
    isolated(name, |client| {
        for dir in ["plugin", "."] {
            let project = Project::new("plugin-dir");
            let bin = project.home().join(".local/bin");
            fs::create_dir_all(&bin).unwrap();
            let program = env!("CARGO_BIN_EXE_statewarden");
            std::os::unix::fs::symlink(program, bin.join("statewarden")).unwrap();
            let dir = Path::new(ROOT).join(dir);
            let args = ["--plugin-dir", dir.to_str().unwrap()];
            check_told(&write_both(client, &args, &project), &ONE_DENIED);
        }
    });
}
