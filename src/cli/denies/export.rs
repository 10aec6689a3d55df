//! `denies export`: the records for other tools, as SARIF 2.1.0 (OASIS, "Static Analysis Results
//! Interchange Format").

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::filter::Query;
use crate::cli::{Answer, CliContext};
use crate::log::read::{self, TopN};

#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// Format of the document
    #[arg(long, value_enum)]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Sarif,
}

pub(super) fn run(
    Args {
        format: Format::Sarif,
    }: &Args,
    query: &Query,
    context: &CliContext<'_>,
) -> Result<Answer> {
    let mut newest = TopN::new(query.limit);
    super::each_record(query, context, &mut |entry, line| {
        newest.offer(entry, || Box::<str>::from(line));
    })?;
    let (mut rules, mut results) = (BTreeSet::new(), Vec::new());
    for line in newest.into_items() {
        let Ok(Some(entry)) = read::parse(&line) else {
            continue;
        };
        let main = &context.project.main;
        let uri = main.relative(&entry.file_path).unwrap_or(&entry.file_path);
        rules.insert(entry.rule.to_string());
        results.push(json!({
            "ruleId": entry.rule,
            "level": level(&entry.decision),
            "message": { "text": entry.reason },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": escaped(uri) } } }],
            "partialFingerprints": { "id": entry.id },
            "properties": { "agent": entry.agent_type, "session": entry.session_id, "ts": entry.ts },
        }));
    }
    let rules: Vec<Value> = rules.iter().map(|id| json!({ "id": id })).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "statewarden",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    context.print(&format!("{document:#}\n"));
    Ok(Answer::Yes)
}

fn level(decision: &str) -> &'static str {
    match decision {
        "deny" => "error",
        "fault" => "note",
        _ => "warning",
    }
}

/// A path as a relative reference (RFC 3986).
fn escaped(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| match is_plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
