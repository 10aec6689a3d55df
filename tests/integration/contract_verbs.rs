//! `contract show` and `contract test`.

use serde_json::{Value, json};

use crate::support::{DEVT, Ran, Sandbox, assert_has};

const EXAMPLE: &str = include_str!("../fixtures/contract/example.yaml");

fn test(sandbox: &Sandbox, table: &str) -> Ran {
    sandbox.write("expectations.yaml", table);
    sandbox.run("contract test expectations.yaml")
}

#[test]
fn the_example_holds() {
    let sandbox = Sandbox::new();
    let ran = test(&sandbox, EXAMPLE);
    assert_eq!(
        (ran.code(), ran.stdout().as_str()),
        (0, "12 tests, 0 failed\n")
    );
    assert!(!sandbox.exists(DEVT), "a test is no denial");
}

#[test]
fn a_mismatch_is_a_diff() {
    let sandbox = Sandbox::new();
    let ran = test(
        &sandbox,
        "- {path: .devt/state/plan.md, expect: allow}\n- {path: .devt/state/notes.md, agent: tester, expect: allow}\n",
    );
    assert_eq!(ran.code(), 1);
    let text = ran.stdout();
    assert!(
        text.starts_with(
            "test 2: `.devt/state/notes.md` by tester\n- allow\n+ deny (ad-hoc-name)\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("2 tests, 1 failed\n"), "{text}");
    let document = sandbox.run("contract test expectations.yaml --json").json();
    assert_eq!(
        (&document["ok"], &document["failed"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(document["tests"][1]["rule"], "ad-hoc-name");
}

#[test]
fn a_code_must_be_the_one() {
    let sandbox = Sandbox::new();
    for (expect, code) in [
        ("deny", 0),
        ("ad-hoc-name", 0),
        ("wrong-writer", 1),
        ("warn", 1),
        ("allow", 1),
    ] {
        let ran = test(
            &sandbox,
            &format!("- {{path: .devt/state/notes.md, expect: {expect}}}\n"),
        );
        assert_eq!(ran.code(), code, "{expect}");
    }
    sandbox.write(".claude/statewarden.yaml", "mode: warn\n");
    let ran = test(&sandbox, "- {path: .devt/state/notes.md, expect: warn}\n");
    assert_eq!(ran.code(), 0, "{}", ran.stdout());
}

#[test]
fn a_broken_table_is_an_error_that_says_where() {
    let sandbox = Sandbox::new();
    for (table, says) in [
        ("", "not a list"),
        ("[]", "empty"),
        ("- {path: [", "no table of tests"),
        (
            "- {path: a, expect: allow}\n- {paht: a, expect: deny}",
            "test 2: unknown key `paht`",
        ),
        ("- {path: a}", "`expect` is missing"),
        ("- {expect: allow}", "either `path` or `command`"),
        (
            "- {path: a, command: b, expect: allow}",
            "either `path` or `command`",
        ),
        (
            "- {command: b, tool: Write, expect: allow}",
            "not with `command`",
        ),
        ("- {path: a, expect: refuse}", "`expect: refuse` is none of"),
        ("- {path: 7, expect: allow}", "`path` is not a text"),
        ("- {path: a, tool: Read, expect: allow}", "`tool: Read`"),
    ] {
        let ran = test(&sandbox, table);
        assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""), "{table}");
        assert!(ran.stderr().contains(says), "{table}: {}", ran.stderr());
    }
}

fn row<'d>(contract: &'d Value, name: &str) -> &'d Value {
    let rows = contract["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no row `{name}`"))
}

#[test]
fn every_row_says_where_it_comes_from() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  devt: {extra_names: [team.md], subdirectories: [team]}\n  groups: {roles: {builder: developer}}\n",
    );
    sandbox.write(
        ".claude/statewarden.local.yaml",
        "systems:\n  devt: {extra_globs: ['mine-*.md']}\n  ops: {site: 'ops/*', canonical: ['*.log']}\n",
    );
    let shared = sandbox.path(".claude/statewarden.yaml");
    let local = sandbox.path(".claude/statewarden.local.yaml");
    let document = sandbox.run("contract show --json").json();
    let contracts = document["contracts"].as_array().unwrap();
    let of = |system: &str| contracts.iter().find(|c| c["system"] == system).unwrap();
    let devt = of("devt");
    assert_eq!(
        (&devt["edition"], &devt["sites"]),
        (&json!("0.83"), &json!([sandbox.path(".devt/state")]))
    );
    for (name, bucket, from) in [
        ("scratchpad.md", "canonical", "built in"),
        ("team.md", "canonical", shared.as_str()),
        ("mine-*.md", "pattern_allowed", local.as_str()),
    ] {
        let row = row(devt, name);
        assert_eq!(
            (&row["bucket"], &row["from"]),
            (&json!(bucket), &json!(from)),
            "{name}"
        );
    }
    let dirs = devt["directories"].as_array().unwrap();
    assert!(
        dirs.contains(&json!({"path": "team", "kind": "open", "from": shared})),
        "{dirs:?}"
    );
    let role = json!({"agent": "builder", "role": "developer", "from": shared});
    assert!(of("groups")["roles"].as_array().unwrap().contains(&role));
    assert_eq!(row(of("ops"), "*.log")["from"], json!(local));
    assert_eq!(of("groups")["edition"], Value::Null);
}

#[test]
fn one_site_at_a_time() {
    let sandbox = Sandbox::new();
    let systems = |args: &[&str]| -> Vec<String> {
        let document = sandbox
            .run(&[&["contract", "show", "--json"], args].concat())
            .json();
        let contracts = document["contracts"].as_array().unwrap();
        contracts
            .iter()
            .map(|c| c["system"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(systems(&[".devt/state"]), ["devt"]);
    assert_eq!(
        systems(&["apps/new/.devt/state/"]),
        ["devt"],
        "it need not exist"
    );
    assert_eq!(systems(&["--system", "groups"]), ["groups"]);
    for (dir, said) in [
        ("src", "is no state directory"),
        ("devt", "of a system say `--system devt`"),
    ] {
        let ran = sandbox.run(&["contract", "show", dir]);
        assert_eq!(ran.code(), 2);
        assert_has(&ran.stderr(), said);
    }
    let text = sandbox.run("contract show .devt/state").stdout();
    assert_has(&text, "    scratchpad.md ");
}
