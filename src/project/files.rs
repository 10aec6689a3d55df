//! The files of a directory, as the systems read them.

use std::path::Path;

use crate::base::disk::bounded_read::read_text;
use crate::base::disk::list::{self, Entry};
use crate::systems::system::Files;

/// The files below a directory on the disk.
pub struct InDir<'a> {
    pub dir: &'a Path,
}

impl Files for InDir<'_> {
    fn read(&self, name: &str) -> Result<Option<String>, String> {
        read_text(&self.dir.join(name)).map_err(|error| error.to_string())
    }

    fn dirs(&self) -> Vec<String> {
        let dirs = list::readable(self.dir).filter(|entry| entry.leads_to_dir(self.dir));
        let mut names: Vec<String> = dirs.map(Entry::into_name).collect();
        names.sort_unstable();
        names
    }
}
