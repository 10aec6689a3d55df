//! The log in a file's body, in the form the original scripts write.

use crate::formats::yaml::one_line;
use crate::systems::workflow::GateStatus;

/// The most characters of a reply that a gate or the log keeps.
const MESSAGE_MAX: usize = 200;

/// One entry, starting with a blank line. `phase` is the one that ended, and
/// `Result` comes before `Gate`: readers take the last of the two for the
/// gate. What is empty gets no line.
pub fn entry(phase: &str, agent: &str, result: &str, gate: Option<GateStatus>, at: &str) -> String {
    let mut entry = format!("\n### Phase: {phase}\n");
    if let Some(first) = entry.get_mut(12..13) {
        first.make_ascii_uppercase();
    }
    let status = gate.map_or("", GateStatus::as_str);
    for (key, value) in [
        ("Agent", agent),
        ("Result", result),
        ("Gate", status),
        ("Timestamp", at),
    ] {
        if !value.is_empty() {
            entry += &format!("- {key}: {}\n", one_line(value));
        }
    }
    entry
}

/// The body with `entries` at its end and without lines equal to `---`: the
/// shell readers take what follows a third fence for front matter.
pub fn append(body: &str, entries: &str) -> String {
    let mut appended = without_fences(body);
    if !entries.is_empty() && !appended.is_empty() && !appended.ends_with('\n') {
        appended.push('\n');
    }
    appended.push_str(entries);
    appended
}

/// The text without lines equal to `---`.
pub fn without_fences(text: &str) -> String {
    text.split_inclusive('\n')
        .filter(|line| line.trim_end_matches('\n') != "---")
        .collect()
}

/// The first `MESSAGE_MAX` characters, on one line.
pub fn truncate_message(text: &str) -> String {
    one_line(text).chars().take(MESSAGE_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_follow_a_body_without_fences() {
        let entry = entry("review", "Lawliet", "a\nb", Some(GateStatus::Passed), "T");
        let expected = "\n### Phase: Review\n- Agent: Lawliet\n- Result: a b\n- Gate: passed\n- Timestamp: T\n";
        assert_eq!(entry, expected);
        assert_eq!(
            append("\n# Log\n---\nx\n---", &entry),
            format!("\n# Log\nx\n{expected}")
        );
        assert_eq!(append("x\n----\n --- \n", ""), "x\n----\n --- \n");
        assert_eq!(append("x", ""), "x");
        assert_eq!(append("", "y"), "y");
        assert_eq!(append("x", "\ny"), "x\n\ny");
        assert_eq!(
            truncate_message(&"ä".repeat(300)).chars().count(),
            MESSAGE_MAX
        );
    }
}
