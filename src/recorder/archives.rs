//! The archives that whole sites are moved into.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::iter;
use std::rc::Rc;

use crate::base::disk::list::{self, Entry};
use crate::base::disk::stat::Stat;
use crate::base::path;
use crate::recorder::judge::Judged;

/// Each is read when it is first asked.
#[derive(Default)]
pub(super) struct Archives(RefCell<HashMap<String, Rc<ArchiveDirs>>>);

/// What is in an archive: sites, and directories of sites.
struct ArchiveDirs {
    dir: String,
    names: Vec<String>,
    /// The directories in those, by their names.
    nested: OnceCell<HashMap<String, Vec<String>>>,
}

impl Archives {
    /// Whether the site of a removed entry was moved to where its system archives it: the
    /// entry is there.
    pub(super) fn hold(&self, judged: &Judged<'_, '_>) -> bool {
        let claim = &judged.claim;
        let archive = claim.governed.system.archive_of(&claim.site);
        let Some(((dir, name), before)) = archive.zip(judged.change.before) else {
            return false;
        };
        let archive = self.at(claim.root.path(&dir));
        let in_place = archive.names.iter().filter(|there| there.ends_with(name));
        let mut places = in_place
            .map(|there| path::below(&archive.dir, there))
            .chain(archive.nested(name));
        places.any(|place| {
            let entry = path::below(&place, &claim.entry);
            Stat::of(entry.as_ref()).is_ok_and(|stat| stat.ino == before.ino)
        })
    }

    fn at(&self, dir: String) -> Rc<ArchiveDirs> {
        let mut known = self.0.borrow_mut();
        let archive = known
            .entry(dir.clone())
            .or_insert_with(|| Rc::new(ArchiveDirs::read(dir)));
        archive.clone()
    }
}

impl ArchiveDirs {
    fn read(dir: String) -> Self {
        let names = names_in(&dir);
        Self {
            dir,
            names,
            nested: OnceCell::new(),
        }
    }

    /// The directories of a name that are in one of the archive; asked last, for it reads all of
    /// them.
    fn nested(&self, name: &str) -> impl Iterator<Item = String> {
        iter::once_with(move || {
            let nested = self.nested.get_or_init(|| {
                let mut nested: HashMap<String, Vec<String>> = HashMap::new();
                for above in &self.names {
                    let above = path::below(&self.dir, above);
                    for name in names_in(&above) {
                        let whole = path::below(&above, &name);
                        nested.entry(name).or_default().push(whole);
                    }
                }
                nested
            });
            nested.get(name).cloned().unwrap_or_default()
        })
        .flatten()
    }
}

fn names_in(dir: &str) -> Vec<String> {
    list::readable(dir.as_ref()).map(Entry::into_name).collect()
}
