//! The layers of `src`: each imports only what stands before it.

use std::fs;
use std::path::Path;

/// From the bottom up; the last two do not see each other.
const LAYERS: [&str; 15] = [
    "base",
    "formats",
    "host",
    "store",
    "contract",
    "log",
    "settings",
    "systems",
    "project",
    "shell",
    "guard",
    "recorder",
    "lifecycle",
    "hook",
    "cli",
];

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

/// The Rust files below a directory, without those that are tests alone.
fn sources(dir: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.to_str().unwrap().to_owned(), text));
        }
    }
}

/// The code of a file without comments and unit tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_go_down_the_layers() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut offenders) = (Vec::new(), Vec::new());
    sources(&src, &mut files);
    assert!(
        files.len() > 100,
        "the sources are not where they should be"
    );
    for (path, text) in files {
        let below = path.strip_prefix(src.to_str().unwrap()).unwrap();
        let layer = below.trim_start_matches(['/', '\\']);
        let layer = layer.split(['/', '\\', '.']).next().unwrap();
        let Some(own) = rank(layer) else {
            assert!(matches!(layer, "lib" | "main"), "`{path}` is in no layer");
            continue;
        };
        for used in code(&text).split("crate::").skip(1) {
            let end = used.find(|c: char| !c.is_alphanumeric() && c != '_');
            let used = &used[..end.unwrap_or(used.len())];
            let is_below = rank(used).is_some_and(|used| used <= own);
            if !is_below || (layer, used) == ("cli", "hook") {
                offenders.push(format!("{below} imports `{used}`"));
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}
