//! The plugin, as a person installs it: from a marketplace, with the program from npm.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::api::{Block, Script};
use super::client::{Client, Mode, Run};
use super::namespace::isolated;
use super::project::Project;
use super::{Fate, bash, check_told, dispatch};
use crate::npm;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A session that writes a name that is wrong and one that is right.
fn write_both(client: &Client, args: &[&str], project: &Project) -> Run {
    let main = vec![
        vec![project.write("notes.md", "x\n")],
        vec![project.write("scratchpad.md", "x\n")],
        vec![Block::Text("done")],
    ];
    let script = Script::of_main(main);
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

/// They are asked when something is wrong: then, and where an argument is missing, what the
/// program says reaches the model all the same.
#[test]
fn slash_commands_answer_where_a_state_is_broken() {
    let name = "real_client::plugin::slash_commands_answer_where_a_state_is_broken";
    isolated(name, |client| {
        let project = Project::new("slash");
        let bin = project.home().join(".local/bin");
        fs::create_dir_all(&bin).unwrap();
        let program = env!("CARGO_BIN_EXE_statewarden");
        std::os::unix::fs::symlink(program, bin.join("statewarden")).unwrap();
        fs::write(
            project.dir().join(".devt/state/workflow.yaml"),
            "active: [\n",
        )
        .unwrap();
        let dir = format!("{ROOT}/plugin");
        for (prompt, told) in [
            (
                "/statewarden:status",
                "could not read `.devt/state/workflow.yaml`",
            ),
            ("/statewarden:explain", "a path is empty; name a file"),
            ("/statewarden:explain .devt/state/notes.md", "(ad-hoc-name)"),
            ("/statewarden:denials", "no denial matches"),
            ("/statewarden:doctor", "state-file"),
        ] {
            let script = Script {
                main: vec![vec![Block::Text("it was told something else")]],
                subagents: vec![(told, vec![vec![Block::Text("it was told")]])],
            };
            let run = client.run_prompt(prompt, &["--plugin-dir", &dir], &project, script);
            run.assert_sound();
            assert!(run.holds("\"it was told\""), "{prompt}: {run:#?}");
        }
    });
}

/// A plugin of somebody else's, with agents and a contract of its own.
fn publish_kit(project: &Project) -> String {
    let at = "../home/market";
    let put = |path: &str, text: &str| project.put(&format!("{at}/{path}"), text);
    let plugin = json!({ "name": "kit", "version": "1.0.0", "description": "Plans." });
    put("kit/.claude-plugin/plugin.json", &plugin.to_string());
    let market = json!({
        "name": "market", "owner": { "name": "ann" },
        "plugins": [{ "name": "kit", "source": "./kit", "description": "Plans." }],
    });
    put(".claude-plugin/marketplace.json", &market.to_string());
    for agent in ["scribe", "checker"] {
        let text = format!("---\nname: {agent}\ndescription: Does its part.\n---\nOne step.\n");
        put(&format!("kit/agents/{agent}.md"), &text);
    }
    put(
        "kit/statewarden.yaml",
        include_str!("../../fixtures/kit/statewarden.yaml"),
    );
    project.home().join("market").to_string_lossy().into_owned()
}

#[test]
fn a_plugin_brings_its_contract() {
    let name = "real_client::plugin::a_plugin_brings_its_contract";
    isolated(name, |client| {
        let project = Project::new("kit");
        project.install();
        client.plugin(&project, &["marketplace", "add", &publish_kit(&project)]);
        client.plugin(&project, &["install", "kit@market"]);
        project.put("Makefile", "check:\n\ttrue\n");
        let write = |name: &str, content: &str| Block::Call {
            tool: "Write",
            input: json!({ "file_path": project.dir().join(".kit").join(name), "content": content }),
        };
        let main = vec![
            vec![write("plam.md", "x\n")],
            vec![write("checks.json", "{\n")],
            vec![write("checks.json", "{}\n")],
            vec![dispatch("kit:checker", "Look at WOMBAT.")],
            vec![dispatch("kit:scribe", "Write QUOKKA.")],
            vec![dispatch("kit:checker", "Look at NUMBAT.")],
            vec![Block::Text("done")],
        ];
        let plan = vec![write("plan.md", "It is planned.\n")];
        let script = Script {
            main,
            subagents: vec![
                (
                    "WOMBAT",
                    vec![plan.clone(), vec![Block::Text("all is well")]],
                ),
                ("QUOKKA", vec![plan, vec![Block::Text("planned")]]),
                (
                    "NUMBAT",
                    vec![vec![bash("make check")], vec![Block::Text("checked")]],
                ),
            ],
        };
        let run = client.run(&project, Mode::SkipPermissions, script);
        let (scribe, checker) = (Some("kit:scribe"), Some("kit:checker"));
        check_told(
            &run,
            &[
                ("Write", None, Fate::Refused("plan.md")),
                ("Write", None, Fate::Refused("malformed-content")),
                ("Write", None, Fate::Done),
                ("Write", checker, Fate::Refused("wrong-writer")),
                ("Agent", None, Fate::Done),
                ("Write", scribe, Fate::Done),
                ("Agent", None, Fate::Done),
                ("Bash", checker, Fate::Done),
                ("Agent", None, Fate::Done),
            ],
        );
        let status = project.statewarden(&["status", "--system", "kit"]);
        assert!(status.contains("every gate has passed"), "{status}");
        let verified = project.statewarden(&["verify", "--system", "kit"]);
        for gate in ["plan: proved", "checks: proved"] {
            assert!(verified.contains(gate), "{verified}");
        }
    });
}
