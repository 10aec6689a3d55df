//! Whether strict mode is in force: a command that the guard cannot read tries each place.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Finding, Subject, process};
use crate::base::disk::bounded_read::read_text;
use crate::base::env;
use crate::base::path;
use crate::base::text::{self, join_limited, shell_quote};
use crate::contract::denial::Mode;
use crate::contract::table::DirKind;
use crate::host::env_file;
use crate::host::settings_json;
use crate::lifecycle::strict;
use crate::project::context::Context;
use crate::project::roots::{OnDisk, read_client_text};
use crate::project::sites::Site;

/// Bytes of a list of places.
const ROOM: usize = 300;

/// The places that strict mode has to keep here: what is kept around the current directory, and
/// the state directories elsewhere in the project.
pub(super) fn places(context: &Context<'_>, sites: &[Site<'_>]) -> Vec<PathBuf> {
    let mut places = strict::read_only(context, None);
    let closed = sites.iter().filter(|site| {
        let view = OnDisk::of(&site.root, context.registry);
        site.governed.mode == Mode::Enforce && site.governed.site_kind(&view) == DirKind::Closed
    });
    places.extend(closed.map(|site| PathBuf::from(site.dir())));
    places.retain(|place| place.exists());
    places.sort_unstable();
    places.dedup();
    places
}

pub(super) fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(places) = &subject.strict else {
        return Vec::new();
    };
    let mut findings = vec![match writable(subject, places) {
        Err(why) => not_in_force(&why),
        Ok((open, _)) if open.is_empty() => {
            let n = text::count(places.len(), "place is", "places are");
            Finding::info(
                "strict",
                format!("in force: {n} read-only for a command that cannot be judged"),
            )
        }
        Ok((open, said)) if open.len() == places.len() => not_in_force(&said),
        Ok((open, _)) => {
            let open = join_limited(
                open.iter().map(|place| format!("`{place}`")).collect(),
                ROOM,
            );
            let fix = "run a command in that directory, or write a state file there: what was looked at once is kept";
            Finding::warning("strict", format!("not kept: {open}"), fix)
        }
    }];
    if subject
        .place
        .client_settings()
        .iter()
        .any(|file| has_sandbox(file))
    {
        let what = "Claude Code's sandbox is on, in which no fence can be had";
        let fix = "list the state directories in `sandbox.filesystem.denyWrite` of Claude Code's settings";
        findings.push(Finding::warning("strict-sandbox", what, fix));
    }
    findings
}

fn not_in_force(why: &str) -> Finding {
    let said = why.trim().trim_start_matches("statewarden: ");
    Finding::warning(
        "strict",
        format!("`strict`: not in force: {said}"),
        missing(),
    )
}

/// The places in which a command of a session would write, and what it said on stderr.
fn writable(subject: &Subject<'_>, places: &[PathBuf]) -> Result<(Vec<String>, String), String> {
    let found = env::on_path(OsStr::new("bash")).into_iter().next();
    let bash = found.ok_or("there is no `bash` on PATH to try it with")?;
    let project = path::from_os(&subject.place.project);
    let program = path::from_os(&subject.place.program);
    let named = places.iter().map(|place| path::from_os(place));
    let words: Vec<String> = named
        .map(|place| shell_quote(&place).into_owned())
        .collect();
    // What the program is called is not in the text.
    let try_all = format!(
        "t=$(cat /dev/null)test; for place in {}; do $t -w \"$place\" && echo \"$place\"; done; true",
        words.join(" ")
    );
    let line = env_file::line(&program, &project, "/nonexistent/statewarden-doctor");
    let mut command = Command::new(bash);
    command
        .args(["-c", &format!("{line}{try_all}")])
        .current_dir(&subject.place.project);
    let answer = process::run(&mut command, "").map_err(|error| error.to_string())?;
    let open = answer.stdout.lines().map(str::to_owned).collect();
    Ok((open, answer.stderr))
}

/// What to do where the kernel refuses namespaces.
fn missing() -> String {
    const LIMITS: [(&str, &str, &str); 3] = [
        (
            "user/max_user_namespaces",
            "0",
            "`sysctl user.max_user_namespaces` is 0; set it to 15000",
        ),
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "`sysctl kernel.unprivileged_userns_clone` is 0; set it to 1",
        ),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "AppArmor restricts user namespaces; allow them to statewarden by a profile with `userns,`, or set \
             `sysctl kernel.apparmor_restrict_unprivileged_userns` to 0",
        ),
    ];
    if cfg!(not(target_os = "linux")) {
        return "nothing to do: only Linux has mount namespaces; the recorder finds what commands write".to_owned();
    }
    for (file, value, fix) in LIMITS {
        let text = read_text(&Path::new("/proc/sys").join(file)).ok().flatten();
        if text.is_some_and(|text| text.trim() == value) {
            return fix.to_owned();
        }
    }
    let is_container = ["/.dockerenv", "/run/.containerenv"]
        .iter()
        .any(|file| Path::new(file).exists());
    if is_container {
        return "the container forbids user namespaces; start it with a seccomp profile that allows \
                `unshare` and `mount`, or work without `strict`"
            .to_owned();
    }
    "let this user have user namespaces (`unshare -Urm true` tries it), or work without `strict`"
        .to_owned()
}

fn has_sandbox(file: &Path) -> bool {
    let text = read_client_text(file).ok().flatten().unwrap_or_default();
    settings_json::flag(&text, &["sandbox", "enabled"]) == Some(true)
}
