//! `denies report`: the page, and what a real browser makes of it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};

use crate::records::{denial, lines, many, with};
use crate::support::{DEVT, EVENTS, Sandbox, assert_has, lacks};

fn report(sandbox: &Sandbox, args: &[&str]) -> (Value, String) {
    let ran = sandbox
        .run(&[&["denies", "report", "--html", "r.html", "--json"], args].concat())
        .ends(0);
    (ran.json(), sandbox.read("r.html"))
}

/// Seven denials: three of one file and one agent, the last of which recovered;
/// one whose suggested file changed soon after; one with another's recovery;
/// one long ago; and one of a file that the contract knows.
fn seven(sandbox: &Sandbox) {
    let ago = |minutes: i64| {
        let time = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
        time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
    };
    let of = |id: &str, minutes: i64, name: &str, keys: Value| {
        with(denial(sandbox, id, &ago(minutes), name), keys)
    };
    sandbox.write(".devt/state/impl-summary.json", "{}");
    sandbox.write(
        DEVT,
        &lines(&[
            of(
                "a1",
                5000,
                "impl-summry.json",
                json!({"session_id": "s-9", "suggestion": "impl-summary.json"}),
            ),
            of("a2", 30, "notes.md", json!({})),
            of("a3", 29, "notes.md", json!({})),
            of("a4", 28, "notes.md", json!({})),
            of(
                "a5",
                20,
                "impl-summry.json",
                json!({"suggestion": "impl-summary.json"}),
            ),
            of(
                "a6",
                10,
                "todo.txt",
                json!({"agent_type": "devt:code_reviewer"}),
            ),
            of(
                "a7",
                9,
                "review.json",
                json!({"agent_type": "tester", "rule": "wrong-writer", "suggestion": null}),
            ),
        ])
        .replace("\"suggestion\":null,", ""),
    );
    let recovery = |id: &str, resolves: &str| json!({"v": 1, "id": id, "ts": ago(1), "source": "statewarden", "decision": "recovered", "resolves": resolves});
    let heartbeat =
        json!({"v": 1, "id": "h", "ts": ago(60), "source": "statewarden", "decision": "heartbeat"});
    sandbox.write(
        EVENTS,
        &lines(&[heartbeat, recovery("e1", "a4"), recovery("e2", "b1")]),
    );
}

#[test]
fn the_funnel_tells_recorded_from_inferred() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (written, page) = report(&sandbox, &[]);
    let keys = [
        "denies",
        "shown",
        "recovered",
        "recovered_inferred",
        "refused_again",
        "open",
    ];
    assert_eq!(
        keys.map(|key| written[key].as_u64().unwrap()),
        [7, 7, 1, 1, 2, 3]
    );
    let outcome = |needle: &str| {
        let row = page
            .lines()
            .find(|line| line.contains("<tr><td><time>") && line.contains(needle));
        let row = row.unwrap_or_else(|| panic!("no record with `{needle}`"));
        let cell = Regex::new(r#"<td class="(good|maybe|bad|open)">"#).unwrap();
        cell.captures(row).unwrap()[1].to_owned()
    };
    assert_eq!(outcome("s-9"), "open", "the file changed days later");
    assert_eq!(
        outcome("impl-summary.json"),
        "maybe",
        "the newest comes first"
    );
    assert_eq!(outcome("notes.md"), "good");
    assert_eq!(outcome("todo.txt"), "open");
    let loops = &page[page.find("id=\"loops\"").unwrap()..page.find("id=\"words\"").unwrap()];
    assert_has(
        loops,
        "<td class=\"n\">3</td><td><code>notes.md</code></td><td>main</td>",
    );
    assert_eq!(loops.matches("<code>todo.txt</code>").count(), 0);
    assert!(page.contains("The hook last reported in at"));
}

#[test]
fn a_name_leads_to_its_row_of_the_contract() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    let link = |name: &str| {
        let link = Regex::new(&format!(
            r##"<a href="#(row-\d+)"><code>{name}</code></a>"##
        ))
        .unwrap();
        link.captures(&page)
            .unwrap_or_else(|| panic!("no link for {name}"))[1]
            .to_owned()
    };
    let row = |name: &str| {
        let start = page.find(&format!("<tr id=\"{}\">", link(name))).unwrap();
        page[start..].lines().next().unwrap().to_owned()
    };
    assert!(
        row("review.json").contains("code-reviewer; no other agent"),
        "{}",
        row("review.json")
    );
    assert!(
        row("notes.md").contains("<code>scratchpad.md</code>"),
        "the name to use instead"
    );
    assert_eq!(link("notes.md"), link("todo.txt"));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    for word in [
        "http:", "https:", "src=", "url(", "@import", "<link", "{{", "}}<", "HASH",
    ] {
        assert!(!page.contains(word), "`{word}`");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
}

#[test]
fn many_records_are_counted_and_the_newest_listed() {
    let sandbox = Sandbox::new();
    sandbox.write(DEVT, &lines(&many(&sandbox, 3_000)));
    let (written, page) = report(&sandbox, &[]);
    assert_eq!(
        (&written["denies"], &written["shown"]),
        (&json!(3_000), &json!(2_000))
    );
    assert!(page.contains("The newest 2000 of 3000 records"));
    let (written, page) = report(&sandbox, &["--limit", "5", "--agent", "tester"]);
    assert_eq!(written["shown"], 5);
    assert_eq!(page.matches("<tr><td><time>").count(), 5);
    assert!(page.contains("only agent tester"));
    assert!(page.contains("2026-01"), "100 days are months");
}

#[test]
fn the_old_page_stays_until_the_new_one_is_whole() {
    let sandbox = Sandbox::new();
    seven(&sandbox);
    sandbox.write("r.html", "old");
    let (_, page) = report(&sandbox, &[]);
    assert!(page.ends_with("</html>\n"));
    let left: Vec<_> = fs::read_dir(sandbox.project()).unwrap().flatten().collect();
    assert!(
        left.iter()
            .all(|entry| !entry.file_name().to_string_lossy().ends_with(".tmp"))
    );
    let ran = sandbox.run("denies report --html nowhere/r.html");
    assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""));
    assert_has(&ran.stderr(), "nowhere/r.html");
}

#[cfg(unix)]
#[test]
fn a_page_takes_the_place_of_nothing_but_a_file() {
    let sandbox = Sandbox::new();
    let page = sandbox.project().join("page.html");
    std::os::unix::fs::symlink(sandbox.home().join("page.html"), &page).unwrap();
    fs::write(sandbox.home().join("page.html"), "old").unwrap();
    sandbox.run("denies report --html page.html").ends(0);
    assert!(page.is_symlink(), "a link is written through");
    assert!(sandbox.read("page.html").ends_with("</html>\n"));
    crate::support::make_pipe(sandbox.path("pipe"));
    for (file, why) in [("pipe", "is no regular file"), (".", "is a directory")] {
        let ran = sandbox.run(&["denies", "report", "--html", file]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""), "{file}");
        assert_has(&ran.stderr(), why);
    }
}

#[test]
fn nothing_refused_is_not_the_same_as_never_ran() {
    let sandbox = Sandbox::new();
    let (_, page) = report(&sandbox, &[]);
    assert!(page.contains("The hook never reported in"));
    let heartbeat = json!({"v": 1, "id": "h", "ts": "2026-03-01T00:00:00.000Z", "source": "statewarden", "decision": "heartbeat"});
    sandbox.write(EVENTS, &lines(&[heartbeat]));
    let (_, page) = report(&sandbox, &[]);
    assert!(page.contains("last reported in at <time>2026-03-01T00:00:00.000Z"));
}

const ATTACKS: [&str; 5] = [
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "</td></tr></table><svg onload=\"document.title='owned'\">",
    "' onmouseover='document.title=\"owned\"' x='",
    "{{records}}\u{202e}\u{1b}[31m&lt;",
];

/// Every text that an agent can choose holds an attack.
fn attacked(sandbox: &Sandbox) {
    let records: Vec<Value> = ATTACKS
        .iter()
        .enumerate()
        .map(|(at, attack)| {
            let keys = json!({
                "name": attack, "reason": attack, "agent_type": attack, "session_id": attack,
                "suggestion": attack, "tool": attack, "rule": attack, "system": attack,
            });
            with(
                denial(
                    sandbox,
                    &format!("a{at}"),
                    &format!("2026-03-0{}T10:00:00.000Z", at + 1),
                    "x",
                ),
                keys,
            )
        })
        .collect();
    sandbox.write(DEVT, &lines(&records));
}

#[test]
fn names_and_reasons_are_no_markup() {
    let sandbox = Sandbox::new();
    attacked(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    for part in [
        "<img",
        "<svg",
        "onerror=\"",
        "onload=\"",
        " onmouseover='",
        "\u{1b}",
    ] {
        assert!(!page.contains(part), "`{part}`");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("{{records}}"), "shown as it is");
}

/// A browser, or why there is none.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("STATEWARDEN_TEST_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|dir| known.map(|name| dir.join(name)))
        .find(|file| file.is_file());
    let browser = named.or(found);
    if browser.is_none() {
        lacks("no chromium; install one, or set STATEWARDEN_TEST_CHROMIUM");
    }
    browser
}

/// The document after its scripts have run.
fn dom(browser: &Path, sandbox: &Sandbox, file: &str, flags: &[&str]) -> String {
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!(
            "--user-data-dir={}",
            sandbox.base().join("browser").display()
        ))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .args(flags)
        .arg(format!("file://{}", sandbox.path(file)))
        .env("HOME", sandbox.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut dom = String::new();
        stdout.read_to_string(&mut dom).ok();
        send.send(dom)
    });
    let dom = receive.recv_timeout(Duration::from_secs(120));
    if dom.is_err() {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    dom.expect("the browser was done in time")
}

#[test]
fn in_a_browser_the_script_runs_and_no_attack_does() {
    let Some(browser) = browser() else { return };
    let sandbox = Sandbox::new();
    attacked(&sandbox);
    report(&sandbox, &[]);
    let dom = dom(&browser, &sandbox, "r.html", &[]);
    // The policy lets only the page's own script run: it counts the rows.
    assert!(
        dom.contains("<output id=\"count\">5 of 5 shown</output>"),
        "the script did not run"
    );
    assert!(
        dom.contains("<title>statewarden: what was refused</title>"),
        "an attack ran"
    );
    for part in ["<img", "<svg", "<td onmouseover"] {
        assert!(!dom.contains(part), "`{part}`");
    }
}

/// What a person would do: sort, look for a word, choose a rule and an outcome.
const ACTIONS: &str = r##"<script>
const log = [];
addEventListener("error", (event) => log.push("error: " + event.message));
const column = (table, at) => [...document.querySelectorAll(`#${table} tbody tr`)]
  .filter((row) => row.offsetHeight > 0).map((row) => row.cells[at].textContent);
const names = () => column("records", 3).map((name) => name.split(" ")[0]).join(",");
const set = (id, value) => {
  const input = document.getElementById(id);
  input.value = value;
  input.dispatchEvent(new Event("input"));
  log.push(`${id}=${value}: ${names()}: ${document.getElementById("count").value}`);
  input.value = "";
  input.dispatchEvent(new Event("input"));
};
const click = (table, at) => {
  document.querySelectorAll(`#${table} thead button`)[at].click();
  const header = document.querySelectorAll(`#${table} thead th`)[at];
  log.push(`${table} ${at} ${header.getAttribute("aria-sort")}: ${table === "records" ? names() : column(table, 0).join(",")}`);
};
log.push(`first: ${names()}`);
click("records", 3);
click("records", 3);
click("records", 0);
set("words", "TODO");
set("words", "notes main");
set("rule", "wrong-writer");
set("outcome", "refused again");
set("words", "nothing of the kind");
const frame = document.getElementById("records").parentElement;
log.push(`fits: ${frame.scrollWidth <= frame.clientWidth}`);
log.push(`background: ${getComputedStyle(document.body).backgroundColor}`);
const pre = document.createElement("pre");
pre.id = "log";
pre.textContent = log.join("\n");
document.body.append(pre);
</script></body>"##;

#[test]
fn in_a_browser_tables_sort_and_filter() {
    let Some(browser) = browser() else { return };
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    // The page's policy would keep a test's script from running, as it should.
    let policy = Regex::new("<meta http-equiv=[^>]*>").unwrap();
    let page = policy.replace(&page, "").replace("</body>", ACTIONS);
    sandbox.write("driven.html", &page);
    let log = |flags: &[&str]| {
        let dom = dom(&browser, &sandbox, "driven.html", flags);
        let log = Regex::new("(?s)<pre id=\"log\">(.*?)</pre>").unwrap();
        let log = log
            .captures(&dom)
            .unwrap_or_else(|| panic!("no log in {dom}"));
        log[1].to_owned()
    };
    let light = log(&["--blink-settings=preferredColorScheme=1"]);
    let expected = "\
first: review.json,todo.txt,impl-summry.json,notes.md,notes.md,notes.md,impl-summry.json
records 3 ascending: impl-summry.json,impl-summry.json,notes.md,notes.md,notes.md,review.json,todo.txt
records 3 descending: todo.txt,review.json,notes.md,notes.md,notes.md,impl-summry.json,impl-summry.json
records 0 ascending: impl-summry.json,notes.md,notes.md,notes.md,impl-summry.json,todo.txt,review.json
words=TODO: todo.txt: 1 of 7 shown
words=notes main: notes.md,notes.md,notes.md: 3 of 7 shown
rule=wrong-writer: review.json: 1 of 7 shown
outcome=refused again: notes.md,notes.md: 2 of 7 shown
words=nothing of the kind: : 0 of 7 shown
fits: true
background: rgb(251, 250, 248)";
    assert_eq!(light, expected);
    let dark = log(&["--blink-settings=preferredColorScheme=0"]);
    assert!(dark.ends_with("background: rgb(20, 23, 28)"), "{dark}");
}
