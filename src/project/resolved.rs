//! What the settings said when they were last read, in the memory: where there are contracts, or
//! many systems in the settings, reading them would cost the hook more than the rest of its work.

use serde::{Deserialize, Serialize};

use crate::base::disk::bounded_read::read_text;
use crate::base::env::Env;
use crate::formats::json;
use crate::project::accepted::Accepted;
use crate::project::roots::Project;
use crate::project::stamps::{Stamp, Stamps};
use crate::settings::merge::{Layer, Resolved};
use crate::store::replace::{remove, replace_private};

/// The file in the memory: a line with the stamps of the settings files, one with what they said,
/// and one with the rules of each system that they declare.
const FILE: &str = "resolved-settings.jsonl";

/// Shorter settings are read as fast as what was kept of them, in bytes.
const WORTH_KEEPING: usize = 2048;

/// The second line.
#[derive(Serialize, Deserialize)]
struct Head {
    resolved: Resolved,
    /// The schemas that rules name.
    schemas: Vec<(String, Option<Stamp>)>,
}

/// The first line: another program may read the same files differently.
#[derive(Serialize)]
struct Key<'s> {
    version: &'static str,
    files: &'s Stamps,
}

impl Project {
    /// The settings of the files together, as the hook goes by them.
    pub fn rules(&self, env: &Env) -> Resolved {
        if let Some(kept) = self.kept_settings(env).and_then(read) {
            return self.with_plugins(kept);
        }
        let resolved = self.resolve(&self.settings_layers(env));
        if let Some(stamps) = self.stamps(env)
            && Accepted::of(self).held().next().is_none()
        {
            self.keep_settings(stamps, &resolved);
        }
        resolved
    }

    /// The stamps of the settings files that are there; `None` without contracts and where the
    /// settings say little, since few files are read as fast as their stamps.
    fn stamps(&self, env: &Env) -> Option<&Stamps> {
        let stamps = self.stamps.get_or_init(|| {
            let files = self.settings_files(env);
            let mut layers = files.iter().map(|(layer, _)| *layer);
            let is_worth_it = layers.any(|layer| layer == Layer::Contract)
                || self.settings_len(env) > WORTH_KEEPING;
            is_worth_it.then(|| Stamps::of(files.iter().map(|(_, path)| path.as_str())))
        });
        stamps.as_ref()
    }

    /// The bytes of the settings files together.
    fn settings_len(&self, env: &Env) -> usize {
        let files = self.read_settings(env).iter();
        let texts = files.filter_map(|file| file.text.as_ref().ok()?.as_ref());
        texts.map(String::len).sum()
    }

    /// Whether a contract file guards here.
    pub fn has_contracts(&self, env: &Env) -> bool {
        let files = self.settings_files(env);
        files.iter().any(|(layer, _)| *layer == Layer::Contract)
    }

    /// Whether what the settings say is kept.
    pub fn keeps_settings(&self, env: &Env) -> bool {
        self.stamps(env).is_some()
    }

    /// What was kept of settings files that are as they were then. Nothing is held of them.
    pub(super) fn kept_settings(&self, env: &Env) -> Option<&str> {
        let kept = self.kept_settings.get_or_init(|| {
            let stamps = self.stamps(env)?;
            let file = self.memory().join(FILE);
            let text = read_text(&file).ok()??;
            let is_old_enough = stamps.are_well_before(&Stamp::of(file.to_str()?)?);
            let kept = text.strip_prefix(&key(stamps))?;
            is_old_enough.then(|| kept.to_owned())
        });
        kept.as_deref()
    }

    /// Where that fails, the files are read again.
    fn keep_settings(&self, stamps: &Stamps, resolved: &Resolved) {
        let text = key(stamps) + &written(resolved);
        let _ = self
            .make_memory()
            .and_then(|memory| replace_private(&memory.join(FILE), text.as_bytes()));
    }

    /// What is held must not be taken for what was kept.
    pub(super) fn forget_settings(&self) {
        let _ = remove(&self.memory().join(FILE));
    }
}

fn key(files: &Stamps) -> String {
    let version = env!("CARGO_PKG_VERSION");
    json::line(&Key { version, files })
}

/// The lines behind the key.
fn written(resolved: &Resolved) -> String {
    let declared = || resolved.settings.declared().map(|(_, declared)| declared);
    let schemas = declared().flat_map(|declared| declared.schemas());
    let head = Head {
        schemas: schemas
            .map(|path| (path.to_owned(), Stamp::of(path)))
            .collect(),
        resolved: resolved.clone(),
    };
    let rules = declared().map(|declared| json::line(&**declared));
    json::line(&head) + &rules.collect::<String>()
}

/// `None` where a schema has changed, or this is no text of ours.
fn read(text: &str) -> Option<Resolved> {
    let (head, rules) = text.split_once('\n')?;
    let Head {
        mut resolved,
        schemas,
    } = serde_json::from_str(head).ok()?;
    let mut lines = rules.lines();
    for declared in resolved.settings.declared_mut() {
        declared.set_rules(lines.next()?);
    }
    schemas
        .iter()
        .all(|(path, stamp)| Stamp::of(path) == *stamp)
        .then_some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::load::{Layers, SettingsFile};
    use crate::systems::system;

    fn resolved(files: &[(Layer, &str)]) -> Resolved {
        let files = files.iter().map(|(layer, path)| {
            let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
            SettingsFile::read(*layer, path)
        });
        Layers::of(files).resolve(&system::known())
    }

    #[track_caller]
    fn check(files: &[(Layer, &str)]) {
        let mut resolved = resolved(files);
        resolved.origins.clear();
        let kept = read(&written(&resolved)).expect("our own text");
        assert_eq!(
            kept.settings.declared().count(),
            resolved.settings.declared().count()
        );
        assert_eq!(kept, resolved);
    }

    #[test]
    fn what_is_kept_is_what_was_read() {
        let shelf = [
            "bmad-method",
            "gsd",
            "spec-kit",
            "superpowers",
            "task-master",
        ];
        let paths = shelf.map(|name| format!("contracts/{name}/statewarden.yaml"));
        let mut files: Vec<_> = paths
            .iter()
            .map(|path| (Layer::Contract, &**path))
            .collect();
        files.push((Layer::Project, "src/settings/every-key.yaml"));
        check(&files);
        check(&[(Layer::Project, "src/settings/every-key.yaml")]);
        // One that is in no force, with the reason.
        check(&[(Layer::Contract, "Cargo.toml")]);
    }
}
