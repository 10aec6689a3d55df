//! Runs a test in a network namespace that has only loopback, so that the client and the stand-in
//! meet there and nothing can leave, and in a mount namespace without the client's settings of
//! this machine.

use std::io;
use std::process::{Command, Output};
use std::{env, fs, iter};

use super::client::{Client, Version};
use crate::support::lacks;

/// Tells the copy of the test that it is inside.
const INSIDE: &str = "STATEWARDEN_TEST_INSIDE";

/// Root needs no user namespace, and is often refused one in a container.
const WAYS_IN: [&str; 2] = ["-nm", "-rnm"];

/// `$@` is what to run once loopback is up, and the client's settings of this machine are hidden.
const ENTER: &str = "{ ip link set lo up || ifconfig lo up; } 2>/dev/null && \
    { [ ! -d /etc/claude-code ] || mount -t tmpfs none /etc/claude-code; } && exec \"$@\"";

/// Runs `body` as the test `name` (its whole path in the test binary), in a
/// copy of the test binary inside the namespace.
///
/// Without a client or a namespace the test is skipped with a line on stderr;
/// where `CI` is set it fails instead.
pub(crate) fn isolated(name: &str, body: impl FnOnce(&Client)) {
    isolated_on(Version::Pinned, name, body);
}

pub(crate) fn isolated_on(version: Version, name: &str, body: impl FnOnce(&Client)) {
    let client = match Client::find(version) {
        Ok(client) => client,
        Err(why) => return lacks(&why),
    };
    if env::var_os(INSIDE).is_some() {
        assert!(!leads_out(), "there is a route out of the namespace");
        return body(&client);
    }
    let Some(way) = WAYS_IN
        .into_iter()
        .find(|way| enter(way, ["true"]).is_ok_and(|out| out.status.success()))
    else {
        return lacks(
            "no network namespace: needs `unshare` from util-linux, and `ip` or `ifconfig`",
        );
    };
    let this = env::current_exe().expect("the test binary has a path");
    let inner = enter(
        way,
        iter::once(this.as_os_str()).chain([name, "--exact", "--nocapture"].map(AsRef::as_ref)),
    )
    .expect("unshare ran a moment ago");
    let said = String::from_utf8_lossy(&inner.stdout);
    // A misspelled name would select no test at all, and pass.
    assert!(
        inner.status.success() && said.contains("test result: ok. 1 passed"),
        "`{name}` failed inside its namespace:\n{said}\n{}",
        String::from_utf8_lossy(&inner.stderr)
    );
}

fn enter<S: AsRef<std::ffi::OsStr>>(
    way: &str,
    command: impl IntoIterator<Item = S>,
) -> io::Result<Output> {
    Command::new("unshare")
        .args([way, "sh", "-c", ENTER, "sh"])
        .args(command)
        .env(INSIDE, "1")
        .output()
}

/// Whether the kernel's table of routes has a line below its heading; loopback needs none.
fn leads_out() -> bool {
    fs::read_to_string("/proc/net/route").map_or(true, |routes| routes.lines().count() > 1)
}
