//! `tasks.md`: numbered groups and their boxes.

use std::collections::HashMap;

use crate::formats::markdown::{Block, Checkbox, Line, checkbox, lines, merge_conflict};

/// What `tasks.md` says.
#[derive(Debug, Default)]
pub struct Tasks {
    /// In the order of their headings.
    pub groups: Vec<Section>,
    /// The lines with an open box that belongs to no group.
    pub ungrouped: Vec<usize>,
    /// The first line of a merge that was left undone.
    pub conflict: Option<String>,
}

/// What belongs to one heading `## N. Name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub number: u32,
    pub name: String,
    pub n_checked: usize,
    pub n_unchecked: usize,
    /// Open boxes with a mark of their own: `[~]` in line 3.
    pub odd: Vec<String>,
    /// Tasks numbered for another group that are here: 2.1 in line 3.
    pub others: Vec<String>,
    /// Open tasks of this group that are elsewhere.
    pub elsewhere: Vec<String>,
    /// Its boxes, each with its mark: what a verdict about it is about.
    pub boxes: Vec<String>,
}

impl Section {
    pub fn n_tasks(&self) -> usize {
        self.n_checked + self.n_unchecked
    }

    pub fn is_open(&self) -> bool {
        self.n_unchecked > 0 || !self.elsewhere.is_empty()
    }
}

/// The heading that a line is below.
#[derive(Clone, Copy)]
enum Below {
    /// `## N. Name`, by its index.
    Group(usize),
    /// `## N.M Name` or `## Na. Name`: a part of group N, wherever that is.
    Part(u32),
    /// Any other heading of the first or second level, or none.
    NoGroup,
}

/// A box, and the heading that it is below.
struct Task<'a> {
    below: Below,
    line: usize,
    kind: Checkbox,
    brackets: &'a str,
    text: &'a str,
}

/// Reads `tasks.md`.
///
/// Boxes in code fences count, as they do for OpenSpec; a fenced heading does
/// not, provided that the fence is closed, so that a forgotten fence swallows
/// no group.
pub fn parse(text: &str) -> Tasks {
    let mut boxes = Vec::new();
    let mut tasks = Tasks {
        conflict: merge_conflict(text).map(str::to_owned),
        ..Tasks::default()
    };
    let mut below = Below::NoGroup;
    for (line, number) in lines(text).iter().zip(1..) {
        if let Some(heading) = heading(line) {
            below = tasks.enter(heading);
        } else if let Some((kind, brackets, text)) = checkbox(line.text)
            && (kind != Checkbox::Odd || line.block != Block::Fence)
        {
            boxes.push(Task {
                below,
                line: number,
                kind,
                brackets,
                text,
            });
        }
    }
    let numbers = tasks.groups.iter().map(|group| group.number);
    let by_number: HashMap<u32, usize> = numbers.zip(0..).collect();
    for task in boxes {
        tasks.count(&task, &by_number);
    }
    tasks
}

impl Tasks {
    /// The boxes that are not checked, wherever they are.
    pub fn n_open(&self) -> usize {
        let in_groups = self.groups.iter().map(|group| group.n_unchecked);
        in_groups.sum::<usize>() + self.ungrouped.len()
    }

    fn enter(&mut self, heading: &str) -> Below {
        let Some((number, rest)) = numbered(heading) else {
            return Below::NoGroup;
        };
        let mut chars = rest.chars();
        match (chars.next(), chars.clone().next()) {
            (Some('.'), Some('0'..='9')) | (Some('a'..='z' | 'A'..='Z'), Some('.')) => {
                Below::Part(number)
            }
            (Some('.'), _) => {
                self.groups.push(Section {
                    number,
                    name: chars.as_str().trim().to_owned(),
                    ..Section::default()
                });
                Below::Group(self.groups.len() - 1)
            }
            _ => Below::NoGroup,
        }
    }

    fn count(&mut self, task: &Task<'_>, by_number: &HashMap<u32, usize>) {
        let is_open = task.kind != Checkbox::Checked;
        let home = match task.below {
            Below::Group(at) => Some(at),
            Below::Part(number) => by_number.get(&number).copied(),
            Below::NoGroup => None,
        };
        let place = |name: &str| format!("{name} in line {}", task.line);
        if let Some((group, name)) = task_number(task.text)
            && let Some(&at) = by_number.get(&group)
            && home.is_none_or(|home| self.groups[home].number != group)
        {
            if is_open {
                self.groups[at].elsewhere.push(place(name));
            }
            if let Some(home) = home {
                self.groups[home].others.push(place(name));
            }
        }
        let Some(home) = home else {
            self.ungrouped.extend(is_open.then_some(task.line));
            return;
        };
        let home = &mut self.groups[home];
        let mark = task.brackets.to_lowercase();
        home.boxes.push(format!("{mark} {}", task.text.trim()));
        match task.kind {
            Checkbox::Checked => home.n_checked += 1,
            Checkbox::Unchecked => home.n_unchecked += 1,
            Checkbox::Odd => {
                home.n_unchecked += 1;
                home.odd.push(place(&format!("`{}`", task.brackets)));
            }
        }
    }
}

/// Whether a `tasks.md` at a project's root is one of ours: it has a numbered
/// group with at least one box.
pub fn has_numbered_groups(tasks_text: &str) -> bool {
    let mut groups = parse(tasks_text).groups.into_iter();
    groups.any(|group| group.n_tasks() > 0)
}

/// The text of a heading of the first or second level, with one `#` dropped.
fn heading<'a>(line: &Line<'a>) -> Option<&'a str> {
    let rest = line.text.strip_prefix('#')?;
    let level_two = rest.strip_prefix('#').unwrap_or(rest);
    let is_heading = level_two.is_empty() || level_two.starts_with([' ', '\t']);
    (is_heading && line.block != Block::Fence).then_some(rest)
}

/// The number at the start of a heading of the second level, and what follows it.
fn numbered(heading: &str) -> Option<(u32, &str)> {
    leading_number(heading.strip_prefix('#')?.trim())
}

/// The group in a task's number, `N.M`, and the number.
fn task_number(text: &str) -> Option<(u32, &str)> {
    let plain = text.trim_start_matches(['*', '_', '`']);
    let end = plain.find(|c: char| !c.is_ascii_digit() && c != '.');
    let number = plain[..end.unwrap_or(plain.len())].trim_end_matches('.');
    let (group, rest) = leading_number(number)?;
    let is_word = plain[number.len()..].starts_with(char::is_alphanumeric);
    (rest.starts_with('.') && !is_word).then_some((group, number))
}

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(n_digits);
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u32, &str, usize, usize)], ungrouped: &[usize]) {
        let tasks = parse(text);
        let found = tasks.groups.iter();
        let found: Vec<_> = found
            .map(|s| (s.number, s.name.as_str(), s.n_checked, s.n_unchecked))
            .collect();
        assert_eq!(found, expected, "{text:?}");
        assert_eq!(tasks.ungrouped, ungrouped, "{text:?}");
    }

    #[test]
    fn groups_are_headings_with_a_number() {
        check(
            "## 1. A\n- [x] a\n- [ ] b\n## 2. B\n- [X] c",
            &[(1, "A", 1, 1), (2, "B", 1, 0)],
            &[],
        );
        check(
            "\u{feff}## 1. A\r\n\r\n  * [x] a\r\n1. [ ] b\r\n",
            &[(1, "A", 1, 1)],
            &[],
        );
        check(
            "##  12.  A \n+ [x] a\n### More\n\t2) [ ] b",
            &[(12, "A", 1, 1)],
            &[],
        );
        check("## 3.\n- [ ] a", &[(3, "", 0, 1)], &[]);
        check("## 1. A\n- [~] a\n- [] b\n- [x b", &[(1, "A", 0, 2)], &[]);
    }

    #[test]
    fn an_open_box_outside_the_groups_is_ungrouped() {
        for heading in [
            "## Notes",
            "# Notes",
            "## 1) B",
            "## 2 B",
            "## 99999999999. B",
        ] {
            let text = format!("- [x] a\n- [-] b\n## 1. A\n- [x] a\n{heading}\n- [x] a\n- [ ] b");
            check(&text, &[(1, "A", 1, 0)], &[2, 7]);
        }
        check(
            "## A\n- [ ] b\n### 1. C\n- [ ] c\n ## 2. D\n##3. E\n## +1. F\n## . G\n- [ ] a",
            &[],
            &[2, 4, 9],
        );
    }

    #[test]
    fn parts_belong_to_their_group_wherever_that_is() {
        check(
            "## 1.2 Early\n- [ ] a\n## 1. A\n- [x] a\n## 2. B\n## 1b. C\n- [~] b\n## 2.1. D\n- [x] d",
            &[(1, "A", 1, 2), (2, "B", 1, 0)],
            &[],
        );
        check("## 3.1 A\n- [ ] a\n## 3a. B\n- [ ] b", &[], &[2, 4]);
    }

    #[test]
    fn odd_boxes_and_tasks_of_other_groups_are_named() {
        let text = "## 1. A\n- [x] 1.1 a\n- [~] **2.1** b\n- [x] 2.2. c\n- [ ] 3.1 d\n- [ ] 2.4x\n\
                    ## 2. B\n- [x] 2.3 d\n```\n- [-] legend\n```\n## Notes\n- [ ] 2.5 e\n";
        let Tasks {
            groups, ungrouped, ..
        } = parse(text);
        let told = |at: usize| {
            let Section {
                odd,
                others,
                elsewhere,
                ..
            } = &groups[at];
            [odd.join(", "), others.join(", "), elsewhere.join(", ")]
        };
        assert_eq!(
            told(0),
            ["`[~]` in line 3", "2.1 in line 3, 2.2 in line 4", ""]
        );
        assert_eq!(told(1), ["", "", "2.1 in line 3, 2.5 in line 13"]);
        assert!(groups.iter().all(Section::is_open));
        assert_eq!(ungrouped, [13]);
    }

    #[test]
    fn fences_hide_headings_and_not_boxes() {
        check(
            "## 1. A\n```\n## 2. B\n- [ ] b\n```\n- [x] a",
            &[(1, "A", 1, 1)],
            &[],
        );
        check(
            "## 1. A\n```\n- [ ] a\n## 2. B\n- [x] b",
            &[(1, "A", 0, 1), (2, "B", 1, 0)],
            &[],
        );
    }

    #[test]
    fn only_groups_with_boxes_make_a_root_ours() {
        assert!(has_numbered_groups("# Tasks\n## 1. A\n- [ ] a\n"));
        assert!(!has_numbered_groups("# Tasks\n- [ ] a\n## 1. A\n- a\n"));
        assert!(!has_numbered_groups(
            "## 1.0 Release\n- [ ] a\n## 1.1 Fix\n- [ ] b\n"
        ));
    }
}
