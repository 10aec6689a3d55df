//! `denies stats`: counts, one pass, nothing held but the groups.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Serialize;

use super::LogCounts;
use super::filter::Query;
use crate::cli::output::{self, Page, Show, writeln};
use crate::cli::{Answer, CliContext};
use crate::log::read::Entry;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is counted together
    #[arg(long, value_enum, default_value = "rule")]
    by: By,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum By {
    Rule,
    Agent,
    System,
    Name,
    Day,
    Session,
}

impl By {
    /// The group of a record; `(none)` where the record does not say.
    fn key<'e>(self, entry: &'e Entry<'_>) -> Cow<'e, str> {
        let key = match self {
            Self::Rule => Cow::Borrowed(entry.code()),
            Self::Agent => Cow::Owned(entry.agent()),
            Self::System => Cow::Borrowed(entry.system.as_ref()),
            Self::Name => Cow::Borrowed(entry.name.as_ref()),
            Self::Day => Cow::Borrowed(entry.ts.get(..10).unwrap_or_default()),
            Self::Session => Cow::Borrowed(entry.session_id.as_ref()),
        };
        if key.is_empty() {
            Cow::Borrowed("(none)")
        } else {
            key
        }
    }
}

/// One group of the JSON document.
#[derive(Debug, Serialize)]
struct Group {
    key: String,
    count: u64,
    /// Times of the oldest and the newest denial of the group.
    first: String,
    last: String,
}

#[derive(Serialize)]
struct Statistics {
    by: By,
    total: u64,
    /// Largest first; days in their order.
    groups: Vec<Group>,
    #[serde(skip)]
    query: Query,
    #[serde(skip)]
    read: LogCounts,
}

/// Counts by one key.
type Groups = HashMap<String, Group>;

fn add(entry: &Entry<'_>, by: By, groups: &mut Groups) {
    let ts = entry.ts.as_ref();
    let key = by.key(entry).into_owned();
    let group = groups.entry(key).or_insert_with_key(|key| Group {
        key: key.clone(),
        count: 0,
        first: ts.to_owned(),
        last: ts.to_owned(),
    });
    group.count += 1;
    if ts < group.first.as_str() {
        ts.clone_into(&mut group.first);
    }
    if ts > group.last.as_str() {
        ts.clone_into(&mut group.last);
    }
}

/// The `limit` largest groups; days and equal counts in the order of their keys.
fn largest(groups: Groups, by: By, limit: Option<u32>) -> Vec<Group> {
    let mut largest: Vec<Group> = groups.into_values().collect();
    largest.sort_unstable_by(|a, b| (Reverse(a.count), &a.key).cmp(&(Reverse(b.count), &b.key)));
    largest.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
    if by == By::Day {
        largest.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    }
    largest
}

pub(super) fn run(args: &Args, query: Query, context: &CliContext<'_>) -> Result<Answer> {
    let (by, mut groups) = (args.by, Groups::new());
    let read = super::each_record(&query, context, &mut |entry, _| {
        add(entry, by, &mut groups);
    })?;
    let document = Statistics {
        by,
        total: read.counts.of(query.decision),
        groups: largest(groups, by, query.limit),
        query,
        read,
    };
    context.show(&document)
}

impl Show for Statistics {
    fn text(&self, page: &mut Page<'_>) {
        if self.groups.is_empty() {
            return super::say_none(&self.query, &self.read, page);
        }
        let about = match self.query.in_words(&page.local_time) {
            words if words.is_empty() => String::new(),
            words => format!(" ({words})"),
        };
        let value = self.by.to_possible_value();
        let by = value.as_ref().map_or("", PossibleValue::get_name);
        let title = format!("{}, by {by}{about}", self.query.decision.count(self.total));
        writeln!(page, "{}", page.paint.bold(&title));
        let groups = self.groups.iter();
        let widths = groups.clone().map(|group| group.key.chars().count());
        let width = widths.max().unwrap_or(0).min(48);
        let most = groups.clone().map(|group| group.count).max().unwrap_or(1);
        for Group { key, count, .. } in groups {
            let share = output::percent(*count, self.total);
            let bar = page.paint.red(&bar(*count, most));
            writeln!(page, "  {key:<width$}  {count:>7} {share:>3} %  {bar}");
        }
    }
}

/// A bar of at most 32 cells, to an eighth of one; empty for nothing alone.
fn bar(count: u64, most: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = u128::from(count) * 32 * 8 / u128::from(most.max(1));
    let eighths = usize::try_from(share.max(count.min(1).into()))
        .unwrap_or(256)
        .min(256);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for (count, most, expected) in [
            (8, 8, "█".repeat(32)),
            (4, 8, "█".repeat(16)),
            (1, 256, "▏".to_owned()),
            (1, u64::MAX, "▏".to_owned()),
            (9, 256, "█▏".to_owned()),
            (0, 8, String::new()),
        ] {
            assert_eq!(bar(count, most), expected, "{count} of {most}");
        }
    }

    #[test]
    fn the_largest_groups_come_first_and_days_in_order() {
        let check = |by: By, expected: &[(&str, u64)]| {
            let mut groups = Groups::new();
            for (ts, name) in [
                ("2026-01-02T", "b"),
                ("2026-01-01T", "a"),
                ("2026-01-02T", "b"),
                ("", ""),
            ] {
                let entry = Entry {
                    ts: ts.into(),
                    name: name.into(),
                    ..Entry::default()
                };
                add(&entry, by, &mut groups);
            }
            let groups = largest(groups, by, Some(2));
            let found: Vec<_> = groups.iter().map(|g| (g.key.as_str(), g.count)).collect();
            assert_eq!(found, expected, "{by:?}");
        };
        check(By::Name, &[("b", 2), ("(none)", 1)]);
        check(By::Day, &[("(none)", 1), ("2026-01-02", 2)]);
        check(By::Agent, &[("main", 4)]);
    }
}
