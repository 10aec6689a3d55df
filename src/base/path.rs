//! Paths as text: absolute, `/` between components, on every platform.

use std::borrow::Cow;
use std::path::Path;

/// Turns `\` into `/` and drops Windows' verbatim prefix.
///
/// On Unix a backslash is a legal character of a name, but no contract knows a
/// name with one, and agents that learned on Windows write such paths; so both
/// are separators everywhere.
pub fn slashed(path: &str) -> Cow<'_, str> {
    const VERBATIM: &str = "//?/";
    if path.contains('\\') {
        let slashed = path.replace('\\', "/");
        return Cow::Owned(
            slashed
                .strip_prefix(VERBATIM)
                .unwrap_or(&slashed)
                .to_owned(),
        );
    }
    Cow::Borrowed(path.strip_prefix(VERBATIM).unwrap_or(path))
}

/// The text of a path the operating system gave; bytes that are no UTF-8 turn
/// into U+FFFD, which no contract holds.
pub fn from_os(path: &Path) -> String {
    slashed(&path.to_string_lossy()).into_owned()
}

pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/'
}

/// Joins a path as a call wrote it to the directory it is relative to, with
/// `~` expanded; `.` and `..` stay.
pub fn join(dir: &str, path: &str, home: Option<&str>) -> String {
    let path = slashed(path);
    if let Some(home) = home
        && (path == "~" || path.starts_with("~/"))
    {
        return format!("{}{}", home.trim_end_matches('/'), &path[1..]);
    }
    if is_absolute(&path) {
        path.into_owned()
    } else {
        [dir.trim_end_matches('/'), "/", &path].concat()
    }
}

/// Collapses `.`, `..` and `//` in an absolute path without asking the disk.
pub fn collapse(path: &str) -> Cow<'_, str> {
    let (drive, rest) = if has_drive(path) {
        path.split_at(2)
    } else {
        ("", path)
    };
    if is_collapsed(rest) {
        return Cow::Borrowed(path);
    }
    let mut whole = drive.to_owned();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let end = whole.rfind('/');
                whole.truncate(end.unwrap_or(drive.len()));
            }
            part => {
                whole.push('/');
                whole.push_str(part);
            }
        }
    }
    if whole.len() == drive.len() {
        whole.push('/');
    }
    Cow::Owned(whole)
}

/// Joins and collapses.
pub fn absolute(dir: &str, path: &str, home: Option<&str>) -> String {
    let joined = join(dir, path, home);
    match collapse(&joined) {
        Cow::Borrowed(_) => joined,
        Cow::Owned(collapsed) => collapsed,
    }
}

fn is_collapsed(path: &str) -> bool {
    let Some(below) = path.strip_prefix('/') else {
        return false;
    };
    let mut parts = below.split('/');
    below.is_empty() || !parts.any(|part| matches!(part, "" | "." | ".."))
}

/// A name in a directory, both relative to the same place; `""` is the place itself.
pub fn below(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        [dir, "/", name].concat()
    }
}

/// The part of an absolute path below a directory; `""` for the directory itself.
pub fn relative<'p>(path: &'p str, dir: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(dir)?;
    if rest.is_empty() {
        return Some(rest);
    }
    if dir.ends_with('/') {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}

/// The directory above, and the last component; `None` for a root.
pub fn split_last(path: &str) -> Option<(&str, &str)> {
    let slash = path.bytes().rposition(|byte| byte == b'/')?;
    let (dir, name) = (&path[..slash], &path[slash + 1..]);
    (!name.is_empty()).then_some((if dir.is_empty() { "/" } else { dir }, name))
}

/// Whether a path is where npm, uv or the client keep what they can fetch again.
pub fn is_in_package_cache(path: &str) -> bool {
    const CACHES: [&str; 4] = ["_npx", ".cache", "Caches", "cache"];
    path.split(['/', '\\']).any(|part| CACHES.contains(&part))
}

/// The part of a path that the next upgrade renames: a version (`0.2.0`, `node-v20.1`,
/// `pkg@1.2.3`), or the hash of a store (`/nix/store/<32 letters>-name`).
pub fn passing_part(path: &str) -> Option<&str> {
    let mut parts = path.split(['/', '\\']);
    parts.find(|part| is_hashed(part) || part.split(['-', '_', '@', '+']).any(is_version))
}

fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    let mut numbers = digits.split('.');
    digits.contains('.') && numbers.all(is_number)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name begins with a hash of a store, in base 32.
fn is_hashed(name: &str) -> bool {
    let hash = name.split_once('-').map_or("", |(hash, _)| hash);
    let mut digits = hash.bytes();
    hash.len() == 32 && digits.all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[test]
    fn a_part_that_an_upgrade_renames_is_found() {
        for (path, part) in [
            (
                "/opt/homebrew/Cellar/statewarden/0.2.0/bin/statewarden",
                Some("0.2.0"),
            ),
            (
                "/home/ann/.nvm/versions/node/v20.11.1/bin/statewarden",
                Some("v20.11.1"),
            ),
            (
                "/nix/store/0123456789abcdefghijklmnopqrstuv-sw/bin/statewarden",
                Some("0123456789abcdefghijklmnopqrstuv-sw"),
            ),
            (
                "/home/ann/.pnpm/@statewarden+linux-x64@0.2.0/statewarden",
                Some("@statewarden+linux-x64@0.2.0"),
            ),
            ("/home/ann/.local/bin/statewarden", None),
            ("/usr/lib/python3.11/bin/statewarden", None),
            ("/home/ann/a.b/v1/2026-01-10/bin/statewarden", None),
        ] {
            assert_eq!(passing_part(path), part, "{path}");
        }
    }

    const PIECES: &[&str] = &[
        "/",
        "/",
        "/",
        ".",
        "..",
        "a",
        "name",
        ".h",
        "a.b",
        "/src/main",
        "é",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        #[test]
        fn collapsed_is_what_the_components_come_to(pieces in vec(select(PIECES), 0..24)) {
            let path = format!("/{}", pieces.concat());
            let mut parts = Vec::new();
            for part in path.split('/') {
                match part {
                    "" | "." => {}
                    ".." => drop(parts.pop()),
                    part => parts.push(part),
                }
            }
            let expected = format!("/{}", parts.join("/"));
            let found = collapse(&path);
            prop_assert_eq!(matches!(found, Cow::Borrowed(_)), path == expected);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn collapses_without_the_disk() {
        for (path, expected) in [
            ("/a/./b//c", "/a/b/c"),
            ("/a/../../b", "/b"),
            ("/a/b/..", "/a"),
            ("/a/b/", "/a/b"),
            ("a/b", "/a/b"),
            ("", "/"),
            ("/", "/"),
            ("C:/a/../b", "C:/b"),
        ] {
            assert_eq!(collapse(path), expected, "{path}");
        }
    }

    #[test]
    fn joins_to_the_directory_of_the_call() {
        for (path, expected) in [
            ("x", "/w/x"),
            ("/x", "/x"),
            ("~/x", "/h/x"),
            ("~user/x", "/w/~user/x"),
            (r"a\b", "/w/a/b"),
            (r"C:\x", "C:/x"),
        ] {
            assert_eq!(join("/w", path, Some("/h")), expected, "{path}");
        }
    }

    #[test]
    fn relative_respects_components() {
        assert_eq!(relative("/a/b", "/a"), Some("b"));
        assert_eq!(relative("/a", "/a"), Some(""));
        assert_eq!(relative("/ab", "/a"), None);
        assert_eq!(relative("/ab", "/"), Some("ab"));
    }
}
