//! What the recorder cannot look at, or has no room for.

use super::{Finding, Subject};
use crate::base::text;
use crate::settings::model::Recording;

pub(super) fn examine(subject: &Subject<'_>) -> Vec<Finding> {
    let health = &subject.recorder;
    let mut findings = Vec::new();
    if let Some(what) = &health.unreadable {
        let fix = "remove it: it is made anew, and the changes before now are not known";
        findings.push(Finding::warning("recorder", what, fix));
    }
    if health.n_unkept > 0 && subject.settings.settings.recorder == Recording::On {
        let files = text::count(health.n_unkept, "state file", "state files");
        let what = format!("what {files} hold is not kept: there was no room for it");
        let fix = "move large files out of the state directories; what is there is kept anew when \
                   a session starts";
        findings.push(Finding::warning("recorder", what, fix));
    }
    for dir in &health.too_large {
        let what = format!("`{dir}` has more than 20,000 entries: no change in it is seen");
        let fix = "move away what no workflow needs, such as with `statewarden cleanup --apply`";
        findings.push(Finding::warning("recorder", what, fix));
    }
    findings
}
