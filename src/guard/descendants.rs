//! The entries that go along with a directory that a call takes away.

use std::path::Path;

use crate::base::disk::list;
use crate::base::disk::stat::Kind;
use crate::base::path;
use crate::base::target::{Act, Spelling};
use crate::contract::table::Classification;
use crate::guard::claims::{Claim, Resolution};

/// More entries than a site's directory has in any honest work.
const MAX_ENTRIES: usize = 1_000;

/// The governed entries below a claimed directory, as if the call had named each. Where
/// there are several, the directory counts as a pattern that takes them all.
pub(crate) fn taken_along<'s>(claim: &mut Claim<'s>) -> Vec<Claim<'s>> {
    let (contract, edition) = (&claim.governed.contract, claim.governed.edition);
    let takes_trees = matches!(
        claim.target.act,
        Act::RemoveTree | Act::MoveAway | Act::Clear | Act::Clean(_)
    );
    if !takes_trees || claim.resolution != Resolution::Inside {
        return Vec::new();
    }
    if let Classification::Row(_) = contract.classify(&claim.entry, edition) {
        return Vec::new();
    }
    let (mut taken, mut dirs, mut left) = (Vec::new(), vec![claim.entry.clone()], MAX_ENTRIES);
    while let Some(dir) = dirs.pop() {
        let here = claim.root.path(&path::below(&claim.site, &dir));
        for entry in list::readable(Path::new(&here)).take(left) {
            left -= 1;
            let (kind, entry) = (entry.kind, path::below(&dir, &entry.into_name()));
            match contract.classify(&entry, edition) {
                Classification::Row(_) | Classification::ProgramDirectory => taken.push(entry),
                _ if kind == Kind::Dir => dirs.push(entry),
                _ => {}
            }
        }
    }
    taken.sort_unstable();
    let spelling = Spelling::from_matches(taken.len());
    let claims: Vec<_> = taken
        .into_iter()
        .map(|entry| Claim {
            entry,
            ..claim.clone()
        })
        .collect();
    if claims.len() > 1 {
        claim.target.spelling = spelling;
    }
    claims
}
