//! What goes on as without the fence.

use super::{MADE_UP, OPAQUE, Strict, User};

/// What is done, the line, and what it prints last.
#[rustfmt::skip]
const THINGS: [(&str, &str, &str); 20] = [
    ("a new file", "echo a > new.txt; cat new.txt", "a"),
    ("a new directory", "mkdir -p src/deep; echo a > src/deep/f; cat src/deep/f", "a"),
    ("beside the state", "echo a > .devt/notes.md; mkdir .devt/more; cat .devt/notes.md", "a"),
    ("in .claude", "echo a > .claude/other.local.md; mkdir -p .claude/skills/x; cat .claude/other.local.md", "a"),
    ("temporary files", "f=$(mktemp); echo a > $f; cat $f; rm $f; test ! -e $f && echo gone", "gone"),
    ("state of a project elsewhere", "d=$(mktemp -d); mkdir -p $d/.devt/state; echo a > $d/.devt/state/x; cat $d/.devt/state/x", "a"),
    ("reading the state", "cat .devt/state/plan.md", "# Plan"),
    ("copying the state", "cp -r .devt/state copy; cat copy/plan.md", "# Plan"),
    ("building", "mkdir -p target/debug; echo a > target/debug/a; ln target/debug/a target/b; mv target/b target/c; cat target/c", "a"),
    ("Node's packages", "node -e 'require(\"fs\").writeFileSync(\"package.json\", \"{}\")'; cat package.json; echo", "{}"),
    ("moving between mounts", "echo a > .devt/m; mv .devt/m m; mv m .devt/m; cat .devt/m", "a"),
    ("a commit", "echo a > c; git add c; git commit -qm three; git log -1 --format=%s", "three"),
    ("a branch", "git branch b2; git branch --list b2 | tr -d ' '", "b2"),
    ("settings of git", "git config my.key v; git config my.key", "v"),
    ("exit status", "sh -c 'exit 3'; echo $?", "3"),
    ("pipes", "printf 'b\\na\\n' | sort | head -1", "a"),
    ("here-documents", "cat <<E\na $HOME\nE\necho \"$0\" > /dev/null; echo ok", "ok"),
    ("namespaces of one's own", "unshare -Urm true && echo ok", "ok"),
    ("signals", "sleep 9 & kill $!; wait $!; echo $?", "143"),
    ("who one is", "[ \"$(id -u)\" = \"$(stat -c %u new.txt)\" ] && echo same", "same"),
];

#[test]
fn this_user_works_on_behind_the_fence() {
    check_things(User::This);
}

#[test]
fn an_ordinary_user_works_on_behind_the_fence() {
    check_things(MADE_UP);
}

fn check_things(user: User) {
    let Some(strict) = Strict::new(user) else {
        return;
    };
    for (what, line, printed) in THINGS {
        let ran = strict.bash(&format!("{OPAQUE}{line}"));
        let stdout = ran.stdout();
        assert_eq!(
            stdout.lines().last(),
            Some(printed),
            "{what}: {}",
            ran.said()
        );
    }
}

/// The next command begins where the last one ended.
#[test]
fn the_directory_is_kept() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    strict
        .bash(&format!("{OPAQUE}mkdir -p a/b; cd a/b"))
        .ends(0);
    let kept = std::fs::read_to_string(strict.sandbox.base().join("tmp/claude-1-cwd")).unwrap();
    assert_eq!(kept.trim(), strict.sandbox.path("a/b"));
}

/// `exit` ends the shell, with its status.
#[test]
fn the_status_of_the_shell_is_the_commands() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    for (line, code) in [
        ("exit 3", 3),
        ("python3 -c 'exit(4)'", 4),
        ("no-such-program", 127),
        ("true", 0),
    ] {
        assert_eq!(strict.bash(line).code(), code, "{line}");
    }
}
