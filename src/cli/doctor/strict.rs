//! Whether strict mode is in force: a command that the guard cannot read tries each place.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Facts, Found, Subject, process};
use crate::base::disk::bounded_read::read_text;
use crate::base::env;
use crate::base::path;
use crate::base::text::{self, join_limited, shell_quote};
use crate::base::warn::FROM_US;
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

/// The fence, tried.
pub(super) struct Fence {
    places: Vec<PathBuf>,
    /// Those in which a command would write, and what it said on stderr.
    tried: Result<(Vec<String>, String), String>,
}

impl Fence {
    /// `None` where strict mode is off.
    pub(super) fn of(subject: &Subject<'_>) -> Option<Self> {
        let places = subject.strict.clone()?;
        let tried = writable(subject, &places);
        Some(Self { places, tried })
    }

    /// Why no place is kept.
    fn why_not(&self) -> Option<&str> {
        match &self.tried {
            Err(why) => Some(why),
            Ok((open, said)) if !open.is_empty() && open.len() == self.places.len() => Some(said),
            Ok(_) => None,
        }
    }

    /// The places that are not kept; `None` where none is.
    fn open(&self) -> Option<&[String]> {
        match (&self.tried, self.why_not()) {
            (Ok((open, _)), None) => Some(open),
            _ => None,
        }
    }
}

pub(super) fn in_force(facts: &Facts<'_>) -> Option<Found> {
    let fence = facts.fence.as_ref()?;
    let n = text::count(fence.places.len(), "place is", "places are");
    let what = format!("in force: {n} read-only for a command that cannot be judged");
    fence.open()?.is_empty().then(|| what.into())
}

pub(super) fn not_in_force(facts: &Facts<'_>) -> Option<Found> {
    let why = facts.fence.as_ref()?.why_not()?;
    let said = why.trim().trim_start_matches(FROM_US);
    Some(Found::about(
        format!("`strict`: not in force: {said}"),
        missing(),
    ))
}

pub(super) fn not_kept(facts: &Facts<'_>) -> Option<Found> {
    let open = facts.fence.as_ref()?.open()?;
    let places = open.iter().map(|place| format!("`{place}`"));
    let what = format!("not kept: {}", join_limited(places.collect(), ROOM));
    (!open.is_empty()).then(|| what.into())
}

pub(super) fn in_a_sandbox(facts: &Facts<'_>) -> Option<Found> {
    const WHAT: &str = "Claude Code's sandbox is on, in which no fence can be had";
    facts.fence.as_ref()?;
    let files = facts.subject.place.client_settings();
    let has_one = files.iter().any(|file| has_sandbox(file));
    has_one.then(|| WHAT.to_owned().into())
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
