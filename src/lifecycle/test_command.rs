//! Which commands are tests: those of which the line's exit status is a usual test
//! runner's, or of a command that the project names.

/// A test runner: its program, and the word that makes it test; none where it does
/// nothing else.
struct Runner(&'static str, &'static str);

#[rustfmt::skip]
const RUNNERS: &[Runner] = &[
    Runner("cargo", "test"), Runner("cargo", "t"), Runner("cargo", "nextest"),
    Runner("npm", "test"), Runner("npm", "t"), Runner("npm", "run test"), Runner("npm", "run-script test"),
    Runner("pnpm", "test"), Runner("pnpm", "t"), Runner("pnpm", "run test"),
    Runner("yarn", "test"), Runner("yarn", "run test"),
    Runner("bun", "test"), Runner("bun", "run test"), Runner("deno", "test"), Runner("deno", "task test"),
    Runner("jest", ""), Runner("vitest", ""), Runner("mocha", ""), Runner("ava", ""), Runner("tap", ""), Runner("karma", "start"),
    Runner("playwright", "test"), Runner("cypress", "run"), Runner("ng", "test"), Runner("nx", "test"), Runner("turbo", "test"), Runner("turbo", "run test"),
    Runner("pytest", ""), Runner("py.test", ""), Runner("tox", ""), Runner("nox", ""), Runner("nosetests", ""),
    Runner("hatch", "test"), Runner("manage.py", "test"),
    Runner("go", "test"), Runner("gotestsum", ""), Runner("ginkgo", ""),
    Runner("mvn", "test"), Runner("mvn", "verify"), Runner("mvnw", "test"), Runner("mvnw", "verify"),
    Runner("gradle", "test"), Runner("gradle", "check"), Runner("gradlew", "test"), Runner("gradlew", "check"),
    Runner("sbt", "test"), Runner("dotnet", "test"), Runner("vstest.console", ""),
    Runner("rspec", ""), Runner("rake", "test"), Runner("rake", "spec"), Runner("rails", "test"), Runner("cucumber", ""),
    Runner("phpunit", ""), Runner("pest", ""), Runner("composer", "test"), Runner("artisan", "test"),
    Runner("mix", "test"), Runner("rebar3", "eunit"), Runner("swift", "test"), Runner("xcodebuild", "test"),
    Runner("flutter", "test"), Runner("dart", "test"), Runner("zig", "build test"), Runner("zig", "test"),
    Runner("stack", "test"), Runner("cabal", "test"), Runner("lein", "test"), Runner("busted", ""),
    Runner("make", "test"), Runner("make", "check"), Runner("just", "test"), Runner("task", "test"), Runner("ninja", "test"), Runner("meson", "test"),
    Runner("ctest", ""), Runner("bats", ""), Runner("prove", ""), Runner("bazel", "test"),
];

/// With these a runner tests nothing, or says that it is well when it is not.
const NOT_A_TEST: &[&str] = &[
    "--build-only",
    "--co",
    "--collect-only",
    "--dry-run",
    "--fail-never",
    "--fixtures",
    "--help",
    "--if-present",
    "--ignore-errors",
    "--just-print",
    "--list",
    "--list-tests",
    "--listTests",
    "--no-run",
    "--notest",
    "--only-generate",
    "--pass-with-no-tests",
    "--passWithNoTests",
    "--question",
    "--recon",
    "--setup-plan",
    "--show-only",
    "--touch",
    "--version",
    "-DskipTests",
    "-Dmaven.test.skip=true",
    "-Dmaven.test.failure.ignore",
    "-Dmaven.test.failure.ignore=true",
    "-h",
    "-fn",
    "-list",
];

/// The same for single programs, where a letter means something else to others.
const NOT_A_TEST_OF: &[(&str, &[&str])] = &[
    ("make", &["-i", "-n", "-q", "-t"]),
    ("ninja", &["-n"]),
    ("just", &["-n"]),
    ("ctest", &["-N"]),
    ("gradle", &["-m", "-x"]),
    ("gradlew", &["-m", "-x"]),
    ("go", &["-c"]),
    ("rake", &["-n", "-T"]),
];

/// Build programs that are given several tasks.
const IN_ANY_ORDER: &[&str] = &[
    "gradle", "gradlew", "just", "lein", "make", "mvn", "mvnw", "ninja", "rake", "sbt", "task",
];

/// Options before a runner's word that have a value.
const WITH_VALUE: &[&str] = &[
    "--config",
    "--cwd",
    "--dir",
    "--directory",
    "--file",
    "--filter",
    "--manifest-path",
    "--prefix",
    "--project",
    "--workspace",
    "-C",
    "-F",
    "-f",
    "-p",
    "-w",
];

/// Whether the words of a command are a test; `own` are the commands that the project
/// names as its tests.
pub fn is_test(words: &[String], own: &[Vec<String>]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    own.iter().any(|own| is_this(&words, own)) || is_runner(unwrapped(&words))
}

/// Whether the words of a command are one of those that a gate names.
pub fn is_named(words: &[String], named: &[Vec<String>]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut named = named.iter();
    named.any(|named| is_this(&words, named) || is_this(unwrapped(&words), named))
}

/// Whether a command is another, with or without further words that leave it what it is.
fn is_this(words: &[&str], other: &[String]) -> bool {
    let Some(added) = words.strip_prefix(texts(other).as_slice()) else {
        return false;
    };
    !other.is_empty() && !is_idle(program(words[0]), added)
}

/// Whether an option of a program says that nothing is tested.
fn is_idle(name: &str, args: &[&str]) -> bool {
    let own = NOT_A_TEST_OF.iter().filter(|(program, _)| *program == name);
    let mut idle = own.flat_map(|(_, options)| *options).chain(NOT_A_TEST);
    idle.any(|option| args.contains(option))
}

fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The program that an interpreter runs: `python -m pytest`, `php artisan test`.
fn unwrapped<'a, 'w>(words: &'a [&'w str]) -> &'a [&'w str] {
    let Some((first, rest)) = words.split_first() else {
        return words;
    };
    match (program(first), rest) {
        ("php", rest) => rest,
        (python, ["-m", rest @ ..]) if python.starts_with("python") => rest,
        (python, [script, ..])
            if python.starts_with("python") && program(script) == "manage.py" =>
        {
            rest
        }
        _ => words,
    }
}

fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.trim_end_matches(".exe")
        .trim_end_matches(".bat")
        .trim_end_matches(".cmd")
}

fn is_runner(words: &[&str]) -> bool {
    let Some((first, args)) = words.split_first() else {
        return false;
    };
    let name = program(first);
    if is_idle(name, args) {
        return false;
    }
    let is_unittest = name == "unittest" || name == "node" && args.contains(&"--test");
    is_unittest
        || RUNNERS
            .iter()
            .any(|Runner(program, word)| *program == name && says(name, args, word))
}

/// Whether the words before all others are these: tasks of build programs come in any
/// order.
fn says(program: &str, args: &[&str], wanted: &str) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let mut plain = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if WITH_VALUE.contains(arg) {
            args.next();
        } else if !arg.starts_with(['-', '+']) {
            plain.push(*arg);
        }
    }
    let wanted: Vec<&str> = wanted.split(' ').collect();
    let is_script = |word: &&str| matches!(wanted.as_slice(), [_, task] if word.strip_prefix(task).is_some_and(|rest| rest.starts_with(':')));
    IN_ANY_ORDER.contains(&program) && plain.contains(&wanted[0])
        || plain.starts_with(&wanted)
        || plain.first() == wanted.first() && plain.get(1).is_some_and(is_script)
}
