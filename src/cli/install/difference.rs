//! The lines in which two texts differ.

use crate::cli::output::{Page, writeln};

/// How many equal lines are shown before and behind a change.
const CONTEXT: usize = 1;

/// Adds the lines that go and come, with a little around them.
pub(in crate::cli) fn say(page: &mut Page<'_>, before: &str, after: &str) {
    for (mark, line) in near_changes(before, after) {
        match mark {
            '…' => writeln!(page, "  …"),
            mark => writeln!(page, "{mark} {line}"),
        }
    }
}

/// The changed lines and their neighbours, `…` where there are others between.
fn near_changes<'t>(before: &'t str, after: &'t str) -> Vec<(char, &'t str)> {
    let lines = compare(before, after);
    let is_near = |at: usize| {
        let end = lines.len().min(at + CONTEXT + 1);
        let around = &lines[at.saturating_sub(CONTEXT)..end];
        around.iter().any(|(mark, _)| *mark != ' ')
    };
    let (mut near, mut next) = (Vec::new(), 0);
    for at in (0..lines.len()).filter(|at| is_near(*at)) {
        if at > next {
            near.push(('…', ""));
        }
        near.push(lines[at]);
        next = at + 1;
    }
    near
}

/// All lines, each marked with what happens to it.
fn compare<'t>(before: &'t str, after: &'t str) -> Vec<(char, &'t str)> {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let (mut before, mut after) = (before.as_slice(), after.as_slice());
    let mut lines = Vec::new();
    loop {
        let (gone, come) = gap(before, after);
        lines.extend(before[..gone].iter().map(|line| ('-', *line)));
        lines.extend(after[..come].iter().map(|line| ('+', *line)));
        let (Some(line), Some(_)) = (before.get(gone), after.get(come)) else {
            return lines;
        };
        lines.push((' ', line));
        (before, after) = (&before[gone + 1..], &after[come + 1..]);
    }
}

/// How many lines go and come before the nearest line that both texts have.
fn gap(before: &[&str], after: &[&str]) -> (usize, usize) {
    for distance in 0..before.len() + after.len() {
        for gone in 0..=distance.min(before.len()) {
            let come = distance - gone;
            if gone < before.len() && after.get(come) == Some(&before[gone]) {
                return (gone, come);
            }
        }
    }
    (before.len(), after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let split = |text: &str| text.replace(' ', "\n");
        let (before, after) = (split(before), split(after));
        let lines = near_changes(&before, &after).into_iter();
        let shown: String = lines.map(|(mark, line)| format!("{mark}{line};")).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn changed_lines_are_shown_with_a_little_around_them() {
        check("a b", "a b", "");
        check("", "a b", "+a;+b;");
        check("a b", "", "-a;-b;");
        check("1 2 3 old 4 5 6", "1 2 3 new 4 5 6", "…; 3;-old;+new; 4;");
        check("{ a }", "{ a, x { } }", " {;-a;+a,;+x;+{; };+};");
        check("a 1 2 3 4 5 b", "A 1 2 3 4 5 B", "-a;+A; 1;…; 5;-b;+B;");
    }
}
