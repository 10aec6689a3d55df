//! Records as rows: the day as a head, equal neighbors folded, cut to the terminal's width.

use crate::cli::CliContext;
use crate::cli::output::{Page, Paint, Painted};
use crate::log::read::Entry;

/// Whether a denial was followed by a write that the rules allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum End {
    Open,
    Recovered,
}

/// A record as its row shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct RecordRow {
    /// As the log has it.
    pub(in crate::cli) ts: String,
    pub(in crate::cli) end: End,
    /// Where records of several decisions are listed.
    pub(in crate::cli) decision: String,
    pub(in crate::cli) agent: String,
    pub(in crate::cli) code: String,
    pub(in crate::cli) what: String,
    pub(in crate::cli) suggestion: String,
    /// Printed below the row, which is then not folded.
    pub(in crate::cli) details: Vec<String>,
}

/// The columns that give way on a narrow terminal, in this order.
const NARROW: [usize; 3] = [5, 6, 3];

impl RecordRow {
    pub(in crate::cli) fn new(entry: &Entry<'_>, end: End, context: &CliContext<'_>) -> Self {
        let what = [&entry.file_path, &entry.name, &entry.reason]
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("?", |text| text.as_ref());
        let path = context.below_root(what);
        let more = match entry.also.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        Self {
            ts: entry.ts.to_string(),
            end,
            decision: String::new(),
            agent: entry.agent(),
            code: entry.code().to_owned(),
            what: format!("{path}{more}"),
            suggestion: entry.suggestion.to_string(),
            details: Vec::new(),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let ts = self.ts.clone();
        self.details.is_empty()
            && *self
                == (Self {
                    ts,
                    ..other.clone()
                })
    }
}

/// Rows of one day that say the same.
struct Fold<'r> {
    row: &'r RecordRow,
    day: String,
    time: String,
    times: usize,
}

impl Fold<'_> {
    fn cells(&self, paint: Paint) -> [Painted; 8] {
        let row = self.row;
        let mark = match row.end {
            End::Open => "",
            End::Recovered => "✓",
        };
        let times = match self.times {
            1 => String::new(),
            n => format!("×{n}"),
        };
        let suggestion = match row.suggestion.as_str() {
            "" => String::new(),
            name => format!("→ {name}"),
        };
        [
            Paint::plain(&self.time),
            paint.green(mark),
            Paint::plain(&row.decision),
            Paint::plain(&row.agent),
            paint.red(&row.code),
            Paint::plain(&row.what).path(),
            paint.green(&suggestion),
            paint.bold(&times),
        ]
    }
}

/// Prints the rows, which are in the order of time.
pub(in crate::cli) fn say(rows: &[RecordRow], page: &mut Page<'_>) {
    let folds = folded(rows, page);
    let cells: Vec<_> = folds.iter().map(|fold| fold.cells(page.paint)).collect();
    let widths = page.widths(&cells, &NARROW);
    let mut day = String::new();
    for (fold, cells) in folds.iter().zip(&cells) {
        page.day_of(&fold.row.ts, &mut day);
        page.row(cells, &widths);
        for detail in &fold.row.details {
            page.paragraph(4, detail);
        }
    }
}

fn folded<'r>(rows: &'r [RecordRow], page: &Page<'_>) -> Vec<Fold<'r>> {
    let mut folds: Vec<Fold<'_>> = Vec::new();
    for row in rows {
        let day = page.local_time.day(&row.ts);
        match folds.last_mut() {
            Some(last) if last.day == day && last.row.is_like(row) => last.times += 1,
            _ => folds.push(Fold {
                row,
                day,
                time: page.local_time.clock(&row.ts),
                times: 1,
            }),
        }
    }
    folds
}
