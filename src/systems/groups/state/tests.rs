use super::*;

fn change(files: &[(&str, &str)]) -> ChangeState {
    let text = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    derive(
        &|path| match text(path).as_deref() {
            Some(NOT_UTF8) => Err("it is not UTF-8".to_owned()),
            _ => Ok(text(path)),
        },
        &Vec::new,
    )
    .unwrap()
}

fn groups(files: &[(&str, &str)]) -> Vec<Group> {
    change(files).groups
}

/// Stands for a text that is none.
const NOT_UTF8: &str = "\u{fffd}";

/// `expected`: state, `+` for rework, round.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &str) {
    let group = groups(files).remove(0);
    let state = group.state.as_str();
    let rework = if group.rework { "+" } else { "" };
    let round = group
        .round
        .map_or(String::new(), |round| format!(" {round}"));
    assert_eq!(format!("{state}{rework}{round}"), expected);
    assert!(!group.next.is_empty() && !group.reasons.is_empty());
}

const OPEN: (&str, &str) = ("tasks.md", "## 1. A\n- [ ] a\n- [ ] b\n");
const HALF: (&str, &str) = ("tasks.md", "## 1. A\n- [x] a\n- [ ] b\n");
const DONE: (&str, &str) = ("tasks.md", "## 1. A\n- [x] a\n- [x] b\n");
const PASS: (&str, &str) = ("test-reports/1.md", "**Status:** PASS\n");
const FAIL: (&str, &str) = ("test-reports/1.md", "**Status:** FAIL\n");
const APPROVED: (&str, &str) = (
    "review/1.md",
    "**Status:** APPROVED\n**Reviewer Round:** 2\n",
);
const REJECTED: (&str, &str) = (
    "review/1.md",
    "**Status:** REJECTED\n**Reviewer Round:** 3\n",
);

#[test]
fn the_files_decide() {
    check(&[OPEN], "PENDING");
    check(&[OPEN, PASS], "PENDING");
    check(&[OPEN, PASS, APPROVED], "DEVELOPING 2");
    check(&[HALF], "DEVELOPING");
    check(&[HALF, PASS, APPROVED], "DEVELOPING 2");
    check(&[HALF, FAIL], "DEVELOPING+");
    check(&[DONE], "TESTING");
    check(&[DONE, APPROVED], "TESTING 2");
    check(&[DONE, FAIL], "DEVELOPING+");
    check(&[DONE, ("test-reports/1.md", "")], "DEVELOPING+");
    check(&[DONE, PASS], "REVIEWING");
    check(&[DONE, PASS, APPROVED], "GROUP_DONE 2");
    check(&[DONE, FAIL, APPROVED], "DEVELOPING+ 2");
    check(
        &[DONE, PASS, ("review/1.md", "**Status:** REJECTED")],
        "DEVELOPING+",
    );
    let both = "**Status:** APPROVED\n**Status:** REJECTED";
    check(&[DONE, PASS, ("review/1.md", both)], "DEVELOPING+");
    check(&[DONE, PASS, REJECTED], "ESCALATION+ 3");
    check(&[HALF, FAIL, REJECTED], "ESCALATION+ 3");
    let late = APPROVED.1.replace('2', "3");
    check(&[DONE, PASS, ("review/1.md", &late)], "GROUP_DONE 3");
    check(
        &[DONE, PASS, APPROVED, ("STUCK.md", "Group 10 waits")],
        "GROUP_DONE 2",
    );
    check(
        &[DONE, PASS, APPROVED, ("STUCK.md", "Groups 1-3 wait")],
        "STUCK 2",
    );
    check(&[("tasks.md", "## 1. A\n")], "ERROR");
    check(&[("tasks.md", "## 0. A\n- [x] a")], "ERROR");
    let half = ("tasks.md", "## 1. A\n- [x] a\n- [-] b\n");
    check(&[half, PASS, APPROVED], "DEVELOPING 2");
    let elsewhere = ("tasks.md", "## 1. A\n- [x] a\n## 2. B\n- [ ] 1.2 b\n");
    check(&[elsewhere, PASS, APPROVED], "DEVELOPING 2");
    check(&[DONE, ("STUCK.md", "Task 1.2 fails")], "STUCK");
    check(&[DONE, ("STUCK.md", "the login fails")], "TESTING");
    check(&[DONE, ("test-reports/1.md", NOT_UTF8)], "DEVELOPING+");
    check(&[DONE, PASS, ("review/1.md", NOT_UTF8)], "DEVELOPING+");
    check(
        &[
            ("tasks.md", "## 1. A\n- [x] a\n## 1. B\n- [x] a"),
            PASS,
            APPROVED,
        ],
        "ERROR 2",
    );
}

#[test]
fn reasons_and_what_comes_next_are_told() {
    let told = |files: &[(&str, &str)]| {
        let group = groups(files).remove(0);
        group.reasons.join("; ") + " -> " + &group.next
    };
    let stuck = ("STUCK.md", "group 1");
    for (files, part) in [
        (&[DONE, stuck][..], "; `STUCK.md` names group 1 -> a person"),
        (
            &[("tasks.md", "## 0. A\n- [x] a")],
            "; groups are numbered from 1 -> number the groups in `tasks.md` from 1",
        ),
        (
            &[("tasks.md", "## 1. A\n- [~] 1.1\n- [] 2.1\n## 2. B")],
            "checked; open, since only `[x]` is done: `[~]` in line 2, `[]` in line 3; \
             numbered for another group: 2.1 in line 3 ->",
        ),
        (
            &[("tasks.md", "## 2. B\n- [x] b\n## 1. A\n- [ ] 2.1")],
            "checked; open tasks of this group elsewhere: 2.1 in line 4 ->",
        ),
        (
            &[DONE, PASS, ("review/1.md", NOT_UTF8)],
            "`review/1.md` cannot be read: it is not UTF-8 -> have `review/1.md` written",
        ),
        (
            &[DONE, ("STUCK.md", "the login fails")],
            "checked; `STUCK.md` names no `Group N` -> dispatch the tester",
        ),
        (
            &[DONE, ("STUCK.md", NOT_UTF8)],
            "checked; `STUCK.md` cannot be read: it is not UTF-8 ->",
        ),
        (
            &[("tasks.md", "## 1. A\n- [x] a\n## 1. B\n- [x] a")],
            "checked; `tasks.md` has 2 headings with number 1 -> repair",
        ),
        (&[DONE], "checked -> dispatch the tester"),
        (
            &[DONE, PASS, APPROVED],
            "`test-reports/1.md` says PASS; `review/1.md` says APPROVED in round 2 ->",
        ),
        (
            &[DONE, ("test-reports/1.md", "")],
            "-> have `test-reports/1.md` written again",
        ),
        (
            &[HALF, ("test-reports/1.md", "")],
            "-> dispatch the developer",
        ),
    ] {
        let told = told(files);
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn the_first_open_group_is_the_phase() {
    let of = |files: &[(&str, &str)]| {
        let workflow = workflow(&change(files), "c");
        let phase = workflow.phase.unwrap_or_default();
        format!("{} {phase}: {}", workflow.active, workflow.next)
    };
    let two = ("tasks.md", "## 1. A\n- [x] a\n## 2. B\n- [ ] b\n");
    let next = "true group 2: dispatch the developer for group 2";
    assert_eq!(of(&[two, PASS, APPROVED]), next);
    let next = "false group 1: dispatch the developer for group 1";
    assert_eq!(of(&[OPEN]), next);
    let next = "false : every group is done; archive the change";
    assert_eq!(of(&[DONE, PASS, APPROVED]), next);
    let open = ("tasks.md", "- [ ] z\n## 1. A\n- [x] a\n## Later\n- [ ] b\n");
    let next = "true : every group is done, the change is not: open boxes that belong to no \
                group: 2, in line 1, 5; move them below a heading `## N. Name`";
    assert_eq!(of(&[open, PASS, APPROVED]), next);
    let none = of(&[("tasks.md", "# Tasks\n")]);
    assert!(
        none.starts_with("false : give `tasks.md` its groups"),
        "{none}"
    );
}

#[test]
fn no_tasks_is_not_no_groups() {
    assert_eq!(derive(&|_| Ok(None), &Vec::new), None);
    assert_eq!(groups(&[("tasks.md", "# Tasks\n")]), []);
}

/// The crash of the course: four boxes checked, PASS, no review. The run
/// goes on with the reviewer and repeats nothing.
#[test]
fn a_crash_before_the_review_resumes_with_the_reviewer() {
    let tasks = "## 1. Core\n- [x] 1.1 a\n- [x] 1.2 b\n- [x] 1.3 c\n- [x] 1.4 d\n";
    let mut files = vec![("tasks.md", tasks), PASS];
    let found = groups(&files);
    let json = serde_json::to_value(&found[0]).unwrap();
    let expected = serde_json::json!({
        "group": 1, "name": "Core", "state": "REVIEWING", "rework": false, "round": null,
        "reasons": ["4 of 4 boxes are checked", "`test-reports/1.md` says PASS"],
        "next": "dispatch the reviewer, who writes `review/1.md`",
    });
    assert_eq!(json, expected);
    let due = ("review/1.md".to_owned(), "group 1 waits for it".to_owned());
    assert_eq!(owed(&found, ReportKind::Review), [due]);
    assert_eq!(owed(&found, ReportKind::TestReport), []);
    files.push(APPROVED);
    assert_eq!(groups(&files)[0].state, GroupState::GroupDone);
}

#[test]
fn a_malformed_report_is_owed_again() {
    let paths = |files: &[(&str, &str)], kind| {
        owed(&groups(files), kind)
            .into_iter()
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    };
    let broken = ("test-reports/1.md", "✅");
    assert_eq!(
        paths(&[DONE], ReportKind::TestReport),
        ["test-reports/1.md"]
    );
    assert_eq!(
        paths(&[DONE, broken], ReportKind::TestReport),
        ["test-reports/1.md"]
    );
    assert_eq!(
        paths(&[DONE, PASS, ("review/1.md", "")], ReportKind::Review),
        ["review/1.md"]
    );
    let (_, why) = owed(&groups(&[DONE, broken]), ReportKind::TestReport).remove(0);
    assert!(why.contains("write one line `**Status:** PASS`"), "{why}");
    let stuck = ("STUCK.md", "group 1");
    assert_eq!(
        paths(&[DONE, broken, stuck], ReportKind::TestReport),
        [""; 0]
    );
}

#[test]
fn the_fixtures_are_read_as_recommended() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/groups");
    let mut n_cases = 0;
    for case in std::fs::read_dir(root).unwrap() {
        let case = case.unwrap().path();
        let expected = std::fs::read_to_string(case.join("expected.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        let groups = derive(
            &|path| Ok(std::fs::read_to_string(case.join(path)).ok()),
            &Vec::new,
        )
        .unwrap();
        let groups = groups.groups;
        let number = expected["group"].as_u64().unwrap();
        let group = groups
            .iter()
            .find(|group| u64::from(group.group) == number)
            .unwrap();
        let state = serde_json::to_value(group.state).unwrap();
        assert_eq!(state, expected["recommended"], "{}", case.display());
        let rework = expected["warnings"]
            .as_array()
            .unwrap()
            .contains(&"rework".into());
        assert!(group.rework || !rework, "{}", case.display());
        n_cases += 1;
    }
    assert_eq!(n_cases, 12);
}
