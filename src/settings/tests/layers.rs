//! What later layers change, and what the managed file holds fast.

use super::*;
use crate::contract::denial::Mode;
use crate::contract::edition::Edition;
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

/// A key, a weaker or earlier value, and a stronger or later one.
const KEYS: [(&str, &str, &str); 9] = [
    ("mode", "warn", "enforce"),
    ("completion", "warn", "block"),
    ("dispatch", "warn", "block"),
    ("undo", "names", "exclusive"),
    ("quarantine", "false", "true"),
    ("recorder", "off", "on"),
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
}

#[test]
fn every_key_of_a_system_is_put_over_an_earlier_one() {
    let devt = "contract: '0.83', extra_names: [a], extra_globs: [a-*], subdirectories: [a]";
    let n = "site: a, canonical: [a], patterns: [a-*], ephemeral: [a.x], owners: {a: [b]}";
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
        assert_eq!(resolved.settings, accepts(&whole(&replaced)), "{replaced}");
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
        "systems.n.open",
        "systems.n.site",
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

#[test]
fn the_old_key_for_undo_counts_where_the_new_one_is_missing() {
    let undo = |managed, project| {
        let layers = [
            (Layer::Managed, "m", Ok(managed)),
            (Layer::Project, "p", Ok(project)),
        ];
        Settings::resolve(&layers, &system::known()).settings.undo
    };
    for (managed, project, expected) in [
        ("", "quarantine: true\n", Undo::Names),
        ("", "quarantine: false\n", Undo::Off),
        ("", "quarantine: false\nundo: exclusive\n", Undo::Exclusive),
        ("quarantine: true\n", "undo: off\n", Undo::Names),
        ("quarantine: true\n", "undo: exclusive\n", Undo::Exclusive),
        ("undo: names\n", "quarantine: false\n", Undo::Names),
    ] {
        assert_eq!(undo(managed, project), expected, "{managed}{project}");
    }
}
