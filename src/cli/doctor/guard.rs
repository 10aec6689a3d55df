//! What the settings say, and what is guarded by them.

use super::{Facts, Found};
use crate::cli::global::known_ids;
use crate::cli::guarded::Guarded;
use crate::contract::denial::Mode;
use crate::contract::edition::InForce;
use crate::project::registry::mode_of;
use crate::project::settings::MAX_CONTRACTS;
use crate::systems::devt;

pub(super) fn edition(facts: &Facts<'_>) -> Option<Found> {
    let InForce { edition, why } = facts.rules().settings.edition_of(devt::ID);
    Some(format!("devt contract, edition {}: {why}", edition.as_str()).into())
}

pub(super) fn ignored_files(facts: &Facts<'_>) -> Vec<Found> {
    each(&facts.rules().problems)
}

pub(super) fn surplus_contracts(facts: &Facts<'_>) -> Option<Found> {
    let n = facts.subject.n_surplus_contracts;
    let what = format!("only the first {MAX_CONTRACTS} contract files are read, {n} are not");
    (n > 0).then(|| what.into())
}

pub(super) fn left_out(facts: &Facts<'_>) -> Vec<Found> {
    each(facts.rules().left_out.iter().map(|left_out| &left_out.what))
}

pub(super) fn overruled(facts: &Facts<'_>) -> Vec<Found> {
    each(&facts.rules().overruled)
}

pub(super) fn only_warned_about(facts: &Facts<'_>) -> Vec<Found> {
    let settings = &facts.rules().settings;
    let ids = known_ids(settings).into_iter();
    let warned = ids.filter(|id| mode_of(id, settings) == Mode::Warn);
    each(warned.map(|id| format!("`{id}` is only warned about: the settings say so")))
}

pub(super) fn all_switched_off(facts: &Facts<'_>) -> Option<Found> {
    let first = facts.subject.switched_off.first()?;
    let what = format!("nothing is guarded: every system is off, by `{}`", first.by);
    all_are_off(facts).then(|| what.into())
}

pub(super) fn switched_off(facts: &Facts<'_>) -> Vec<Found> {
    if all_are_off(facts) {
        return Vec::new();
    }
    each(facts.subject.switched_off)
}

fn all_are_off(facts: &Facts<'_>) -> bool {
    facts.subject.switched_off.len() == known_ids(&facts.rules().settings).len()
}

pub(super) fn guarded(facts: &Facts<'_>) -> Option<Found> {
    let guarded = &facts.subject.guarded;
    matches!(guarded, Guarded::Sites(_)).then(|| guarded.to_string().into())
}

pub(super) fn nothing_yet(facts: &Facts<'_>) -> Option<Found> {
    let guarded = &facts.subject.guarded;
    matches!(guarded, Guarded::NothingYet { .. }).then(|| guarded.to_string().into())
}

pub(super) fn unreadable_state(facts: &Facts<'_>) -> Vec<Found> {
    each(facts.subject.unreadable)
}

/// A sentence each.
fn each(all: impl IntoIterator<Item = impl ToString>) -> Vec<Found> {
    all.into_iter().map(|one| one.to_string().into()).collect()
}
