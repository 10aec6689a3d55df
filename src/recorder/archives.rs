//! The archives that whole sites are moved into.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::base::disk::list::{self, Entry};
use crate::base::disk::stat::Stat;
use crate::base::path;
use crate::recorder::judge::Judged;

/// Each is read when it is first asked.
#[derive(Default)]
pub(super) struct Archives(RefCell<HashMap<String, Rc<ArchiveDirs>>>);

/// What is in an archive, and in its directories, relative to it.
#[derive(Default)]
struct ArchiveDirs {
    names: Vec<String>,
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
                names: names_in(dir),
                ..ArchiveDirs::default()
            })
        });
        archive.clone()
    }
}

impl ArchiveDirs {
    fn nested(&self, dir: &str) -> &[String] {
        self.nested.get_or_init(|| {
            let dirs = self.names.iter();
            dirs.flat_map(|above| {
                let names = names_in(&path::below(dir, above)).into_iter();
                names.map(|name| path::below(above, &name))
            })
            .collect()
        })
    }
}

fn names_in(dir: &str) -> Vec<String> {
    list::readable(dir.as_ref()).map(Entry::into_name).collect()
}
