//! `tasks.md`: numbered groups and their boxes.

use crate::formats::markdown::{Checkbox, Fence, Line, checkbox, lines};

/// What stands below one heading `## N. Name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub number: u32,
    pub name: String,
    pub n_checked: usize,
    pub n_unchecked: usize,
}

impl Section {
    pub fn n_tasks(&self) -> usize {
        self.n_checked + self.n_unchecked
    }
}

/// The groups in the order of their headings. Any other heading of the first or
/// second level ends a group.
///
/// Boxes in code fences count, as they do for OpenSpec; a fenced heading does
/// not, provided that the fence is closed, so that a forgotten fence swallows
/// no group.
pub fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut inside = false;
    for line in lines(text) {
        if let Some(heading) = heading(&line) {
            let section = numbered(heading);
            inside = section.is_some();
            sections.extend(section);
        } else if let (true, Some(section)) = (inside, sections.last_mut()) {
            match checkbox(line.text) {
                Some(Checkbox::Checked) => section.n_checked += 1,
                Some(Checkbox::Unchecked) => section.n_unchecked += 1,
                None => {}
            }
        }
    }
    sections
}

/// Whether a `tasks.md` at a project's root is one of ours: it has a numbered
/// group with at least one box.
pub fn has_numbered_groups(tasks_text: &str) -> bool {
    parse(tasks_text)
        .iter()
        .any(|section| section.n_tasks() > 0)
}

/// The text of a heading of the first or second level, with one `#` dropped.
fn heading<'a>(line: &Line<'a>) -> Option<&'a str> {
    let rest = line.text.strip_prefix('#')?;
    let level_two = rest.strip_prefix('#').unwrap_or(rest);
    let is_heading = level_two.is_empty() || level_two.starts_with([' ', '\t']);
    (is_heading && line.fence != Fence::Closed).then_some(rest)
}

fn numbered(heading: &str) -> Option<Section> {
    let title = heading.strip_prefix('#')?.trim();
    let (number, name) = title.split_once('.')?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    // `## 3.1 Name` is a heading inside group 3, not group 3.
    if !digits || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number = number.parse().ok()?;
    Some(Section {
        number,
        name: name.trim().to_owned(),
        n_checked: 0,
        n_unchecked: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u32, &str, usize, usize)]) {
        let sections = parse(text);
        let found: Vec<_> = sections
            .iter()
            .map(|s| (s.number, s.name.as_str(), s.n_checked, s.n_unchecked))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn groups_are_headings_with_a_number() {
        check(
            "## 1. A\n- [x] a\n- [ ] b\n## 2. B\n- [X] c",
            &[(1, "A", 1, 1), (2, "B", 1, 0)],
        );
        check(
            "\u{feff}## 1. A\r\n\r\n  * [x] a\r\n1. [ ] b\r\n",
            &[(1, "A", 1, 1)],
        );
        check(
            "##  12.  A \n+ [x] a\n### More\n\t2) [ ] b",
            &[(12, "A", 1, 1)],
        );
        check("## 3.\n- [ ] a", &[(3, "", 0, 1)]);
        check("## 1. A\n- [x] a\n## Notes\n- [ ] b", &[(1, "A", 1, 0)]);
        check("## 1. A\n- [x] a\n# Notes\n- [ ] b", &[(1, "A", 1, 0)]);
        check("## 1. A\n## 1.1 B\n- [ ] b", &[(1, "A", 0, 0)]);
        check(
            "## A\n- [ ] b\n### 1. C\n- [ ] c\n ## 2. D\n##3. E\n## 99999999999. F",
            &[],
        );
        check("## +1. A\n- [ ] a\n## . B\n- [ ] b", &[]);
        check("## 1. A\n- [~] a\n- [] b\n- [x b", &[(1, "A", 0, 0)]);
    }

    #[test]
    fn fences_hide_headings_and_not_boxes() {
        check(
            "## 1. A\n```\n## 2. B\n- [ ] b\n```\n- [x] a",
            &[(1, "A", 1, 1)],
        );
        check(
            "## 1. A\n```\n- [ ] a\n## 2. B\n- [x] b",
            &[(1, "A", 0, 1), (2, "B", 1, 0)],
        );
    }

    #[test]
    fn only_groups_with_boxes_make_a_root_ours() {
        assert!(has_numbered_groups("# Tasks\n## 1. A\n- [ ] a\n"));
        assert!(!has_numbered_groups("# Tasks\n- [ ] a\n## 1. A\n- a\n"));
    }
}
