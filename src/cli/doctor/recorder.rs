//! What the recorder cannot look at, or has no room for.

use super::{Facts, Found};
use crate::base::text;
use crate::settings::model::Recording;

pub(super) fn unreadable(facts: &Facts<'_>) -> Option<Found> {
    facts.subject.recorder.unreadable.clone().map(Found::from)
}

pub(super) fn unkept(facts: &Facts<'_>) -> Option<Found> {
    let n = facts.subject.recorder.n_unkept;
    let files = text::count(n, "state file", "state files");
    let what = format!("what {files} hold is not kept: there was no room for it");
    let is_on = facts.rules().settings.recorder == Recording::On;
    (is_on && n > 0).then(|| what.into())
}

pub(super) fn too_large(facts: &Facts<'_>) -> Vec<Found> {
    let dirs = facts.subject.recorder.too_large.iter();
    let found = dirs
        .map(|dir| format!("`{dir}` has more than 20,000 entries: no change in it is seen").into());
    found.collect()
}
