//! The reader of git's index against git itself, in each form that git writes.

#![cfg(unix)]

use std::fs;

use statewarden::base::git::WorkTree;
use statewarden::base::git_index::{Index, Tracked};

use crate::support::Sandbox;

/// What changes an index, step by step: many paths, names between `a` and `a/b`, long common
/// starts, replaced, removed and renamed entries, a conflict, an entry without content.
const STEPS: &[&str] = &[
    "mkdir -p a/b src; for i in $(seq 300); do echo $i > src/file-with-a-long-name-$i.rs; done",
    "echo 1 > a.md; echo 1 > a-b; echo 1 > a/b/c.md; echo 1 > 'a/sp ace'; echo 1 > $'a/\\xc3\\xa4\\xff'; git add -A",
    "git commit -qm one",
    "echo 2 > a.md; echo 2 > src/file-with-a-long-name-7.rs; git add -u",
    "git rm -qr src/file-with-a-long-name-1*; echo new > src/new.rs; git add src/new.rs",
    "git mv a/b/c.md a/b/d.md; touch later; git add -N later",
    "git rm -q --cached later; git commit -qam two; git checkout -qb side HEAD~1; echo side > a.md; git commit -qam side",
    "git merge main || true",
    "git checkout -q --ours a.md; git add -A; git commit -qm merged; git update-index --refresh -q",
    "git checkout -q main",
];

/// Reads the index behind each step, and compares its paths with those that git lists.
#[track_caller]
fn check(init: &str, form: &str) {
    let sandbox = Sandbox::new();
    sandbox.script(&format!("git init -q -b main {init}; {form}"));
    for step in STEPS {
        sandbox.script(step);
        let tree = WorkTree::around(&sandbox.project()).unwrap();
        let index = Index::read(&tree.git_dir);
        let mut listed = sandbox.script("git ls-files -z | tr '\\0' '\\n' | uniq");
        let mut read: Vec<u8> = Vec::new();
        for path in index.paths().expect("the index is read") {
            read.extend_from_slice(path);
            read.push(b'\n');
        }
        dedup_lines(&mut read);
        dedup_lines(&mut listed);
        assert_eq!(
            String::from_utf8_lossy(&read),
            String::from_utf8_lossy(&listed),
            "{init} {form}: {step}"
        );
        check_contents(&sandbox, &index, step);
    }
}

fn dedup_lines(text: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = text
        .split_inclusive(|byte| *byte == b'\n')
        .map(Vec::from)
        .collect();
    lines.dedup();
    *text = lines.concat();
}

/// What is neither staged nor changed is unchanged, and nothing else is.
fn check_contents(sandbox: &Sandbox, index: &Index, step: &str) {
    let changed = sandbox.script(
        "{ git diff --name-only -z; git rev-parse -q --verify HEAD > /dev/null && \
         git diff --cached --no-renames --name-only -z; true; } | tr '\\0' '\\n'",
    );
    let changed = String::from_utf8_lossy(&changed).into_owned();
    let has_commit = !sandbox
        .script("git rev-parse -q --verify HEAD || true")
        .is_empty();
    for path in [
        "a.md",
        "a-b",
        "a/b/c.md",
        "a/b/d.md",
        "src/new.rs",
        "src/file-with-a-long-name-7.rs",
    ] {
        let file = sandbox.project().join(path);
        let Ok(meta) = fs::symlink_metadata(&file) else {
            continue;
        };
        if index.is_unchanged(path, &file, &meta) {
            assert!(has_commit, "{step}: `{path}` is not committed");
            assert!(
                changed.lines().all(|line| line != path),
                "{step}: `{path}` is changed"
            );
        }
    }
}

#[test]
fn every_form_of_an_index_is_read() {
    for init in ["", "--object-format=sha256"] {
        for version in [2, 3, 4] {
            check(init, &format!("git config index.version {version}"));
            check(
                init,
                &format!(
                    "git config index.version {version}; git config core.splitIndex true; git config splitIndex.maxPercentChange 100"
                ),
            );
        }
        check(
            init,
            "git config index.threads 4; git config index.version 4",
        );
        check(
            init,
            "git config feature.manyFiles true; git config core.untrackedCache true",
        );
        check(init, "git config index.skipHash true");
    }
}

#[test]
fn a_committed_file_is_unchanged_until_it_is_written_or_staged() {
    for init in ["", "--object-format=sha256"] {
        let sandbox = Sandbox::new();
        sandbox.script(&format!(
            "git init -q {init}; mkdir -p a other; echo 1 > a/x; echo 1 > other/y; git add -A; git commit -qm one"
        ));
        let is_unchanged = || {
            let tree = WorkTree::around(&sandbox.project()).unwrap();
            let file = sandbox.project().join("a/x");
            Index::read(&tree.git_dir).is_unchanged(
                "a/x",
                &file,
                &fs::symlink_metadata(&file).unwrap(),
            )
        };
        assert!(is_unchanged(), "as it was committed");
        sandbox.script("touch -d 2020-01-01 a/x");
        assert!(is_unchanged(), "only its time differs");
        sandbox.script("echo 2 > other/y; git add other/y");
        assert!(is_unchanged(), "another directory is staged");
        sandbox.script("echo 2 > a/x");
        assert!(!is_unchanged(), "it was written");
        sandbox.script("git add a/x");
        assert!(!is_unchanged(), "it is staged");
        sandbox.script("git commit -qm two");
        assert!(is_unchanged(), "it is committed again");
    }
}

#[test]
fn directories_are_tracked_by_what_is_in_them() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "git init -q; mkdir -p a/b c; echo 1 > a.md; echo 1 > a/b/c; echo 1 > c/d; git add a.md a",
    );
    let tree = WorkTree::around(&sandbox.project().join("a/b")).unwrap();
    assert_eq!(tree.root, sandbox.project());
    let index = Index::read(&tree.git_dir);
    for (path, expected) in [
        ("a", Tracked::Yes),
        ("a/b", Tracked::Yes),
        ("a/b/c", Tracked::Yes),
        ("a.md", Tracked::Yes),
        ("", Tracked::Yes),
        ("a/b/c/d", Tracked::No),
        ("a.m", Tracked::No),
        ("a/", Tracked::No),
        ("b", Tracked::No),
        ("c", Tracked::No),
        ("c/d", Tracked::No),
    ] {
        assert_eq!(index.tracks(path), expected, "{path}");
    }
}

#[test]
fn a_sparse_directory_may_track_anything() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "git init -q; mkdir -p in out/deep; echo 1 > in/a; echo 1 > out/deep/b; git add -A; git commit -qm one; \
         git sparse-checkout set --cone --sparse-index in",
    );
    let tree = WorkTree::around(&sandbox.project()).unwrap();
    let index = Index::read(&tree.git_dir);
    assert_eq!(index.tracks("in/a"), Tracked::Yes);
    assert_eq!(index.tracks("in/b"), Tracked::No);
    assert_eq!(index.tracks("out"), Tracked::Yes);
    assert_eq!(index.tracks("out/deep/b"), Tracked::Maybe);
}

#[test]
fn of_a_damaged_index_everything_may_be_tracked() {
    let sandbox = Sandbox::new();
    let git = sandbox.project().join(".git");
    sandbox.script("git init -q");
    assert_eq!(
        Index::read(&git).tracks("a"),
        Tracked::No,
        "there is none yet"
    );
    sandbox.script(
        "echo 1 > a; git add a; git config core.splitIndex true; git update-index --split-index",
    );
    assert_eq!(Index::read(&git).tracks("b"), Tracked::No);
    let whole = fs::read(git.join("index")).unwrap();
    for len in 0..whole.len() {
        fs::write(git.join("index"), &whole[..len]).unwrap();
        assert_eq!(Index::read(&git).tracks("b"), Tracked::Maybe, "{len} bytes");
    }
    fs::write(git.join("index"), &whole).unwrap();
    sandbox.script("rm .git/sharedindex.*");
    assert_eq!(
        Index::read(&git).tracks("b"),
        Tracked::Maybe,
        "the shared index is gone"
    );
}

#[test]
fn a_submodule_and_a_work_tree_have_their_own_index() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "git init -q ../module; cd ../module; echo 1 > m; git add m; git commit -qm m; \
         cd ../project; git init -q; git -c protocol.file.allow=always submodule --quiet add ../module sub; \
         git commit -qm one; git worktree add -q ../beside; echo 1 > ../beside/w; git -C ../beside add w",
    );
    let find = |path: &str| WorkTree::around(&sandbox.base().join(path)).unwrap();
    let (main, sub, beside) = (find("project/x"), find("project/sub/m"), find("beside/w"));
    assert_eq!(Index::read(&sub.git_dir).tracks("m"), Tracked::Yes);
    assert_eq!(Index::read(&beside.git_dir).tracks("w"), Tracked::Yes);
    assert_eq!(Index::read(&main.git_dir).tracks("w"), Tracked::No);
    assert!(main.is_of_same_repository(&beside));
    assert!(!main.is_of_same_repository(&sub));
    sandbox.script("mkdir -p ../beside/deep/.git");
    assert_eq!(
        find("beside/deep/x"),
        beside,
        "a `.git` without a `HEAD` is none"
    );
}
