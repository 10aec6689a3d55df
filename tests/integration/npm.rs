//! The npm packages of a build, from a registry on the loopback interface.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io, thread};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, lacks, serve};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A release names this machine's program so, and npm its package.
const TARGETS: [(&str, &str, &str, &str); 4] = [
    ("linux", "x86_64", "x86_64-unknown-linux-musl", "linux-x64"),
    (
        "linux",
        "aarch64",
        "aarch64-unknown-linux-musl",
        "linux-arm64",
    ),
    ("macos", "x86_64", "x86_64-apple-darwin", "darwin-x64"),
    ("macos", "aarch64", "aarch64-apple-darwin", "darwin-arm64"),
];

/// What npm calls the package of this machine's platform.
pub(crate) fn platform() -> &'static str {
    let here = (env::consts::OS, env::consts::ARCH);
    let of_here = TARGETS.iter().find(|target| (target.0, target.1) == here);
    of_here.expect("a platform with a package").3
}

/// Serves the packages of the program under test, and is the registry of whoever has that
/// home.
pub(crate) fn serve_packages(home: &Path) -> io::Result<()> {
    let (from, packages) = (home.join("release"), home.join("packages"));
    fs::create_dir_all(&from)?;
    let of_here = TARGETS.iter().find(|target| target.3 == platform());
    let name = format!("statewarden-{}", of_here.map_or("", |target| target.2));
    fs::copy(env!("CARGO_BIN_EXE_statewarden"), from.join(name))?;
    let mut pack = Command::new(Path::new(ROOT).join("npm/pack"));
    pack.args([&from, &packages]).env("HOME", home);
    let packed = pack.stdout(Stdio::null()).status()?;
    assert!(packed.success(), "npm/pack failed");

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let registry = format!("http://{}/", listener.local_addr()?);
    fs::write(
        home.join(".npmrc"),
        format!("registry={registry}\nupdate-notifier=false\n"),
    )?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // npm may hang up early.
            answer(stream, &registry, &packages).ok();
        }
    });
    Ok(())
}

fn answer(mut stream: TcpStream, registry: &str, packages: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let request = lines.next().unwrap_or(Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let asked = path.trim_start_matches('/').replace("%2f", "/");
    let body = match asked.ends_with(".tgz") {
        true => fs::read(packages.join(&asked)).ok(),
        false => about(&asked, registry, packages),
    };
    let status = if body.is_some() {
        "200 OK"
    } else {
        "404 Not Found"
    };
    let body = body.unwrap_or_default();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

/// What a registry says of a package; `None` where it has none of that name.
fn about(name: &str, registry: &str, packages: &Path) -> Option<Vec<u8>> {
    let plain = name.trim_start_matches('@').replace('/', "-");
    let file = format!("{plain}-{VERSION}.tgz");
    let mut tar = Command::new("tar");
    tar.arg("xzOf")
        .arg(packages.join(&file))
        .arg("package/package.json");
    let mut manifest: Value = serde_json::from_slice(&tar.output().ok()?.stdout).ok()?;
    manifest["dist"] = json!({ "tarball": format!("{registry}{file}") });
    let versions = json!({ VERSION: manifest });
    let package = json!({ "name": name, "dist-tags": { "latest": VERSION }, "versions": versions });
    Some(package.to_string().into_bytes())
}

/// The wrapper hands over to the program of this platform, and hooks come to that at once.
#[test]
fn npm_installs_a_program_that_guards() {
    if Command::new("npm").arg("--version").output().is_err() {
        return lacks("npm");
    }
    let sandbox = Sandbox::new();
    serve_packages(&sandbox.home()).unwrap();
    let prefix = sandbox.base().join("prefix");
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(sandbox.project()).env_clear();
        command.envs(sandbox.surroundings());
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command
    };
    let npm = |verb: &str| {
        let mut npm = command(Path::new("npm"));
        npm.args([verb, "--global", "statewarden", "--prefix"])
            .arg(&prefix);
        npm.args(["--no-audit", "--no-fund"]);
        Ran::from(npm.output().unwrap()).ends(0);
    };
    npm("install");
    let wrapper = prefix.join("bin/statewarden");
    let run = |args: &[&str]| {
        let mut command = command(&wrapper);
        Ran::from(command.args(args).output().unwrap())
    };
    assert_eq!(
        run(&["--version"]).ends(0).stdout(),
        format!("statewarden {VERSION}\n")
    );
    assert_eq!(run(&["bogus"]).code(), 2);
    run(&["install", "--scope", "project"]).ends(0);
    let wired: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
    let program = &wired["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
    let program = PathBuf::from(program.as_str().unwrap());
    let end = Path::new("@statewarden")
        .join(platform())
        .join("statewarden");
    assert!(program.ends_with(end), "{}", program.display());
    let mut hook = command(&program);
    hook.arg("hook");
    let stray = sandbox.write_event(".devt/state/notes.md", "x").to_string();
    serve(hook, stray.as_bytes()).is_denied("ad-hoc-name");
    run(&["uninstall", "--scope", "project"]).ends(0);
    npm("uninstall");
    assert!(!program.exists() && !wrapper.exists());
}
