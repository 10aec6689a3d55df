use std::collections::BTreeSet;

use crate::contract::denial::Mode;
use crate::contract::edition::Edition;
use crate::contract::glob::Pattern;
use crate::formats::typed::Mismatch;
use crate::settings::content::ContentRule;
use crate::settings::file::File;
use crate::settings::merge::{Layer, Resolved};
use crate::settings::model::*;
use crate::systems::system;

mod contracts;
mod layers;
pub(super) mod schema;
pub(super) mod shapes;

const PATH: &str = ".claude/statewarden.yaml";

fn project(text: &str) -> Resolved {
    Settings::resolve(&[(Layer::Project, PATH, Ok(text))], &system::known())
}

#[track_caller]
fn accepts(text: &str) -> Settings {
    let resolved = project(text);
    assert_eq!(resolved.problems, [""; 0], "{text}");
    resolved.settings
}

/// The file is ignored as a whole and its problem holds every word.
#[track_caller]
fn refuses(text: &str, words: &[&str]) {
    let resolved = project(text);
    assert_eq!(resolved.settings, Settings::default(), "{text}");
    let [problem] = resolved.problems.as_slice() else {
        panic!("{text}: {:?}", resolved.problems);
    };
    for word in words.iter().chain([&PATH]) {
        assert!(problem.contains(word), "`{word}` is not in: {problem}");
    }
}

#[test]
fn without_files_the_built_in_values_hold() {
    let Resolved {
        settings, problems, ..
    } = Settings::resolve(&[], &system::known());
    assert!(problems.is_empty());
    assert_eq!(settings, Settings::default());
    assert_eq!(
        (settings.archive_runs, settings.log_max_bytes),
        (5, 8 << 20)
    );
    assert_eq!(settings.mode_of("devt"), Mode::Enforce);
    assert_eq!(settings.system("devt"), &SystemSettings::default());
    for empty in [
        "",
        "# nothing\n",
        "mode:\nsystems:\n",
        "systems: {devt: }\n",
    ] {
        assert_eq!(accepts(empty).mode_of("devt"), Mode::Enforce, "{empty}");
    }
}

#[test]
fn settings_that_can_make_a_site_are_known_by_their_text() {
    for (text, expected) in [
        (
            "mode: warn\nsystems:\n  devt:\n    extra_names: [a.md]\n",
            false,
        ),
        ("systems: {n: {site: docs}}\n", true),
        ("systems: {groups: {roots: [a]}}\n", true),
        ("systems: {n: {\"s\\x69te\": docs}}\n", true),
    ] {
        assert_eq!(may_make_site(text), expected, "{text}");
        let settings = accepts(text);
        let makes =
            settings.declared().next().is_some() || !settings.system("groups").roots.is_empty();
        assert_eq!(makes, expected, "{text}");
    }
}

#[test]
fn every_key_is_read() {
    let settings = accepts(include_str!("every-key.yaml"));
    assert_eq!(settings.mode, Mode::Warn);
    assert_eq!(settings.completion, Strictness::Block);
    assert_eq!(settings.dispatch, Strictness::Off);
    assert_eq!(
        (settings.undo, settings.recorder),
        (Undo::Exclusive, Recording::Off)
    );
    assert_eq!(settings.evidence, EvidenceMode::Require);
    assert_eq!(settings.test_commands, ["make check"]);
    let devt = settings.system("devt");
    assert!(devt.is_own_program("devt-helper") && devt.is_own_program("mcp__devt__set"));
    assert!(!devt.is_own_program("devt") && !devt.is_own_program("mcp__other__set"));
    assert_eq!((settings.archive_runs, settings.log_max_bytes), (9, 70_000));
    assert_eq!(settings.on_error, OnError::Closed);
    let devt = settings.system("devt");
    assert_eq!(
        (devt.mode, devt.contract),
        (Some(Mode::Enforce), Some(Edition::V0244))
    );
    assert_eq!(devt.extra_names, ["notes.md"]);
    let globs: Vec<_> = devt.extra_globs.iter().map(Pattern::as_str).collect();
    assert_eq!(globs, ["evidence-*.txt"]);
    assert_eq!(devt.subdirectories, ["evidence", "a/b"]);
    assert_eq!(settings.mode_of("session"), Mode::Off);
    let groups = settings.system("groups");
    assert_eq!(groups.roots, ["docs/specs", ""]);
    let roles: Vec<_> = groups
        .roles
        .iter()
        .map(|(a, r)| format!("{a}={r}"))
        .collect();
    assert_eq!(
        roles,
        ["checker=reviewer", "my-bot=tester", "other-*=tester"]
    );
    let declared: Vec<_> = settings.declared().collect();
    let [("notes", notes)] = declared.as_slice() else {
        panic!("{declared:?}")
    };
    assert!(notes.sites[0].matches("notes/state") && !notes.sites[0].matches("notes/a/state"));
    assert!(notes.canonical[0].matches("index.md") && notes.patterns[0].matches("note-1.md"));
    assert!(notes.ephemeral[0].matches("x.tmp"));
    let scribe = Owner::parse("team:Scribe").unwrap();
    assert!(notes.owners_of("index.md").unwrap().contains(&scribe));
    assert_eq!(notes.owners_of("log.md"), Some([Owner::Main].as_slice()));
    assert_eq!(notes.owners_of("note-1.md"), None);
    let (named, of_glob) = (notes.content_of("index.md"), notes.content_of("log.md"));
    assert_eq!(named, Some(&ContentRule::FrontMatter));
    let done = ContentRule::StatusLine(vec!["DONE".to_owned()]);
    assert_eq!(of_glob, Some(&done));
    assert_eq!(notes.open, Openness::Near);
    assert_eq!(
        notes.by.sentence,
        format!("declared by the settings {PATH}")
    );
    let alias = ("NOTES_DIR".to_owned(), "notes/first".to_owned());
    assert_eq!(notes.aliases, [alias]);
    let [draft, review] = notes.gates.as_slice() else {
        panic!("{:?}", notes.gates)
    };
    assert!(draft.main && draft.agents.len() == 1 && !review.main);
    let needs = review.needs[0].to_string();
    assert_eq!(needs, "outcome OK in `state.json`");
}

#[test]
fn a_wrong_file_counts_for_nothing_and_says_where() {
    refuses(
        "mode: enforce\nmoed: off\n",
        &["line 2", "unknown key `moed`", "did you mean `mode`?"],
    );
    refuses("mode: of\n", &["line 1", "did you mean `off`?"]);
    refuses(
        "- a\n",
        &["expected keys with values, such as `mode: warn`"],
    );
    refuses(
        "mode: [warn]\n",
        &["`mode`: a list is given, expected one of `off`, `warn`, `enforce`"],
    );
    refuses("archive: {run: 3}\n", &["did you mean `runs`?"]);
    refuses(
        "log:\n  max_byte: 1\n",
        &["line 2", "did you mean `max_bytes`?"],
    );
    refuses("mode: off\nmode: warn\n", &["duplicate key `mode`"]);
    refuses("mode: [\n", &["line"]);
    for (text, fault) in [
        (
            "mode:\n\twarn\n",
            "line 2: a tab is in front of a value; write spaces",
        ),
        (
            "\u{feff}# é\n\tmode: warn\n",
            "line 2: a tab is in front of a value",
        ),
        (
            "systems: {é: {programs: [@x]}}\n",
            "line 1: a value begins with `@`; put it in quotes",
        ),
    ] {
        refuses(text, &[fault]);
    }
    refuses("- mode\n", &["a list"]);
    refuses("quarantine: true\n", &["write `undo: names` for true"]);
    refuses("mode: off\n---\nmode: off\n", &["document"]);
    for runs in ["0", "-1", "1.5", "x", "[1]", "{a: 1}", "5000000000"] {
        refuses(
            &format!("archive: {{runs: {runs}}}\n"),
            &[
                "archive.runs",
                "expected a whole number from 1 to 4294967295",
            ],
        );
    }
    refuses(
        "log: {max_bytes: 99999999999999999999999}\n",
        &["`99999999999999999999999` is given, expected a whole number from 65536"],
    );
    refuses("systems: {devt: {extra_names: a}}\n", &["such as `[a, b]`"]);
    refuses(
        "systems: {groups: {roles: }, x: {site: a, owners: {a: }}}\n",
        &["nothing is given, expected a name"],
    );
    for (names, words) in [
        (
            "canonical: [docs/STATE.md]",
            ["canonical", "write `STATE.md`"],
        ),
        ("patterns: [./X.md]", ["no name is like `./X.md`", "`X.md`"]),
        ("ephemeral: [b/]", ["write `b`", "`subdirectories`"]),
        ("canonical: ['X.md ']", ["`X.md `", "write `X.md`"]),
        ("canonical: [/X.md]", ["`/X.md`", "write `X.md`"]),
        ("owners: {'a\\b.md': x}", ["owners", "write `a/b.md`"]),
        ("owners: {'docs/**/*.md': x}", ["owners", "write `**/*.md`"]),
        ("extra_names: ['x.md ']", ["extra_names", "write `x.md`"]),
        ("canonical: [a/../b.md]", ["`a/../b.md`", "without `..`"]),
        ("canonical: [.]", ["`.`", "the site itself"]),
        ("canonical: [docs]", ["`docs`", "write the glob `[d]ocs`"]),
        (
            "canonical: [docs/docs]",
            ["`docs/docs`", "write the glob `[d]ocs`"],
        ),
        ("patterns: ['{a,/b}.md']", ["`/b.md`", "write `b.md`"]),
        ("patterns: ['{a,}/b.md']", ["`/b.md`", "write `b.md`"]),
        ("patterns: ['a{/,}']", ["`a/`", "write `a`"]),
        (
            "patterns: ['{,a.md}']",
            ["empty branch", "leave that branch out"],
        ),
        ("programs: [mcp__x]", ["`mcp__x`", "write `mcp__x__*`"]),
        ("programs: ['mcp__*']", ["`mcp__*`", "`mcp__SERVER__*`"]),
        ("programs: ['task-*']", ["`task-*`", "only tools take `*`"]),
        ("open: nearly", ["nearly", "`near`"]),
        ("aliases: {$DIR: docs}", ["`$DIR`", "leave signs"]),
        ("aliases: {DIR: ../x}", ["aliases", "without `..`"]),
        ("content: {docs/a.md: json}", ["content", "write `a.md`"]),
        ("content: {a.md: jsn}", ["content", "did you mean `json`?"]),
        (
            "content: {a.md: {schema: ../a}}",
            ["`../a`", "without `..`"],
        ),
        (
            "content: {a.md: {status_line: []}}",
            ["content", "lists the values"],
        ),
        (
            "gates: [{name: a, agent: b, needs: []}]",
            ["`gates`: `a`: `needs` is empty", "say what shows"],
        ),
        (
            "gates: [{name: a, agent: b, needs: [{file: x, in: y}]}]",
            ["`gates`: `a`", "{verdict: WORD, in: NAME, key: KEY}"],
        ),
        (
            "gates: [{name: a, agent: b, needs: [{file: '*.md'}]}]",
            ["`*.md` is a glob", "name one file"],
        ),
        (
            "gates: [{name: a, agent: b, needs: [{file: docs/x}]}]",
            ["`a`: `needs`", "write `x`"],
        ),
        (
            "gates: [{name: a, agent: b, needs: [{verdict: 'A | B'}]}]",
            ["`gates`: `a`", "{verdict: WORD, in: NAME, key: KEY}"],
        ),
        (
            "gates: [{name: a, agent: '@user', needs: [{file: x}]}]",
            ["`gates`: `a`", "agents by their names, and `@main`"],
        ),
        (
            "gates: [{name: a, agent: b, after: a, needs: [{file: x}]}]",
            ["`gates`: `a`", "no gate `a` is above it"],
        ),
        (
            "gates: [{name: a, agent: b, need: [{file: x}]}]",
            ["unknown key `need`", "did you mean `needs`?"],
        ),
    ] {
        let settings = format!("systems: {{x: {{site: docs, {names}}}}}\n");
        refuses(&settings, &words);
    }
    refuses(
        "systems: {devt: {extra_globs: ['.devt/state/*.csv']}}\n",
        &["extra_globs", "write `*.csv`"],
    );
    refuses(
        "systems: {x: {site: 'docs\\a '}}\n",
        &["`site`", "write `docs/a`"],
    );
    refuses("log: {max_bytes: 65535}\n", &["log.max_bytes", "65536"]);
    refuses("MODE: warn\n", &["unknown key `MODE`", "`mode`?"]);
}

/// Whatever is given for a key, what is wrong with it is said in fields, at its line.
#[test]
fn no_words_of_the_parser_are_shown() {
    let text = include_str!("every-key.yaml");
    let mut n_faults = 0;
    for (at, line) in text.lines().enumerate() {
        let Some((key, _)) = line.split_once(": ") else {
            continue;
        };
        if key.contains('{') {
            continue;
        }
        for value in [
            "",
            "[a, [b]]",
            "{a: {b: c}}",
            "3",
            "-1.5",
            "true",
            "zzz",
            "'a b'",
        ] {
            let mut lines: Vec<&str> = text.lines().collect();
            let changed = format!("{key}: {value}");
            lines[at] = &changed;
            if let Err(fault) = File::parse(&lines.join("\n")) {
                assert!(
                    !matches!(fault.what, Mismatch::Said(_)),
                    "{changed}: {fault}"
                );
                assert_eq!(fault.line, Some(at + 1), "{changed}: {fault}");
                n_faults += 1;
            }
        }
    }
    assert!(n_faults > 100, "{n_faults}");
}

#[test]
fn a_system_is_known_or_declared() {
    let unknown = project("systems: {zzz: {mode: off}}\nmode: warn\n");
    assert_eq!(
        (unknown.settings.mode, unknown.problems.len()),
        (Mode::Warn, 0)
    );
    assert!(
        unknown.left_out[0].what.contains("`systems.zzz`"),
        "{:?}",
        unknown.left_out
    );
    assert!(unknown.settings.systems.is_empty());
    refuses(
        "systems:\n  devt:\n    enabeld: false\n",
        &["systems.devt", "line 3", "`enabled`?"],
    );
    refuses(
        "systems: {devt: {contract: 0.84}}\n",
        &["0.84", "did you mean `0.83`?"],
    );
    refuses(
        "systems: {session: {contract: 0.83}}\n",
        &["systems.session", "`devt` only"],
    );
    refuses(
        "systems: {devtt: {mode: off}}\n",
        &["systems.devtt", "did you mean `devt`?", "`site`"],
    );
    refuses(
        "systems: {agent_flow: {site: a, mode: off}}\n",
        &["agent_flow", "lower-case"],
    );
    refuses(
        "systems: {1st: {site: a, mode: off}}\n",
        &["1st", "lower-case"],
    );
    refuses(
        "systems: {devt: {site: a}}\n",
        &["systems.devt", "new systems"],
    );
    refuses("systems: {new: {site: ''}}\n", &["site"]);
    refuses(
        "systems: {new: {site: 'a[', canonical: []}}\n",
        &["site", "a["],
    );
}

#[test]
fn names_globs_and_places_are_checked() {
    refuses(
        "systems: {devt: {extra_globs: ['a[']}}\n",
        &["extra_globs", "`a[`"],
    );
    refuses(
        "systems: {devt: {extra_globs: ['*']}}\n",
        &["every name", "enabled: false"],
    );
    refuses(
        "systems: {devt: {extra_names: [../x]}}\n",
        &["extra_names", "../x"],
    );
    refuses(
        "systems: {devt: {extra_names: ['*.md']}}\n",
        &["extra_names", "`*.md`", "`extra_globs`"],
    );
    refuses(
        "systems: {devt: {subdirectories: [/x]}}\n",
        &["subdirectories"],
    );
    for path in [
        "/",
        "''",
        "//",
        "~/x",
        "\"a\\nb\"",
        "\"a\\rb\"",
        "\"a\\0b\"",
    ] {
        refuses(
            &format!("systems: {{groups: {{roots: [{path}]}}}}\n"),
            &["roots", "is not a relative path"],
        );
        refuses(
            &format!("systems: {{devt: {{subdirectories: [{path}]}}}}\n"),
            &["subdirectories", "is not a relative path"],
        );
    }
    refuses(
        "systems: {devt: {subdirectories: [.]}}\n",
        &["subdirectories", "`.` is the root itself"],
    );
    refuses(
        "systems: {groups: {roots: ['pkg/*/plan']}}\n",
        &["roots", "`pkg/*/plan` is a glob"],
    );
}

#[test]
fn a_glob_without_signs_is_a_name() {
    for text in ["a.md", "sub/a-b.md", "é.md"] {
        assert_eq!(Pattern::parse(text).unwrap().as_name(), Some(text));
    }
    for text in ["*.md", "?", "[a]", "{a,b}", "{a}", r"\*", "a\nb"] {
        assert_eq!(Pattern::parse(text).unwrap().as_name(), None, "{text}");
    }
}

#[test]
fn a_role_is_one_of_five() {
    refuses(
        "systems: {groups: {roles: {a: revewer}}}\n",
        &["roles.a", "`revewer` is", "did you mean `reviewer`?"],
    );
    for (roles, words) in [
        ("{revewer: [qa-9]}", ["`revewer` is not", "`reviewer`?"]),
        ("{revewer: [a, b]}", ["`revewer` is not", "`reviewer`?"]),
        ("{a: [reviewer, tester]}", ["`a` is not a role", "did you"]),
    ] {
        refuses(
            &format!("systems: {{groups: {{roles: {roles}}}}}\n"),
            &words,
        );
    }
}
