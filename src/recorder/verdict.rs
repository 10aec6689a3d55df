//! The verdict about a change, who made it and what is done about it: pure. The first line of the table in
//! `docs/recorder.md` that fits decides.

use crate::contract::denial::DenyCode;
use crate::recorder::entry::ChangeKind;

/// What is known of a change. What takes a look at the disk is asked when it is needed.
pub struct Case<'a> {
    pub act: ChangeKind,
    /// The calls that can have made it.
    pub candidates: &'a [Candidate],
    pub entry: EntryKind,
    /// What is reported to the main thread where no call can have made it.
    pub concern: Option<Concern>,
    pub growth: &'a dyn Fn() -> Growth,
    pub custody: &'a dyn Fn() -> Custody,
    /// Whether an entry with the same content and identity is gone from a name that is free.
    pub was_renamed: &'a dyn Fn() -> bool,
}

/// What kind of entry a change is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryKind {
    #[default]
    Usual,
    /// It has, or had before, what is wrong with its name, and was left with it.
    Tolerated,
    /// A gate state or a log of this program's own.
    OwnState,
    /// This program's settings and contracts, and the client's settings.
    Settings,
    /// The directory that holds this program's own, and that is a link now.
    OwnFolder,
}

/// A call that can have made a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What a file tool of the same actor would have been denied for.
    pub code: Option<DenyCode>,
    pub tie: Tie,
    pub end: End,
    pub version_control: bool,
    /// Whether the only program in it whose writes are not known is the system's own.
    pub owning_program: bool,
}

/// How a call is tied to a change. A mention convicts no call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tie {
    #[default]
    None,
    /// Its text names the entry.
    Names,
    /// It is the file tool that was allowed to write just this.
    Wrote,
}

/// What is known of a call's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It ended, and when its tool ran is known.
    #[default]
    Known,
    /// It runs.
    Awaited,
    /// It was interrupted, or goes on in the background.
    Unknown,
}

/// What was added to a file without touching the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    None,
    Log,
    /// A log that another program acts upon.
    ActedUpon,
}

/// How version control has an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custody {
    Untracked,
    /// It is tracked, and no revision came or went while the change was made.
    Tracked,
    /// It is tracked, and another revision was checked out meanwhile.
    CheckedOut,
    /// It is in another git repository than the project.
    OtherRepository,
}

/// Why a change that no call made is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    Stray,
    Gate,
    Protected,
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
    /// Left in place, and reported.
    Report(Because),
    /// The entry gets its former name back.
    RenameBack,
    /// The entry goes into the archive.
    MoveAway,
    /// The entry becomes what it was.
    PutBack,
}

/// Why a change that is against the rules is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    NoCallRan,
    /// Version control has it, and did not bring it.
    Tracked,
    VersionControl,
    /// It is another repository's, where nothing is moved.
    OtherRepository,
    /// The system's own program ran: the contract may be behind it.
    OwningProgram,
    /// Another program acts upon the log.
    ActedUpon,
    /// The former settings remain in force.
    NotInForce,
    /// Nothing was lost by it.
    NothingLost,
    NotCertain,
}

/// Decides about one change.
pub fn of(case: &Case<'_>) -> Attribution {
    let all = case.candidates;
    if all.is_empty() {
        return outside(case);
    }
    if let Some(writer) = all.iter().position(|one| one.tie == Tie::Wrote) {
        return accept(Some(writer), true);
    }
    let only = (all.len() == 1).then_some(0);
    if all.iter().any(|one| one.code.is_none()) {
        // One that was allowed to may be credited, none is convicted.
        let credited = only
            .or_else(|| only_one(all, |one| one.code.is_none() && one.tie == Tie::Names))
            .or_else(|| only_one(all, |one| one.code.is_none()));
        return accept(credited, only.is_some() && all[0].end == End::Known);
    }
    of_illegal(case, only)
}

/// What none of the candidates was allowed to do, and the one that made it.
fn of_illegal(case: &Case<'_>, made_by: Option<usize>) -> Attribution {
    let all = case.candidates;
    let Some(code) = all.iter().find_map(|one| one.code) else {
        return accept(made_by, made_by.is_some());
    };
    // Only a call with an end convicts.
    let by = made_by.filter(|at| all[*at].end == End::Known);
    let verdict = match tolerated(case, code).or_else(|| of_our_own(case)) {
        Some(verdict) => verdict,
        None => match (case.custody)() {
            // Another revision brought it.
            Custody::CheckedOut => return accept(None, false),
            Custody::Tracked => Verdict::Report(Because::Tracked),
            Custody::OtherRepository => Verdict::Report(Because::OtherRepository),
            Custody::Untracked => of_untracked(case, code, by.is_some()),
        },
    };
    let certain = match verdict {
        Verdict::Report(Because::NotCertain) => false,
        Verdict::Accept | Verdict::Report(_) => by.is_some(),
        Verdict::RenameBack | Verdict::MoveAway | Verdict::PutBack => true,
    };
    Attribution {
        verdict,
        by,
        certain,
    }
}

/// What is against the rules for a file tool, and not for a command.
fn tolerated(case: &Case<'_>, code: DenyCode) -> Option<Verdict> {
    use DenyCode::{BulkRemoval, EphemeralName, ProgramOwned};
    let by_owner = case.candidates.iter().any(|one| one.owning_program);
    if code == EphemeralName
        || case.entry == EntryKind::Tolerated
        || by_owner && matches!(code, ProgramOwned | BulkRemoval)
    {
        return Some(Verdict::Accept);
    }
    if (case.act, code) != (ChangeKind::Change, ProgramOwned) {
        return None;
    }
    match (case.growth)() {
        Growth::Log => Some(Verdict::Accept),
        Growth::ActedUpon => Some(Verdict::Report(Because::ActedUpon)),
        Growth::None => None,
    }
}

/// This program's own, and the client's settings.
fn of_our_own(case: &Case<'_>) -> Option<Verdict> {
    let have_ended = case.candidates.iter().all(|one| one.end == End::Known);
    match case.entry {
        EntryKind::Settings => Some(Verdict::Report(Because::NotInForce)),
        EntryKind::OwnFolder => Some(Verdict::Report(Because::NothingLost)),
        EntryKind::OwnState if have_ended => Some(Verdict::PutBack),
        EntryKind::OwnState => Some(Verdict::Report(Because::NotCertain)),
        EntryKind::Usual | EntryKind::Tolerated => None,
    }
}

/// What version control has not: names first, then what one call alone can have done.
fn of_untracked(case: &Case<'_>, code: DenyCode, is_convicted: bool) -> Verdict {
    use DenyCode::{IllegalTransition, MalformedContent, ProgramOwned};
    let all = case.candidates;
    let is_bad_name = all.iter().all(|one| {
        one.code
            .is_some_and(|code| code.subject().holds_for_everyone())
    });
    if !is_bad_name && all.iter().any(|one| one.version_control) {
        return Verdict::Report(Because::VersionControl);
    }
    if all.iter().any(|one| one.owning_program) {
        return Verdict::Report(Because::OwningProgram);
    }
    // When a call ran that was interrupted, or goes on, is not known.
    let may_be_moved = all.iter().all(|one| one.end != End::Unknown);
    match (case.act, code) {
        _ if is_bad_name && !may_be_moved => Verdict::Report(Because::NotCertain),
        _ if is_bad_name && (case.was_renamed)() => Verdict::RenameBack,
        _ if is_bad_name => Verdict::MoveAway,
        (ChangeKind::Create, MalformedContent | IllegalTransition | ProgramOwned) => {
            Verdict::Report(Because::NothingLost)
        }
        _ if is_convicted => Verdict::PutBack,
        _ => Verdict::Report(Because::NotCertain),
    }
}

/// What no call can have made is never undone.
fn outside(case: &Case<'_>) -> Attribution {
    let is_reported = match case.concern {
        None => false,
        Some(Concern::Stray) => {
            case.entry != EntryKind::Tolerated
                && matches!(
                    (case.custody)(),
                    Custody::Untracked | Custody::OtherRepository
                )
        }
        Some(Concern::Gate | Concern::Protected) => true,
    };
    Attribution {
        verdict: if is_reported {
            Verdict::Report(Because::NoCallRan)
        } else {
            Verdict::Accept
        },
        by: None,
        certain: false,
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
                "runs" => one.end = End::Awaited,
                "cut" => one.end = End::Unknown,
                "git" => one.version_control = true,
                "owner" => one.owning_program = true,
                code => one.code = Some(DenyCode::parse(code).unwrap()),
            }
        }
        one
    }

    /// `act` may be followed by what else is known of the entry; the decision is said as in
    /// the logs of these tests.
    #[track_caller]
    fn check(act: &str, candidates: &[&str], expected: &str) {
        let has = |word: &str| act.split(" ").any(|one| one == word);
        let of = |words: &[&'static str]| words.iter().copied().find(|word| has(word));
        let candidates: Vec<Candidate> = candidates.iter().map(|one| candidate(one)).collect();
        let case = Case {
            act: match act.split(' ').next() {
                Some("create") => ChangeKind::Create,
                Some("change") => ChangeKind::Change,
                _ => ChangeKind::Remove,
            },
            candidates: &candidates,
            entry: match of(&["tolerated", "own", "settings"]) {
                Some("tolerated") => EntryKind::Tolerated,
                Some("own") => EntryKind::OwnState,
                Some(_) => EntryKind::Settings,
                None => EntryKind::Usual,
            },
            concern: match of(&["stray", "gate", "protected"]) {
                Some("stray") => Some(Concern::Stray),
                Some("gate") => Some(Concern::Gate),
                Some(_) => Some(Concern::Protected),
                None => None,
            },
            growth: &|| match of(&["grown", "acted-upon"]) {
                Some("grown") => Growth::Log,
                Some(_) => Growth::ActedUpon,
                None => Growth::None,
            },
            custody: &|| match of(&["tracked", "checked-out", "elsewhere"]) {
                Some("tracked") => Custody::Tracked,
                Some("elsewhere") => Custody::OtherRepository,
                Some(_) => Custody::CheckedOut,
                None => Custody::Untracked,
            },
            was_renamed: &|| has("renamed"),
        };
        let Attribution {
            verdict,
            by,
            certain,
        } = super::of(&case);
        let what = match verdict {
            Verdict::Accept => "accept".to_owned(),
            Verdict::Report(because) => format!("report {because:?}"),
            Verdict::RenameBack => "rename back".to_owned(),
            Verdict::MoveAway => "move away".to_owned(),
            Verdict::PutBack => "put back".to_owned(),
        };
        let by = by.map_or("-".to_owned(), |by| by.to_string());
        let doubt = if certain { "" } else { " ?" };
        let found = format!("{what} {by}{doubt}");
        assert_eq!(found, expected, "{act} {candidates:?}");
    }

    #[test]
    fn every_row_decides_what_it_should_and_nothing_else() {
        let table: &[(&str, &[&str], &str)] = &[
            // Nobody's: reported once where it matters, never undone.
            ("create stray", &[], "report NoCallRan - ?"),
            ("create stray tolerated", &[], "accept - ?"),
            ("create stray tracked", &[], "accept - ?"),
            ("change gate", &[], "report NoCallRan - ?"),
            ("change protected settings", &[], "report NoCallRan - ?"),
            ("create", &[], "accept - ?"),
            ("remove", &[], "accept - ?"),
            // A file tool's own write, whatever ran beside it.
            ("change", &["wrong-writer", "legal wrote"], "accept 1"),
            // Of several, one that may is credited, and none is convicted.
            ("create", &["legal"], "accept 0"),
            ("create", &["legal cut"], "accept 0 ?"),
            ("create", &["legal", "legal"], "accept - ?"),
            ("create", &["legal", "legal names"], "accept 1 ?"),
            ("change", &["legal", "wrong-writer"], "accept 0 ?"),
            ("change", &["legal", "wrong-writer names"], "accept 0 ?"),
            ("change", &["legal runs", "wrong-writer"], "accept 0 ?"),
            (
                "change",
                &["wrong-writer", "wrong-writer names"],
                "report NotCertain - ?",
            ),
            (
                "remove",
                &["wrong-writer", "wrong-writer"],
                "report NotCertain - ?",
            ),
            // Only a call with an end convicts.
            ("change", &["wrong-writer"], "put back 0"),
            ("change", &["wrong-writer cut"], "report NotCertain - ?"),
            ("create", &["wrong-writer"], "put back 0"),
            ("remove", &["wrong-writer"], "put back 0"),
            ("remove", &["bulk-removal"], "put back 0"),
            ("remove", &["bulk-removal cut"], "report NotCertain - ?"),
            ("change", &["malformed-content"], "put back 0"),
            // A name that is not allowed to anyone needs no culprit.
            ("create", &["ad-hoc-name"], "move away 0"),
            ("create", &["path-escape", "path-escape"], "move away -"),
            (
                "create",
                &["undeclared-directory", "ad-hoc-name runs"],
                "move away -",
            ),
            ("create", &["ad-hoc-name cut"], "report NotCertain - ?"),
            (
                "create",
                &["ad-hoc-name", "ad-hoc-name cut"],
                "report NotCertain - ?",
            ),
            ("create renamed", &["ad-hoc-name"], "rename back 0"),
            ("create renamed", &["wrong-writer"], "put back 0"),
            (
                "create",
                &["ad-hoc-name", "wrong-writer"],
                "report NotCertain - ?",
            ),
            // A legal name that became a directory, or a link out.
            ("change", &["undeclared-directory"], "move away 0"),
            ("change tolerated", &["ad-hoc-name"], "accept 0"),
            ("create tolerated", &["ad-hoc-name"], "accept 0"),
            // What version control has is never touched.
            ("create tracked", &["ad-hoc-name"], "report Tracked 0"),
            (
                "create elsewhere",
                &["ad-hoc-name"],
                "report OtherRepository 0",
            ),
            (
                "change elsewhere",
                &["wrong-writer"],
                "report OtherRepository 0",
            ),
            ("create checked-out", &["ad-hoc-name"], "accept - ?"),
            ("change tracked", &["wrong-writer"], "report Tracked 0"),
            ("change checked-out", &["wrong-writer"], "accept - ?"),
            ("change", &["wrong-writer git"], "report VersionControl 0"),
            ("create", &["ad-hoc-name git"], "move away 0"),
            ("change", &["legal git"], "accept 0"),
            // Growth is a log's only.
            ("change grown", &["program-owned"], "accept 0"),
            (
                "change acted-upon",
                &["program-owned"],
                "report ActedUpon 0",
            ),
            ("change", &["program-owned"], "put back 0"),
            ("change grown", &["wrong-writer"], "put back 0"),
            // The system's own program, and only that.
            ("create", &["program-owned owner"], "accept 0"),
            ("change", &["program-owned owner"], "accept 0"),
            ("remove", &["bulk-removal owner"], "accept 0"),
            ("change", &["wrong-writer owner"], "report OwningProgram 0"),
            ("create", &["ad-hoc-name owner"], "report OwningProgram 0"),
            // Commands may.
            ("create", &["ephemeral-name"], "accept 0"),
            // Our own.
            ("change own", &["protected-file"], "put back 0"),
            (
                "change own",
                &["protected-file", "protected-file"],
                "put back -",
            ),
            (
                "change own",
                &["protected-file", "protected-file cut"],
                "report NotCertain - ?",
            ),
            ("change own", &["protected-file", "legal"], "accept 1 ?"),
            (
                "change settings",
                &["protected-file"],
                "report NotInForce 0",
            ),
            (
                "change settings",
                &["protected-file cut"],
                "report NotInForce - ?",
            ),
            // Nothing was lost by it.
            ("create", &["malformed-content"], "report NothingLost 0"),
            ("create", &["illegal-transition"], "report NothingLost 0"),
            ("create", &["program-owned"], "report NothingLost 0"),
        ];
        for (act, candidates, expected) in table {
            check(act, candidates, expected);
        }
    }
}
