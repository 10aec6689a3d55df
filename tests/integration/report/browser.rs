//! What a real browser makes of the page.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use regex::Regex;

use super::{attacked, report, seven};
use crate::support::{Sandbox, lacks};

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
            "--window-size=1300,900",
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
        dom.contains("<output>5 of 5</output>"),
        "the script did not run"
    );
    assert!(
        dom.contains("<title>statewarden: what was denied</title>"),
        "an attack ran"
    );
    for part in ["<img", "<svg", "<td onmouseover"] {
        assert!(!dom.contains(part), "`{part}`");
    }
}

#[test]
fn a_page_without_records_has_no_empty_parts() {
    let Some(browser) = browser() else { return };
    let sandbox = Sandbox::new();
    report(&sandbox, &[]);
    let dom = dom(&browser, &sandbox, "r.html", &[]);
    assert!(dom.contains(r#"<body class="empty">"#), "{dom}");
    assert!(dom.contains("Nothing was denied."), "{dom}");
}

/// What a person would do: follow links, choose, search, sort.
const ACTIONS: &str = r##"<script>
const log = [];
addEventListener("error", (event) => log.push("error: " + event.message));
const all = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.offsetHeight > 0);
const names = () => all("#records tbody tr").map((row) => row.cells[2].textContent.replace(/ → \S+/, "")).join(", ");
const say = (what) => log.push(`${what}: ${names()}: ${document.querySelector("output").value}${location.hash && ": " + location.hash}`);
const follow = (hash) => { location.hash = hash; update(); say(hash); };
const choose = (name, value) => {
  const field = document.forms[0].elements[name];
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  say(`${name}=${value}`);
};
const sortBy = (at) => {
  all("#records thead button")[at].click();
  const header = all("#records thead th")[at];
  log.push(`${at} ${header.getAttribute("aria-sort")}: ${names()}`);
};
log.push(document.getElementById("verdict").textContent);
say("first");
sortBy(2);
sortBy(2);
sortBy(0);
follow(all("#tops a").find((link) => link.textContent.startsWith("wrong-writer")).hash);
follow(all("#numbers a").find((link) => link.textContent.includes("not recovered")).hash);
follow("#");
follow(all("#numbers a").find((link) => link.textContent.includes("denied again")).hash);
choose("agent", "main");
choose("q", "todo");
follow("#q=todo");
follow("#agent=tester&system=devt");
location.hash = "";
update();
log.push(`loop: ${all("#loops tbody tr").map((row) => row.textContent.slice(0, 20)).join("|")}`);
log.push(`advice: ${all("#advice pre")[0].textContent}`);
log.push(`cards: ${all("#advice h3").map((card) => card.textContent).join("; ")}`);
log.push(`bars: ${all(".plot a").length > 3}, ${all("#sessions .strip").length} strips`);
const focusable = all("a, button, input, select, summary");
log.push(`keyboard: ${focusable.every((element) => (element.focus(), document.activeElement === element))}`);
log.push(`fits: ${document.documentElement.scrollWidth <= innerWidth}`);
log.push(`background: ${getComputedStyle(document.body).backgroundColor}`);
const pre = document.createElement("pre");
pre.id = "log";
pre.textContent = log.join("\n");
document.body.append(pre);
</script></body>"##;

/// What a script at the page's end leaves in its log.
fn driven(browser: &Path, sandbox: &Sandbox, page: &str, script: &str, flags: &[&str]) -> String {
    // The page's policy would keep a test's script from running, as it should.
    let policy = Regex::new("<meta http-equiv=[^>]*>").unwrap();
    let page = policy.replace(page, "").replace("</body>", script);
    sandbox.write("driven.html", &page);
    let dom = dom(browser, sandbox, "driven.html", flags);
    let log = Regex::new("(?s)<pre id=\"log\">(.*?)</pre>").unwrap();
    let log = log.captures(&dom);
    log.unwrap_or_else(|| panic!("no log in {dom}"))[1].to_owned()
}

#[test]
fn axe_finds_no_barrier_on_the_page() {
    let axe =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/axe/node_modules/axe-core/axe.min.js");
    let Ok(axe) = fs::read_to_string(axe) else {
        return lacks("no axe-core; run .ci/setup");
    };
    let Some(browser) = browser() else { return };
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    let script = format!(
        r#"<script>{axe}</script><script>
axe.run().then(({{ passes, violations }}) => {{
  const pre = document.createElement("pre");
  pre.id = "log";
  const faults = violations.flatMap(({{ id, nodes }}) => nodes.map(({{ html }}) => `${{id}}: ${{html}}`));
  pre.textContent = [passes.length > 20, ...faults].join("\n");
  document.body.append(pre);
}});
</script></body>"#
    );
    for (scheme, width) in [(1, 1300), (0, 1300), (1, 420)] {
        let flags = [
            format!("--blink-settings=preferredColorScheme={scheme}"),
            format!("--window-size={width},900"),
        ];
        let flags = flags.each_ref().map(String::as_str);
        let found = driven(&browser, &sandbox, &page, &script, &flags);
        assert_eq!(found, "true", "{flags:?}");
    }
}

#[test]
fn in_a_browser_tables_sort_and_filter() {
    let Some(browser) = browser() else { return };
    let sandbox = Sandbox::new();
    seven(&sandbox);
    let (_, page) = report(&sandbox, &[]);
    let log = |flags: &[&str]| driven(&browser, &sandbox, &page, ACTIONS, flags);
    let light = log(&["--blink-settings=preferredColorScheme=1"]);
    let (verdict, light) = light.split_once('\n').unwrap();
    let (days, loops) = verdict.split_once("; ").unwrap();
    assert!(days.starts_with("7 denied in "), "{days}");
    assert_eq!(
        loops,
        "main was denied 4 times over notes.md and 1 other name and recovered 2 times."
    );
    let expected = "\
first: review.json, todo.txt, impl-summry.json, notes.md, notes.md ×2, impl-summry.json: 7 of 7
2 ascending: impl-summry.json, impl-summry.json, notes.md ×2, notes.md, review.json, todo.txt
2 descending: todo.txt, review.json, notes.md, notes.md ×2, impl-summry.json, impl-summry.json
0 ascending: impl-summry.json, notes.md ×2, notes.md, impl-summry.json, todo.txt, review.json
#code=wrong-writer: review.json: 1 of 7: #code=wrong-writer
#code=wrong-writer&outcome=open: review.json: 1 of 7: #code=wrong-writer&outcome=open
#: impl-summry.json, notes.md ×2, notes.md, impl-summry.json, todo.txt, review.json: 7 of 7
#outcome=again: notes.md ×2: 2 of 7: #outcome=again
agent=main: notes.md ×2: 2 of 7: #agent=main&outcome=again
q=todo: : 0 of 7: #agent=main&outcome=again&q=todo
#q=todo: todo.txt: 1 of 7: #q=todo
#agent=tester&system=devt: review.json: 1 of 7: #agent=tester&system=devt
loop: 4×notes.md ×3, impl-
advice: - In `.devt/state`, write `impl-summary.json`, not `impl-summry.json`.
- In `.devt/state`, write `scratchpad.md`, not `notes.md`.
cards: Tell the main thread what to write; Tell code-reviewer what to write; Tell tester what to write
bars: true, 2 strips
keyboard: true
fits: true
background: rgb(247, 246, 243)";
    assert_eq!(light.replace("&amp;", "&"), expected);
    let dark = log(&["--blink-settings=preferredColorScheme=0"]);
    assert!(dark.ends_with("background: rgb(20, 23, 28)"), "{dark}");
}
