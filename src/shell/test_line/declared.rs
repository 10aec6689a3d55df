//! Lines that a project declares as its tests: each counts as a whole.

use super::exit::{Exit, exit_of};
use crate::shell::parse;
use crate::shell::syntax::{Job, Kind, Link, Sense, Word};
use crate::shell::test_tools as tools;

/// The directories of a line that is a declared one, up to blanks, `cd` before it, plain
/// assignments, `-j`, `|| exit N` and redirections.
pub fn is_declared(line: &str, declared: &str) -> Option<Vec<String>> {
    if line.split_whitespace().eq(declared.split_whitespace()) {
        return Some(Vec::new());
    }
    let (dirs, words) = plain_command(line)?;
    (plain_command(declared)?.1 == words && !words.is_empty()).then_some(dirs)
}

/// The words of a line that is one command, and the directories that it changes to before.
fn plain_command(line: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (list, limit) = parse::statements(line, 0);
    let mut pipelines = Vec::new();
    for statement in &list {
        let is_plain = limit.is_none() && statement.job == Job::Foreground;
        pipelines.push((Link::And, is_plain.then_some(&statement.first)?));
        pipelines.extend(
            statement
                .rest
                .iter()
                .map(|(link, pipeline)| (*link, pipeline)),
        );
    }
    if let Some((Link::Or, last)) = pipelines.last()
        && exit_of(last) == Some(Exit::Error)
    {
        pipelines.pop();
    }
    let (mut dirs, mut found) = (Vec::new(), None);
    for (link, pipeline) in pipelines {
        let [command] = pipeline.commands.as_slice() else {
            return None;
        };
        let Kind::Simple(simple) = &command.kind else {
            return None;
        };
        let words: Option<Vec<String>> = simple.words.iter().map(Word::literal).collect();
        let mut assigned = simple.assignments.iter().map(|set| &set.name);
        if link == Link::Or
            || pipeline.sense == Sense::Negated
            || found.is_some()
            || assigned.any(|name| tools::is_path_like(name))
        {
            return None;
        }
        match words?.as_slice() {
            [cd, dir] if cd == "cd" => dirs.push(dir.clone()),
            words => found = Some(without_jobs(words)),
        }
    }
    Some((dirs, found?))
}

fn without_jobs(words: &[String]) -> Vec<String> {
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let mut kept = Vec::new();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        rest = behind;
        let jobs = word
            .strip_prefix("--jobs=")
            .or_else(|| word.strip_prefix("-j"));
        match (jobs, behind) {
            (Some(""), [number, behind @ ..]) if is_number(number) => rest = behind,
            (Some(number), _) if is_number(number) => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}
