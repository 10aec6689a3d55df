//! The table of one run, ratios first.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::case::size;
use crate::probe::{Counts, Sample};
use crate::site::Site;

pub struct Row {
    pub name: String,
    pub size: usize,
    pub floor: bool,
    pub samples: Vec<Sample>,
    pub counts: Counts,
}

impl Row {
    /// The value below which a share of the samples lies.
    fn quantile(&self, share: f64, of: impl Fn(&Sample) -> f64) -> f64 {
        let mut values: Vec<f64> = self.samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let at = (values.len() as f64 * share) as usize;
        values
            .get(at.min(values.len().saturating_sub(1)))
            .copied()
            .unwrap_or(f64::NAN)
    }

    fn wall(&self, share: f64) -> f64 {
        self.quantile(share, |sample| sample.wall.as_secs_f64() * 1e6)
    }
}

/// One line for each row, what has one name together; the floor of a row is the
/// one whose event is nearest in size.
pub fn table(rows: &[Row]) -> String {
    let first = |row: &Row| rows.iter().position(|other| other.name == row.name);
    let mut order: Vec<_> = rows.iter().collect();
    order.sort_by_key(|row| first(row));
    let mut text = String::from(
        "| event | size | wall ÷ floor (p10) | wall ÷ floor (median) | calls over floor | wall µs (median) | CPU µs \
         | page faults | peak KiB over floor | calls | user instructions |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in order {
        let floors = rows.iter().filter(|other| other.floor);
        let Some(floor) = floors.min_by_key(|floor| floor.size.abs_diff(row.size)) else {
            continue;
        };
        let over = |of: &dyn Fn(&Counts) -> Option<i64>| {
            of(&row.counts)
                .zip(of(&floor.counts))
                .map(|(own, floor)| own - floor)
        };
        let calls = over(&|counts| counts.calls.map(|calls| calls as i64));
        let peak = over(&|counts| counts.peak.map(u64::cast_signed));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} | {} | {:.0} | {:.0} | {:.0} | {} | {} | {} |",
            row.name,
            size(row.size),
            row.wall(0.1) / floor.wall(0.1),
            row.wall(0.5) / floor.wall(0.5),
            shown(calls),
            row.wall(0.5),
            row.quantile(0.5, |sample| sample.cpu.as_secs_f64() * 1e6),
            row.quantile(0.5, |sample| sample.faults as f64),
            shown(peak),
            shown(row.counts.calls),
            shown(row.counts.instructions),
        );
    }
    text
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or("–".to_owned(), |value| value.to_string())
}

/// Adds a dated section to the results.
pub fn append(table: &str, site: &Site) -> Result<()> {
    let bytes = std::fs::metadata(site.program("statewarden"))?.len();
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    let cores = std::thread::available_parallelism()?;
    let date = std::process::Command::new("date")
        .args(["-u", "+%F"])
        .output()?
        .stdout;
    let date = String::from_utf8_lossy(&date);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
    let text = format!(
        "\n## {} · {arch} {os}, {cores} cores · binary {:.2} MB\n\n{table}",
        date.trim(),
        bytes as f64 / 1e6
    );
    Ok(OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?
        .write_all(text.as_bytes())?)
}
