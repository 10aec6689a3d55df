//! What to write instead of a name that is in no contract.

use crate::base::actor::Actor;
use crate::base::text::join_limited;
use crate::contract::suggest::{dir_of, is_document, nearest};
use crate::contract::table::{Classification, Name, Row};
use crate::guard::claims::Claim;
use crate::guard::decision::{Call, Objection, REPORT};
use crate::systems::system;

/// How many characters of names a reason has room for.
const ROOM: usize = 240;

/// Puts the way on into an objection to a name: the nearest one that the actor may write, or
/// all that there are in the directory. Of what is no document it says only where such files go.
pub(crate) fn with_way_on(
    claim: &Claim<'_>,
    call: &Call<'_>,
    name: &str,
    mut objection: Objection,
) -> Objection {
    let governed = claim.governed;
    let may_write = |row: &Row<'_>| {
        let writer = governed.system.writer(row, row.title());
        governed.contract.may_write(&writer, call.actor).is_ok()
    };
    let near = |holds: &dyn Fn(&Row<'_>) -> bool| {
        nearest(&governed.contract, name, governed.edition, holds)
    };
    let mut intended = near(&|_| true);
    let row = intended
        .as_ref()
        .map(|name| governed.contract.classify(name, governed.edition));
    objection.suggestion = match row {
        Some(Classification::Row(row)) if may_write(row) => intended.take(),
        _ => near(&may_write),
    };
    let has_none = objection.suggestion.is_none();
    let report = if has_none && *call.actor != Actor::Main {
        format!("; {REPORT}")
    } else {
        String::new()
    };
    if let Some(intended) = intended {
        objection.why += &format!("; `{intended}` is for another to write{report}");
    } else if has_none && is_document(&governed.contract, name) {
        let own = names_beside(claim, &may_write);
        let others = names_beside(claim, &|_| true);
        match (own.is_empty(), others.is_empty()) {
            (false, _) => objection.why += &format!("; you may write {}", join_limited(own, ROOM)),
            (_, false) => {
                objection.why += &format!("; others write {}{report}", join_limited(others, ROOM))
            }
            _ => {}
        }
    }
    objection
}

/// The names in the entry's directory, else in the site, that a tool call can write and `fits`.
fn names_beside(claim: &Claim<'_>, fits: &dyn Fn(&Row<'_>) -> bool) -> Vec<String> {
    let (contract, edition) = (&claim.governed.contract, claim.governed.edition);
    let rows = contract.rows.iter();
    let offered = rows.filter(|row| row.is_offered(edition) && fits(row));
    let names = offered.map(|row| match row.name {
        Name::Slug(slug) => ("names like ", slug.example),
        _ => ("", row.title()),
    });
    let names: Vec<(&str, &str)> = names.collect();
    let (site, _) = contract.nearest_dir(&claim.entry, edition);
    let beside = names
        .iter()
        .filter(|(_, name)| dir_of(name) == dir_of(&claim.entry));
    let below = names
        .iter()
        .filter(|(_, name)| system::below(name, site.path).is_some());
    let quoted = |(like, name): &(&str, &str)| format!("{like}`{name}`");
    match beside.clone().next() {
        Some(_) => beside.map(quoted).collect(),
        None => below.map(quoted).collect(),
    }
}
