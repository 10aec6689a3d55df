//! Sick installations, and what `doctor` says of each.

use crate::support::{Sandbox, assert_has, in_parallel};

/// A sickness, what brings it about, and how the lines of `doctor` begin that are no `ok`.
struct Sickness(&'static str, &'static str, &'static [&'static str]);

/// In each `$P` is the program that is wired, `$S` the settings that say so.
const SICKNESSES: &[Sickness] = &[
    Sickness(
        "none",
        "",
        &["note heartbeat no session has run the hook yet"],
    ),
    Sickness(
        "the program moved",
        "mv $P $HOME/elsewhere",
        &["error program-missing `{P}` is wired, but is not there: every call"],
    ),
    Sickness(
        "it is not executable",
        "cp $P x; mv x $P; chmod 600 $P",
        &["error program-not-executable `{P}` is wired, but may not be run"],
    ),
    Sickness(
        "another program has its name",
        "printf '#!/bin/sh\\ntrue\\n' > x; chmod +x x; mv x $P",
        &["error live-test `{P}` did not deny `.devt/state/notes.md`"],
    ),
    Sickness(
        "a wrapper prints first",
        "mv $P $HOME/real; printf '#!/bin/sh\\necho hello\\nexec '$HOME'/real \"$@\"\\n' > $P; chmod +x $P",
        &[
            "warning version-differs `{P}` is wired and says `hello",
            "error live-test `{P}` did not deny `.devt/state/notes.md` as it should: exit 0, `hello",
        ],
    ),
    Sickness(
        "an older version",
        "printf '#!/bin/sh\\n[ $1 = --version ] && echo statewarden 0.1.0\\n[ $1 = hook ] && exec '$HOME'/real hook\\n' > x; chmod +x x; mv $P $HOME/real; mv x $P",
        &["warning version-differs `{P}` is wired and says `statewarden 0.1.0`; this program is"],
    ),
    Sickness(
        "nothing is wired",
        "rm $S",
        &["error not-wired no settings file of this project runs statewarden"],
    ),
    Sickness(
        "the settings are cut off",
        "head -c 300 $S > x; mv x $S",
        &[
            "error settings-file `.claude/settings.local.json`: line",
            "error not-wired",
        ],
    ),
    Sickness(
        "the settings are no UTF-8",
        "sed -i '1s/^/\\xff/' $S",
        &[
            "error settings-file `.claude/settings.local.json`: ",
            "error not-wired",
        ],
    ),
    Sickness(
        "the settings cannot be read",
        "rm $S; mkdir $S",
        &["error settings-file could not read `.claude/settings.local.json`"],
    ),
    Sickness(
        "hooks are switched off",
        "echo '{\"disableAllHooks\": true}' > .claude/settings.json",
        &["error hooks-disabled `.claude/settings.json` says `disableAllHooks`: no hook runs"],
    ),
    Sickness(
        "a matcher was edited",
        "sed -i 's/Write|Edit|/Edit|/' $S",
        &[
            "error wired-otherwise `.claude/settings.local.json` lacks entries of this version for PreToolUse",
        ],
    ),
    Sickness(
        "`onFailure` was taken out",
        "sed -i '/onFailure/d; s/\"timeout\": 10,/\"timeout\": 10/' $S",
        &[
            "error wired-otherwise `.claude/settings.local.json` lacks entries of this version for PreToolUse",
        ],
    ),
    Sickness(
        "`args` were edited",
        "sed -i '0,/\"hook\"/s//\"hook\", \"-v\"/' $S",
        &["error wired-otherwise `.claude/settings.local.json` lacks entries of this version for"],
    ),
    Sickness(
        "two different programs",
        "mkdir $HOME/two; ln $P $HOME/two/statewarden; $HOME/two/statewarden install --scope user > x; rm x",
        &["warning wired-twice 2 different programs are wired"],
    ),
    Sickness(
        "a path with a version in it",
        "mkdir -p $HOME/v0.2.0/bin; ln $P $HOME/v0.2.0/bin/statewarden; sed -i \"s|$P|$HOME/v0.2.0/bin/statewarden|\" $S",
        &[
            "warning program-versioned `.claude/settings.local.json` runs `{HOME}/v0.2.0/bin/statewarden`: an upgrade",
        ],
    ),
    Sickness(
        "the personal settings are tracked",
        "git add -f $S",
        &["warning settings-tracked git tracks `.claude/settings.local.json`: where the path"],
    ),
    Sickness(
        "an unknown key",
        "echo 'mdoe: warn' > .claude/statewarden.yaml",
        &[
            "warning settings `.claude/statewarden.yaml` is ignored: line 1: unknown key `mdoe`; did you mean `mode`?",
        ],
    ),
    Sickness(
        "a broken contract",
        "mkdir .claude/statewarden.d; echo 'systems: {x: {site: .x, gates: [{name: g}]}}' > .claude/statewarden.d/x.yaml",
        &[
            "warning left-out `.claude/statewarden.d/x.yaml` is ignored: line 1: `systems.x.gates[0]`: there is no key `agent`",
        ],
    ),
    Sickness(
        "everything is switched off",
        "echo 'mode: off' > .claude/statewarden.yaml",
        &["warning mode nothing is guarded: every system is off, by `.claude/statewarden.yaml`"],
    ),
    Sickness(
        "nothing to guard yet",
        "rm -r .devt",
        &["note guarded nothing yet: no state directory of devt,"],
    ),
    Sickness(
        "a state file cannot be read",
        "printf 'active: [\\n' > .devt/state/workflow.yaml",
        &[
            "warning state-file could not read `.devt/state/workflow.yaml`: the value in line 1 is no YAML",
        ],
    ),
    Sickness(
        "a log holds other lines",
        "mkdir -p .claude/statewarden; echo no json > .claude/statewarden/denies.jsonl; chmod 600 .claude/statewarden/*",
        &["warning log-line `.claude/statewarden/denies.jsonl`"],
    ),
    Sickness(
        "others can read a log",
        "mkdir -p .claude/statewarden; : > .claude/statewarden/denies.jsonl; chmod 644 .claude/statewarden/*",
        &["warning log-mode `.claude/statewarden/denies.jsonl`"],
    ),
    Sickness(
        "a log is a directory",
        "mkdir -p .claude/statewarden/denies.jsonl",
        &["error log could not use `.claude/statewarden/denies.jsonl`: it is no regular file"],
    ),
    Sickness(
        "our folder is a file",
        "rm -r .claude/statewarden; : > .claude/statewarden",
        &["error log no record can be written in `.claude/statewarden`: not a directory"],
    ),
    Sickness(
        "the chain of the gate log is broken",
        "mkdir -p .claude/statewarden; cd .claude/statewarden; printf '{\"id\":\"a\",\"prev\":\"%064d\"}\\n{\"id\":\"b\",\"prev\":\"%064d\"}\\n' 0 1 > gates.jsonl; chmod 600 *",
        &["warning gate-log the chain of `.claude/statewarden/gates.jsonl` is broken"],
    ),
    Sickness(
        "a lock of a process that has ended",
        "echo 4194305 > .devt/state/.lock",
        &["warning stale-lock `.devt/state/.lock`"],
    ),
    Sickness(
        "a temporary file that was left",
        "touch -d '1 hour ago' .devt/state/.workflow.yaml.77.tmp",
        &["warning orphan-temp 1 temporary file of ended processes in `.devt/state`"],
    ),
    Sickness(
        "another host was seen",
        "echo '{\"session_id\":\"s\",\"cwd\":\"'$PWD'\",\"hook_event_name\":\"SessionStart\",\"turn_id\":\"1\"}' | $P hook",
        &["warning other-host Codex ran statewarden here"],
    ),
    Sickness(
        "the client is too old",
        "mkdir -p .claude/statewarden; cd .claude/statewarden; echo '{\"v\":1,\"id\":\"a\",\"ts\":\"2026-01-02T03:04:05.678Z\",\"source\":\"statewarden\",\"decision\":\"heartbeat\",\"session_id\":\"s\",\"client\":\"2.1.100\",\"reason\":\"x\"}' > events.jsonl; chmod 600 *",
        &["error client-too-old Claude Code 2.1.100 does not pass arguments"],
    ),
];

/// The findings that are not `ok`, each with its blanks folded.
fn complaints(stdout: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = stdout.lines().map(words);
    let is_finding = |line: &String| {
        ["note ", "warning ", "error "]
            .iter()
            .any(|level| line.starts_with(level))
    };
    lines.filter(is_finding).collect()
}

/// What `doctor` says instead of what is expected.
fn wrong(sickness: &Sickness) -> Option<String> {
    let Sickness(name, bring_about, expected) = sickness;
    let program = env!("CARGO_BIN_EXE_statewarden");
    let sandbox = Sandbox::new();
    let home = sandbox.home().to_str().unwrap().to_owned();
    let wired = format!("{home}/bin/statewarden");
    sandbox.script(&format!(
        "git init -q; mkdir $HOME/bin; ln {program} {wired} || cp {program} {wired}; \
         {wired} install > $HOME/out; P={wired}; S=.claude/settings.local.json; {bring_about}"
    ));
    let ran = sandbox.run("doctor --run");
    let mut found = complaints(&ran.stdout());
    if !bring_about.is_empty() {
        found.retain(|line| !line.starts_with("note heartbeat"));
    }
    let expected: Vec<String> = expected
        .iter()
        .map(|line| line.replace("{P}", &wired).replace("{HOME}", &home))
        .collect();
    let is_sick = expected.iter().any(|line| !line.starts_with("note"));
    let mut pairs = found.iter().zip(&expected);
    let agrees = found.len() == expected.len()
        && ran.code() == i32::from(is_sick)
        && pairs.all(|(found, line)| found.starts_with(line.as_str()));
    (!agrees).then(|| format!("{name}: {found:#?}, not {expected:#?}"))
}

#[test]
fn every_sickness_is_named() {
    let wrong: Vec<_> = in_parallel(SICKNESSES, wrong)
        .into_iter()
        .flatten()
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A relative path is of the project, wherever `doctor` runs.
#[test]
#[cfg(unix)]
fn a_program_below_is_not_taken_for_one_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.run("install --scope project").ends(0);
    let settings = sandbox.read(".claude/settings.json");
    let program = env!("CARGO_BIN_EXE_statewarden");
    assert!(settings.contains(program), "{settings}");
    let relative = settings.replace(program, "x/statewarden");
    sandbox.write(".claude/settings.json", &relative);
    sandbox.script(&format!(
        "git init -q; mkdir -p sub/x; printf '#!/bin/sh\ntouch ran\n' > sub/x/statewarden; \
         chmod +x sub/x/statewarden; cd sub; {program} doctor > out || true"
    ));
    assert!(!sandbox.exists("sub/ran"));
    assert_has(&sandbox.read("sub/out"), "is not there");
}

/// A trial hides no program that does nothing.
#[test]
#[cfg(unix)]
fn a_program_that_does_nothing_is_seen_in_a_trial_too() {
    let sandbox = Sandbox::new();
    sandbox.run("install --scope project --mode warn").ends(0);
    let program = env!("CARGO_BIN_EXE_statewarden");
    let settings = sandbox.read(".claude/settings.json");
    let idle = sandbox.path("idle/statewarden");
    sandbox.script(
        "mkdir idle; printf '#!/bin/sh\nexit 0\n' > idle/statewarden; chmod +x idle/statewarden",
    );
    let settings = settings.replace(program, &idle);
    sandbox.write(".claude/settings.json", &settings);
    let ran = sandbox.run("doctor --run");
    assert_has(&ran.stdout(), "did not deny");
}
