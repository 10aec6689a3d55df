//! Which commands are tests: those of which the line's exit status is a usual test
//! runner's, or of a command that the project names.

use crate::base::text::is_in;

/// Test runners: each program with its subcommand for tests; none where it only runs tests.
#[rustfmt::skip]
const RUNNERS: &[(&str, &str)] = &[
    ("cargo", "test"), ("cargo", "t"), ("cargo", "nextest"),
    ("npm", "test"), ("npm", "t"), ("npm", "run test"), ("npm", "run-script test"),
    ("pnpm", "test"), ("pnpm", "t"), ("pnpm", "run test"),
    ("yarn", "test"), ("yarn", "run test"),
    ("bun", "test"), ("bun", "run test"), ("deno", "test"), ("deno", "task test"),
    ("jest", ""), ("vitest", ""), ("mocha", ""), ("ava", ""), ("tap", ""), ("karma", "start"),
    ("playwright", "test"), ("cypress", "run"), ("ng", "test"), ("nx", "test"), ("turbo", "test"), ("turbo", "run test"),
    ("pytest", ""), ("py.test", ""), ("tox", ""), ("nox", ""), ("nosetests", ""),
    ("hatch", "test"), ("manage.py", "test"),
    ("go", "test"), ("gotestsum", ""), ("ginkgo", ""),
    ("mvn", "test"), ("mvn", "verify"), ("mvnw", "test"), ("mvnw", "verify"),
    ("gradle", "test"), ("gradle", "check"), ("gradlew", "test"), ("gradlew", "check"),
    ("sbt", "test"), ("dotnet", "test"), ("vstest.console", ""),
    ("rspec", ""), ("rake", "test"), ("rake", "spec"), ("rails", "test"), ("cucumber", ""),
    ("phpunit", ""), ("pest", ""), ("composer", "test"), ("artisan", "test"),
    ("mix", "test"), ("rebar3", "eunit"), ("swift", "test"), ("xcodebuild", "test"),
    ("flutter", "test"), ("dart", "test"), ("zig", "build test"), ("zig", "test"),
    ("stack", "test"), ("cabal", "test"), ("lein", "test"), ("busted", ""),
    ("make", "test"), ("make", "check"), ("just", "test"), ("task", "test"), ("ninja", "test"), ("meson", "test"),
    ("ctest", ""), ("bats", ""), ("prove", ""), ("bazel", "test"),
];

/// With these a runner tests nothing, or says that it is well when it is not.
const NOT_A_TEST: &str = "\
    --build-only --co --collect-only --dry-run --fail-never --fixtures --help --if-present \
    --ignore-errors --just-print --list --list-tests --listTests --no-run --notest \
    --only-generate --pass-with-no-tests --passWithNoTests --question --recon --setup-plan \
    --show-only --touch --version -DskipTests -Dmaven.test.skip=true -Dmaven.test.failure.ignore \
    -Dmaven.test.failure.ignore=true -h -fn -list";

/// The same for single programs, where a letter means something else to others.
const NOT_A_TEST_OF: &[(&str, &str)] = &[
    ("make", "-i -n -q -t"),
    ("ninja", "-n"),
    ("just", "-n"),
    ("ctest", "-N"),
    ("gradle", "-m -x"),
    ("gradlew", "-m -x"),
    ("go", "-c"),
    ("rake", "-n -T"),
];

/// Build programs that are given several tasks.
const IN_ANY_ORDER: &str = "gradle gradlew just lein make mvn mvnw ninja rake sbt task";

/// Options before a runner's word that have a value.
const WITH_VALUE: &str = "\
    --config --cwd --dir --directory --file --filter --manifest-path --prefix --project \
    --workspace -C -F -f -p -w";

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
    let mut idle = own.map(|(_, options)| *options).chain([NOT_A_TEST]);
    idle.any(|options| args.iter().any(|arg| is_in(options, arg)))
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
            .any(|(program, word)| *program == name && says(name, args, word))
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
        if is_in(WITH_VALUE, arg) {
            args.next();
        } else if !arg.starts_with(['-', '+']) {
            plain.push(*arg);
        }
    }
    let wanted: Vec<&str> = wanted.split(' ').collect();
    let is_script = |word: &&str| matches!(wanted.as_slice(), [_, task] if word.strip_prefix(task).is_some_and(|rest| rest.starts_with(':')));
    is_in(IN_ANY_ORDER, program) && plain.contains(&wanted[0])
        || plain.starts_with(&wanted)
        || plain.first() == wanted.first() && plain.get(1).is_some_and(is_script)
}
