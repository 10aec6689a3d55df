//! Which agents run in the background, themselves or inside one that does: the user's words
//! end the calls of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::base::clock;
use crate::base::disk::bounded_read::read_text;
use crate::formats::json::{self, line};
use crate::store::lock::Locked;
use crate::store::{append, replace};

const FILE: &str = "agents.jsonl";

/// An agent whose end was not seen.
const KEPT: TimeDelta = TimeDelta::days(2);

/// What an event says of an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    pub ts: String,
    pub session: String,
    pub what: What,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An agent, or the main thread, hands work to another one of a type.
    Dispatched {
        call: String,
        by: String,
        agent_type: String,
    },
    Started {
        agent_id: String,
        agent_type: String,
    },
    /// The call that handed work on has its answer.
    Answered {
        call: String,
    },
    /// It goes on in the background.
    Launched {
        call: String,
        agent_id: String,
    },
    Ended {
        agent_id: String,
    },
}

/// Appends a note.
///
/// # Errors
/// The file cannot be written.
pub fn note(memory: &Path, note: &Note) -> io::Result<()> {
    append::append(&memory.join(FILE), line(note).as_bytes()).map(drop)
}

/// Drops what is of sessions long ago.
///
/// # Errors
/// The file cannot be written.
pub fn tidy(locked: &Locked<'_>, now: DateTime<Utc>) -> io::Result<()> {
    let oldest = clock::millis(now - KEPT);
    let text = read(locked.dir());
    let kept: String = text
        .split_inclusive('\n')
        .filter(|line| serde_json::from_str(line).is_ok_and(|Dated { ts }| ts >= oldest))
        .collect();
    let path = locked.dir().join(FILE);
    if kept.is_empty() && !text.is_empty() {
        replace::remove(&path)
    } else if kept.len() < text.len() {
        replace::replace_private(&path, kept.as_bytes())
    } else {
        Ok(())
    }
}

/// When a note was made; the rest is not asked for.
#[derive(Deserialize)]
struct Dated {
    ts: String,
}

fn read(memory: &Path) -> String {
    let kept = read_text(&memory.join(FILE)).ok().flatten();
    kept.unwrap_or_default()
}

/// The agents of a session that the user's words do not end: those that were launched in the
/// background, and those that one of these is waiting for.
///
/// Which call an agent was started by is not in any event: the earliest one that waits for an
/// agent of its type. Where that is not known it counts as one of the background.
pub fn in_background(memory: &Path, session: &str) -> BTreeSet<String> {
    let mut background = BTreeSet::new();
    // By the call: who made it, and the type of agent.
    let mut waiting: BTreeMap<String, (String, String)> = BTreeMap::new();
    let (text, its) = (read(memory), json::quoted(session));
    let lines = text.lines().filter(|line| line.contains(&its));
    let notes = lines.filter_map(|line| serde_json::from_str::<Note>(line).ok());
    for note in notes.filter(|note| note.session == session) {
        match note.what {
            What::Dispatched {
                call,
                by,
                agent_type,
            } => drop(waiting.insert(call, (by, agent_type))),
            What::Answered { call } => drop(waiting.remove(&call)),
            What::Launched { call, agent_id } => {
                waiting.remove(&call);
                background.insert(agent_id);
            }
            What::Started {
                agent_id,
                agent_type,
            } => {
                let mut callers = waiting
                    .values()
                    .filter(|(_, asked_for)| *asked_for == agent_type)
                    .peekable();
                let is_known = callers.peek().is_some();
                if is_known && callers.any(|(by, _)| background.contains(by)) {
                    background.insert(agent_id);
                }
            }
            What::Ended { agent_id } => drop(background.remove(&agent_id)),
        }
    }
    background
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;

    #[test]
    fn what_runs_inside_an_agent_of_the_background_is_of_the_background() {
        let dir = std::env::temp_dir().join(format!("statewarden-agents-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let say = |what| {
            let note_of = Note {
                ts: "2026-01-01T00:00:00.000Z".to_owned(),
                session: "s".to_owned(),
                what,
            };
            note(&dir, &note_of).unwrap();
        };
        let dispatched = |call: &str, by: &str, agent_type: &str| What::Dispatched {
            call: call.to_owned(),
            by: by.to_owned(),
            agent_type: agent_type.to_owned(),
        };
        let started = |agent_id: &str, agent_type: &str| What::Started {
            agent_id: agent_id.to_owned(),
            agent_type: agent_type.to_owned(),
        };
        say(dispatched("1", "", "architect"));
        say(started("a", "architect"));
        say(What::Launched {
            call: "1".to_owned(),
            agent_id: "a".to_owned(),
        });
        say(dispatched("2", "a", "tester"));
        say(started("b", "tester"));
        say(dispatched("3", "", "reviewer"));
        say(started("c", "reviewer"));
        let found: Vec<String> = in_background(&dir, "s").into_iter().collect();
        assert_eq!(found, ["a", "b"]);
        assert!(in_background(&dir, "t").is_empty());
        say(What::Ended {
            agent_id: "a".to_owned(),
        });
        let found: Vec<String> = in_background(&dir, "s").into_iter().collect();
        assert_eq!(found, ["b"]);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
