//! The text of a line says whether it may write.

use super::{Strict, User};

#[test]
fn what_is_understood_declared_or_gits_may_write() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    sandbox.write(
        "../home/tools/devt-tools.cjs",
        "require('fs').writeFileSync(process.argv[2], 'x')\n",
    );
    sandbox.write(
        "../home/tools/mine.sh",
        "echo x > .devt/state/scratchpad.md\n",
    );
    sandbox.write(
        "../home/.config/statewarden/config.yaml",
        "strict: true\nsystems: {devt: {programs: [mine.sh]}}\n",
    );
    let name = "scratchpad.md";
    for line in [
        "echo x > .devt/state/scratchpad.md",
        "cat > .devt/state/scratchpad.md <<'E'\nx\nE",
        "cd .devt/state && printf x | tee scratchpad.md",
        "f=.devt/state/scratchpad.md; cp .devt/state/plan.md \"$f\"",
        "bash -c 'echo x > .devt/state/scratchpad.md'",
        "node ../home/tools/devt-tools.cjs .devt/state/scratchpad.md",
        "bash ../home/tools/mine.sh && git status",
        "timeout 20 bash ../home/tools/mine.sh | cat",
        "git stash list; bash ../home/tools/mine.sh",
        // Words behind a verb of git's need not be known.
        "git checkout -q $(git rev-parse HEAD); echo x > .devt/state/scratchpad.md",
    ] {
        strict.writes(name, line);
    }
    for line in [
        // Beside a declared program nothing else may.
        "bash ../home/tools/mine.sh; python3 -c pass",
        "python3 -c pass | node ../home/tools/devt-tools.cjs .devt/state/scratchpad.md",
        // Words that are not known.
        "node ../home/tools/devt-tools.cjs $(id -u) .devt/state/scratchpad.md",
        "bash ../home/tools/mine.sh > $(id -u).log",
        "F=$(id -u); echo x > .devt/state/$F.md",
        // Code that runs along.
        "node -r ./x.js ../home/tools/devt-tools.cjs .devt/state/scratchpad.md",
        "NODE_OPTIONS=--no-warnings node ../home/tools/devt-tools.cjs .devt/state/scratchpad.md",
        "PATH=$PWD:$PATH; echo x > .devt/state/scratchpad.md",
        "alias cat='python3'\necho x > .devt/state/scratchpad.md",
        "mkdir bin; cp /bin/true bin/ls; bin/ls; echo x > .devt/state/scratchpad.md",
        "git -c core.fsmonitor=true status; echo x > .devt/state/scratchpad.md",
        "EDITOR='sh -c \"echo x > .devt/state/scratchpad.md\"' git revert HEAD",
        "VISUAL=./x git merge -e b; echo x > .devt/state/scratchpad.md",
        "git pull $(id -u); echo x > .devt/state/scratchpad.md",
        "git rebase -x 'echo x' HEAD; echo x > .devt/state/scratchpad.md",
        "npx ls; echo x > .devt/state/scratchpad.md",
    ] {
        strict.holds(line);
    }
}

/// A checkout that may not change some of the files would leave half of another revision.
#[test]
fn git_brings_whole_revisions() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let sandbox = &strict.sandbox;
    strict.outside("git branch old; echo later >> .devt/state/plan.md; git commit -qam three");
    let newest = sandbox.read(".devt/state/plan.md");
    for (line, plan) in [
        ("git checkout -q old", "# Plan\n"),
        ("git checkout -q -", newest.as_str()),
        ("git reset -q --hard HEAD~1", "# Plan\n"),
        ("git merge -q --ff-only HEAD@{1}", newest.as_str()),
        ("git -C . revert --no-edit HEAD", "# Plan\n"),
    ] {
        strict.bash(line).ends(0);
        assert_eq!(sandbox.read(".devt/state/plan.md"), plan, "{line}");
    }
}

/// This program's own verbs write what they are for.
#[test]
fn own_verbs_write() {
    let Some(strict) = Strict::new(User::This) else {
        return;
    };
    let program = env!("CARGO_BIN_EXE_statewarden");
    strict
        .bash(&format!("{program} update active=true phase=plan"))
        .ends(0);
    assert!(
        strict
            .sandbox
            .read(".devt/state/workflow.yaml")
            .contains("phase: plan")
    );
    // Behind the fence they still read.
    strict
        .bash(&format!("{program} status; python3 -c pass"))
        .ends(0);
}
