//! Logs: every line is counted, whole ones are read as they stand, and no word of a command
//! that can be a credential is in them.

use serde_json::Value;
use statewarden::log::read;
use statewarden::shell::excerpt;
use statewarden::systems::agentmux::event as events;

pub fn log(data: &[u8]) {
    accounts_for_every_line(data);
    follows_the_cursor(data);
    keeps_no_word(&String::from_utf8_lossy(data));
}

fn accounts_for_every_line(data: &[u8]) {
    let mut records = 0;
    let mut denials = 0;
    let counts = read::each(data, &mut |entry, line| {
        records += 1;
        denials += usize::from(entry.is_denial());
        reads_as_it_stands(entry, line);
    });
    let counts = counts.unwrap();
    let lines = data.split_inclusive(|byte| *byte == b'\n');
    assert_eq!(counts.records, records);
    assert_eq!(
        counts.records + counts.foreign + counts.unreadable,
        lines.clone().count()
    );
    let whole = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_ok();
    let empty = |line: &&[u8]| line.trim_ascii().is_empty();
    let readable = lines.clone().filter(|line| whole(line) || empty(line));
    assert!(counts.records + counts.foreign >= readable.count());
    let names_us = |line: &&[u8]| String::from_utf8_lossy(line).contains("deny");
    let escaped = data.contains(&b'\\');
    assert!(escaped || denials <= lines.filter(names_us).count());
}

fn reads_as_it_stands(entry: &read::Entry<'_>, line: &str) {
    // Lone surrogates in keys that are passed over are none of a record's business.
    let Ok(value) = serde_json::from_str::<Value>(line) else {
        return;
    };
    assert!(value.is_object(), "{line:?} is a record");
    for (key, read) in [
        ("id", &entry.id),
        ("ts", &entry.ts),
        ("source", &entry.source),
        ("decision", &entry.decision),
        ("rule", &entry.rule),
        ("reason", &entry.reason),
        ("file_path", &entry.file_path),
        ("agent_type", &entry.agent_type),
        ("resolves", &entry.resolves),
    ] {
        let stands = value[key].as_str().unwrap_or_default();
        assert_eq!(read, stands, "{key}");
    }
    assert!(!entry.agent().is_empty() || !entry.agent_type.is_empty());
}

/// AgentMux's log: whole lines behind the cursor, each at its offset.
fn follows_the_cursor(data: &[u8]) {
    let cursor = events::cursor(std::str::from_utf8(data).ok());
    for cursor in [0, cursor, data.len() as u64 / 2] {
        let found = events::read(data, cursor);
        assert!(found.cursor <= data.len() as u64);
        let mut last = None;
        for event in &found.unapplied {
            assert!(event.offset >= found.cursor && Some(event.offset) > last);
            last = Some(event.offset);
        }
        if data.ends_with(b"\n") {
            assert!(!found.torn);
        }
    }
}

/// Longer than any name that an excerpt keeps.
const SECRET: &str = "hunter2tr0ub4dorhunter2tr0ub4dorhunter2tr0ub4dor";

/// A zero byte says where in the command the credential stands.
fn keeps_no_word(text: &str) {
    // libFuzzer learns it from comparisons.
    let text = &text.replace(SECRET, "");
    let (before, after) = text.split_once('\0').unwrap_or((text, ""));
    for around in ["", " ", "'", "=", "/"] {
        let command = format!("{before}{around}{SECRET}{around}{after}");
        let excerpt = excerpt::excerpt(&command, &|_, _| false);
        assert!(!excerpt.contains(SECRET), "{command:?} became {excerpt:?}");
        assert!(excerpt.chars().count() <= 200);
    }
}
