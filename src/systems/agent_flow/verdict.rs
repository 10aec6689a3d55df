//! What an agent's final reply says about its gate.
//!
//! The reply is prose from a model: it quotes templates, cites earlier verdicts
//! and shows examples. Only the forms below count, and whatever is in doubt
//! decides nothing, so that the gate stays as it was.

use super::state::Agent;
use crate::base::string_enum::string_enum;
use crate::formats::markdown::{self, Line};
use crate::formats::verdict;
use crate::systems::workflow::GateStatus;

string_enum! {
    /// A decisive outcome.
    pub enum Verdict {
        /// A report that needs no verdict (Riko, Senku, Loid).
        Reported = "REPORTED",
        /// Loid's own checks failed.
        ChecksFailed = "CHECKS_FAILED",
        Approved = "APPROVED",
        NeedsChanges = "NEEDS_CHANGES",
        Verified = "VERIFIED",
        Failed = "FAILED",
        /// The environment stood in the way, not the change: passes with a caveat.
        EnvironmentBlocked = "ENVIRONMENT_BLOCKED",
    }
}

impl Verdict {
    pub fn gate_status(self) -> GateStatus {
        match self {
            Self::ChecksFailed | Self::NeedsChanges | Self::Failed => GateStatus::Failed,
            Self::Reported | Self::Approved | Self::Verified | Self::EnvironmentBlocked => {
                GateStatus::Passed
            }
        }
    }
}

/// The verdict and the line that holds it, or why there is none.
pub type Reading<'a> = Result<(Verdict, &'a str), String>;

const REVIEW: &[Verdict] = &[Verdict::Approved, Verdict::NeedsChanges];
const VERIFICATION: &[Verdict] = &[
    Verdict::Verified,
    Verdict::Failed,
    Verdict::EnvironmentBlocked,
];

/// Reads the final reply of `agent`.
///
/// # Errors
/// It decides nothing.
pub fn read(agent: Agent, reply: &str) -> Reading<'_> {
    let lines = markdown::lines(reply);
    if lines.iter().all(|line| line.text.trim().is_empty()) {
        return Err("the reply is empty".to_owned());
    }
    match agent {
        Agent::Riko => reported(&lines),
        Agent::Senku | Agent::Loid if is_escalation(&lines) => {
            Err("the agent escalated a contradicted assumption".to_owned())
        }
        Agent::Senku => reported(&lines),
        Agent::Loid => read_checks(&lines),
        Agent::Lawliet => read_verdict(&lines, REVIEW),
        Agent::Alphonse => read_verdict(&lines, VERIFICATION),
    }
}

/// The first line that says something, without heading marks: the message a
/// gate keeps of a reply.
pub fn headline(reply: &str) -> &str {
    let lines = reply
        .lines()
        .map(|line| line.trim().trim_start_matches('#').trim());
    lines
        .into_iter()
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

fn reported<'a>(lines: &[Line<'a>]) -> Reading<'a> {
    let first = lines.iter().find(|line| !line.text.trim().is_empty());
    let evidence = first.map_or("", |line| line.text.trim());
    Ok((Verdict::Reported, evidence))
}

/// An escalation inside a fence still counts: taking one for a report would
/// open the next gate before the user has answered.
fn is_escalation(lines: &[Line<'_>]) -> bool {
    lines.iter().any(|line| {
        let tag = find_uncited(line.text, "<escalation ");
        tag.is_some_and(|at| line.text[at..].contains("assumption-contradicted"))
    })
}

/// Loid's instructions show the result inside a fence, so a result that starts
/// its line counts there too; within other text only outside of fences. The
/// last one counts, since checks are repeated until they pass.
fn read_checks<'a>(lines: &[Line<'a>]) -> Reading<'a> {
    match lines.iter().rev().find_map(last_marker) {
        Some((FAILED, evidence)) => Ok((Verdict::ChecksFailed, evidence)),
        Some((NOT_RUN, _)) => Err("the agent did not run its checks".to_owned()),
        Some((_, evidence)) => Ok((Verdict::Reported, evidence)),
        None => reported(lines),
    }
}

const FAILED: &str = "❌ Verification Failed";
const NOT_RUN: &str = "VERIFICATION NOT RUN";
const PASSED: &str = "✅ Verification Complete";

/// The last marker on a line, with the line; in a code fence only one that begins it.
fn last_marker<'a>(line: &Line<'a>) -> Option<(&'static str, &'a str)> {
    let found = [FAILED, NOT_RUN, PASSED].into_iter().filter_map(|marker| {
        let at = find_uncited(line.text, marker)?;
        let before = line.text[..at].trim_matches(['#', '*', '-', ' ']);
        (!line.block.is_fence() || before.is_empty()).then_some((at, marker))
    });
    Some((found.max()?.1, line.text.trim()))
}

fn read_verdict<'a>(lines: &[Line<'a>], words: &[Verdict]) -> Reading<'a> {
    let Some(found) = verdict::last(lines) else {
        return Err("the reply has no `Verdict` or `Overall` line".to_owned());
    };
    let mut known = words.iter();
    let Some(verdict) = known.find(|verdict| found.word == Some(verdict.as_str())) else {
        return Err("the verdict line holds no single verdict of this agent".to_owned());
    };
    let others = words.iter().filter(|word| *word != verdict);
    let others: Vec<&str> = others.map(|word| word.as_str()).collect();
    match verdict::contradiction(lines, &found, &others) {
        Some(line) => Err(verdict::undecided(verdict.as_str(), line)),
        None => Ok((*verdict, found.line)),
    }
}

/// The last place of a marker on a line where it is not cited: not in a
/// block quote, a code span or quotation marks.
fn find_uncited(line: &str, marker: &str) -> Option<usize> {
    line.rmatch_indices(marker)
        .map(|(at, _)| at)
        .find(|&at| !is_cited(&line[..at]))
}

/// Whether what follows a text is in a block quote, a code span or quotation marks.
fn is_cited(before: &str) -> bool {
    let is_open = |mark: char| before.matches(mark).count() % 2 == 1;
    before.trim_start().starts_with('>')
        || is_open('`')
        || is_open('"')
        || before.rfind('“') > before.rfind('”')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One case a block: `== agent, expected`, then the reply.
    const CASES: &str = include_str!("../../../tests/fixtures/agent-flow/replies.txt");

    #[track_caller]
    fn check(head: &str, reply: &str) {
        let (name, expected) = head.split_once(", ").unwrap_or((head, ""));
        let agent = Agent::parse(name);
        let found = match agent.map(|agent| read(agent, reply)) {
            Some(Ok((verdict, _))) => verdict.as_str(),
            Some(Err(_)) => "-",
            None => "no such agent",
        };
        assert_eq!(found, expected, "{head}:\n{reply}");
    }

    #[test]
    fn replies_are_read_as_written() {
        let cases: Vec<_> = CASES.split("\n== ").skip(1).collect();
        assert!(cases.len() > 50);
        for case in cases {
            let (head, reply) = case.split_once('\n').unwrap_or((case, ""));
            check(head, reply);
        }
    }

    #[test]
    fn evidence_is_the_line_that_decided() {
        let evidence = |agent, reply| match read(agent, reply) {
            Ok((_, evidence)) => evidence.to_owned(),
            Err(why) => why,
        };
        assert_eq!(
            evidence(Agent::Lawliet, "a\n### Verdict\n\n**APPROVED**\nb"),
            "**APPROVED**"
        );
        assert_eq!(
            evidence(Agent::Alphonse, "- Overall: FAILED (2)\n"),
            "- Overall: FAILED (2)"
        );
        assert_eq!(evidence(Agent::Riko, "\n## Results\nfound"), "## Results");
        assert_eq!(headline("\n# \n## Results \nfound"), "Results");
        assert_eq!(evidence(Agent::Loid, " \n"), "the reply is empty");
    }

    proptest::proptest! {
        #[test]
        fn any_reply_is_read(reply in "(Verdict|Overall|APPROVED|[#*_`~:()>\" \n“]|```|❌ Verification Failed){0,30}") {
            for agent in Agent::ALL {
                let _ = read(agent, &reply);
            }
        }
    }
}
