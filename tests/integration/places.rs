//! The guard's settings outside of the project: for the user alone.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::recorder::{call, told};
use crate::support::{Sandbox, assert_has};

pub(crate) fn make(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// What a call may and may not do to the settings in a directory of the user's.
#[track_caller]
fn check_settings(sandbox: &Sandbox, dir: &str) {
    let folder = format!("{dir}/statewarden");
    let file = format!("{folder}/config.yaml");
    let write = |path: &str| {
        let input = json!({ "file_path": path, "content": "mode: off\n" });
        sandbox.hook(&sandbox.event("Write", input))
    };
    let reason = write(&file).is_denied("protected-file");
    assert_has(&reason, "/statewarden/config.yaml` is denied");
    write(&format!("{dir}/statewarden.yaml")).is_silent();
    write(&format!("{dir}/other/config.yaml")).is_silent();
    for command in [
        format!("echo 'mode: off' > {file}"),
        format!("cp x.yaml {file}"),
        format!("rm -f {file}"),
        format!("mv {file} /tmp/x"),
        format!("rm -rf {folder}"),
        format!("mkdir {folder} && cp config.yaml {folder}"),
    ] {
        let ran = sandbox.hook(&sandbox.bash_event(&command));
        assert_eq!(ran.decision(), "protected-file", "{command}");
    }
    let link = sandbox.bash_event(&format!("ln -s /tmp/x {folder}"));
    sandbox.denied(&link, "protected-file");
    let read = format!("cat {file}; cp {file} /tmp/x; ls {dir}");
    sandbox.hook(&sandbox.bash_event(&read)).is_silent();
}

#[test]
fn the_guards_settings_outside_the_project_are_for_the_user() {
    let mut sandbox = Sandbox::new();
    check_settings(&sandbox, &text(&sandbox.base().join("etc")));
    // The machine's own may say anything.
    if !Path::new("/etc/statewarden").exists() {
        sandbox.env = vec![("STATEWARDEN_ETC", String::new())];
        check_settings(&sandbox, "/etc");
    }
    let home = text(&sandbox.home());
    let linked = sandbox.base().join("dots");
    make(&linked.join("statewarden"));
    for (dir, env) in [
        (format!("{home}/.config"), None),
        (sandbox.path("config"), Some(sandbox.path("config/"))),
        // Under its own name too, where a link leads there.
        #[cfg(unix)]
        (text(&linked), {
            let link = sandbox.base().join("link");
            std::os::unix::fs::symlink(&linked, &link).unwrap();
            Some(text(&link))
        }),
    ] {
        let env = env.map(|dir| ("XDG_CONFIG_HOME", dir));
        sandbox.env = env.into_iter().collect();
        check_settings(&sandbox, &dir);
        let folder = format!("{dir}/statewarden");
        let remove = sandbox.bash_event(&format!("rm -rf {dir}"));
        fs::create_dir_all(format!("{dir}/x")).unwrap();
        let _ = fs::remove_dir(&folder);
        sandbox.hook(&remove).is_silent();
        fs::create_dir_all(&folder).unwrap();
        sandbox.denied(&remove, "bulk-removal");
        let config = format!("{folder}/config.yaml");
        let ran = call(&sandbox, "main", "python3 x.py", || {
            fs::write(&config, "mode: warn\n").unwrap();
        });
        assert_has(&told(&ran), "config.yaml` (protected-file");
        fs::remove_file(format!("{folder}/config.yaml")).unwrap();
    }
}
