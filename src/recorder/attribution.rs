//! Who made a change, and what is done about it: pure. The first line of the table in
//! `docs/recorder.md` that fits decides.

use crate::contract::denial::DenyCode;
use crate::recorder::entry::ChangeKind;

/// What is known of a change. What takes a look at the disk is asked when it is needed.
pub struct Case<'a> {
    pub act: ChangeKind,
    /// The calls that can have made it.
    pub candidates: &'a [Candidate],
    /// What is wrong with the name, whoever made it.
    pub name: Option<DenyCode>,
    /// Whether the entry was only appended to.
    pub has_grown: &'a dyn Fn() -> bool,
    /// How version control knows the entry.
    pub tracked: &'a dyn Fn() -> Tracked,
    /// Whether an entry with the same content and identity is gone from a name that is free.
    pub was_renamed: &'a dyn Fn() -> bool,
}

/// A call that can have made a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What a file tool of the same actor would have been denied for.
    pub code: Option<DenyCode>,
    /// How it is tied to this change.
    pub tie: Tie,
    /// Whether it can have made the change all by itself: it ended, the tool itself ran
    /// at that time, and not all that it does was read before.
    pub may_be_alone: bool,
    pub version_control: bool,
    /// Whether the only program in it whose writes are not known is the system's own.
    pub owning_program: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tie {
    #[default]
    None,
    /// Its text names the entry.
    Names,
    /// It is the file tool that was allowed to write just this.
    Wrote,
}

/// How `.git/index` has an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    No,
    Yes,
    /// With the content that it has now.
    AsItIs,
}

/// What is decided about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution {
    pub verdict: Verdict,
    /// The candidate that made it.
    pub by: Option<usize>,
    /// Whether it could not have been decided otherwise.
    pub certain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    /// It stays, and is told.
    Tell(Because),
    /// The entry gets its former name back.
    RenameBack,
    /// The entry goes into the archive.
    MoveAway,
    /// The entry becomes what it was: only where one call alone can have changed it.
    PutBack,
}

/// Why a change that is against the rules is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    NoCallRan,
    VersionControl,
    /// The system's own program ran: the contract may be behind it.
    OwningProgram,
    /// Nothing was lost by it.
    NothingLost,
    NotCertain,
}

/// Whether a code is about the name alone, so that it holds for every actor.
fn holds_for_everyone(code: DenyCode) -> bool {
    use DenyCode::{AdHocName, PathEscape, UndeclaredDirectory};
    matches!(code, AdHocName | UndeclaredDirectory | PathEscape)
}

/// Decides about one change.
pub fn decide(case: &Case<'_>) -> Attribution {
    let all = case.candidates;
    if all.is_empty() {
        return outside(case);
    }
    let wrote = all.iter().position(|one| one.tie == Tie::Wrote);
    if let Some(writer) = wrote {
        return accept(Some(writer), true);
    }
    let only = (all.len() == 1).then_some(0);
    let named = only_one(all, |one| one.tie == Tie::Names);
    let legal = all.iter().filter(|one| one.code.is_none()).count();
    if legal == all.len() {
        return accept(only.or(named), only.is_some());
    }
    match (legal, named) {
        (0, _) => decide_illegal(case, all, only),
        (_, Some(named)) if all[named].code.is_some() => {
            decide_illegal(case, &all[named..=named], Some(named))
        }
        (_, named) => accept(named, false),
    }
}

/// What none of these candidates was allowed to do; `by` is the one that made it.
fn decide_illegal(case: &Case<'_>, candidates: &[Candidate], by: Option<usize>) -> Attribution {
    let Some(code) = candidates.iter().find_map(|one| one.code) else {
        return accept(by, by.is_some());
    };
    let decided = |verdict, certain| Attribution {
        verdict,
        by,
        certain,
    };
    let tell = |because| {
        let certain = by.is_some() && because != Because::NotCertain;
        decided(Verdict::Tell(because), certain)
    };
    use DenyCode::{BulkRemoval, EphemeralName, IllegalTransition, MalformedContent, ProgramOwned};
    let is_bad_name = candidates
        .iter()
        .all(|one| one.code.is_some_and(holds_for_everyone));
    let by_owner = candidates.iter().any(|one| one.owning_program);
    match (case.act, code) {
        (ChangeKind::Change, ProgramOwned) if (case.has_grown)() => return accept(by, true),
        (_, ProgramOwned | BulkRemoval) if by_owner => return accept(by, true),
        (_, EphemeralName) => return accept(by, true),
        _ => {}
    }
    // What is not in version control did not come from it.
    let tracked = (case.tracked)();
    let by_version_control = candidates.iter().any(|one| one.version_control);
    let is_checked_out = match (is_bad_name, by_version_control) {
        (true, true) => tracked != Tracked::No,
        (false, true) => true,
        (_, false) => tracked == Tracked::AsItIs,
    };
    if is_checked_out {
        return tell(Because::VersionControl);
    }
    if by_owner {
        return tell(Because::OwningProgram);
    }
    let alone = by.is_some() && candidates.iter().all(|one| one.may_be_alone);
    match (case.act, code) {
        (ChangeKind::Create, _) if is_bad_name && (case.was_renamed)() => {
            decided(Verdict::RenameBack, true)
        }
        (ChangeKind::Create, _) if is_bad_name => decided(Verdict::MoveAway, true),
        (ChangeKind::Create, MalformedContent | IllegalTransition | ProgramOwned) => {
            tell(Because::NothingLost)
        }
        // It was there before.
        _ if is_bad_name => tell(Because::NothingLost),
        _ if alone => decided(Verdict::PutBack, true),
        _ => tell(Because::NotCertain),
    }
}

/// What happened while no call ran is nobody's fault, but a stray is told once.
fn outside(case: &Case<'_>) -> Attribution {
    let stray = case
        .name
        .filter(|code| case.act == ChangeKind::Create && holds_for_everyone(*code));
    Attribution {
        verdict: match stray {
            Some(_) => Verdict::Tell(Because::NoCallRan),
            None => Verdict::Accept,
        },
        by: None,
        certain: true,
    }
}

fn accept(by: Option<usize>, certain: bool) -> Attribution {
    Attribution {
        verdict: Verdict::Accept,
        by,
        certain,
    }
}

fn only_one(all: &[Candidate], is_it: impl Fn(&Candidate) -> bool) -> Option<usize> {
    let mut found = (0..all.len()).filter(|at| is_it(&all[*at]));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A candidate in words: a deny code, `legal`, and what else is known of it.
    fn candidate(words: &str) -> Candidate {
        let mut one = Candidate::default();
        for word in words.split_whitespace() {
            match word {
                "legal" => {}
                "names" => one.tie = Tie::Names,
                "wrote" => one.tie = Tie::Wrote,
                "alone" => one.may_be_alone = true,
                "git" => one.version_control = true,
                "owner" => one.owning_program = true,
                code => one.code = Some(DenyCode::parse(code).unwrap()),
            }
        }
        one
    }

    /// `act` may be followed by `grown`, `renamed`, `tracked`, `as-it-is`, or the code
    /// of the name; the decision is said as in the logs of these tests.
    #[track_caller]
    fn check(act: &str, candidates: &[&str], expected: &str) {
        let has = |word| act.split(' ').any(|one| one == word);
        let candidates: Vec<Candidate> = candidates.iter().map(|one| candidate(one)).collect();
        let case = Case {
            act: match act.split(' ').next() {
                Some("create") => ChangeKind::Create,
                Some("change") => ChangeKind::Change,
                _ => ChangeKind::Remove,
            },
            candidates: &candidates,
            name: act.split(' ').find_map(DenyCode::parse),
            has_grown: &|| has("grown"),
            tracked: &|| match (has("tracked"), has("as-it-is")) {
                (_, true) => Tracked::AsItIs,
                (true, _) => Tracked::Yes,
                _ => Tracked::No,
            },
            was_renamed: &|| has("renamed"),
        };
        let Attribution {
            verdict,
            by,
            certain,
        } = decide(&case);
        let what = match verdict {
            Verdict::Accept => "accept".to_owned(),
            Verdict::Tell(because) => format!("tell {because:?}"),
            Verdict::RenameBack => "rename back".to_owned(),
            Verdict::MoveAway => "move away".to_owned(),
            Verdict::PutBack => "put back".to_owned(),
        };
        let by = by.map_or("-".to_owned(), |by| by.to_string());
        let doubt = if certain { "" } else { " ?" };
        assert_eq!(
            format!("{what} {by}{doubt}"),
            expected,
            "{act} {candidates:?}"
        );
    }

    #[test]
    fn every_row_decides_what_it_should_and_nothing_else() {
        let table: &[(&str, &[&str], &str)] = &[
            // Nobody is accused of what came while no call ran.
            ("create ad-hoc-name", &[], "tell NoCallRan -"),
            ("create wrong-writer", &[], "accept -"),
            ("change ad-hoc-name", &[], "accept -"),
            ("remove", &[], "accept -"),
            // A file tool's own write, whatever ran beside it.
            ("change", &["wrong-writer alone", "legal wrote"], "accept 1"),
            (
                "change",
                &["wrong-writer alone", "wrong-writer names"],
                "tell NotCertain - ?",
            ),
            // Version control, where the entry came from it.
            (
                "change",
                &["wrong-writer alone git"],
                "tell VersionControl 0",
            ),
            (
                "change as-it-is",
                &["wrong-writer alone"],
                "tell VersionControl 0",
            ),
            ("change tracked", &["wrong-writer alone"], "put back 0"),
            (
                "create tracked",
                &["ad-hoc-name git"],
                "tell VersionControl 0",
            ),
            ("create", &["ad-hoc-name git"], "move away 0"),
            (
                "remove",
                &["program-owned alone git"],
                "tell VersionControl 0",
            ),
            ("change", &["legal git"], "accept 0"),
            // Legal for everyone.
            ("create", &["legal"], "accept 0"),
            ("create", &["legal", "legal"], "accept - ?"),
            ("create", &["legal", "legal names"], "accept 1 ?"),
            // An append-only log.
            ("change grown", &["program-owned alone"], "accept 0"),
            ("change", &["program-owned alone"], "put back 0"),
            ("change grown", &["wrong-writer alone"], "put back 0"),
            // The system's own program, and only that.
            ("create", &["program-owned owner"], "accept 0"),
            ("change", &["program-owned alone owner"], "accept 0"),
            ("remove", &["bulk-removal alone owner"], "accept 0"),
            (
                "change",
                &["wrong-writer alone owner"],
                "tell OwningProgram 0",
            ),
            ("create", &["ad-hoc-name owner"], "tell OwningProgram 0"),
            // Innocent until shown.
            ("change", &["legal", "wrong-writer alone"], "accept - ?"),
            (
                "change",
                &["legal names", "wrong-writer alone"],
                "accept 0 ?",
            ),
            (
                "change",
                &["legal", "wrong-writer alone names"],
                "put back 1",
            ),
            (
                "change",
                &["legal names", "wrong-writer names"],
                "accept - ?",
            ),
            (
                "change",
                &["legal", "wrong-writer names"],
                "tell NotCertain 1 ?",
            ),
            // Commands may.
            ("create", &["ephemeral-name alone"], "accept 0"),
            // Bad names, whoever made them.
            ("create renamed", &["ad-hoc-name alone"], "rename back 0"),
            ("create renamed", &["wrong-writer alone"], "put back 0"),
            ("create", &["ad-hoc-name"], "move away 0"),
            ("create", &["path-escape", "path-escape"], "move away -"),
            ("create", &["undeclared-directory"], "move away 0"),
            (
                "create",
                &["ad-hoc-name", "wrong-writer"],
                "tell NotCertain - ?",
            ),
            ("change", &["ad-hoc-name alone"], "tell NothingLost 0"),
            // Several removals at once.
            ("remove", &["bulk-removal alone"], "put back 0"),
            ("remove", &["bulk-removal"], "tell NotCertain 0 ?"),
            // Nothing was lost by it.
            ("create", &["malformed-content alone"], "tell NothingLost 0"),
            (
                "create",
                &["illegal-transition alone"],
                "tell NothingLost 0",
            ),
            ("create", &["program-owned alone"], "tell NothingLost 0"),
            // One call alone, or not.
            ("create", &["wrong-writer alone"], "put back 0"),
            ("change", &["malformed-content alone"], "put back 0"),
            ("change", &["protected-file alone"], "put back 0"),
            ("change", &["malformed-content"], "tell NotCertain 0 ?"),
            ("remove", &["wrong-writer alone"], "put back 0"),
            (
                "remove",
                &["wrong-writer alone", "wrong-writer"],
                "tell NotCertain - ?",
            ),
        ];
        for (act, candidates, expected) in table {
            check(act, candidates, expected);
        }
    }
}
