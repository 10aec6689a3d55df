//! The documents name only what exists, and everything that they must name.

use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use statewarden::contract::denial::DenyCode;
use statewarden::log::append::Logs;
use statewarden::project::sites::OWN_ARCHIVE;
use statewarden::settings::merge::Layer;
use statewarden::settings::model::Settings;
use statewarden::systems::system::{self, SYSTEMS};

use crate::support::Sandbox;

const LONGEST_FILE: usize = 540;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The files below a directory of the project, relative to the project.
fn files_below(dir: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::from(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(root().join(&dir)).unwrap() {
            let entry = entry.unwrap();
            let path = dir.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                dirs.push(path);
            } else {
                found.push(path.to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// README and the pages of `docs/`, one behind the other.
fn manual() -> String {
    let pages = files_below("docs").into_iter();
    let texts = iter::once("README.md".to_owned()).chain(pages);
    texts.map(|file| read(&file)).collect()
}

/// What stands between back-ticks outside code blocks.
fn quoted(text: &str) -> Vec<&str> {
    let blocks = text.split("```").step_by(2);
    blocks
        .flat_map(|block| block.split('`').skip(1).step_by(2))
        .collect()
}

/// The verbs in the order of `statewarden help`.
fn verbs() -> Vec<String> {
    let help = Sandbox::new().run("help").stdout();
    let (list, _) = help.split_once("Options:\n").unwrap();
    let lines = list.lines();
    lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn check_none(what: &str, offenders: Vec<String>) {
    assert!(offenders.is_empty(), "{what}: {offenders:#?}");
}

#[test]
fn paths_in_the_documents_exist() {
    const PLACES: [&str; 11] = [
        "src/", "tests/", "hooks/", "plugin/", "npm/", ".ci/", "benches/", "bin/", ".cargo/",
        ".github/", "fuzz/",
    ];
    let mut seen = 0;
    let mut missing = Vec::new();
    let pages = files_below("docs");
    let top = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ];
    for document in pages.iter().map(String::as_str).chain(top) {
        for name in quoted(&read(document)) {
            let is_path = PLACES.iter().any(|place| name.starts_with(place));
            if !is_path || name.contains("NAME") {
                continue;
            }
            seen += 1;
            if !root().join(name).exists() {
                missing.push(format!("{document}: {name}"));
            }
        }
    }
    check_none("named, but not there", missing);
    assert!(seen > 60, "only {seen} paths were found");
}

#[test]
fn the_readme_is_short_and_its_links_lead_somewhere() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 200, "README.md is too long");
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let mut documents = files_below("docs");
    documents.extend(["README.md".to_owned(), "ARCHITECTURE.md".to_owned()]);
    let mut dead = Vec::new();
    for document in documents {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap().to_owned();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let file = match file {
                "" => PathBuf::from(&document),
                file => folder.join(file),
            };
            let target = fs::read_to_string(root().join(&file));
            let leads = target.is_ok_and(|text| {
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                place.is_empty() || headings.any(|heading| anchor(heading) == place)
            });
            if !leads {
                dead.push(format!("{document}: {link}"));
            }
        }
    }
    check_none("dead links", dead);
}

#[test]
fn every_verb_has_a_row() {
    let manual = manual();
    let verbs = verbs();
    assert!(verbs.len() > 20, "{verbs:?}");
    let missing = verbs
        .into_iter()
        .filter(|verb| !manual.contains(&format!("\n| `{verb}` | ")));
    check_none("in no document", missing.collect());
}

/// trycmd skips a line that begins with a program it does not know.
#[test]
fn every_verb_has_a_case() {
    let cases = files_below("tests/cli").into_iter();
    let cases = cases.filter(|file| file.ends_with(".trycmd"));
    let cases: String = cases.map(|file| read(&file)).collect();
    let missing = verbs()
        .into_iter()
        .filter(|verb| !cases.contains(&format!("statewarden {verb}")));
    check_none("in no file of tests/cli", missing.collect());
    let commands = cases.lines().filter(|line| line.starts_with("$ "));
    let unknown =
        commands.filter(|line| !line.starts_with("$ statewarden") && !line.starts_with("$ sh -c"));
    check_none("would not run", unknown.map(str::to_owned).collect());
}

#[test]
fn every_file_of_our_folder_has_a_row() {
    let manual = manual();
    let layers = ["src/project", "src/recorder", "src/lifecycle"];
    let sources = layers.into_iter().flat_map(files_below);
    let notes = sources.filter_map(|file| {
        let text = read(&file);
        let (_, rest) = text.split_once("const FILE: &str = \"")?;
        rest.split('"').next().map(str::to_owned)
    });
    let mut names: Vec<String> = notes.collect();
    assert!(!names.is_empty());
    let logs = Logs::of(Path::new(""), None);
    let logs = [logs.denies(), logs.events(), logs.gates()];
    names.extend(logs.map(|log| format!(".claude/statewarden/{}", log.name)));
    names.push(format!("{OWN_ARCHIVE}/"));
    let missing = names
        .into_iter()
        .filter(|name| !manual.contains(&format!("\n| `{name}` | ")));
    check_none("in no document", missing.collect());
}

#[test]
fn every_key_of_a_record_is_named() {
    let manual = manual();
    let logs = manual;
    for (file, head, keys) in [
        (
            "src/log/record.rs",
            "pub struct Record {",
            "Keys of the records of",
        ),
        (
            "src/systems/gate_record.rs",
            "pub struct GateRecord {",
            "Keys of `gates.jsonl`",
        ),
    ] {
        let source = read(file);
        let (_, fields) = source.split_once(head).unwrap();
        let (fields, _) = fields.split_once("\n}").unwrap();
        let (_, named) = logs.split_once(keys).unwrap();
        let named = quoted(named.split("\n\n").next().unwrap());
        let attributes = ["#[serde(skip)]"]
            .into_iter()
            .chain(fields.lines().map(str::trim));
        let fields = attributes.zip(fields.lines()).filter_map(|(before, line)| {
            let field = line.trim_start().strip_prefix("pub ")?;
            (before != "#[serde(skip)]").then_some(field.split_once(':')?.0.to_owned())
        });
        let missing = fields.filter(|field| !named.contains(&field.as_str()));
        check_none("in no document", missing.collect());
    }
}

#[test]
fn every_deny_code_has_a_row() {
    let manual = manual();
    let codes = DenyCode::ALL.iter().map(|code| code.as_str());
    let missing = codes.filter(|code| !manual.contains(&format!("\n| `{code}` | ")));
    check_none("in no document", missing.map(str::to_owned).collect());
}

#[test]
fn a_module_is_a_file_beside_its_directory() {
    let files = files_below("src").into_iter();
    let others = files.filter(|file| file.ends_with("/mod.rs"));
    check_none("not `NAME.rs` beside `NAME/`", others.collect());
}

#[test]
fn every_file_begins_with_what_it_holds() {
    let mut files = files_below("src");
    files.retain(|file| {
        let is_of_tests = file.ends_with("/tests.rs") || file.contains("/tests/");
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        file.ends_with(".rs") && !is_of_tests && !text.starts_with("//! ")
    });
    check_none("without a header", files);
}

#[test]
fn every_system_is_reachable() {
    let others = [
        "declared",
        "files",
        "gate_record",
        "system",
        "tested",
        "workflow",
    ];
    let ids: BTreeSet<String> = SYSTEMS
        .iter()
        .map(|system| system.id().replace('-', "_"))
        .collect();
    let files = files_below("src/systems");
    let stems = files.iter().filter_map(|file| {
        let stem = file.strip_prefix("src/systems/")?.strip_suffix(".rs")?;
        (!stem.contains('/')).then_some(stem)
    });
    // `self` is a keyword, so its module has another name.
    let stems: Vec<&str> = stems
        .map(|stem| if stem == "own" { "self" } else { stem })
        .collect();
    assert_eq!(stems.len(), SYSTEMS.len() + others.len(), "{stems:?}");
    let missing = stems
        .into_iter()
        .filter(|stem| !ids.contains(*stem) && !others.contains(stem));
    check_none("not in SYSTEMS", missing.map(str::to_owned).collect());
}

#[test]
fn every_test_file_is_run() {
    let main = read("tests/integration/main.rs");
    let files = files_below("tests/integration");
    let stems = files.iter().filter_map(|file| {
        let stem = file
            .strip_prefix("tests/integration/")?
            .strip_suffix(".rs")?;
        (!stem.contains('/') && stem != "main").then_some(stem)
    });
    let missing = stems.filter(|stem| !main.contains(&format!("\nmod {stem};\n")));
    check_none("not in main.rs", missing.map(str::to_owned).collect());
}

#[test]
fn the_settings_in_the_readme_are_valid_and_complete() {
    let manual = manual();
    let examples: Vec<&str> = manual
        .split("```yaml\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap())
        .collect();
    assert_eq!(examples.len(), 6);
    for example in &examples {
        let resolved =
            Settings::resolve(&[(Layer::User, "README.md", Ok(example))], &system::known());
        check_none("problems", resolved.problems);
        let is_declared = resolved.settings.declared().next().is_some();
        assert_eq!(is_declared, example.contains("site:"), "{example}");
    }
    let keys = |text: &str| -> BTreeSet<String> {
        let keys = text.lines().filter_map(|line| line.split_once(':'));
        keys.map(|(key, _)| key.trim().to_owned()).collect()
    };
    let every_key = read("src/settings/every-key.yaml");
    let own_names = [
        "tester", "session", "log.md", "index.md", "notes", "checker",
    ];
    let missing =
        &keys(&every_key) - &keys(examples.iter().max_by_key(|example| example.len()).unwrap());
    let missing = missing
        .into_iter()
        .filter(|key| !own_names.contains(&key.as_str()));
    check_none("settings without an example", missing.collect());
}

/// The text files of the project: those at its top, and those below its folders.
fn texts() -> Vec<(String, String)> {
    let top = fs::read_dir(root()).unwrap().map(Result::unwrap);
    let top = top.filter(|entry| entry.file_type().unwrap().is_file());
    let mut files: Vec<String> = top
        .map(|entry| entry.file_name().into_string().unwrap())
        // In a work tree `.git` is a file, and says where that lies.
        .filter(|name| name != ".git")
        .collect();
    for dir in [
        "src",
        "docs",
        "tests",
        "hooks",
        "bin",
        "benches",
        ".ci",
        ".cargo",
        ".github",
        "fuzz/src",
        "fuzz/fuzz_targets",
        "fuzz/corpus",
        "fuzz/regressions",
    ] {
        files.extend(files_below(dir));
    }
    files
        .into_iter()
        .filter_map(|file| {
            let text = fs::read_to_string(root().join(&file)).ok()?;
            Some((file, text))
        })
        .collect()
}

#[test]
fn no_file_holds_a_path_of_the_machine_it_was_written_on() {
    // In pieces, so that this file passes.
    let homes = [["/ro", "ot/"], ["/wo", "rk/"], ["/tmp/", "wt/"]].map(|pieces| pieces.concat());
    let starts_path = |before: Option<char>| {
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-/~})$*".contains(c)))
    };
    let texts = texts();
    assert!(texts.len() > 200, "only {} files were read", texts.len());
    let mut offenders = Vec::new();
    for (file, text) in &texts {
        for home in &homes {
            let mut found = text.match_indices(home.as_str());
            if let Some((at, _)) =
                found.find(|(at, _)| starts_path(text[..*at].chars().next_back()))
            {
                let line = text[..at].lines().count();
                offenders.push(format!("{file}:{line}: {home}"));
            }
        }
    }
    check_none("paths of a machine", offenders);
}

#[test]
fn source_files_stay_readable() {
    let files = files_below("src");
    let long = files.iter().filter(|file| {
        let lines = read(file).lines().count();
        file.ends_with(".rs") && lines > LONGEST_FILE
    });
    check_none("too long", long.cloned().collect());
}

/// The version stands in Cargo.toml; what is published beside the program says the same.
#[test]
fn every_package_has_the_version_of_the_program() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let json = |file| serde_json::from_str::<serde_json::Value>(&read(file)).unwrap();
    let manifest = json("plugin/.claude-plugin/plugin.json");
    let offered = &json(".claude-plugin/marketplace.json")["plugins"][0];
    assert_eq!(
        (&manifest["name"], &manifest["version"]),
        (&offered["name"], &VERSION.into())
    );
    assert!(
        root()
            .join(offered["source"].as_str().unwrap())
            .join(".claude-plugin")
            .exists()
    );

    let (package, lock) = (
        json("plugin/package.json"),
        json("plugin/package-lock.json"),
    );
    let wanted = package["optionalDependencies"].as_object().unwrap();
    assert_eq!(package["version"], VERSION);
    assert_eq!(lock["version"], VERSION);
    assert_eq!(
        lock["packages"][""]["optionalDependencies"],
        package["optionalDependencies"]
    );
    assert!(
        wanted.values().all(|version| version == VERSION),
        "{wanted:?}"
    );
    for name in wanted.keys() {
        assert_eq!(
            lock["packages"][format!("node_modules/{name}")]["version"],
            VERSION
        );
    }
    // The table of `npm/pack` names what is wanted, from the targets that releases are built for.
    let (pack, release) = (read("npm/pack"), read(".github/workflows/release.yml"));
    let (_, table) = pack.split_once("<<'PLATFORMS'\n").unwrap();
    let rows = table.lines().take_while(|line| *line != "PLATFORMS");
    let names = rows.map(|row| {
        let words: Vec<&str> = row.split(' ').collect();
        assert!(release.contains(&format!("target: {}", words[2])), "{row}");
        format!("@statewarden/{}-{}", words[0], words[1])
    });
    assert!(names.eq(wanted.keys().cloned()));

    let release = read("CHANGELOG.md").contains(&format!("\n## {VERSION}"));
    assert!(release, "CHANGELOG.md has no section for {VERSION}");
}
