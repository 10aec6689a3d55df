//! Which denials are wanted.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use clap::ValueEnum;
use clap::builder::TypedValueParser;

use crate::base::actor::AgentName;
use crate::base::{clock, text};
use crate::cli::global::Suggested;
use crate::cli::output::LocalTime;
use crate::cli::{CliContext, number};
use crate::contract::denial::DenyCode;
use crate::log::read::{DISPATCH, Entry, OWED, Reach};

/// What a record says happened. `all` leaves out heartbeats, and recoveries, which denials show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LoggedDecision {
    #[default]
    Deny,
    Warn,
    Detected,
    Undone,
    Fault,
    Recovered,
    All,
}

impl LoggedDecision {
    fn of(entry: &Entry<'_>) -> Option<Self> {
        match entry.decision.as_ref() {
            "deny" => Some(Self::Deny),
            "warn" => Some(Self::Warn),
            "detected" => Some(Self::Detected),
            "undone" => Some(Self::Undone),
            "fault" => Some(Self::Fault),
            "recovered" => Some(Self::Recovered),
            _ => None,
        }
    }

    pub(super) fn includes(self, other: Self) -> bool {
        self == other || self == Self::All && other != Self::Recovered
    }

    /// What such a record is called; what one and what several of them are.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Deny => ["denial", "denied", "denied"],
            Self::Warn => ["warning", "warning", "warnings"],
            Self::Detected => ["detection", "detected", "detected"],
            Self::Undone => ["undone change", "undone", "undone"],
            Self::Fault => ["fault", "fault", "faults"],
            Self::Recovered => ["recovery", "recovery", "recoveries"],
            Self::All => ["record", "record", "records"],
        }
    }

    pub(super) fn noun(self) -> &'static str {
        self.words()[0]
    }

    /// `3 denied`, `1 warning`.
    pub(super) fn count(self, number: u64) -> String {
        let [_, one, more] = self.words();
        text::count(number, one, more)
    }
}

/// How many records of each decision pass the other filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([u64; 7]);

impl Counts {
    pub(super) fn add(&mut self, decision: LoggedDecision) {
        self.0[decision as usize] += 1;
    }

    pub(super) fn of(&self, wanted: LoggedDecision) -> u64 {
        let each = LoggedDecision::value_variants().iter().zip(self.0);
        let wanted = each.filter(|(each, _)| wanted.includes(**each));
        wanted.map(|(_, count)| count).sum()
    }

    /// `14 warnings, 2 undone`: what `--decision` leaves out.
    pub(super) fn besides(&self, wanted: LoggedDecision) -> String {
        let others =
            (LoggedDecision::value_variants().iter().zip(self.0)).filter(|(each, count)| {
                *count > 0 && !wanted.includes(**each) && **each != LoggedDecision::Recovered
            });
        let words: Vec<_> = others.map(|(each, count)| each.count(count)).collect();
        words.join(", ")
    }
}

/// Filters combine: a record must pass all of them.
#[derive(Debug, clap::Args)]
pub(super) struct Filter {
    /// What is recorded: `warn` is what a trial would have denied [default: deny; of a report: all]
    #[arg(long, global = true, value_name = "D", value_enum)]
    decision: Option<LoggedDecision>,
    /// Only since then: `30m`, `24h`, `7d`, a date, or an RFC 3339 time
    #[arg(long, global = true, value_name = "WHEN", value_parser = Since::parse)]
    since: Option<Since>,
    /// Only this Claude Code session
    #[arg(long, global = true, value_name = "S")]
    session: Option<String>,
    /// Only this agent, in any case, with its plugin or without; `main` is the main thread
    #[arg(long, global = true, value_name = "A")]
    agent: Option<String>,
    /// Only this deny code; `owed` and `dispatch` are warnings that have none
    #[arg(long, global = true, value_name = "R", hide_possible_values = true,
          value_parser = Suggested(codes).try_map(|text| known_code(text)))]
    rule: Option<String>,
    /// Only the newest N; with `stats`, only the N largest groups
    #[arg(long, global = true, value_name = "N", value_parser = number::<u32>(1..=u64::MAX))]
    limit: Option<u32>,
    /// Rotated logs as well
    #[arg(long, global = true)]
    all: bool,
}

/// What `--rule` takes.
fn codes() -> Vec<&'static str> {
    [&DenyCode::WORDS[..], &[OWED, DISPATCH]].concat()
}

fn known_code(text: String) -> Result<String, String> {
    if codes().contains(&text.as_str()) {
        return Ok(text);
    }
    Err(format!("the codes are {}", codes().join(", ")))
}

/// Which records are wanted, and how far back they are looked for.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) decision: LoggedDecision,
    pub(super) since: Option<DateTime<Utc>>,
    session: Option<String>,
    agent: Option<String>,
    rule: Option<String>,
    system: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) reach: Reach,
}

impl Filter {
    pub(super) fn resolve(&self, default: LoggedDecision, context: &CliContext<'_>) -> Query {
        Query {
            decision: self.decision.unwrap_or(default),
            since: self.since.map(|since| since.before(context.now)),
            session: self.session.clone(),
            agent: self.agent.clone(),
            rule: self.rule.clone(),
            system: context.system.map(str::to_owned),
            limit: self.limit,
            reach: if self.all { Reach::All } else { Reach::Newest },
        }
    }
}

impl Query {
    /// Lets every record through, of every log.
    pub(super) fn everything() -> Self {
        Self {
            decision: LoggedDecision::All,
            reach: Reach::All,
            ..Self::default()
        }
    }

    /// The decision of a record that passes, whichever decision is wanted.
    pub(super) fn decision_of(&self, entry: &Entry<'_>) -> Option<LoggedDecision> {
        let decision = LoggedDecision::of(entry)?;
        let is_ours = entry.source == "statewarden";
        (is_ours && self.lets_through(entry)).then_some(decision)
    }

    pub(super) fn lets_through(&self, entry: &Entry<'_>) -> bool {
        let same = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let mut also = entry.also.iter();
        same(&self.session, &entry.session_id)
            && (same(&self.system, &entry.system)
                || also.any(|also| same(&self.system, &also.system)))
            && same(&self.rule, entry.code())
            && (self.agent.as_deref())
                .is_none_or(|agent| entry.agent() == AgentName::parse(agent).as_str())
            && self.is_recent(&entry.ts)
    }

    fn is_recent(&self, ts: &str) -> bool {
        self.since
            .is_none_or(|since| DateTime::parse_from_rfc3339(ts).is_ok_and(|time| time >= since))
    }

    /// What the numbers are about, for a title: empty without a filter.
    pub(super) fn in_words(&self, local_time: &LocalTime) -> String {
        let since = self
            .since
            .map(|since| local_time.minute(&clock::millis(since)));
        let parts = [
            ("since", &since),
            ("session", &self.session),
            ("agent", &self.agent),
            ("rule", &self.rule),
            ("system", &self.system),
        ];
        let given = parts
            .iter()
            .filter_map(|(word, value)| Some(format!("{word} {}", value.as_deref()?)));
        given.collect::<Vec<_>>().join(", ")
    }
}

/// What `--since` takes.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum Since {
    Span(TimeDelta),
    Time(DateTime<Utc>),
}

impl Since {
    /// Parses `30m`, `24h`, `7d`, `2w`, `YYYY-MM-DD` (UTC) or an RFC 3339 time.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Ok(date) = text.parse::<NaiveDate>() {
            return Ok(Self::Time(date.and_time(NaiveTime::MIN).and_utc()));
        }
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Ok(Self::Time(time.to_utc()));
        }
        let last = text.chars().last().map_or(0, char::len_utf8);
        let (number, unit) = text.split_at(text.len() - last);
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 604_800,
            _ => 0,
        };
        match number.parse::<u32>() {
            Ok(n) if seconds > 0 => Ok(Self::Span(TimeDelta::seconds(i64::from(n) * seconds))),
            _ => Err("write a span such as `24h`, or a date such as `2026-01-31`"),
        }
    }

    /// The time; a span longer than time itself is all of it.
    pub(in crate::cli) fn before(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::Time(time) => time,
            Self::Span(span) => now.checked_sub_signed(span).unwrap_or(DateTime::UNIX_EPOCH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_span_a_date_or_a_time() {
        let now = "2026-05-03T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("30m", Some("2026-05-03T11:30:00.000Z")),
            ("24h", Some("2026-05-02T12:00:00.000Z")),
            ("2w", Some("2026-04-19T12:00:00.000Z")),
            ("2026-05-01", Some("2026-05-01T00:00:00.000Z")),
            (
                "2026-05-01T10:00:00+02:00",
                Some("2026-05-01T08:00:00.000Z"),
            ),
            ("", None),
            ("h", None),
            ("-3h", None),
            ("3 hours", None),
            ("4294967295w", Some("1970-01-01T00:00:00.000Z")),
        ] {
            let found = Since::parse(text).ok();
            let found = found.map(|since| clock::millis(since.before(now)));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn times_compare_in_every_zone() {
        let since: DateTime<Utc> = "2026-05-03T12:00:00Z".parse().unwrap();
        let recent = Query {
            since: Some(since),
            ..Query::default()
        };
        for (ts, expected) in [
            ("2026-05-03T12:00:00.000Z", true),
            ("2026-05-03T11:59:59.999Z", false),
            ("2026-05-03T14:00:00+02:00", true),
            ("2026-05-03T13:59:59+02:00", false),
            ("yesterday", false),
        ] {
            assert_eq!(recent.is_recent(ts), expected, "{ts}");
        }
    }
}
