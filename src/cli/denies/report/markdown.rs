//! The report in a few lines of Markdown, for a pull request.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::collect::{DenialOutcome, DenialRow, Findings};
use super::standings::GateState;
use super::totals::Totals;
use crate::base::text;

/// The most rows of a table.
const ROWS: usize = 10;

pub(super) fn write(findings: &Findings, totals: &Totals, gates: &[GateState]) -> String {
    let mut page = String::from("### statewarden\n\n");
    // A `String` takes everything.
    let _ = write_all(&mut page, findings, totals, gates);
    page
}

fn write_all(
    page: &mut String,
    findings: &Findings,
    totals: &Totals,
    gates: &[GateState],
) -> std::fmt::Result {
    writeln!(page, "{}", sentence(findings, totals))?;
    let of_guard = findings.records.iter().filter(|row| row.is_of_guard());
    match of_guard.count() {
        0 => {}
        n => {
            let records = text::count(n, "record is", "records are");
            writeln!(page, "\n**{records} about statewarden itself.**")?;
        }
    }
    write_denials(page, &findings.records)?;
    let open: Vec<_> = gates.iter().filter(|gate| !gate.has_passed()).collect();
    if !open.is_empty() {
        writeln!(page, "\nGates that have not passed:\n")?;
    }
    for gate in open {
        let why = if gate.why.is_empty() {
            &gate.status
        } else {
            &gate.why
        };
        writeln!(
            page,
            "* {} {}: {}",
            gate.system,
            code(&gate.gate),
            plain(why)
        )?;
    }
    Ok(())
}

fn sentence(findings: &Findings, totals: &Totals) -> String {
    let denied = findings.funnel.denied();
    let of_calls = match totals.calls {
        Some(calls) => format!(
            "{denied} of {} were denied",
            text::count(calls, "call", "calls")
        ),
        None => text::count(denied, "call was denied", "calls were denied"),
    };
    let sessions = text::count(totals.sessions, "session", "sessions");
    let clean = match totals.agents {
        0 => String::new(),
        n => format!(
            "; {} of {} ended without a denial",
            totals.clean,
            text::count(n, "agent", "agents")
        ),
    };
    let became = match findings.funnel.parts().as_slice() {
        [] => String::new(),
        parts => format!(": {}", parts.join(", ")),
    };
    format!("{of_calls} in {sessions}{became}{clean}.")
}

/// The denials by what was tried, the most frequent first.
fn write_denials(page: &mut String, rows: &[DenialRow]) -> std::fmt::Result {
    let mut groups: HashMap<[&str; 4], (usize, &DenialRow)> = HashMap::new();
    for row in rows.iter().filter(|row| row.outcome.is_some()) {
        let group = groups.entry(row.key()).or_insert((0, row));
        *group = (group.0 + 1, row);
    }
    let mut sorted: Vec<_> = groups.into_values().collect();
    sorted.sort_by_key(|(times, row)| (Reverse(*times), row.key()));
    if sorted.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\n| times | agent | rule | name | instead | in the end |"
    )?;
    writeln!(page, "|--:|---|---|---|---|---|")?;
    for (times, row) in sorted.iter().take(ROWS) {
        let [agent, rule, name, instead] = row.key();
        let end = row.outcome.map_or("", DenialOutcome::words);
        let cells = [plain(agent), code(rule), code(name), code(instead)].join(" | ");
        writeln!(page, "| {times} | {cells} | {end} |")?;
    }
    match sorted.len().saturating_sub(ROWS) {
        0 => Ok(()),
        more => writeln!(page, "\nand {more} more"),
    }
}

/// A text that is no markup; names come from agents.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if r"\|<>*_[]#!&".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A code span, which can hold no back-tick of its own.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("`{}`", text.replace('`', "'").replace('|', r"\|"))
}
