//! What later layers change, and what the managed file holds fast.

use super::*;
use crate::contract::denial::Mode;
use crate::contract::edition::Edition;
use crate::formats::yaml;
use crate::settings::merge::Layer;
use crate::systems::system;

#[test]
fn later_layers_win_key_by_key() {
    accepts("systems: {my-notes-2: {site: notes}}");
    let resolved = Settings::resolve(
        &[
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
        ],
        &system::known(),
    );
    assert!(resolved.problems.is_empty(), "{:?}", resolved.problems);
    let settings = resolved.settings;
    assert_eq!(
        (settings.mode, settings.completion),
        (Mode::Warn, Strictness::Off)
    );
    assert_eq!(settings.mode_of("devt"), Mode::Warn);
    assert_eq!(settings.system("devt").extra_names, ["a"]);
    assert_eq!(settings.mode_of("n"), Mode::Off);
}

#[test]
fn each_key_knows_its_file() {
    let resolved = Settings::resolve(
        &[
            (Layer::Managed, "m", Ok("mode: enforce\nundo: names\n")),
            (
                Layer::User,
                "u",
                Ok("undo: exclusive\nsystems: {devt: {extra_names: [a]}}\n"),
            ),
            (
                Layer::Project,
                "p",
                Ok("mode: warn\nstrict: true\nlog: {max_bytes: 70000}\n\
                    systems: {devt: {mode: enforce, extra_names: [b]}, c: {canonical: [d]}}\n"),
            ),
            (
                Layer::Contract,
                "c",
                Ok("systems: {c: {site: c, canonical: [b]}}\n"),
            ),
            (Layer::Local, "l", Ok("archive: {runs: 0}\n")),
        ],
        &system::known(),
    );
    let origins = resolved.origins.iter();
    let expected = [
        ("log.max_bytes", "p"),
        ("mode", "m"),
        ("systems.c.canonical", "p"),
        ("systems.c.site", "c"),
        ("systems.devt.extra_names", "p"),
        ("systems.devt.mode", "p"),
        ("undo", "u"),
    ];
    assert!(origins.map(|(key, file)| (&**key, &**file)).eq(expected));
    assert_eq!(resolved.ignored, ["l"]);
}

#[test]
fn every_key_has_an_origin() {
    let text = include_str!("../every-key.yaml");
    let file = File::parse(text).unwrap();
    let all: serde_json::Value = yaml::parse_as(text).unwrap();
    let mut keys: Vec<String> = Vec::new();
    for (key, value) in all.as_object().unwrap() {
        let below = value.as_object().into_iter().flatten();
        match key.as_str() {
            "systems" => below.for_each(|(id, system)| {
                let named = system.as_object().unwrap().keys();
                keys.extend(named.map(|name| format!("systems.{id}.{name}")));
            }),
            "archive" | "log" | "evidence" => {
                keys.extend(below.map(|(name, _)| format!("{key}.{name}")))
            }
            _ => keys.push(key.clone()),
        }
    }
    let mut found = file.keys();
    keys.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, keys);
}

/// A key, a weaker or earlier value, and a stronger or later one: all but `systems`, and what
/// has a rule of its own: `strict`, which a project cannot set, and `evidence.commands`.
const KEYS: [(&str, &str, &str); 9] = [
    ("mode", "warn", "enforce"),
    ("completion", "warn", "block"),
    ("dispatch", "warn", "block"),
    ("undo", "names", "exclusive"),
    ("recorder", "off", "on"),
    ("evidence.mode", "record", "require"),
    ("on_error", "open", "closed"),
    ("archive.runs", "7", "9"),
    ("log.max_bytes", "70000", "80000"),
];

/// A file that sets one key.
fn setting((key, value): (&str, &str)) -> String {
    match key.split_once('.') {
        Some((above, key)) => format!("{above}: {{{key}: {value}}}\n"),
        None => format!("{key}: {value}\n"),
    }
}

#[test]
fn every_key_is_put_over_an_earlier_one_and_held_by_the_managed_file() {
    let file = File::parse(include_str!("../every-key.yaml")).unwrap();
    let mut all: Vec<String> = file.keys();
    let has_its_own = ["strict", "evidence.commands"];
    all.retain(|key| !key.starts_with("systems.") && !has_its_own.contains(&key.as_str()));
    all.sort_unstable();
    let mut tried = KEYS.map(|(key, ..)| key);
    tried.sort_unstable();
    assert_eq!(tried.to_vec(), all);
    for (key, weak, strong) in KEYS {
        let (weak, strong) = (setting((key, weak)), setting((key, strong)));
        let resolved = Settings::resolve(
            &[
                (Layer::Project, "p", Ok(&weak)),
                (Layer::Local, "l", Ok(&strong)),
            ],
            &system::known(),
        );
        assert_eq!(resolved.settings, accepts(&strong), "{strong}");
        assert_eq!(against_managed(&strong, &weak, &[key]), accepts(&strong));
        assert_eq!(against_managed(&weak, &strong, &[]), accepts(&strong));
    }
    let (managed, lower) = ("[make check]", "[make check, make test]");
    let [managed, lower] = [managed, lower].map(|value| setting(("evidence.commands", value)));
    let settings = against_managed(&managed, &lower, &["evidence.commands"]);
    assert_eq!(settings, accepts(&managed));
}

#[test]
fn every_key_of_a_system_is_put_over_an_earlier_one() {
    let devt = "contract: '0.83', extra_names: [a], extra_globs: [a-*], subdirectories: [a]";
    let n = "site: s, canonical: [a], patterns: [a-*], ephemeral: [a.x], owners: {a: [b]}";
    let groups = "enabled: true, mode: warn, roots: [a], roles: {a: tester}";
    for (id, all, later) in [
        ("devt", devt, "contract: '0.244'"),
        ("devt", devt, "extra_names: [z]"),
        ("devt", devt, "extra_globs: [z-*]"),
        ("devt", devt, "subdirectories: [z]"),
        ("groups", groups, "enabled: false"),
        ("groups", groups, "mode: enforce"),
        ("groups", groups, "roots: [z]"),
        ("groups", groups, "roles: {z: tester}"),
        ("n", n, "site: z"),
        ("n", n, "canonical: [z]"),
        ("n", n, "patterns: [z-*]"),
        ("n", n, "ephemeral: [z.x]"),
        ("n", n, "owners: {z: [b]}"),
    ] {
        let whole = |keys: &str| format!("systems: {{{id}: {{{keys}}}}}\n");
        let (key, value) = later.split_once(": ").unwrap();
        let (before, rest) = all.split_once(&format!("{key}: ")).unwrap();
        let (_, behind) = rest.split_once(", ").unwrap_or_default();
        let replaced = format!("{before}{key}: {value}, {behind}");
        let resolved = Settings::resolve(
            &[
                (Layer::Project, "p", Ok(&whole(all))),
                (Layer::Local, "l", Ok(&whole(later))),
            ],
            &system::known(),
        );
        assert_eq!(resolved.problems, [""; 0], "{later}");
        let mut expected = accepts(&whole(&replaced));
        for (id, system) in &mut expected.systems {
            if let Some(declared) = &mut system.declared {
                let by = &resolved.settings.system(id).declared.as_ref().unwrap().by;
                declared.edit(|rules| rules.by = by.clone());
            }
        }
        assert_eq!(resolved.settings, expected, "{replaced}");
    }
}

/// What a project file gets through against a managed one, and what it does not.
#[track_caller]
fn against_managed(managed: &str, lower: &str, overruled: &[&str]) -> Settings {
    let resolved = Settings::resolve(
        &[
            (Layer::Managed, "m", Ok(managed)),
            (Layer::Project, "p", Ok(lower)),
        ],
        &system::known(),
    );
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
        "mode: enforce\non_error: closed\nundo: names\narchive: {runs: 5}\ncompletion: warn",
        "mode: off\non_error: open\nundo: off\narchive: {runs: 1}\ncompletion: block",
        &["mode", "undo", "on_error", "archive.runs"],
    );
    assert_eq!(
        (settings.mode, settings.on_error),
        (Mode::Enforce, OnError::Closed)
    );
    assert_eq!(
        (settings.completion, settings.archive_runs),
        (Strictness::Block, 5)
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
    let lower = "systems: {devt: {contract: '0.244', extra_names: [b]}, n: {site: m, open: true}}";
    let overruled = [
        "systems.devt.contract",
        "systems.devt.extra_names",
        "systems.n.site",
        "systems.n.open",
    ];
    let settings = against_managed(managed, lower, &overruled);
    assert_eq!(settings.system("devt").extra_names, ["a"]);
    assert_eq!(settings.system("devt").contract, Some(Edition::V083));
    against_managed(managed, "systems: {devt: {extra_names: [a]}}", &[]);
    let lower = "systems: {devt: {enabled: false}}";
    against_managed("mode: off", lower, &[]);
}

#[test]
fn what_the_managed_file_switches_on_stays_on() {
    // A system that it declares is on without a word.
    for (id, managed) in [("devt", "enabled: true"), ("n", "site: n")] {
        let managed = format!("systems: {{{id}: {{{managed}}}}}");
        let off = format!("systems.{id}.mode");
        let disabled = format!("systems.{id}.enabled");
        for (lower, overruled, mode) in [
            (
                "systems: {@: {mode: off}}",
                &[off.as_str()][..],
                Mode::Enforce,
            ),
            (
                "systems: {@: {enabled: false}}",
                &[&disabled],
                Mode::Enforce,
            ),
            ("mode: off", &["mode: off"], Mode::Warn),
            ("mode: warn", &[], Mode::Warn),
            ("systems: {@: {mode: warn}}", &[], Mode::Warn),
            (
                "mode: off\nsystems: {@: {mode: enforce}}",
                &[],
                Mode::Enforce,
            ),
        ] {
            let lower = lower.replace('@', id);
            let settings = against_managed(&managed, &lower, overruled);
            assert_eq!(settings.mode_of(id), mode, "{lower}");
        }
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
        let resolved = Settings::resolve(&layers, &system::known());
        assert_eq!(resolved.settings.mode, Mode::Enforce);
        assert_eq!((resolved.problems.len(), resolved.overruled.len()), (1, 1));
        assert_eq!(
            resolved.settings.declared().count(),
            1,
            "what others say stands"
        );
    }
}

/// A project neither switches it on nor off, and the managed file holds it on.
#[test]
fn strict_is_for_the_user_and_the_machine() {
    let strict = |layers: &[(Layer, &str)]| {
        let layers: Vec<_> = layers
            .iter()
            .map(|(layer, text)| (*layer, "f", Ok(*text)))
            .collect();
        let resolved = Settings::resolve(&layers, &system::known());
        (resolved.settings.strict, resolved.overruled.len())
    };
    let (on, off) = ("strict: true", "strict: false");
    assert_eq!(strict(&[]), (false, 0));
    assert_eq!(strict(&[(Layer::User, on)]), (true, 0));
    assert_eq!(strict(&[(Layer::Managed, on)]), (true, 0));
    assert_eq!(
        strict(&[(Layer::Managed, on), (Layer::User, off)]),
        (true, 1)
    );
    assert_eq!(
        strict(&[(Layer::Managed, off), (Layer::User, on)]),
        (true, 0)
    );
    for layer in [Layer::Project, Layer::Local] {
        assert_eq!(strict(&[(Layer::User, on), (layer, off)]), (true, 1));
        assert_eq!(strict(&[(layer, on)]), (false, 1));
    }
}
