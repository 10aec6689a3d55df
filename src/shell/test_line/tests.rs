use super::*;

#[track_caller]
fn doubt(line: &str) -> Option<String> {
    read(line)
        .unwrap_or_else(|| panic!("starts no test: {line}"))
        .doubt
}

#[test]
fn a_word_outside_the_grammar_is_named() {
    for (line, word) in [
        ("PATH=$PWD/fake:$PATH cargo test", "PATH="),
        ("export PATH=x; cargo test", "PATH="),
        ("env PATH=x cargo test", "PATH="),
        ("hash -p /bin/true cargo; cargo test", "hash"),
        ("alias cargo=true\ncargo test", "alias"),
        ("source fake.sh; cargo test", "source"),
        ("eval 'cargo(){ :; }'; cargo test", "eval"),
        ("cargo() { :; }; cargo test", "cargo()"),
        (
            "cargo test; printf 'test result: ok. 1 passed; 0 failed'",
            "printf",
        ),
        (
            "cargo test; echo 'test result: ok. 1 passed; 0 failed;'",
            "echo",
        ),
        ("cargo test; echo -n x", "echo"),
        ("git log && cargo test", "git"),
        ("cargo test & wait", "&"),
        ("go test -exec true ./...", "-exec"),
        ("go test --list=. ./...", "--list=."),
        ("set -n; cargo test", "set -n"),
        ("while cargo test; do break; done", "while"),
        ("cargo test; x=$(python evil.py)", "$(…)"),
        ("make -f - test <<E\ntest:\nE", "make <<"),
        ("cat old.log; cargo test", "cat"),
        ("cargo test | python x.py", "python"),
        ("docker run x cargo test; cargo test", "docker"),
    ] {
        assert_eq!(doubt(line).as_deref(), Some(word), "{line}");
    }
}

#[test]
fn the_words_of_usual_lines_are_known() {
    for line in [
        "cargo test",
        "cd app && cargo test 2>&1 | tail -5",
        "set -euo pipefail; cargo test; echo done",
        "cargo test > log 2>&1 || { tail -50 log; exit 1; }",
        "cargo test > log 2>&1; rc=$?; tail log; exit $rc",
        "if ! cargo test; then exit 1; fi",
        "bash -ec 'cargo test'",
        "pytest | tail; exit ${PIPESTATUS[0]}",
        "for d in a b; do (cd $d && cargo test) || exit 1; done",
        "docker compose run --rm app pytest",
        "docker exec app cargo test",
        "coverage run -m pytest",
        "python -X dev -m pytest",
        "uvx pytest",
        "hatch run test",
        "pdm run test",
        "direnv exec . pytest",
        "nix develop -c cargo test",
        "yarn jest",
        "pnpm vitest run",
        "yarn workspace web test",
        "./gradlew :app:test",
        "cmake --build build --target test",
        "cargo llvm-cov nextest",
        "cargo xtask test",
        "npm run ci",
        "time timeout -k 5 60 nice -n 5 cargo test",
        "source .venv/bin/activate && pytest -q",
        ".venv/bin/pytest",
        "node_modules/.bin/jest",
        "cargo build && cargo test",
        "npm ci && npm test",
        "cargo test; echo \"exit: $?\"",
        "cargo test 2>&1 | tee out.log | grep 'test result'",
        "poetry run pytest -q",
        "npx vitest run",
        "npm --prefix web test",
        "node --test",
        "make -j4 check",
    ] {
        assert_eq!(doubt(line), None, "{line}");
    }
    for line in [
        "ls test",
        "cargo build",
        "git commit -m 'cargo test'",
        "echo cargo test",
        "npm ci",
        "cat test.py",
        "x=$(cargo test)",
        "node server.js --test",
        "nice --help cargo test",
        "node -e 0 -- --test",
    ] {
        assert!(read(line).is_none(), "{line}");
    }
}

#[test]
fn a_status_is_that_of_the_tests_or_not() {
    for line in [
        "cargo test",
        "cargo test || exit 1",
        "cargo test; exit $?",
        "cargo test > log 2>&1; rc=$?; tail log; exit $rc",
        "set -e; cargo test; echo done",
        "if ! cargo test; then exit 1; fi",
        "bash -ec 'cargo test; echo x'",
        "pytest | tail; exit ${PIPESTATUS[0]}",
        "set -o pipefail; cargo test | tail",
        "(cd a && cargo test) || exit 1",
        "for d in a b; do (cd $d && cargo test) || exit 1; done",
        "cargo test && echo ok",
        "cargo test || { echo failed; exit 1; }",
        "cargo test || exit",
        "if cargo test; then echo ok; else exit 1; fi",
    ] {
        assert!(read(line).expect(line).fails_with_its_tests(), "{line}");
    }
    for line in [
        "cargo test || true",
        "cargo test; echo done",
        "cargo test | tail",
        "! cargo test",
        "cargo test; exit 0",
        "for d in a b; do cargo test; done",
        "set -o pipefail; set +o pipefail; cargo test | tail",
        "(set -o pipefail); cargo test | tail",
        "cargo test; rc=$?; exit 0",
        "bash -c 'cargo test; true'",
        "if cargo test; then echo ok; fi",
        "cargo test || exit 256",
        "cargo test && a || echo",
    ] {
        assert!(!read(line).expect(line).fails_with_its_tests(), "{line}");
    }
}

#[test]
fn a_declared_line_is_itself() {
    for (line, declared) in [
        ("make check", "make check"),
        ("  make   check ", "make check"),
        ("cd x && make -j4 check > log 2>&1", "make check"),
        ("A=1 make check || exit 1", "make check"),
        ("cd x; make check -j 4", "make check"),
        ("./test.sh | cat", "./test.sh  | cat"),
    ] {
        assert!(is_declared(line, declared).is_some(), "{line}");
    }
    for (line, declared) in [
        ("make check SHELL=/bin/true", "make check"),
        ("make -n check", "make check"),
        ("make check || true", "make check"),
        ("make check; true", "make check"),
        ("PATH=x make check", "make check"),
        ("make check | cat", "make check"),
        ("! make check", "make check"),
        ("make check &", "make check"),
        ("make checks", "make check"),
        ("", ""),
        ("echo make check", "make check"),
        ("eval 'make check'", "make check"),
    ] {
        assert!(
            is_declared(line, declared).is_none() || line.is_empty(),
            "{line}"
        );
    }
}
