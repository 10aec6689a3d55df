//! The findings as HTML.

use std::collections::BTreeMap;

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, TimeDelta};

use super::collect::{Findings, Loop, Outcome, Row, Top};
use super::html::{Html, template};
use crate::base::{clock, text};
use crate::cli::CliContext;
use crate::cli::denies::stats::Group;
use crate::cli::explain::owner;
use crate::cli::output::percent;
use crate::contract::table::{self, Classification};
use crate::project::registry::Registry;

const TEMPLATE: &str = include_str!("../report.html");

/// The contract's say about the names on the page.
#[derive(Default)]
pub(super) struct ContractRows {
    rows: Vec<ContractRow>,
    /// From system and name to a place in `rows`.
    by_name: BTreeMap<(String, String), usize>,
}

#[derive(PartialEq, Eq)]
struct ContractRow {
    system: String,
    title: String,
    bucket: &'static str,
    writer: String,
    purpose: String,
    readers: String,
}

/// Finds the row of every listed name, or of the name to use instead.
pub(super) fn contract_rows(findings: &Findings, registry: &Registry<'_>) -> ContractRows {
    let mut found = ContractRows::default();
    for record in &findings.records {
        let key = (record.system.clone(), record.name.clone());
        if found.by_name.contains_key(&key) {
            continue;
        }
        if let Some(row) = row_of(record, registry) {
            let known = found.rows.iter().position(|known| *known == row);
            let at = known.unwrap_or_else(|| {
                found.rows.push(row);
                found.rows.len() - 1
            });
            found.by_name.insert(key, at);
        }
    }
    found
}

fn row_of(record: &Row, registry: &Registry<'_>) -> Option<ContractRow> {
    let governed = registry.get(&record.system)?;
    let row = |entry: &str| -> Option<(&table::Row<'_>, String)> {
        match governed.contract.standing(entry, governed.edition) {
            Classification::Row(row) => Some((row, owner(&governed.system.writer(row, entry)))),
            _ => None,
        }
    };
    let (row, writer) = row(&record.name).or_else(|| row(&record.suggestion))?;
    Some(ContractRow {
        system: record.system.clone(),
        title: row.title().to_owned(),
        bucket: row.bucket.as_str(),
        writer,
        purpose: row.purpose.to_owned(),
        readers: row.readers.to_owned(),
    })
}

/// The whole page.
pub(super) fn render(
    findings: &Findings,
    rows: &ContractRows,
    filter: &str,
    context: &CliContext<'_>,
) -> String {
    let total = findings.total();
    let filter = match filter {
        "" => Html::default(),
        filter => Html::fill(" · only {}", [Html::text(filter)]),
    };
    let made = clock::seconds(context.now);
    let pieces = [
        ("project", Html::text(&context.project.main.dir)),
        ("made", Html::text(&made)),
        ("version", Html::markup(env!("CARGO_PKG_VERSION"))),
        ("filter", filter),
        ("totals", totals(findings)),
        ("timeline", timeline(&findings.hours)),
        ("funnel", funnel(findings)),
        (
            "tops",
            findings.tops.iter().map(|t| top(t, total)).collect(),
        ),
        ("loops", loops(&findings.loops)),
        ("shown", shown(findings.records.len(), total)),
        ("rules", options(findings)),
        (
            "records",
            findings
                .records
                .iter()
                .rev()
                .map(|row| record(row, rows))
                .collect(),
        ),
        ("contract", contract_section(rows)),
    ];
    template(TEMPLATE, &pieces)
}

fn totals(findings: &Findings) -> Html {
    let others = &findings.others;
    let count = |decision: &str| others.counts.get(decision).copied().unwrap_or_default();
    let [names, _, agents, _] = &findings.tops;
    let numbers = [
        ("refused", "refused", findings.total()),
        ("name", "names", names.distinct as u64),
        ("agent", "agents", agents.distinct as u64),
        ("session", "sessions", findings.sessions as u64),
        ("warning", "warnings", count("warn")),
        (
            "detected afterwards",
            "detected afterwards",
            count("detected"),
        ),
        ("undone", "undone", count("undone")),
        ("fault", "faults", count("fault")),
        (
            "session begun under guard",
            "sessions begun under guard",
            count("heartbeat"),
        ),
    ];
    let numbers = numbers.into_iter().map(|(one, more, number)| {
        Html::fill(
            "<div><b>{}</b><span>{}</span></div>",
            [
                Html::number(number),
                Html::text(if number == 1 { one } else { more }),
            ],
        )
    });
    let mut html: Html = numbers.collect();
    html.push(&match (&others.last_heartbeat, findings.total()) {
        (Some(last), _) => Html::fill(
            "<p>The hook last reported in at <time>{}</time>.</p>",
            [Html::text(last)],
        ),
        (None, 0) => Html::markup(
            "<p class=\"bad\">The hook never reported in: that nothing was refused may only mean \
             that it did not run. See <code>statewarden doctor</code>.</p>",
        ),
        (None, _) => Html::default(),
    });
    html
}

/// Bars by hour, day or month, whichever keeps them few, gaps included.
fn timeline(hours: &BTreeMap<String, u64>) -> Html {
    let known: BTreeMap<NaiveDateTime, u64> = hours
        .iter()
        .filter_map(|(hour, count)| {
            let time = NaiveDateTime::parse_from_str(&format!("{hour}:00"), "%Y-%m-%dT%H:%M");
            Some((time.ok()?, *count))
        })
        .collect();
    let (Some((&first, _)), Some((&last, _))) = (known.first_key_value(), known.last_key_value())
    else {
        return Html::markup("<p>Nothing to show.</p>");
    };
    let step = Step::for_span(last - first);
    let mut bars: BTreeMap<NaiveDateTime, u64> = BTreeMap::new();
    let mut time = step.floor(first);
    while time <= last && bars.len() < 400 {
        bars.insert(time, 0);
        time = step.next(time);
    }
    for (time, count) in known {
        *bars.entry(step.floor(time)).or_default() += count;
    }
    let most = bars.values().copied().max().unwrap_or(1).max(1);
    let bar = |(time, count): (&NaiveDateTime, &u64)| {
        let label = time.format(step.label()).to_string();
        Html::fill(
            "<li title=\"{}: {}\"><i style=\"height:{}%\"></i><span>{}: {}</span></li>",
            [
                Html::text(&label),
                Html::number(*count),
                Html::number(percent(*count, most)),
                Html::text(&label),
                Html::number(*count),
            ],
        )
    };
    let label = |time: NaiveDateTime| Html::text(&time.format(step.label()).to_string());
    Html::fill(
        "<ol class=\"timeline\">{}</ol><p class=\"axis\"><span>{}</span><span>most: {} {}</span><span>{}</span></p>",
        [
            bars.iter().map(bar).collect(),
            label(step.floor(first)),
            Html::number(most),
            Html::markup(step.per()),
            label(step.floor(last)),
        ],
    )
}

#[derive(Clone, Copy)]
enum Step {
    Hour,
    Day,
    Month,
}

impl Step {
    fn for_span(span: TimeDelta) -> Self {
        match span.num_days() {
            ..=2 => Self::Hour,
            3..=92 => Self::Day,
            _ => Self::Month,
        }
    }

    fn floor(self, time: NaiveDateTime) -> NaiveDateTime {
        let date = time.date();
        let first = |date: NaiveDate| date.with_day(1).unwrap_or(date);
        match self {
            Self::Hour => time,
            Self::Day => date.into(),
            Self::Month => first(date).into(),
        }
    }

    fn next(self, time: NaiveDateTime) -> NaiveDateTime {
        match self {
            Self::Hour => time + TimeDelta::hours(1),
            Self::Day => time + Days::new(1),
            Self::Month => self.floor(time + Days::new(31)),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Hour => "%Y-%m-%d %H:00",
            Self::Day => "%Y-%m-%d",
            Self::Month => "%Y-%m",
        }
    }

    fn per(self) -> &'static str {
        match self {
            Self::Hour => "an hour",
            Self::Day => "a day",
            Self::Month => "a month",
        }
    }
}

fn funnel(findings: &Findings) -> Html {
    let (total, funnel) = (findings.total(), &findings.funnel);
    let parts = [
        ("refused", "all", total),
        (
            "recovered, as the hook recorded it",
            "good",
            funnel.recovered,
        ),
        ("recovered, inferred", "maybe", funnel.inferred),
        (
            "refused again: the same agent tried the same file once more",
            "bad",
            funnel.again,
        ),
        ("no sign of a recovery", "open", funnel.open),
    ];
    let part = |(what, class, count): (&'static str, &'static str, u64)| {
        Html::fill(
            "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{} %</td><td class=\"bar\"><i style=\"width:{}%\"></i></td></tr>",
            [
                Html::markup(class),
                Html::markup(what),
                Html::number(count),
                Html::number(percent(count, total)),
                Html::number(percent(count, total)),
            ],
        )
    };
    parts.into_iter().map(part).collect()
}

fn top(top: &Top, total: u64) -> Html {
    let most = top
        .groups
        .iter()
        .map(|group| group.count)
        .max()
        .unwrap_or(1);
    let row = |group: &Group| {
        Html::fill(
            "<tr><th scope=\"row\"><code>{}</code></th><td class=\"n\">{}</td><td class=\"n\">{} %</td><td class=\"bar\"><i style=\"width:{}%\"></i></td></tr>",
            [
                Html::text(&group.key),
                Html::number(group.count),
                Html::number(percent(group.count, total)),
                Html::number(percent(group.count, most)),
            ],
        )
    };
    let more = match top.distinct.saturating_sub(top.groups.len()) {
        0 => Html::default(),
        more => Html::fill("<p>and {} more</p>", [Html::number(more as u64)]),
    };
    Html::fill(
        "<section><h3>{}</h3><table><tbody>{}</tbody></table>{}</section>",
        [
            Html::markup(top.title),
            top.groups.iter().map(row).collect(),
            more,
        ],
    )
}

fn loops(loops: &[Loop]) -> Html {
    if loops.is_empty() {
        return Html::markup("<tr><td colspan=\"7\">None.</td></tr>");
    }
    let row = |found: &Loop| {
        Html::fill(
            "<tr><td class=\"n\">{}</td><td><code>{}</code></td><td>{}</td><td><code class=\"id\">{}</code></td><td><time>{}</time></td><td><time>{}</time></td>{}</tr>",
            [
                Html::number(found.count),
                Html::text(&found.name),
                Html::text(&found.thread.agent),
                Html::text(&found.thread.session),
                Html::text(&found.first),
                Html::text(&found.last),
                outcome(found.outcome),
            ],
        )
    };
    loops.iter().map(row).collect()
}

fn outcome(outcome: Outcome) -> Html {
    Html::markup(match outcome {
        Outcome::Recovered => "<td class=\"good\">recovered</td>",
        Outcome::Inferred => "<td class=\"maybe\">recovered (inferred)</td>",
        Outcome::Again => "<td class=\"bad\">refused again</td>",
        Outcome::Open => "<td class=\"open\">open</td>",
    })
}

fn shown(shown: usize, total: u64) -> Html {
    if shown as u64 == total {
        let records = text::count(total, "record", "records");
        return Html::fill("All there is: {}.", [Html::text(&records)]);
    }
    Html::fill(
        "The newest {} of {}; the numbers above count all. <code>--limit N</code> lists more.",
        [
            Html::number(shown as u64),
            Html::text(&text::count(total, "record", "records")),
        ],
    )
}

fn options(findings: &Findings) -> Html {
    let [_, rules, ..] = &findings.tops;
    let option = |group: &Group| Html::fill("<option>{}</option>", [Html::text(&group.key)]);
    rules.groups.iter().map(option).collect()
}

fn record(row: &Row, rows: &ContractRows) -> Html {
    let name = Html::fill("<code>{}</code>", [Html::text(&row.name)]);
    let key = (row.system.clone(), row.name.clone());
    let name = match rows.by_name.get(&key) {
        Some(at) => Html::fill(
            "<a href=\"#row-{}\">{}</a>",
            [Html::number(*at as u64), name],
        ),
        None => name,
    };
    let instead = match row.suggestion.as_str() {
        "" => Html::default(),
        instead => Html::fill(" → <code>{}</code>", [Html::text(instead)]),
    };
    Html::fill(
        "<tr><td><time>{}</time></td><td>{}</td><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td><code class=\"id\">{}</code></td>{}<td class=\"reason\">{}</td></tr>\n",
        [
            Html::text(&row.ts),
            Html::text(&row.rule),
            Html::text(&row.system),
            name,
            instead,
            Html::text(&row.thread.agent),
            Html::text(&row.tool),
            Html::text(&row.thread.session),
            outcome(row.outcome),
            Html::text(&row.reason),
        ],
    )
}

fn contract_section(rows: &ContractRows) -> Html {
    let row = |(at, row): (usize, &ContractRow)| {
        Html::fill(
            "<tr id=\"row-{}\"><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            [
                Html::number(at as u64),
                Html::text(&row.system),
                Html::text(&row.title),
                Html::markup(row.bucket),
                Html::text(&row.writer),
                Html::text(&row.purpose),
                Html::text(&row.readers),
            ],
        )
    };
    rows.rows.iter().enumerate().map(row).collect()
}
