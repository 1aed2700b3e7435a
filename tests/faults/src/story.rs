//! The story of a key that broke a promise: its requests, its answers, and the faults around them.

use std::fmt::Write as _;
use std::time::Duration;

use crate::checker::Finding;
use crate::log::{Got, Log};

/// How long before the first request a fault still belongs to the story.
const BEFORE: Duration = Duration::from_secs(1);

/// Tells it, in the order of time.
#[must_use]
pub fn tell(finding: &Finding, log: &Log) -> String {
    let mut text = format!("{:?} of {:?}: {}\n", finding.fault, finding.owner, finding.story);
    let mut asks: Vec<_> = log.asks.get(&finding.owner).into_iter().flatten().collect();
    asks.sort_by_key(|ask| ask.began);
    let mut lines: Vec<(Duration, String)> = asks
        .iter()
        .map(|ask| {
            let got = match &ask.got {
                Got::Nothing(why) => format!("nothing: {why}"),
                Got::Answer { status, body, .. } => format!("{status} {body}"),
            };
            let kind = if ask.impostor { "other request" } else { "request" };
            let order = format!("{}..{}", ask.began, ask.ended);
            (ask.at, format!("{kind} {order} to process {} got {got}", ask.process))
        })
        .collect();
    let (first, last) = (asks.first().map_or(Duration::ZERO, |ask| ask.at), asks.last().map(|ask| ask.at));
    let around = log
        .struck
        .iter()
        .filter(|struck| struck.at + BEFORE >= first && last.is_none_or(|last| struck.at <= last));
    lines.extend(around.map(|struck| (struck.at, format!("FAULT {} {}", struck.what, struck.place))));
    lines.sort();
    for (at, line) in lines {
        let _ = writeln!(text, "  {:>9.3} s  {line}", at.as_secs_f64());
    }
    for effect in log.effects.iter().filter(|effect| effect.owner == finding.owner) {
        let _ = writeln!(text, "  effect     {:?} of {} {}", effect.part, effect.payload, effect.token);
    }
    text
}
