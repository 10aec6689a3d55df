//! Verbs that read files with a time beyond every calendar.

use crate::records::{denial, lines};
use crate::support::{DEVT, Sandbox};

/// A file system such as tmpfs keeps any time that it is given.
#[cfg(target_os = "linux")]
#[test]
fn a_file_time_beyond_every_calendar_is_the_latest_one() {
    let sandbox = Sandbox::new();
    let far = std::path::Path::new("/dev/shm").join(sandbox.base().file_name().unwrap());
    if std::fs::write(&far, "active: true\n").is_err() {
        return;
    }
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 44);
    std::fs::File::open(&far)
        .unwrap()
        .set_modified(time)
        .unwrap();
    let early = denial(&sandbox, "a1", "2026-03-01T09:00:00.000Z", "notes.md");
    sandbox.write(DEVT, &lines(&[early]));
    for name in ["workflow.yaml", "scratchpad.md", ".x.4711.tmp"] {
        let link = sandbox.path(&format!(".devt/state/{name}"));
        std::os::unix::fs::symlink(&far, link).unwrap();
    }
    let page = sandbox.path("page.html");
    let ran = ["stuck", "denies report --html", "doctor"].map(|verb| {
        let page = verb.ends_with("--html").then_some(page.as_str());
        let args: Vec<&str> = verb.split(' ').chain(page).collect();
        (verb, sandbox.run(&args))
    });
    std::fs::remove_file(&far).unwrap();
    for (verb, ran) in &ran {
        let said = ran.stdout() + &ran.stderr();
        assert!(!said.contains("panicked"), "{verb}: {said}");
    }
    let [(_, stuck), (_, report), _] = ran;
    assert!(
        stuck.stdout().starts_with("not stuck: 0"),
        "{}",
        stuck.stdout()
    );
    assert_eq!((stuck.code(), report.code()), (0, 0));
}
