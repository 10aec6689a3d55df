//! The archives that whole sites are moved into.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::base::disk::list::{self, Entry};
use crate::base::disk::stat::{Kind, Stat};
use crate::base::path;
use crate::recorder::judge::Judged;

/// Each is read when it is first asked.
#[derive(Default)]
pub(super) struct Archives(RefCell<HashMap<String, Rc<ArchiveDirs>>>);

/// As many directories of an archive are looked through.
const MAX_DIRS: usize = 20_000;

/// What is in an archive, relative to it.
#[derive(Default)]
struct ArchiveDirs {
    names: Vec<String>,
    /// The directories below those.
    nested: OnceCell<Vec<String>>,
}

impl Archives {
    /// Whether the site of a removed entry was moved to where its system archives it: the
    /// entry is there.
    pub(super) fn hold(&self, judged: &Judged<'_, '_>) -> bool {
        let claim = &judged.claim;
        let archive = claim.governed.system.archive_of(&claim.site);
        let Some((archive, before)) = archive.zip(judged.change.before) else {
            return false;
        };
        let dir = claim.root.path(&archive.dir);
        let there = self.at(&dir);
        let is_it = |place: &String| {
            archive.takes(place) && {
                let entry = [&dir, "/", place, "/", &claim.entry].concat();
                Stat::of(entry.as_ref()).is_ok_and(|stat| stat.ino == before.ino)
            }
        };
        there.names.iter().any(is_it) || there.nested(&dir).iter().any(is_it)
    }

    fn at(&self, dir: &str) -> Rc<ArchiveDirs> {
        let mut known = self.0.borrow_mut();
        let archive = known.entry(dir.to_owned()).or_insert_with(|| {
            Rc::new(ArchiveDirs {
                names: list::readable(dir.as_ref()).map(Entry::into_name).collect(),
                ..ArchiveDirs::default()
            })
        });
        archive.clone()
    }
}

impl ArchiveDirs {
    fn nested(&self, dir: &str) -> &[String] {
        self.nested.get_or_init(|| {
            let mut nested = Vec::new();
            let mut to_read = self.names.clone();
            while let Some(above) = to_read.pop() {
                for name in dirs_in(&path::below(dir, &above)) {
                    let whole = path::below(&above, &name);
                    to_read.push(whole.clone());
                    nested.push(whole);
                }
                if nested.len() > MAX_DIRS {
                    break;
                }
            }
            nested
        })
    }
}

/// The directories in one, by their names. Links are left out, since one may lead back.
fn dirs_in(dir: &str) -> Vec<String> {
    let dirs = list::readable(dir.as_ref()).filter(|entry| entry.kind == Kind::Dir);
    dirs.map(Entry::into_name).collect()
}
