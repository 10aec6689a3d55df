//! Who plays which role in the files of task groups.

use super::*;

/// The roles of the group files: everyone who plays one of them.
const DEVELOPERS: &str = "developer developer-deep Developer_Deep dev:developer programmer coder";

const TESTERS: &str = "tester tester-unit qa QA";

const REVIEWERS: &str = "reviewer code-reviewer code_reviewer";

#[test]
fn group_files_are_written_by_role() {
    let site = Site::new("openspec/changes/add-login");
    site.check(DEVELOPERS, "allow", "tasks.md");
    site.check(
        DEVELOPERS,
        "wrong-writer",
        "test-reports/1.md review/1.md STUCK.md e2e-report.md",
    );
    site.check(TESTERS, "allow", "test-reports/12.md e2e-report.md");
    site.check(TESTERS, "wrong-writer", "tasks.md review/1.md STUCK.md");
    site.check(REVIEWERS, "allow", "review/3.md");
    site.check(
        REVIEWERS,
        "wrong-writer",
        "tasks.md test-reports/3.md STUCK.md e2e-report.md",
    );
    site.check("architect", "allow", "tasks.md STUCK.md");
    site.check(
        "architect",
        "wrong-writer",
        "test-reports/1.md review/1.md e2e-report.md",
    );
    site.check("e2e-tester e2e_tester", "allow", "e2e-report.md");
    site.check(
        "e2e-tester",
        "wrong-writer",
        "tasks.md test-reports/1.md review/1.md STUCK.md",
    );
    site.check("main", "allow", "tasks.md STUCK.md");
    site.check(
        "main",
        "wrong-writer",
        "test-reports/1.md review/1.md e2e-report.md",
    );
    site.check("general-purpose", "allow", "tasks.md");
    site.check(
        "general-purpose",
        "wrong-writer",
        "test-reports/1.md review/1.md e2e-report.md STUCK.md",
    );
    // The directory itself is open.
    site.check(
        "main developer tester general-purpose",
        "allow",
        "proposal.md design.md specs/a/spec.md",
    );
}

/// Another file is free, but not one that differs from the role's own in a slip alone.
#[test]
fn a_near_miss_of_a_roles_own_file_is_refused() {
    let site = Site::new("openspec/changes/a");
    for (agent, names, right) in [
        (
            "reviewer",
            "reviews/1.md Review/1.md review-1.md reviews_1.md",
            "review/1.md",
        ),
        (
            "qa",
            "test-report/7.md test_reports/7.md test-report-7.md",
            "test-reports/7.md",
        ),
        ("architect", "stuck.md Stuck.md", "STUCK.md"),
        (
            "e2e-tester",
            "e2e_report.md e2e-reports.md E2E-report.md",
            "e2e-report.md",
        ),
        ("developer", "task.md Tasks.md TASKS.MD", "tasks.md"),
    ] {
        site.check(agent, "ad-hoc-name", names);
        let first = names.split(' ').next().unwrap();
        let event = event(&site.sandbox, agent, &format!("openspec/changes/a/{first}"));
        let reason = site.sandbox.denied(&event, "ad-hoc-name");
        assert!(reason.contains(&format!("/a/{right}`")), "{reason}");
        site.check("main general-purpose", "allow", names);
    }
    site.check(
        "developer tester",
        "allow",
        "reviews/1.md review-1.md stuck.md",
    );
    site.check(
        "reviewer",
        "allow",
        "test-report/1.md reviews/auth.md reviews/01.md preview/1.md",
    );
    site.check(
        "reviewer",
        "allow",
        "review.md reviews/a/1.md review-1.txt docs/review-1.md",
    );
}

#[test]
fn a_known_role_with_anothers_file_is_a_role_transgression() {
    let sandbox = Sandbox::new();
    for (agent, path) in [
        ("reviewer", "tasks.md"),
        ("developer", "review/1.md"),
        ("qa", "STUCK.md"),
        ("architect", "test-reports/1.md"),
    ] {
        let path = format!("openspec/changes/a/{path}");
        let reason = sandbox.denied(&event(&sandbox, agent, &path), "wrong-writer");
        assert!(reason.contains("role transgression"), "{agent}: {reason}");
    }
}

#[test]
fn who_has_no_role_is_told_how_the_settings_give_one_and_the_advice_works() {
    for actor in ["main", "general-purpose", "plug:My_Checker"] {
        let sandbox = Sandbox::new();
        let path = "openspec/changes/a/review/1.md";
        let reason = sandbox.denied(&event(&sandbox, actor, path), "wrong-writer");
        let (_, advice) = reason
            .split_once("`systems.groups.roles: {")
            .expect("advice");
        let (agent, _) = advice.split_once(": ROLE}`").expect("an agent and a role");
        let settings = format!("systems: {{groups: {{roles: {{{agent}: reviewer}}}}}}\n");
        sandbox.write(".claude/statewarden.yaml", &settings);
        sandbox.expect(&event(&sandbox, actor, path), "allow");
        let other = "openspec/changes/a/test-reports/1.md";
        sandbox.expect(&event(&sandbox, actor, other), "wrong-writer");
    }
}

#[test]
fn settings_give_agents_roles_in_either_direction_and_win_over_built_in_ones() {
    let site = Site::new("openspec/changes/a");
    site.sandbox.write(
        ".claude/statewarden.yaml",
        "systems:\n  groups:\n    roles:\n      checker: reviewer\n      Coder: architect\n      \
         tester: [my-bot, 'probe-*']\n",
    );
    site.check("checker x:Checker", "allow", "review/1.md");
    site.check("checker", "wrong-writer", "tasks.md test-reports/1.md");
    site.check("my-bot My_Bot probe-1 probe-", "allow", "test-reports/1.md");
    site.check("probe", "wrong-writer", "test-reports/1.md");
    site.check("coder", "allow", "STUCK.md");
    site.check("developer", "wrong-writer", "STUCK.md");
    site.check("tester", "allow", "test-reports/1.md");
    site.check("main", "wrong-writer", "review/1.md");
}

#[test]
fn a_role_for_every_agent_is_none_for_the_main_thread() {
    let site = Site::new("openspec/changes/a");
    site.sandbox.write(
        ".claude/statewarden.yaml",
        "systems: {groups: {roles: {'*': reviewer}}}\n",
    );
    site.check("whoever developer", "allow", "review/1.md");
    site.check("main", "wrong-writer", "review/1.md");
}
