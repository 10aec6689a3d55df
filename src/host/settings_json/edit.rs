//! Putting the entries into a settings text and taking them out, without
//! touching a byte that is not part of them.

use std::cell::RefCell;
use std::ops::Range;

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::document::{Child, Node, is_blank, misshapen, parse};
use super::{ENTRIES, Entry, NOT_AN_OBJECT, Wiring, WiringError, all_groups, our_command};
use crate::base::text::split_bom;

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    Unchanged,
    Changed(String),
}

/// The indentation of a new document, and of text that shows none.
const INDENT: &str = "  ";

/// The indentation in an empty object. It differs from [`INDENT`] so that
/// `remove` can tell the two origins apart and give either back.
const INDENT_IN_EMPTY: &str = "    ";

/// Puts all entries in, with `command` as the program, and takes out those of ours with
/// another path or form; a second merge changes nothing.
///
/// # Errors
/// The text is no JSON, or its shape leaves no place for the entries.
pub fn merge(text: &str, command: &str) -> Result<Edited, WiringError> {
    let (bom, body) = split_bom(text);
    if is_blank(body) {
        return Ok(Edited::Changed(format!("{bom}{body}{}", fresh(command))));
    }
    check_shape(body, parse(body)?)?;
    let mut edited = body.to_owned();
    for entry in &ENTRIES {
        edited = with_entry(&edited, entry, command)?;
    }
    // The others go last, so that no array or object is emptied on the way.
    let seen = RefCell::new(Vec::new());
    let others = prune(&edited, parse(&edited)?, |event, group, _| {
        let mut entries = ENTRIES.iter().filter(|entry| entry.event == event);
        let entry = entries.find(|entry| group.is(&entry.group(command)));
        let is_first = entry.is_some() && !seen.borrow().contains(&entry);
        seen.borrow_mut().push(entry);
        !is_first
    });
    edited = apply(&edited, others);
    Ok(if edited == body {
        Edited::Unchanged
    } else {
        Edited::Changed(format!("{bom}{edited}"))
    })
}

/// Whose entries are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryFilter<'c> {
    /// Every statewarden's, wherever the program is.
    Anyones,
    /// Those that run this command.
    Of(&'c str),
}

impl EntryFilter<'_> {
    fn is(self, command: &str) -> bool {
        match self {
            Self::Anyones => true,
            Self::Of(wanted) => command == wanted,
        }
    }
}

/// Takes entries of ours out, and with them the arrays and objects that hold
/// nothing else.
///
/// # Errors
/// The text is no JSON.
pub fn remove(text: &str, whose: EntryFilter<'_>) -> Result<Edited, WiringError> {
    let (bom, body) = split_bom(text);
    if is_blank(body) {
        return Ok(Edited::Unchanged);
    }
    let document = parse(body)?;
    let content = body.trim_start();
    let entries = Wiring::read(body)?.entries;
    if let Some(ours) = entries.first()
        && whose.is(&ours.command)
        && content == fresh(&ours.command)
    {
        let blank = &text[..text.len() - content.len()];
        return Ok(Edited::Changed(blank.to_owned()));
    }
    let removed = apply(
        body,
        prune(body, document, |_, _, command| whose.is(command)),
    );
    Ok(if removed == body {
        Edited::Unchanged
    } else {
        Edited::Changed(format!("{bom}{removed}"))
    })
}

/// The document of a file that did not exist.
pub(super) fn fresh(command: &str) -> String {
    let document = json!({ "hooks": all_groups(command) });
    format!("{}\n", spread(&document, INDENT, "", "\n"))
}

/// Refuses a text whose shape leaves no place for the entries.
fn check_shape(text: &str, document: Node<'_>) -> Result<(), WiringError> {
    if !document.is_object() {
        return Err(misshapen(text, document.span().start, NOT_AN_OBJECT));
    }
    check_member(text, document, "hooks", |it| it.is_object(), "an object")?;
    let Some(hooks) = document.get("hooks") else {
        return Ok(());
    };
    ENTRIES.iter().try_for_each(|entry| {
        check_member(text, hooks, entry.event, |it| it.is_array(), "an array")
    })
}

/// Refuses a member of another kind, and one that is there twice.
fn check_member(
    text: &str,
    of: Node<'_>,
    key: &str,
    is_kind: fn(Node<'_>) -> bool,
    kind: &str,
) -> Result<(), WiringError> {
    let items = of.items();
    let mut twins = items.iter().filter(|item| item.key.as_deref() == Some(key));
    if let Some(first) = twins.next()
        && !is_kind(first.value)
    {
        let what = format!("`{key}` is not {kind}");
        return Err(misshapen(text, first.value.span().start, &what));
    }
    if let Some(second) = twins.next() {
        let what = format!("`{key}` is here a second time");
        return Err(misshapen(text, second.span.start, &what));
    }
    Ok(())
}

/// Adds one entry where it is not there; where there are no hooks, all of them.
fn with_entry(text: &str, entry: &Entry, command: &str) -> Result<String, WiringError> {
    let document = parse(text)?;
    let group = entry.group(command);
    let hooks = document.get("hooks");
    let edit = match (hooks, hooks.and_then(|hooks| hooks.get(entry.event))) {
        (Some(_), Some(groups)) => {
            let there = groups.elements().unwrap_or_default();
            if there.iter().any(|there| there.is(&group)) {
                return Ok(text.to_owned());
            }
            append(text, document, groups, None, &group)
        }
        (Some(hooks), None) => append(text, document, hooks, Some(entry.event), &json!([group])),
        (None, _) => append(
            text,
            document,
            document,
            Some("hooks"),
            &all_groups(command),
        ),
    };
    Ok(apply(text, vec![edit]))
}

type Edit = (Range<usize>, String);

/// Puts edits into a text; they do not overlap.
fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_unstable_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + 2_048);
    let mut at = 0;
    for (range, replacement) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&replacement);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The edit that adds an item behind the last one of a container.
fn append(
    text: &str,
    document: Node<'_>,
    into: Node<'_>,
    key: Option<&str>,
    value: &Value,
) -> Edit {
    let named = |written: String| match key {
        Some(key) => format!("{}: {written}", json!(key)),
        None => written,
    };
    if let Some(last) = into.items().last() {
        let layout = Layout::around(text, document, last.span.start);
        let item = named(layout.write(value));
        let gap = match layout.break_line() {
            Some(line_break) if starts_its_line(text, last.span.start) => line_break,
            _ => String::new(),
        };
        return (last.span.end..last.span.end, format!(",{gap}{item}"));
    }
    let inside = into.span().start + 1..into.span().end - 1;
    if into.span() == document.span() {
        // Whatever is in the empty object stays behind the new member.
        let layout = Layout::inside_empty(text);
        let item = named(layout.write(value));
        let end = layout.end;
        return (
            inside.start..inside.start,
            format!("{end}{INDENT_IN_EMPTY}{item}{end}"),
        );
    }
    let outer = Layout::around(text, document, into.span().start);
    match outer.break_line() {
        Some(close) => {
            let inner = outer.deeper();
            let item = named(inner.write(value));
            (inside, format!("{close}{}{item}{close}", inner.unit))
        }
        None => (inside, named(outer.write(value))),
    }
}

/// How text around a place is laid out.
struct Layout<'t> {
    /// Indentation of the line; `None` in a document on one line.
    indent: Option<String>,
    unit: &'t str,
    end: &'static str,
}

impl<'t> Layout<'t> {
    /// The layout of the line that holds the byte `at`. A document on one line
    /// stays on one line.
    fn around(text: &'t str, document: Node<'_>, at: usize) -> Self {
        let line_start = text[..at].rfind('\n').map(|newline| newline + 1);
        let span = document.span();
        let inside = line_start.filter(|start| *start > span.start);
        let indent = inside.map(|start| blank_at(text, start).to_owned());
        let first = document
            .items()
            .first()
            .map_or(span.end, |item| item.span.start);
        let head = &text[span.start..first];
        let unit = head
            .rfind('\n')
            .map(|newline| &head[newline + 1..])
            .filter(|u| !u.is_empty());
        Self {
            indent,
            unit: unit.unwrap_or(INDENT),
            end: line_end(text),
        }
    }

    fn inside_empty(text: &str) -> Self {
        let indent = Some(INDENT_IN_EMPTY.to_owned());
        Self {
            indent,
            unit: INDENT_IN_EMPTY,
            end: line_end(text),
        }
    }

    fn deeper(&self) -> Self {
        let indent = self
            .indent
            .as_ref()
            .map(|indent| format!("{indent}{}", self.unit));
        Self { indent, ..*self }
    }

    fn break_line(&self) -> Option<String> {
        self.indent
            .as_ref()
            .map(|indent| format!("{}{indent}", self.end))
    }

    fn write(&self, value: &Value) -> String {
        match &self.indent {
            Some(indent) => spread(value, self.unit, indent, self.end),
            None => value.to_string(),
        }
    }
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn blank_at(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

fn starts_its_line(text: &str, at: usize) -> bool {
    text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
}

/// Writes a value over several lines, all but the first behind `indent`.
pub(super) fn spread(value: &Value, unit: &str, indent: &str, end: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    // Writing a value into memory has no way to fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8_lossy(&bytes).replace('\n', &format!("{end}{indent}"))
}

/// What is left of a container after the hooks that go.
enum Left {
    All,
    /// The edits that take a part out.
    Part(Vec<Edit>),
    Nothing,
}

/// The edits that take our hooks out for whose event, group and command `goes` holds.
fn prune(text: &str, document: Node<'_>, goes: impl Fn(&str, Node<'_>, &str) -> bool) -> Vec<Edit> {
    let left = prune_items(document, |key, events| match key {
        Some("hooks") => prune_items(events, |event, groups| {
            prune_groups(groups, |group, command| {
                goes(event.unwrap_or_default(), group, command)
            })
        }),
        _ => Left::All,
    });
    match left {
        Left::All => Vec::new(),
        Left::Part(edits) => edits,
        Left::Nothing => {
            let start = document.span().start + 1;
            let end = document.items().last().map_or(start, |item| item.span.end);
            let rest = &text[end..];
            let line_end = ["\r\n", "\n"]
                .iter()
                .find(|e| rest.starts_with(**e))
                .map_or(0, |e| e.len());
            vec![(start..end + line_end, String::new())]
        }
    }
}

/// What is left of the groups of one event.
fn prune_groups(groups: Node<'_>, goes: impl Fn(Node<'_>, &str) -> bool) -> Left {
    prune_items(groups, |_, group| match group.get("hooks") {
        Some(hooks) => prune_items(hooks, |_, hook| match our_command(hook) {
            Some(command) if goes(group, &command) => Left::Nothing,
            _ => Left::All,
        }),
        None => Left::All,
    })
}

fn prune_items<'t>(node: Node<'t>, left: impl Fn(Option<&str>, Node<'t>) -> Left) -> Left {
    let items = node.items();
    let fate = |item: &Child<'t>| left(item.key.as_deref(), item.value);
    let fates: Vec<_> = items.iter().map(fate).collect();
    if fates.iter().all(|fate| matches!(fate, Left::All)) {
        return Left::All;
    }
    let mut edits = Vec::new();
    let mut previous: Option<&Range<usize>> = None;
    let mut gone: Option<Range<usize>> = None;
    for (item, fate) in items.iter().zip(fates) {
        match fate {
            Left::Nothing => {
                let start = previous.map_or(item.span.start, |previous| previous.end);
                gone = Some(gone.map_or(start, |range| range.start)..item.span.end);
                continue;
            }
            Left::Part(inner) => edits.extend(inner),
            Left::All => {}
        }
        if let Some(range) = gone.take() {
            // Before the first item that stays, the gap up to it goes as well.
            let end = if previous.is_some() {
                range.end
            } else {
                item.span.start
            };
            edits.push((range.start..end, String::new()));
        }
        previous = Some(&item.span);
    }
    match (gone, previous) {
        (_, None) => return Left::Nothing,
        (Some(range), Some(_)) => edits.push((range, String::new())),
        (None, Some(_)) => {}
    }
    Left::Part(edits)
}
