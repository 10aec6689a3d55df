//! What goes along with a directory that a call takes away: entries, sites.

use std::path::Path;

use crate::base::disk::list;
use crate::base::path;
use crate::base::target::{Act, Spelling};
use crate::contract::table::Classification;
use crate::guard::claims::{Claim, Resolution};
use crate::project::registry::{EnabledSystem, Registry};
use crate::project::roots::{OnDisk, Root};
use crate::project::sites::Level;
use crate::systems::own;

/// More entries than a site's directory has in any honest work.
const MAX_ENTRIES: usize = 1_000;

/// The governed entries below a claimed directory, as if the call had named each. Where
/// there are several, the directory counts as a pattern that takes them all.
pub(crate) fn taken_along<'s>(claim: &mut Claim<'s>) -> Vec<Claim<'s>> {
    let (contract, edition) = (&claim.governed.contract, claim.governed.edition);
    let takes_trees = matches!(
        claim.target.act,
        Act::RemoveTree | Act::MoveAway | Act::Clear | Act::Clean
    );
    let is_row = || {
        matches!(
            contract.standing(&claim.entry, edition),
            Classification::Row(_)
        )
    };
    if !takes_trees || claim.lands != Resolution::Inside || is_row() {
        return Vec::new();
    }
    let (mut taken, mut dirs, mut left) = (Vec::new(), vec![claim.entry.clone()], MAX_ENTRIES);
    while let Some(dir) = dirs.pop() {
        let here = claim.root.path(&path::below(&claim.site, &dir));
        for entry in list::readable(Path::new(&here)).take(left) {
            left -= 1;
            let (kind, entry) = (entry.kind, path::below(&dir, &entry.into_name()));
            match contract.standing(&entry, edition) {
                Classification::Row(_) | Classification::ProgramDirectory => taken.push(entry),
                _ if kind.is_dir() => dirs.push(entry),
                _ => {}
            }
        }
    }
    taken.sort_unstable();
    let spelling = Spelling::from_matches(taken.len());
    let are_several = taken.len() > 1;
    let of_entry = |entry| Claim {
        entry,
        ..claim.clone()
    };
    let taken = taken.into_iter().map(of_entry).collect();
    if are_several {
        claim.target.spelling = spelling;
    }
    taken
}

/// The site of a system that is a directory, or lies in it under a landmark.
pub(crate) fn held(
    act: Act,
    root: &Root,
    level: &Level,
    governed: &EnabledSystem<'_>,
    registry: &Registry<'_>,
) -> Option<String> {
    let (system, dir) = (governed.system, level.dir.as_str());
    let named = registry.named_sites.iter();
    let mut named = named.filter(|(id, _)| id == system.id());
    let is_named = named.any(|(_, sites)| sites.iter().any(|site| site == dir));
    let view = OnDisk::of(root, registry);
    // A declared system's site is known by its glob alone.
    let is_declared = || {
        let place = system
            .info()
            .landmarks
            .is_empty()
            .then(|| system.locate(dir, &view));
        !dir.is_empty() && place.flatten().is_some_and(|place| place.site == dir)
    };
    if is_named || is_declared() {
        return Some(dir.to_owned());
    }
    // Our own folder is ignored by the file that it comes with.
    let stays = |place: &String| {
        act == Act::Clean && system.id() == own::ID && {
            let folder = Path::new(&root.real()).join(place);
            folder.join(".gitignore").exists()
        }
    };
    let landmarks = system.info().landmarks.iter();
    let mut places = landmarks.filter_map(|landmark| held_by_landmark(root, level, landmark));
    places.find(|place| !stays(place))
}

/// The landmark's path where it lies below a directory, or around it: `.devt`
/// holds the landmark `.devt/state` when it has an entry `state`.
fn held_by_landmark(root: &Root, level: &Level, landmark: &str) -> Option<String> {
    let dir = level.dir.as_str();
    let starts = std::iter::once(0).chain(landmark.match_indices('/').map(|(at, _)| at + 1));
    starts.into_iter().find_map(|start| {
        let (before, rest) = landmark.split_at(start);
        let before = before.trim_end_matches('/');
        let is_around = |above: &str| above.is_empty() || above.ends_with('/');
        let around = before.is_empty() || dir.strip_suffix(before).is_some_and(is_around);
        let fixed = rest.strip_suffix('*').unwrap_or(rest).trim_end_matches('/');
        let there = || Path::new(&root.real()).join(dir).join(fixed).exists();
        (around && level.may_hold(fixed) && there()).then(|| {
            path::collapse(&format!("/{dir}/{fixed}"))
                .trim_start_matches('/')
                .to_owned()
        })
    })
}
