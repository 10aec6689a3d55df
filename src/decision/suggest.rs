//! What to write instead of a name that is in no contract.

use super::{Call, Objection};
use crate::claim::Claim;
use crate::contract::{Bucket, Name, Row, Standing, Writer};
use crate::nearest::nearest;

/// A contract with so few names can say them all.
const FEW: usize = 6;

/// The allowed name that a refused one most likely meant.
pub(super) enum Near {
    Nothing,
    Name(String),
    /// It is another's to write; the actor's own is the next best.
    Others {
        meant: String,
        own: String,
    },
    /// Nothing is near; these are all there are.
    OneOf(Vec<String>),
}

impl Near {
    /// Puts the way on into an objection.
    pub(super) fn complete(self, mut objection: Objection) -> Objection {
        match self {
            Self::Nothing => {}
            Self::Name(name) => objection.suggestion = Some(name),
            Self::Others { meant, own } => {
                objection.why += &format!("; `{meant}` is for another to write");
                objection.suggestion = Some(own);
            }
            Self::OneOf(names) => {
                objection.why += &format!("; you may write `{}`", names.join("`, `"));
            }
        }
        objection
    }
}

/// The nearest name, and where that is another's, the contract's place for notes:
/// the second nearest name of the actor's own would be a file about something else.
pub(super) fn near(claim: &Claim<'_>, call: &Call<'_>, name: &str) -> Near {
    let governed = claim.governed;
    let contract = &governed.contract;
    let may_write = |row: &Row<'_>| {
        let writer = governed.system.writer(row, row.title());
        contract.may_write(&writer, call.actor).is_ok()
    };
    let Some(meant) = nearest(contract, name, governed.edition, &|_| true) else {
        return all_of_few(claim, &may_write);
    };
    let is_own = match contract.standing(&meant, governed.edition) {
        Standing::Row(row) => may_write(row),
        _ => true,
    };
    if is_own {
        return Near::Name(meant);
    }
    let notes = contract.fallback.map(str::to_owned);
    match notes.or_else(|| nearest(contract, name, governed.edition, &may_write)) {
        Some(own) => Near::Others { meant, own },
        None => Near::Name(meant),
    }
}

fn all_of_few(claim: &Claim<'_>, may_write: &dyn Fn(&Row<'_>) -> bool) -> Near {
    let governed = claim.governed;
    let is_offered = |row: &&Row<'_>| {
        row.editions.hold(governed.edition)
            && row.bucket != Bucket::Ephemeral
            && !matches!(row.writer, Writer::Program | Writer::User)
            && may_write(row)
    };
    let rows: Vec<_> = governed.contract.rows.iter().filter(is_offered).collect();
    let are_names = rows.iter().all(|row| !matches!(row.name, Name::Slug(_)));
    match rows.len() {
        1..=FEW if are_names => {
            Near::OneOf(rows.iter().map(|row| row.title().to_owned()).collect())
        }
        _ => Near::Nothing,
    }
}
