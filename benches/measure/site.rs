//! The project that the events are about, in the temporary directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

pub struct Site {
    base: PathBuf,
}

/// Files of a project that uses several systems.
const FILES: &[(&str, &str)] = &[
    (".git/HEAD", "ref: refs/heads/main\n"),
    (
        ".devt/state/workflow.yaml",
        "workflow_id: \"w-1\"\nphase: implement\nactive: true\n",
    ),
    (".devt/state/impl-summary.md", "# Summary\n"),
    (".devt/state/spec.md", "# Spec\n"),
    (".devt/state/decisions.md", "# Decisions\n"),
    (".claude/settings.json", "{}\n"),
    (
        "openspec/changes/login/tasks.md",
        "## 1. One\n\n- [ ] 1.1 A\n",
    ),
    ("src/module/parser.rs", "fn main() {}\n"),
];

impl Site {
    /// The `n`th one, for a build of the hook. Each build has its own, since what another one
    /// remembers is foreign to it; all programs are copied, so that their files lie alike.
    pub fn new(n: usize, hook: &Path, floor: &Path) -> Result<Self> {
        let base = std::env::temp_dir().canonicalize()?;
        let base = base.join(format!("statewarden-bench-{}-{n}", std::process::id()));
        let site = Self { base };
        fs::create_dir_all(site.home())?;
        fs::create_dir_all(site.base.join("programs"))?;
        fs::copy(hook, site.program("statewarden"))?;
        fs::copy(floor, site.program("floor"))?;
        for (path, text) in FILES {
            site.write(path, Some(text))?;
        }
        Ok(site)
    }

    pub fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.base.join("code/project")
    }

    pub fn path(&self, below: &str) -> String {
        self.project().join(below).to_string_lossy().into_owned()
    }

    pub fn scratch(&self) -> PathBuf {
        self.base.join("scratch")
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.base.join("programs").join(name)
    }

    /// Another project, beside the usual one.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.base.join("code").join(name)
    }

    /// Puts a file into another project.
    pub fn prepare(&self, project: &str, below: &str, text: &str) -> Result<()> {
        let path = self.beside(project).join(below);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        let head = self.beside(project).join(".git/HEAD");
        fs::create_dir_all(head.parent().unwrap_or(Path::new("/")))?;
        fs::write(head, "ref: refs/heads/main\n")?;
        Ok(fs::write(path, text)?)
    }

    /// Sets a file's text, or takes the file away.
    pub fn write(&self, below: &str, text: Option<&str>) -> Result<()> {
        let path = self.project().join(below);
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
                fs::write(path, text)?;
            }
            None if path.exists() => fs::remove_file(path)?,
            None => {}
        }
        Ok(())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary directory.
        let _ = fs::remove_dir_all(&self.base);
    }
}
