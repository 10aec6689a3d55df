//! Keeps this process, and all that it starts, from changing some paths: a mount namespace of its
//! own, in which these are read-only (mount_namespaces(7)). Linux alone has one that needs no
//! privilege.

use std::fmt;

/// Why paths cannot be kept read-only here.
#[derive(Debug)]
pub struct Unfenced {
    /// What was tried.
    step: String,
    why: String,
}

impl fmt::Display for Unfenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.why)
    }
}

/// Makes paths read-only for this process and its descendants, for good. A path that is not there
/// is left out, and a link is followed. Nothing above a path can be moved away either, so that
/// nothing else takes its place.
///
/// The process must have one thread. After an error it may be in a namespace in which some of the
/// paths are writable.
///
/// # Errors
/// The system has no such namespaces, or refuses one.
#[cfg(not(target_os = "linux"))]
pub fn enter(_: Vec<std::path::PathBuf>) -> Result<(), Unfenced> {
    Err(Unfenced {
        step: "mount namespaces".to_owned(),
        why: "only Linux has them".to_owned(),
    })
}

#[cfg(target_os = "linux")]
pub use linux::enter;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    use rustix::process::{getgid, getuid};

    use super::Unfenced;

    /// Makes paths read-only: see the module.
    ///
    /// # Errors
    /// The kernel has no such namespaces, or refuses one.
    pub fn enter(paths: Vec<PathBuf>) -> Result<(), Unfenced> {
        let here = env::current_dir();
        let fenced = outermost(paths);
        let above = movable_above(&fenced);
        leave()?;
        detach()?;
        // Directories above come first: one that is bound later hides what was bound below it.
        for dir in above {
            bind(dir)?;
        }
        for path in &fenced {
            bind(path)?;
            close(path)?;
        }
        // The former directory is still that of the old mounts.
        here.and_then(env::set_current_dir)
            .or_else(|_| env::set_current_dir("/"))
            .map_err(failed("going back to the directory"))?;
        // From here on the mounts are those of another user namespace: they cannot be undone.
        leave()
    }

    fn failed<E: ToString>(step: &str) -> impl FnOnce(E) -> Unfenced + use<'_, E> {
        move |error| Unfenced {
            step: step.to_owned(),
            why: error.to_string(),
        }
    }

    /// Paths as they are on the disk, without those below another one.
    fn outermost(paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let there = paths
            .into_iter()
            .filter_map(|path| path.canonicalize().ok());
        let sorted: BTreeSet<PathBuf> = there.collect();
        let mut outer: Vec<PathBuf> = Vec::new();
        for path in sorted {
            if !outer.iter().any(|above| path.starts_with(above)) {
                outer.push(path);
            }
        }
        outer
    }

    /// The directories above paths that this user could move, from the top, each once.
    fn movable_above(paths: &[PathBuf]) -> BTreeSet<&Path> {
        let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
        above.filter(|dir| may_move(dir)).collect()
    }

    fn may_move(dir: &Path) -> bool {
        dir.parent()
            .is_some_and(|above| access(above, Access::WRITE_OK).is_ok())
    }

    /// Goes into a user namespace, in which every user may mount, and a mount namespace of its own.
    /// The ids stay as they are.
    fn leave() -> Result<(), Unfenced> {
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
            .map_err(failed("a user namespace"))?;
        for (file, text) in [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("{user} {user} 1")),
            ("gid_map", format!("{group} {group} 1")),
        ] {
            fs::write(format!("/proc/self/{file}"), text).map_err(failed(file))?;
        }
        Ok(())
    }

    /// What is mounted here is not mounted outside.
    fn detach() -> Result<(), Unfenced> {
        let private = MsFlags::MS_PRIVATE | MsFlags::MS_REC;
        mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
            .map_err(failed("mounts of one's own"))
    }

    fn bind(path: &Path) -> Result<(), Unfenced> {
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(path), path, None::<&str>, flags, None::<&str>)
            .map_err(failed(&format!("binding `{}`", path.display())))
    }

    /// Makes a mount read-only. Of the other flags an unprivileged user may take none away.
    fn close(path: &Path) -> Result<(), Unfenced> {
        let step = format!("making `{}` read-only", path.display());
        let held = statvfs(path).map_err(failed(&step))?.f_flag;
        let mut flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        for (is_held, flag) in [
            (StatVfsMountFlags::NODEV, MsFlags::MS_NODEV),
            (StatVfsMountFlags::NOSUID, MsFlags::MS_NOSUID),
            (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
            (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
            (StatVfsMountFlags::NODIRATIME, MsFlags::MS_NODIRATIME),
            (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
        ] {
            if held.contains(is_held) {
                flags |= flag;
            }
        }
        mount(None::<&str>, path, None::<&str>, flags, None::<&str>).map_err(failed(&step))
    }
}
