//! The ids and the excerpts of records.

use std::collections::BTreeSet;

use crate::support::{DEVT, Sandbox};

#[test]
fn ids_are_unique_and_in_the_order_of_time() {
    let sandbox = Sandbox::new();
    for n in 0..20 {
        sandbox.hook(&sandbox.write_event(&format!(".devt/state/n{n}.md"), "x"));
    }
    let records = sandbox.records(DEVT);
    let names: Vec<String> = (0..20).map(|n| format!("n{n}.md")).collect();
    let mut by_id = records.clone();
    by_id.sort_by_key(|record| record["id"].as_str().unwrap().to_owned());
    let found: Vec<&str> = by_id
        .iter()
        .map(|record| record["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, names);
    let ids: BTreeSet<&str> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 20);
    let form = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$").unwrap();
    for record in &records {
        assert!(form.is_match(record["ts"].as_str().unwrap()), "{record}");
    }
}

#[test]
fn the_excerpt_of_a_command_is_short() {
    let sandbox = Sandbox::new();
    for command in [
        format!("echo {} > .devt/state/notes.md", "é".repeat(500)),
        format!("{} > .devt/state/notes.md", "echo a; ".repeat(500)),
    ] {
        sandbox.denied(&sandbox.bash_event(&command), "ad-hoc-name");
        let found = sandbox.records(DEVT).pop().unwrap();
        let excerpt = found["command_excerpt"].as_str().unwrap();
        assert!(excerpt.chars().count() <= 200, "{excerpt}");
    }
}
