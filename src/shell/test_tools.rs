//! The words by which tests are started: runners, launchers, and what may be beside them.

use crate::base::text::is_in;
use crate::formats::test_output::{self, RUNNERS, Runner};

/// Programs that run tests: the words of which one makes them do so, none where they do
/// nothing else, and their rows in the table of outputs.
#[rustfmt::skip]
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("bats", "", "bats"), ("bun", "test", "bun"), ("cargo", "test t miri careful hack insta llvm-cov nextest xtask", "libtest nextest"),
    ("cross", "test t", "libtest"), ("ctest", "", "ctest"), ("deno", "test", "deno"), ("dotnet", "test", "dotnet"),
    ("go", "test", "go"), ("gradle", "", "gradle"), ("gradlew", "", "gradle"), ("jest", "", "jest"), ("mix", "test", "ExUnit"),
    ("mocha", "", "mocha"), ("mvn", "", "maven"), ("mvnw", "", "maven"), ("phpunit", "", "phpunit"),
    ("playwright", "test", "playwright"), ("prove", "", "prove"), ("py.test", "", "pytest"), ("pytest", "", "pytest"),
    ("rails", "test test:all spec", "minitest rspec"), ("rspec", "", "rspec"), ("swift", "test", "swift"),
    ("unittest", "", "unittest"), ("vitest", "", "vitest"),
];

/// Programs whose tasks are the project's own, with the words before a task: any runner's
/// output can come of them.
#[rustfmt::skip]
const LAUNCHERS: &[(&str, &str)] = &[
    ("composer", "test run run-script"), ("cmake", "--build"), ("gmake", ""), ("hatch", "run test"), ("just", ""),
    ("make", ""), ("nox", ""), ("npm", "test t tst run run-script"), ("pdm", "run test"), ("pnpm", "test t run"),
    ("poetry", "run"), ("rake", ""), ("task", ""), ("tox", ""), ("uv", "run"), ("yarn", "test run workspace workspaces"),
    ("bun", "run"),
];

/// Programs that run the words behind them, or behind one of these verbs, and their options
/// with a value.
#[rustfmt::skip]
const WRAPPERS: &[(&str, &str, &str)] = &[
    ("time", "", ""), ("nice", "", "-n"), ("timeout", "", "-k -s --signal --kill-after"), ("exec", "", ""),
    ("env", "", "-u -C --chdir"), ("npx", "", "-p --package"), ("bunx", "", "-p --package"), ("uvx", "", "--from --with --python -p"),
    ("bundle", "exec", ""), ("npm", "exec x", "-p --package -w --workspace"), ("pnpm", "exec dlx x", "--filter -F -C --dir"),
    ("yarn", "exec dlx run", ""), ("bun", "x", ""), ("uv", "run", "--with --extra --group --package --python -p --env-file --project --directory"),
    ("poetry", "run", "-C --directory -P --project"), ("pdm", "run", "-p --project"), ("hatch", "run", "-e --env"), ("pipenv", "run", ""),
    ("rye", "run", ""), ("direnv", "exec", ""), ("nix", "develop", ""), ("coverage", "run", "--source --omit --include --rcfile --data-file"),
];

/// Programs that build, check or fetch, with the words by which they run no program of the
/// project but its build.
#[rustfmt::skip]
const BUILDERS: &[(&str, &str)] = &[
    ("bun", "install i"), ("bundle", "install check"), ("cargo", "build b check c clippy fmt clean doc fetch"), ("cmake", ""),
    ("composer", "install"), ("deno", "check fmt lint"), ("dotnet", "build restore format"), ("eslint", ""),
    ("go", "build vet mod fmt generate"), ("gofmt", ""), ("mix", "deps.get compile format"), ("mypy", ""), ("ninja", ""),
    ("npm", "ci install i"), ("pip", "install"), ("pnpm", "install i"), ("poetry", "install lock"), ("prettier", ""),
    ("pyright", ""), ("ruff", ""), ("rustfmt", ""), ("swift", "build"), ("tsc", ""), ("uv", "sync lock pip"), ("yarn", "install"),
];

/// Words that print nothing by which tests pass.
pub(super) const SILENT: &str = "[ test true false : mkdir rm sleep wait return break continue";

/// Options before a program's verb that have a value.
const WITH_VALUE: &str = "\
    --color --config --cwd --dir --directory --file --filter --import --loader --manifest-path \
    --prefix --project --require --target --test-reporter --workspace -C -F -W -X -f -p -r -w";

/// Which rows the output of a command may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Runner(Vec<&'static str>),
    Launcher,
    Builder,
}

impl Tool {
    pub(super) fn rows(&self) -> Vec<&'static Runner> {
        match self {
            Self::Runner(names) => names
                .iter()
                .copied()
                .filter_map(test_output::named)
                .collect(),
            Self::Launcher => RUNNERS.iter().collect(),
            Self::Builder => Vec::new(),
        }
    }
}

/// Whether a text has a word that starts tests: most commands have none.
pub(super) fn are_named_in(text: &str) -> bool {
    let mut words =
        text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    words.any(|word| {
        PROGRAMS.iter().any(|(name, ..)| *name == word)
            || LAUNCHERS.iter().any(|(name, _)| *name == word)
            || matches!(word, "node" | "manage.py")
    })
}

/// The tool that a command is, by its words.
pub(super) fn of(words: &[&str]) -> Option<Tool> {
    let (first, args) = words.split_first()?;
    let name = program(first)?;
    let verb = verb(args);
    let is = |verbs: &str| verbs.is_empty() || is_in(verbs, verb);
    if is_python(name) {
        return of_python(args);
    }
    if name == "node" {
        return tests_with_node(args).then(|| Tool::Runner(vec!["node:test"]));
    }
    if (name, verb) == ("cargo", "nextest") && !args.iter().any(|arg| is_in("run r", arg)) {
        return None;
    }
    if let Some((.., rows)) = PROGRAMS
        .iter()
        .find(|(program, verbs, _)| *program == name && is(verbs))
    {
        return Some(Tool::Runner(rows.split(' ').collect()));
    }
    if BUILDERS
        .iter()
        .any(|(program, verbs)| *program == name && is(verbs))
        && !args.contains(&"--build")
    {
        return Some(Tool::Builder);
    }
    let mut launchers = LAUNCHERS.iter();
    let launches = launchers.any(|(program, verbs)| {
        *program == name && (is(verbs) || is_in(verbs, args.first().unwrap_or(&"")))
    });
    launches.then_some(Tool::Launcher)
}

/// `python -m pytest`, `python manage.py test`
fn of_python(args: &[&str]) -> Option<Tool> {
    match behind_options(args) {
        ["-m", module, ..] if is_in("tox nox", module) => Some(Tool::Launcher),
        ["-m", module @ ..] => of(module).filter(|tool| matches!(tool, Tool::Runner(_))),
        ["manage.py", "test", ..] => Some(Tool::Runner(vec!["unittest"])),
        _ => None,
    }
}

/// `--test` before the first file.
fn tests_with_node(args: &[&str]) -> bool {
    let n_options = args.len() - behind_options(args).len();
    args[..n_options].contains(&"--test")
}

/// The words behind the options that come first; `-m` and `-c` are none of them.
fn behind_options<'a, 'w>(args: &'a [&'w str]) -> &'a [&'w str] {
    let mut rest = args;
    while let [option, behind @ ..] = rest
        && option.starts_with(['-', '+'])
        && !is_in("-m -c -", option)
    {
        rest = if is_in(WITH_VALUE, option) {
            behind.get(1..).unwrap_or_default()
        } else {
            behind
        };
    }
    rest
}

/// The first word that is no option, nor the value of one.
fn verb<'w>(args: &[&'w str]) -> &'w str {
    behind_options(args).first().copied().unwrap_or_default()
}

pub(super) fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python");
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// What a wrapper runs.
pub(super) enum Inner<'a, 'w> {
    None,
    Words(&'a [&'w str]),
    /// A word of the wrapper's own that may change what runs.
    Unknown(&'w str),
}

/// The words that a wrapper runs in its place.
pub(super) fn inner<'a, 'w>(words: &'a [&'w str]) -> Inner<'a, 'w> {
    let Some((first, args)) = words.split_first() else {
        return Inner::None;
    };
    let Some(name) = program(first) else {
        return Inner::None;
    };
    match (name, args) {
        ("docker", ["compose", rest @ ..]) => return in_container(rest, "run exec"),
        ("docker-compose", rest) => return in_container(rest, "run exec"),
        ("docker", rest) => return in_container(rest, "exec"),
        (name, args) if is_python(name) => {
            return match behind_options(args) {
                ["-m", "coverage", "run", rest @ ..] => module(rest),
                _ => Inner::None,
            };
        }
        ("coverage", ["run", rest @ ..]) => return module(rest),
        ("nix", ["develop", rest @ ..]) => {
            let at = rest.iter().position(|word| is_in("-c --command", word));
            return at.map_or(Inner::None, |at| Inner::Words(&rest[at + 1..]));
        }
        _ => {}
    }
    if let Some(found) = wrapped(name, args) {
        return found;
    }
    // `yarn jest`
    match (name, args) {
        ("yarn" | "pnpm", rest) if matches!(of(behind_options(rest)), Some(Tool::Runner(_))) => {
            Inner::Words(behind_options(rest))
        }
        ("yarn", ["workspace", _, rest @ ..]) => match of(rest) {
            Some(_) => Inner::Words(rest),
            None => Inner::None,
        },
        _ => Inner::None,
    }
}

/// The words behind a program of the table.
fn wrapped<'a, 'w>(name: &str, args: &'a [&'w str]) -> Option<Inner<'a, 'w>> {
    for (_, verbs, with_value) in WRAPPERS.iter().filter(|(wrapper, ..)| *wrapper == name) {
        let rest = match args {
            args if verbs.is_empty() => args,
            [verb, rest @ ..] if is_in(verbs, verb) => rest,
            _ => continue,
        };
        let found = command_behind(name, rest, with_value);
        // What is no program that is known is a task of the project's.
        if let Inner::Words(words) = found
            && !verbs.is_empty()
            && LAUNCHERS.iter().any(|(launcher, _)| *launcher == name)
            && of(words).is_none()
            && is_task(words)
        {
            return Some(Inner::None);
        }
        return Some(found);
    }
    None
}

/// A name that a project gives to its tests.
pub(super) fn is_task(words: &[&str]) -> bool {
    const NAMES: [&str; 9] = [
        "test",
        "check",
        "ci",
        "spec",
        "cov",
        "verify",
        "e2e",
        "unit",
        "integration",
    ];
    let named = words.first().filter(|word| !word.contains(['/', '.']));
    named.is_some_and(|word| NAMES.iter().any(|name| word.contains(name)))
}

/// `-m pytest` of a tool that runs a module.
fn module<'a, 'w>(args: &'a [&'w str]) -> Inner<'a, 'w> {
    let at = args.iter().position(|word| *word == "-m");
    at.map_or(Inner::None, |at| Inner::Words(&args[at + 1..]))
}

/// The words behind a wrapper's own options and operands.
fn command_behind<'a, 'w>(name: &str, args: &'a [&'w str], with_value: &str) -> Inner<'a, 'w> {
    // Tools with verbs have many options; those of the others decide what runs.
    let is_strict = is_in("time nice timeout exec env", name);
    let mut rest = args;
    while let [option, behind @ ..] = rest
        && option.starts_with('-')
    {
        let (key, has_value) = option
            .split_once('=')
            .map_or((*option, false), |(key, _)| (key, true));
        let is_level = name == "nice" && key[1..].chars().all(|c| c.is_ascii_digit());
        rest = match behind {
            _ if key == "--" => behind,
            _ if is_in(with_value, key) && !has_value => behind.get(1..).unwrap_or_default(),
            _ if is_level || !is_strict || is_in(with_value, key) => behind,
            _ if is_in("-p --preserve-status --foreground -v", key)
                && is_in("time timeout", name) =>
            {
                behind
            }
            _ => return Inner::Unknown(option),
        };
        if key == "--" {
            break;
        }
    }
    // `timeout 60`, `direnv exec .`
    let n_operands = usize::from(is_in("timeout direnv", name));
    Inner::Words(rest.get(n_operands..).unwrap_or_default())
}

/// The command of `docker compose run SERVICE …`, `docker exec NAME …`.
fn in_container<'a, 'w>(args: &'a [&'w str], verbs: &str) -> Inner<'a, 'w> {
    const OPTIONS: &str = "-e --env -u --user -w --workdir -v --volume --name -f --file -p --project-name --env-file --profile --index";
    let skip = |mut rest: &'a [&'w str]| {
        while let [option, behind @ ..] = rest
            && option.starts_with('-')
        {
            rest = if is_in(OPTIONS, option) {
                behind.get(1..).unwrap_or_default()
            } else {
                behind
            };
        }
        rest
    };
    match skip(args) {
        [verb, rest @ ..] if is_in(verbs, verb) => {
            if let Some(entry) = rest.iter().find(|word| word.starts_with("--entrypoint")) {
                return Inner::Unknown(entry);
            }
            Inner::Words(skip(rest).get(1..).unwrap_or_default())
        }
        _ => Inner::None,
    }
}

/// The name of a program, where its path is one at which projects keep their tools.
pub(super) fn program(word: &str) -> Option<&str> {
    let Some((dir, name)) = word.rsplit_once(['/', '\\']) else {
        return Some(without_suffix(word));
    };
    let ends = [
        "node_modules/.bin",
        "venv/bin",
        "vendor/bin",
        "venv/Scripts",
    ];
    let is_kept = ends.iter().any(|end| dir.ends_with(end))
        || matches!(dir, "bin" | "./bin")
        || is_in("gradlew mvnw", without_suffix(name)) && matches!(dir, "." | ".." | "../..");
    is_kept.then(|| without_suffix(name))
}

fn without_suffix(name: &str) -> &str {
    let ends = [".exe", ".bat", ".cmd"];
    ends.iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Whether an assignment to a variable changes which program a name is, or what it runs.
pub(super) fn is_path_like(variable: &str) -> bool {
    const NAMES: &str =
        "PATH BASH_ENV ENV RUSTC_WRAPPER RUSTC RUSTC_WORKSPACE_WRAPPER MAKEFLAGS GNUMAKEFLAGS";
    const NPM: &str = "npm_config_";
    is_in(NAMES, variable)
        || variable.starts_with("LD_")
        || variable.starts_with("DYLD_")
        || variable.ends_with("_RUNNER")
        || variable.ends_with("_ADDOPTS")
        || variable
            .get(..NPM.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(NPM))
}
