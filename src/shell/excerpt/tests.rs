use super::*;

fn is_governed(dir: &str, path: &str) -> bool {
    join(dir, path).starts_with(".devt/state/")
}

#[track_caller]
fn check(command: &str, expected: &str) {
    assert_eq!(excerpt(command, &is_governed), expected, "{command}");
}

#[test]
fn programs_options_governed_paths_and_operators_are_kept() {
    check(
        "A=1 make x > .devt/state/a.md",
        "A=… make … > .devt/state/a.md",
    );
    check(
        "/usr/bin/curl -sSLu me:pw --header='X: k' --fail https://u:p@h/.devt/state/x",
        "curl -s … --header=… --fail …",
    );
    check(
        "git commit -m 'see .devt/state/a.md' && rm -rf .devt/state/a || true",
        "git … -m … && rm -r .devt/state/a || true",
    );
    check(
        "cat > .devt/state/a.md <<EOF\nbody\nEOF\nls",
        "cat > .devt/state/a.md << …; ls",
    );
    check(
        "tee .devt/state/a <<< word 2>&1 &",
        "tee .devt/state/a <<< … 2>&1 &",
    );
    check("rm \"$D/.devt/state/x\" $D/x", "rm $D/.devt/state/x …");
    check("dd if=/x of=.devt/state/a.md", "dd … of=.devt/state/a.md");
    check(
        "cd .devt && (cd state; rm a) && rm state/b",
        "cd … && ( cd …; rm a ) && rm state/b",
    );
    check("x=(word) ./deploy", "x=… deploy");
    check("'word' a; $X b; \"wo\"rd", "… …; … …; …");
    check(
        "sudo A=b env C='d' nice rm -rf x",
        "sudo A=… env C=… nice rm -r …",
    );
    check(
        "timeout 60 make x; sudo -u word rm x",
        "timeout … make …; sudo -u … … …",
    );
    check("[ -f x ] && (cd a; ls)", "[ -f … … && ( cd …; ls )");
}

#[test]
fn compound_commands_keep_their_words() {
    check(
        "for f in a b; do rm $f; done",
        "for … in … …; do rm …; done",
    );
    check(
        "if ! a b; then c; else d; fi",
        "if ! a …; then c; else d; fi",
    );
    check("until a; do b & done", "until a; do b & done");
    check(
        "case $x in word) a;; *) b; esac",
        "case … in …) a;; …) b;; esac",
    );
    check(
        "f() { a word; }; [[ $a == word ]]",
        "…() { a …; }; [[ … … … ]]",
    );
}

#[test]
fn what_is_not_read_is_not_kept() {
    check("echo 'unclosed word", "…");
    check("ls; echo 'unclosed word", "ls …");
    check("wordwordwordwordwordwordwordwordword", "…");
    check("--password=word", "…");
    check("a --wordwordwordwordwordwordwordwordword x", "a … …");
    let long = excerpt(&"make a; ".repeat(100_000), &is_governed);
    assert_eq!(long.chars().count(), MAX_EXCERPT);
}

#[test]
fn a_proof_has_the_operands_of_its_runner() {
    let is_runner = |name: &str| name == "cargo";
    let line = "PW=x cargo test -j4 -p core --all=a https://u:p@h A=b -- 'a b' 2>&1 | tail -5 a";
    let expected = "PW=… cargo test -j -p core --all=… … A=… -- 'a b' 2>&1 | tail -5 …";
    assert_eq!(proof(line, &is_governed, &is_runner), expected);
}
