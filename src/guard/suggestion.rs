//! What to write instead of a name that is in no contract.

use crate::base::actor::Actor;
use crate::contract::suggest::nearest;
use crate::contract::table::{Bucket, Classification, Name, Row, Writer};
use crate::guard::claims::Claim;
use crate::guard::decision::{Call, Objection, REPORT};
use crate::systems::system;

/// A contract with so few names can say them all.
const FEW: usize = 6;

/// The allowed name that a refused one most likely meant.
pub(crate) enum Suggestion {
    Nothing,
    Name(String),
    /// It is another's to write; the actor's own, if there is one, is the next best.
    Others {
        meant: String,
        own: Option<String>,
    },
    /// Nothing is near; these are all there are.
    OneOf(Vec<String>),
    /// The same, and each is another's to write.
    NoneOf(Vec<String>),
}

impl Suggestion {
    /// Puts the way on into an objection.
    pub(crate) fn complete(self, mut objection: Objection) -> Objection {
        match self {
            Self::Nothing => {}
            Self::Name(name) => objection.suggestion = Some(name),
            Self::Others { meant, own } => {
                objection.why += &format!("; `{meant}` is for another to write");
                if own.is_none() {
                    objection.why += &format!("; {REPORT}");
                }
                objection.suggestion = own;
            }
            Self::OneOf(names) => {
                objection.why += &format!("; you may write `{}`", names.join("`, `"));
            }
            Self::NoneOf(names) => {
                let names = names.join("`, `");
                objection.why += &format!("; others write `{names}`; {REPORT}");
            }
        }
        objection
    }
}

/// The nearest name, and where that is another's, the contract's place for notes:
/// the second nearest name of the actor's own would be a file about something else.
pub(crate) fn near(claim: &Claim<'_>, call: &Call<'_>, name: &str) -> Suggestion {
    let governed = claim.governed;
    let contract = &governed.contract;
    let may_write = |row: &Row<'_>| {
        let writer = governed.system.writer(row, row.title());
        contract.may_write(&writer, call.actor).is_ok()
    };
    let Some(meant) = nearest(contract, name, governed.edition, &|_| true) else {
        return all_of_few(claim, &may_write);
    };
    let is_own = |name: &str| match contract.standing(name, governed.edition) {
        Classification::Row(row) => may_write(row),
        _ => true,
    };
    if is_own(&meant) {
        return Suggestion::Name(meant);
    }
    let notes = contract.fallback.map(str::to_owned);
    let own = notes.or_else(|| nearest(contract, name, governed.edition, &may_write));
    match own.filter(|own| is_own(own)) {
        // The main thread can dispatch the one whose name it is.
        None if *call.actor == Actor::Main => Suggestion::Name(meant),
        own => Suggestion::Others { meant, own },
    }
}

/// The names in the entry's directory, where they are few: the actor's, else all.
fn all_of_few(claim: &Claim<'_>, may_write: &dyn Fn(&Row<'_>) -> bool) -> Suggestion {
    let own = names_beside(claim, may_write);
    if own.len() > FEW {
        return Suggestion::Nothing;
    }
    if !own.is_empty() {
        return Suggestion::OneOf(own);
    }
    match names_beside(claim, &|_| true) {
        all if (1..=FEW).contains(&all.len()) => Suggestion::NoneOf(all),
        _ => Suggestion::Nothing,
    }
}

/// The names in the entry's directory that a tool call can write, and `fits`.
fn names_beside(claim: &Claim<'_>, fits: &dyn Fn(&Row<'_>) -> bool) -> Vec<String> {
    let governed = claim.governed;
    let (dir, _) = governed
        .contract
        .nearest_dir(&claim.entry, governed.edition);
    let is_offered = |row: &&Row<'_>| {
        row.editions.hold(governed.edition)
            && !matches!(row.bucket, Bucket::Ephemeral | Bucket::AdHoc)
            && !matches!(row.writer, Writer::Program | Writer::User)
            && fits(row)
    };
    let rows = governed.contract.rows.iter().filter(is_offered);
    let names = rows.map(|row| match row.name {
        Name::Slug(slug) => format!("{}N{}", slug.prefix, slug.endings[0]),
        _ => row.title().to_owned(),
    });
    names
        .filter(|name| system::below(name, dir.path).is_some())
        .collect()
}
