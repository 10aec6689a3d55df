//! Commands: analysed to the end, within bounds, the same way every time.

use statewarden::base::env::Env;
use statewarden::base::target::{Act, Target, Text};
use statewarden::shell::{self, Analysis, Scene};

use super::disk::Memory;

/// Far above what any command of a few KiB comes to.
const MAX_TARGETS: usize = 20_000;
const MAX_QUESTIONS: usize = 500_000;
const MAX_BYTES: usize = 32 << 20;

pub fn shell(data: &[u8]) {
    let command = String::from_utf8_lossy(data);
    let found = analyse(shell::analyze, &command);
    // A whole line stays what it is, whatever comes below it.
    let below = analyse(shell::analyze, &format!("touch /q/first\n{command}"));
    let is_first = |target: &Target| target.path == "/q/first" && target.act == Act::Write;
    assert!(below.iter().any(is_first), "the first line is lost");
    assert_eq!(analyse(shell::analyze, &command), found, "another answer");

    let found = analyse(shell::analyze_powershell, &command);
    assert_eq!(
        analyse(shell::analyze_powershell, &command),
        found,
        "another answer"
    );
}

fn analyse(by: fn(&str, &Scene<'_>) -> Analysis, command: &str) -> Vec<Target> {
    let disk = Memory::default();
    let scene = Scene {
        cwd: "/p",
        env: &Env {
            home: Some("/home/u".into()),
            project_dir: Some("/p".into()),
            ..Env::default()
        },
        disk: &disk,
    };
    let found = by(command, &scene).targets;
    let bytes = |target: &Target| {
        let text = target.text.as_ref().map(|text| match text {
            Text::Whole(text) | Text::Added(text) => text,
        });
        let texts = text.into_iter().chain(&target.link_to);
        target.path.len() + texts.map(|text| text.len()).sum::<usize>()
    };
    assert!(found.len() <= MAX_TARGETS, "{} targets", found.len());
    let bytes: usize = found.iter().map(bytes).sum();
    assert!(bytes <= MAX_BYTES, "{bytes} bytes of targets");
    let questions = disk.questions.get();
    assert!(questions <= MAX_QUESTIONS, "{questions} questions");
    for (at, target) in found.iter().enumerate().take(200) {
        let path = target.path.as_str();
        let on_windows = path.starts_with(r"\\") || path.as_bytes().get(1) == Some(&b':');
        assert!(path.starts_with('/') || on_windows, "{path:?} is relative");
        let same = |other: &&Target| other.path == path && other.act == target.act;
        assert!(
            !found[at + 1..].iter().any(|other| same(&other)),
            "{path:?} twice"
        );
    }
    found
}
