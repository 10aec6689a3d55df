//! Every name and pattern of every contract, and what is one letter beside it.

use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;
use statewarden::contract::edition::Edition;
use statewarden::contract::slug::Slug;
use statewarden::contract::suggest::nearest;
use statewarden::contract::table::{Bucket, Classification, Name, Row};
use statewarden::systems::system::{self, SYSTEMS};

fn bucket(system: &str, entry: &str, edition: Edition) -> Option<Bucket> {
    let system = system::by_id(system).expect("a built-in system");
    system.contract().classify(entry, edition).bucket()
}

#[track_caller]
fn check(system: &str, edition: Edition, cases: &str) {
    for line in cases
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (expected, name) = line.split_once(' ').expect("a bucket and a name");
        let found = bucket(system, name, edition).map_or("free", Bucket::as_str);
        assert_eq!(found, expected, "{system} {} `{name}`", edition.as_str());
    }
}

#[test]
fn devt_083_holds_exactly_the_documented_names() {
    check(
        "devt",
        Edition::V083,
        include_str!("../fixtures/devt/names-0.83.txt"),
    );
}

#[test]
fn devt_0244_holds_exactly_the_documented_names() {
    check(
        "devt",
        Edition::V0244,
        include_str!("../fixtures/devt/names-0.244.txt"),
    );
}

#[test]
fn devt_counts_match_the_documents() {
    let canonical = |edition: Edition| {
        let contract = system::by_id("devt").expect("devt").contract();
        let rows = contract
            .rows
            .iter()
            .filter(|row| edition.holds(row.edition));
        let files = rows.filter(|row| row.bucket == Bucket::Canonical).count();
        let dirs = contract
            .dirs
            .iter()
            .filter(|dir| edition.holds(dir.edition) && !dir.path.is_empty());
        (files, dirs.count())
    };
    // 49 names in the document's tables, `.archive` among them, and the 14 markers.
    assert_eq!(canonical(Edition::V083), (48 + 14, 1));
    // 77 names, of which `.archive` and `threads` are directories; three more directories are
    // legal, and four that its commands use.
    assert_eq!(canonical(Edition::V0244), (75, 9));
}

/// What keeps a table trustworthy: no name twice, and no exact name that a
/// pattern of an earlier bucket would take.
#[test]
fn rows_stand_in_order_of_precedence() {
    for system in SYSTEMS {
        for edition in [Edition::V083, Edition::V0244] {
            let contract = system.contract();
            let rows: Vec<&Row<'_>> = contract
                .rows
                .iter()
                .filter(|row| edition.holds(row.edition))
                .collect();
            for row in &rows {
                let Name::Exact(name) = row.name else {
                    continue;
                };
                let Classification::Row(found) = contract.classify(name, edition) else {
                    panic!("{}: `{name}` is not found", system.id());
                };
                assert!(
                    std::ptr::eq(found, *row),
                    "{}: `{name}` falls under `{}`",
                    system.id(),
                    found.title()
                );
            }
            let order = |bucket: Bucket| Bucket::ALL.iter().position(|known| *known == bucket);
            let precedence = [Bucket::Canonical, Bucket::Ephemeral, Bucket::PatternAllowed];
            if system.id() == "devt" {
                let places: Vec<_> = rows
                    .iter()
                    .filter_map(|row| precedence.iter().position(|bucket| *bucket == row.bucket))
                    .collect();
                assert!(
                    places.is_sorted(),
                    "canonical before ephemeral before patterns"
                );
            }
            assert!(rows.iter().all(|row| order(row.bucket).is_some()));
        }
    }
}

struct Documented {
    system: &'static str,
    slug: Slug,
    edition: Edition,
    /// JavaScript's `$` is Rust's `\z`.
    regex: Regex,
}

static SLUGS: LazyLock<Vec<Documented>> = LazyLock::new(|| {
    let mut slugs = Vec::new();
    for &system in SYSTEMS {
        for row in system.contract().rows.iter() {
            let Name::Slug(slug) = row.name else { continue };
            let regex = Regex::new(&slug.regex.replace('$', r"\z")).expect("a valid expression");
            for edition in [Edition::V083, Edition::V0244] {
                if edition.holds(row.edition) {
                    slugs.push(Documented {
                        system: system.id(),
                        slug: *slug,
                        edition,
                        regex: regex.clone(),
                    });
                }
            }
        }
    }
    slugs
});

#[test]
fn every_pattern_takes_its_own_example() {
    for Documented {
        system,
        slug,
        edition,
        ..
    } in SLUGS.iter()
    {
        assert!(
            slug.matches(slug.example),
            "{} {}",
            slug.regex,
            slug.example
        );
        let bucket = bucket(system, slug.example, *edition);
        assert!(
            bucket.is_some_and(|bucket| bucket != Bucket::AdHoc),
            "{system} {}",
            slug.example
        );
    }
}

/// Names near the patterns: prefixes, shapes and endings of all of them, mixed
/// and damaged.
fn name() -> impl Strategy<Value = String> {
    let pieces: Vec<String> = SLUGS
        .iter()
        .flat_map(|Documented { slug, .. }| {
            let mut pieces = vec![slug.prefix.to_owned(), slug.example.to_owned()];
            pieces.extend(slug.endings.iter().map(|ending| (*ending).to_owned()));
            pieces
        })
        .chain(
            [
                "a",
                "Z",
                "0",
                "9",
                "_",
                ".",
                "-",
                "--",
                "..",
                "é",
                " ",
                "\n",
                "L",
                "T",
                "Z",
                "summary",
                "-summary",
                ".archive-",
                "20260101",
                "T120000Z",
                "-2",
                "md",
                "json",
                ".jsonl",
                "\u{2028}",
            ]
            .map(str::to_owned),
        )
        .collect();
    prop::collection::vec(prop::sample::select(pieces), 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A pattern of the table and the expression its contract documents agree
    /// on every name.
    #[test]
    fn patterns_are_their_documented_expressions(name in name()) {
        for Documented { slug, regex, .. } in SLUGS.iter() {
            prop_assert_eq!(slug.matches(&name), regex.is_match(&name), "{} `{:?}`", slug.regex, name);
        }
    }

    /// A suggestion is a name the contract allows, for any name at all.
    #[test]
    fn suggestions_are_allowed_names(name in name()) {
        for system in SYSTEMS {
            let contract = system.contract();
            if let Some(suggestion) = nearest(contract, &name, Edition::V083, &|_| true) {
                let bucket = contract.classify(&suggestion, Edition::V083).bucket();
                prop_assert!(
                    matches!(bucket, Some(Bucket::Canonical | Bucket::PatternAllowed)),
                    "{}: {:?} → {}", system.id(), name, suggestion
                );
            }
        }
    }
}

#[test]
fn typos_of_every_writable_devt_name_lead_back_to_it() {
    let contract = system::by_id("devt").expect("devt").contract();
    let mut checked = 0;
    for row in contract
        .rows
        .iter()
        .filter(|row| Edition::V083.holds(row.edition))
    {
        let Name::Exact(name) = row.name else {
            continue;
        };
        let writable = !matches!(row.writer, statewarden::contract::table::Writer::Program);
        let Some((stem, ending)) = name
            .rsplit_once('.')
            .filter(|(stem, _)| writable && stem.len() > 5)
        else {
            continue;
        };
        // The last two letters of the stem swapped, one letter doubled.
        let (head, tail) = stem.split_at(stem.len() - 2);
        let swapped: String = tail.chars().rev().collect();
        for typo in [
            format!("{head}{swapped}.{ending}"),
            format!(
                "{head}{head_last}{tail}.{ending}",
                head_last = &head[head.len() - 1..]
            ),
        ] {
            if contract.classify(&typo, Edition::V083).bucket() != Some(Bucket::AdHoc) {
                continue;
            }
            assert_eq!(
                nearest(contract, &typo, Edition::V083, &|_| true).as_deref(),
                Some(name),
                "{typo}"
            );
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} typos were tried");
}
