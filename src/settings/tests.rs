use std::collections::BTreeSet;

use super::file::File;
use super::*;
use crate::formats::yaml;

const PATH: &str = ".claude/statewarden.yaml";

fn project(text: &str) -> Resolved {
    Settings::resolve(&[(Layer::Project, PATH, Ok(text))])
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
    } = Settings::resolve(&[]);
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
fn a_file_is_the_same_with_and_without_the_parser() {
    let everything = include_str!("every-key.yaml");
    for text in [
        everything,
        "mode: off\nlog:\n  max_bytes: 70000\n",
        "quarantine: false\nsystems:\n  devt:\n  a:\n    site: b\n    owners:\n      \"*\": []\n",
    ] {
        let read = yaml::parse_into::<File>(text);
        assert!(read.is_ok() && read == yaml::parse_as(text), "{read:?}");
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
    assert_eq!(settings.completion, Completion::Block);
    assert_eq!(settings.dispatch, Dispatch::Off);
    assert!(settings.quarantine);
    assert_eq!((settings.archive_runs, settings.log_max_bytes), (9, 70_000));
    assert_eq!(settings.on_error, OnError::Closed);
    let devt = settings.system("devt");
    assert_eq!(
        (devt.mode, devt.contract),
        (Some(Mode::Enforce), Edition::V0244)
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
    assert!(notes.site.matches("notes/state") && !notes.site.matches("notes/a/state"));
    assert!(notes.canonical[0].matches("index.md") && notes.patterns[0].matches("note-1.md"));
    assert!(notes.ephemeral[0].matches("x.tmp"));
    let scribe = Actor::Agent(AgentName::parse("team:Scribe"));
    assert!(
        notes
            .owners_of("index.md")
            .unwrap()
            .iter()
            .any(|owner| owner.is(&scribe))
    );
    assert_eq!(notes.owners_of("log.md"), Some([Owner::Main].as_slice()));
    assert_eq!(notes.owners_of("note-1.md"), None);
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
    refuses("mode: [warn]\n", &["mode", "expected one word"]);
    refuses("quarantine: yes\n", &["expected `true` or `false`"]);
    refuses(
        "systems: {zzz: {}}\n",
        &["unknown system; a new one needs a `site`"],
    );
    refuses(
        "systems:\n  devt:\n    enabeld: false\n",
        &["systems.devt", "line 3", "`enabled`?"],
    );
    refuses("archive: {run: 3}\n", &["did you mean `runs`?"]);
    refuses(
        "log:\n  max_byte: 1\n",
        &["line 2", "did you mean `max_bytes`?"],
    );
    refuses("mode: off\nmode: warn\n", &["duplicate", "`mode`"]);
    refuses("mode: [\n", &["line"]);
    refuses("- mode\n", &["sequence"]);
    refuses("quarantine: maybe\n", &["quarantine", "line 1"]);
    refuses("mode: off\n---\nmode: off\n", &["document"]);
    refuses("archive: {runs: 0}\n", &["archive.runs", "at least 1"]);
    refuses("archive: {runs: -1}\n", &["archive.runs"]);
    refuses("log: {max_bytes: 65535}\n", &["log.max_bytes", "65536"]);
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
        "systems: {devt: {site: a}}\n",
        &["systems.devt", "new systems"],
    );
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
    refuses("systems: {groups: {roots: [/]}}\n", &["roots"]);
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
    refuses(
        "systems: {groups: {roots: ['pkg/*/plan']}}\n",
        &["roots", "`pkg/*/plan` is a glob"],
    );
    refuses("systems: {new: {site: ''}}\n", &["site"]);
    refuses(
        "systems: {new: {site: 'a[', canonical: []}}\n",
        &["site", "a["],
    );
}

#[test]
fn later_layers_win_key_by_key() {
    let resolved = Settings::resolve(&[
        (
            Layer::User,
            "u",
            Ok("mode: warn\nsystems: {devt: {mode: off, extra_names: [a]}}"),
        ),
        (
            Layer::Project,
            "p",
            Ok("completion: block\nsystems: {devt: {mode: warn}, n: {site: n}}"),
        ),
        (
            Layer::Local,
            "l",
            Ok("completion: off\nsystems: {n: {mode: off}}"),
        ),
    ]);
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    let settings = resolved.settings;
    assert_eq!(
        (settings.mode, settings.completion),
        (Mode::Warn, Completion::Off)
    );
    assert_eq!(settings.mode_of("devt"), Mode::Warn);
    assert_eq!(settings.system("devt").extra_names, ["a"]);
    assert_eq!(settings.mode_of("n"), Mode::Off);
}

/// What a project file gets through against a managed one, and what it does not.
#[track_caller]
fn against_managed(managed: &str, lower: &str, overruled: &[&str]) -> Settings {
    let resolved = Settings::resolve(&[
        (Layer::Managed, "m", Ok(managed)),
        (Layer::Project, "p", Ok(lower)),
    ]);
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    let keys: Vec<_> = resolved
        .overruled
        .iter()
        .map(|o| o.split('`').nth(1).unwrap())
        .collect();
    assert_eq!(keys, overruled);
    resolved.settings
}

#[test]
fn nothing_weakens_the_managed_file() {
    let settings = against_managed(
        "mode: enforce\non_error: closed\nquarantine: true\narchive: {runs: 5}\ncompletion: warn",
        "mode: off\non_error: open\nquarantine: false\narchive: {runs: 1}\ncompletion: block",
        &["mode", "quarantine", "on_error", "archive.runs"],
    );
    assert_eq!(
        (settings.mode, settings.on_error),
        (Mode::Enforce, OnError::Closed)
    );
    assert_eq!(
        (settings.completion, settings.archive_runs),
        (Completion::Block, 5)
    );

    let lower = "systems: {devt: {enabled: false}, session: {mode: warn}}";
    let overruled = ["systems.devt.enabled", "systems.session.mode"];
    let settings = against_managed("mode: enforce", lower, &overruled);
    assert_eq!(settings.mode_of("devt"), Mode::Enforce);
    assert_eq!(settings.mode_of("session"), Mode::Enforce);

    let settings = against_managed("systems: {devt: {mode: warn}}", "mode: off", &[]);
    assert_eq!(
        (settings.mode_of("devt"), settings.mode_of("session")),
        (Mode::Warn, Mode::Off)
    );

    let managed = "systems: {devt: {contract: '0.83', extra_names: [a]}, n: {site: n}}";
    let lower = "systems: {devt: {contract: '0.244', extra_names: [b]}, n: {site: m}}";
    let overruled = [
        "systems.devt.contract",
        "systems.devt.extra_names",
        "systems.n.site",
    ];
    let settings = against_managed(managed, lower, &overruled);
    assert_eq!(settings.system("devt").extra_names, ["a"]);
    assert_eq!(settings.system("devt").contract, Edition::V083);
}

#[test]
fn what_the_managed_file_switches_on_stays_on() {
    let managed = "systems: {devt: {enabled: true}}";
    for (lower, overruled, mode) in [
        (
            "systems: {devt: {mode: off}}",
            &["systems.devt.mode"][..],
            Mode::Enforce,
        ),
        (
            "systems: {devt: {enabled: false}}",
            &["systems.devt.enabled"],
            Mode::Enforce,
        ),
        ("mode: off", &["mode: off"], Mode::Warn),
        ("mode: warn", &[], Mode::Warn),
        ("systems: {devt: {mode: warn}}", &[], Mode::Warn),
        (
            "mode: off\nsystems: {devt: {mode: enforce}}",
            &[],
            Mode::Enforce,
        ),
    ] {
        let settings = against_managed(managed, lower, overruled);
        assert_eq!(settings.mode_of("devt"), mode, "{lower}");
    }
    // A system that it declares is on.
    for (lower, overruled, mode) in [
        (
            "systems: {n: {enabled: false}}",
            &["systems.n.enabled"][..],
            Mode::Enforce,
        ),
        (
            "systems: {n: {mode: off}}",
            &["systems.n.mode"],
            Mode::Enforce,
        ),
        ("mode: off", &["mode: off"], Mode::Warn),
    ] {
        let settings = against_managed("systems: {n: {site: n}}", lower, overruled);
        assert_eq!(settings.mode_of("n"), mode, "{lower}");
    }
    let managed = "systems: {n: {site: n, enabled: false}}";
    let settings = against_managed(managed, "archive: {runs: 5}", &[]);
    assert_eq!(settings.mode_of("n"), Mode::Off);
    // It is not on in the managed file itself.
    for managed in [
        "mode: off\nsystems: {devt: {enabled: true}}",
        "systems: {devt: {enabled: true, mode: off}}",
    ] {
        let settings = against_managed(managed, "archive: {runs: 5}", &[]);
        assert_eq!(settings.mode_of("devt"), Mode::Off, "{managed}");
    }
}

#[test]
fn a_broken_managed_file_still_holds_the_built_in_rules() {
    for managed in [Ok("mode: ["), Err("permission denied")] {
        let layers = [
            (Layer::Managed, "m", managed),
            (Layer::Project, "p", Ok("systems: {n: {site: n}}")),
            (Layer::Local, "l", Ok("mode: off")),
        ];
        let resolved = Settings::resolve(&layers);
        assert_eq!(resolved.settings.mode, Mode::Enforce);
        assert_eq!((resolved.problems.len(), resolved.overruled.len()), (1, 1));
        assert_eq!(
            resolved.settings.declared().count(),
            1,
            "what others say stands"
        );
    }
}

/// The keys a struct of the file takes, as its parser lists them.
fn keys_of(place: &str) -> BTreeSet<String> {
    let problem = File::parse(&place.replace('@', "zzz: 1")).unwrap_err();
    let words = problem.split('`').skip(1).step_by(2).map(str::to_owned);
    words.filter(|word| word != "zzz").collect()
}

#[test]
fn the_schema_has_exactly_the_keys_of_the_file() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../settings.schema.json")).unwrap();
    let keys = |pointer: &str| -> BTreeSet<String> {
        schema
            .pointer(pointer)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(keys("/properties"), keys_of("@"));
    assert_eq!(
        keys("/properties/archive/properties"),
        keys_of("archive: {@}")
    );
    assert_eq!(keys("/properties/log/properties"), keys_of("log: {@}"));
    let systems = keys("/properties/systems/properties");
    assert_eq!(
        systems,
        crate::systems::ids()
            .into_iter()
            .map(str::to_owned)
            .collect()
    );
    let of_systems: BTreeSet<_> = [
        "/definitions/declared/properties",
        "/definitions/builtIn/properties",
        "/properties/systems/properties/devt/properties",
        "/properties/systems/properties/groups/properties",
    ]
    .into_iter()
    .flat_map(keys)
    .collect();
    assert_eq!(of_systems, keys_of("systems: {devt: {@}}"));
}

#[test]
fn the_schema_has_exactly_the_values_of_the_enums() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../settings.schema.json")).unwrap();
    let mut checked = 0;
    for (key, place) in [
        ("/definitions/mode", "mode: zzz"),
        ("/properties/completion", "completion: zzz"),
        ("/properties/dispatch", "dispatch: zzz"),
        ("/properties/on_error", "on_error: zzz"),
    ] {
        let values = schema.pointer(key).unwrap()["enum"].as_array().unwrap();
        let values: BTreeSet<_> = values
            .iter()
            .map(|v| v.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(values, keys_of(place), "{key}");
        checked += values.len();
    }
    assert_eq!(checked, 11);
}
