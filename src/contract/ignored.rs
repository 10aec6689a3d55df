//! Names that are not an agent's: what editors, desktops, file systems, synchronization, merges
//! and atomic writers make. They are left in place and not reported. Names only, no I/O.

use crate::contract::edition::Edition;
use crate::contract::table::{Bucket, Classification, Contract};

/// How a name is recognized, in ASCII.
enum Form {
    /// The whole name, in any case.
    Exactly(&'static str),
    Prefix(&'static str),
    Suffix(&'static str),
    Between(&'static str, &'static str),
    Contains(&'static str),
    /// A prefix and as many characters, of which the function approves.
    Random(&'static str, usize, fn(&str) -> bool),
    /// A stem, `_SIDE_`, digits, and an extension or none.
    Side(&'static str),
}

use Form::{Between, Contains, Exactly, Prefix, Random, Side, Suffix};

const FORMS: &[Form] = &[
    // Hidden files: `.NAME.swp`, `.#NAME`, `.goutputstream-*`, `.NAME.kate-swp`, `.nfs*`,
    // `.fuse_hidden*`, `.DS_Store`, `._*`, `.~lock.*`, `.merge_file_*`, `.syncthing.*`, `.gitkeep`.
    Prefix("."),
    // Editors: Vim's probe of a directory, Emacs, JetBrains, Kate.
    Exactly("4913"),
    Between("#", "#"),
    Suffix("___jb_tmp___"),
    Suffix("___jb_old___"),
    Suffix(".kate-swp"),
    // Desktops.
    Exactly("Thumbs.db"),
    Exactly("desktop.ini"),
    // Writers of temporary files: GNU sed, Python's `tempfile`, mktemp.
    Random("sed", 6, is_of_sed),
    Random("tmp", 8, is_of_tempfile),
    Random("tmp.", 10, is_alphanumeric),
    // Synchronization: Dropbox, Box, ownCloud, Nextcloud, pCloud; Syncthing; Seafile; Unison.
    Contains("conflicted copy"),
    Contains("[conflicted"),
    Contains("_conflict-"),
    Contains(".sync-conflict-"),
    Prefix("~syncthing~"),
    Contains(" (SFConflict "),
    Contains(" (conflict "),
    Contains(" (conflict#"),
    Contains(" (case conflict"),
    Contains(" (Case Conflict"),
    // Merges: git's mergetool, git's strategies, patch.
    Side("_LOCAL_"),
    Side("_REMOTE_"),
    Side("_BASE_"),
    Side("_BACKUP_"),
    Suffix("~HEAD"),
    Suffix(".rej"),
];

/// Whether an entry of a site, or a directory that it is in, is not an agent's: its name has one
/// of the forms above, or is a legal entry's name with a random extension, and is in no bucket
/// of the contract.
pub fn is_ignored(entry: &str, contract: &Contract<'_>, edition: Edition) -> bool {
    let ends = entry.match_indices('/').map(|(at, _)| at);
    let mut paths = ends.chain([entry.len()]).map(|end| &entry[..end]);
    paths.any(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        (FORMS.iter().any(|form| form.matches(name)) || is_atomic_write(path, contract, edition))
            && contract.classify(path, edition).bucket() == Some(Bucket::AdHoc)
    })
}

/// Whether a name may be one of those that a program uses for milliseconds, although it has
/// neither a digit nor a capital that would tell: `tmpabcdefgh`, `sedabcdef`, `plan.md.abcdef`.
pub fn is_like_temporary(name: &str) -> bool {
    const FORMS: &[Form] = &[
        Random("tmp", 8, is_of_names),
        Random("sed", 6, is_alphanumeric),
    ];
    let is_behind_name = name.rsplit_once('.').is_some_and(|(written, extension)| {
        written.contains('.')
            && (6..=12).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_lowercase())
            && extension != "backup"
    });
    is_behind_name || FORMS.iter().any(|form| form.matches(name))
}

fn is_of_names(rest: &str) -> bool {
    rest.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A legal entry's whole name, `.` and what a program that writes by renaming puts behind it: a
/// process id or a time, or random characters.
fn is_atomic_write(path: &str, contract: &Contract<'_>, edition: Edition) -> bool {
    let Some((written, extension)) = path.rsplit_once('.') else {
        return false;
    };
    let is_number = extension.len() >= 4 && extension.bytes().all(|byte| byte.is_ascii_digit());
    (is_number || is_random(extension))
        && matches!(
            contract.classify(written, edition),
            Classification::Row(row) if matches!(row.bucket, Bucket::Canonical | Bucket::PatternAllowed)
        )
}

/// 6 to 12 letters and digits with a digit or a capital inside; `backup` in capitals is a word.
fn is_random(extension: &str) -> bool {
    (6..=12).contains(&extension.len())
        && is_alphanumeric(extension)
        && (extension.bytes().any(|byte| byte.is_ascii_digit())
            || extension
                .bytes()
                .skip(1)
                .any(|byte| byte.is_ascii_uppercase()))
        && !extension.eq_ignore_ascii_case("backup")
}

impl Form {
    fn matches(&self, name: &str) -> bool {
        match self {
            Exactly(whole) => name.eq_ignore_ascii_case(whole),
            Prefix(start) => name.starts_with(start),
            Suffix(end) => name.len() > end.len() && name.ends_with(end),
            Between(start, end) => {
                name.len() > start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
            Contains(part) => name.contains(part),
            Random(start, len, approves) => name
                .strip_prefix(start)
                .is_some_and(|random| random.len() == *len && approves(random)),
            Side(side) => name.rsplit_once(side).is_some_and(|(stem, rest)| {
                let (number, _) = rest.split_once('.').unwrap_or((rest, ""));
                !stem.is_empty()
                    && !number.is_empty()
                    && number.bytes().all(|byte| byte.is_ascii_digit())
            }),
        }
    }
}

fn is_alphanumeric(random: &str) -> bool {
    random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_of_sed(random: &str) -> bool {
    is_alphanumeric(random) && random.bytes().any(|byte| !byte.is_ascii_lowercase())
}

fn is_of_tempfile(random: &str) -> bool {
    is_of_names(random) && random.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::slug::{Shape, Slug};
    use crate::contract::table::{Dir, DirKind, List, Row, Writer};

    static REVIEWS: Slug = Slug {
        prefix: "review-",
        shape: Shape::Word,
        endings: &[".md"],
        regex: "",
        example: "",
    };

    static CONTRACT: Contract<'_> = Contract {
        source: "",
        rows: List::Borrowed(&[
            Row::file("plan.md", Writer::Anyone, ""),
            Row::file("state.json", Writer::Program, ""),
            Row::file(".lock", Writer::Program, ""),
            Row::file("threads/a.md", Writer::Anyone, ""),
            Row::wild("*.tmp", Writer::Anyone, "").ephemeral(),
            Row::wild("*~", Writer::Anyone, "").ephemeral(),
            Row::wild("*_p*.md", Writer::Anyone, "").ad_hoc(),
            Row::slug(&REVIEWS, Writer::Anyone, ""),
        ]),
        dirs: List::Borrowed(&[
            Dir::new("", DirKind::Closed),
            Dir::new("threads", DirKind::Closed),
            Dir::new("free", DirKind::Open),
            Dir::new(".archive", DirKind::Program),
        ]),
        roles: List::Borrowed(&[]),
        fallback: None,
    };

    fn ignores(entry: &str) -> bool {
        is_ignored(entry, &CONTRACT, Edition::V083)
    }

    /// Names that are left alone, and names beside them that are strays or in the contract.
    #[track_caller]
    fn check(ignored: &[&str], others: &[&str]) {
        for name in ignored {
            assert!(ignores(name), "`{name}` is not an agent's");
        }
        for name in others {
            assert!(!ignores(name), "`{name}` is in the contract or a stray");
        }
    }

    #[test]
    fn hidden_files_are_not_an_agents_unless_a_contract_has_them() {
        check(
            &[
                ".plan.md.swp",
                ".plan.md.swo",
                ".#plan.md",
                ".DS_Store",
                "._plan.md",
                ".localized",
                ".directory",
                ".gitkeep",
                ".nfs00000000012345",
                ".fuse_hidden0000001",
                ".goutputstream-ABC123",
                ".plan.md.kate-swp",
                ".~lock.plan.md#",
                ".merge_file_Ab12Cd",
                ".syncthing.plan.md.tmp2",
                ".plan.md.Xy12Zw",
                ".Trash-1000",
                ".Trash-1000/files/plan.md",
                "threads/.a.md.swp",
                "notes/.DS_Store",
            ],
            &[
                ".lock",
                ".archive",
                ".archive/.DS_Store",
                ".x.tmp",
                "plan.md",
                "notes.md",
                "notes/x.md",
                "free/.DS_Store",
            ],
        );
    }

    #[test]
    fn editors_and_desktops() {
        check(
            &[
                "4913",
                "#plan.md#",
                "#notes#",
                "plan.md___jb_tmp___",
                "notes.md___jb_old___",
                "plan.md.kate-swp",
                "Thumbs.db",
                "thumbs.db",
                "desktop.ini",
                "Desktop.ini",
            ],
            &[
                "4914",
                "##",
                "#plan.md",
                "plan.md#",
                "Thumbs.md",
                "my-desktop.ini",
                "plan.md~",
                "notes___jb.md",
            ],
        );
    }

    #[test]
    fn a_legal_name_with_a_number_or_random_characters() {
        check(
            &[
                "plan.md.4021551",
                "plan.md.1234",
                "plan.md.14615000022",
                "plan.md.Ab12Cd",
                "plan.md.aBcdef",
                "plan.md.a1b2c3d4e5f6",
                "state.json.98765",
                "review-auth.md.4321",
                "threads/a.md.4321",
            ],
            &[
                "plan.md.1",
                "plan.md.123",
                "plan.md.12345a7890123",
                "plan.md.a1b2c",
                "plan.md.abcdef",
                "plan.md.Abcdef",
                "plan.md.abc-d1",
                "plan.md.old",
                "plan.md.orig",
                "plan.md.bak",
                "plan.md.final",
                "plan.md.draft",
                "plan.md.backup",
                "plan.md.BACKUP",
                "notes.md.4021551",
                "notes.md.Ab12Cd",
                "plan.4021551",
                "x.tmp.4021551",
                "x_p1.md.4021551",
                "threads.4021551",
                "b.md.4321",
            ],
        );
    }

    #[test]
    fn temporary_files_of_writers() {
        check(
            &[
                "sed4aBcDe",
                "sedAbcdef",
                "sedabcde1",
                "tmpa1b2c3d4",
                "tmp_______9",
                "tmp.AbCdEfGhIj",
            ],
            &[
                "sedabcdef",
                "sed4aBcD",
                "sed4aBcDef",
                "sedation1.md",
                "tmpabcdefgh",
                "tmpa1b2c3",
                "tmpA1b2c3d4",
                "tmp.AbCdEfGhI",
                "tmp.md",
                "tmp-notes.md",
            ],
        );
    }

    #[test]
    fn synchronization_and_merges() {
        check(
            &[
                "plan (Ann's conflicted copy 2026-01-10).md",
                "plan (conflicted copy 2026-01-10 101112).md",
                "plan_conflict-20260110-101112.md",
                "plan.sync-conflict-20260110-101112-ABCDEFG.md",
                "~syncthing~plan.md.tmp2",
                "plan (SFConflict ann@example.org 2026-01-10-10-11-12).md",
                "plan (conflict #1 on 2026-01-10).md",
                "plan [conflicted].md",
                "plan_LOCAL_1234.md",
                "plan_REMOTE_1234.md",
                "plan_BASE_7",
                "my_BACKUP_notes_BACKUP_77.txt",
                "plan.md~HEAD",
                "plan.md.rej",
                "notes.rej",
            ],
            &[
                "plan_LOCAL.md",
                "plan_LOCAL_.md",
                "plan_LOCAL_x1.md",
                "plan_LOCAL_1x.md",
                "_LOCAL_1.md",
                "plan_local_1234.md",
                "conflict.md",
                "plan-conflict.md",
                "HEAD",
                "~HEAD",
                "rej",
                "plan.reject",
                "plan.md~HEAD~2.md",
            ],
        );
    }

    proptest! {
        /// A name in a bucket keeps it, whatever its form.
        #[test]
        fn the_contract_goes_first(body in "[A-Za-z0-9.-]{1,16}") {
            let reviews = [format!("review-{body}.md"), format!("review-{body}_LOCAL_1.md")];
            prop_assert!(reviews.iter().all(|name| !ignores(name)));
            let temporary = [format!("{body}.tmp"), format!(".{body}~"), format!("#{body}#~")];
            prop_assert!(temporary.iter().all(|name| !ignores(name)));
        }

        /// What people and agents call files is no form of a tool.
        #[test]
        fn plain_words_are_strays(name in "[a-z]{1,12}(-[a-z]{1,8}){0,2}\\.(md|txt|json|old|orig|bak)") {
            prop_assert!(!ignores(&name));
        }

        /// Only a legal name lends its own to a temporary file.
        #[test]
        fn a_random_extension_needs_a_legal_name(number in "[0-9]{4,20}", other in "[b-o][a-z]{2,8}\\.md") {
            let legal = format!("plan.md.{number}");
            prop_assert!(ignores(&legal));
            let stray = format!("{other}.{number}");
            prop_assert!(!ignores(&stray));
        }
    }
}
