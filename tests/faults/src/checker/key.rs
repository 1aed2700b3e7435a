//! The promises of one key.

use super::Fault;
use super::answer::{Said, read};
use crate::log::Ask;
use crate::routes::{Effect, Owner};

const CONFLICT: &str = "IDEMPOTENCY_KEY_CONFLICT";
const UNKNOWN: &str = "IDEMPOTENCY_OUTCOME_UNKNOWN";
const FAILED: &str = "IDEMPOTENCY_FAILED";

type Report<'a> = &'a mut dyn FnMut(Fault, String);

/// Reports what is wrong with the requests of a key, in the order of their beginnings, and its effects.
pub(super) fn check(
    owner: &Owner,
    asks: &[&Ask],
    effects: &[&Effect],
    undelivered: &[String],
    report: Report<'_>,
) {
    let said: Vec<(&Ask, Said)> = asks.iter().map(|ask| (*ask, read(ask))).collect();
    for (ask, said) in &said {
        belongs(owner, ask, said, report);
    }
    let own: Vec<&(&Ask, Said)> = said.iter().filter(|(ask, _)| !ask.impostor).collect();
    let acknowledged = acknowledged(owner, &own, report);
    has_effects(owner, &own, acknowledged, effects, report);
    has_ended(owner, &own, report);
    for effect in effects.iter().filter(|effect| undelivered.iter().any(|text| text.contains(&effect.token)))
    {
        report(Fault::Lost, format!("the event of {} was never delivered", effect.payload));
    }
}

/// Nobody gets the answer of another owner or request; another request under the key is refused and never runs.
fn belongs(owner: &Owner, ask: &Ask, said: &Said, report: Report<'_>) {
    match said {
        Said::Own { effect, .. } if effect.owner != *owner || effect.payload != ask.payload => {
            report(Fault::Leaked, format!("{} got an answer for {effect:?}", ask.payload));
        }
        Said::Own { .. } if ask.impostor => {
            report(Fault::DoubleEffect, format!("{} ran under a key that was taken", ask.payload));
        }
        Said::Strange => {
            report(Fault::Lost, format!("{} got what no service says: {:?}", ask.payload, ask.got));
        }
        said if ask.impostor && !said.is_silent() && !said.is_refused(CONFLICT) => {
            report(Fault::Leaked, format!("{} was not told of the conflict: {:?}", ask.payload, ask.got));
        }
        said if !ask.impostor && said.is_refused(CONFLICT) => {
            report(Fault::Lost, format!("{} was refused its own key", ask.payload));
        }
        _ => {}
    }
}

/// The answer that later ones must repeat, if there is one: whether it was a success.
fn acknowledged(owner: &Owner, own: &[&(&Ask, Said)], report: Report<'_>) -> Option<bool> {
    let counts = |said: &Said| match said {
        Said::Own { success, .. } => *success || owner.route.keeps_failures(),
        _ => false,
    };
    let kept = || own.iter().filter(|(_, said)| counts(said));
    let (first, said) = kept().min_by_key(|(ask, _)| ask.ended)?;
    for (ask, _) in kept().filter(|(ask, _)| ask.got != first.got) {
        report(Fault::Lost, format!("the answer changed from {:?} to {:?}", first.got, ask.got));
    }
    for (ask, said) in own.iter().filter(|(ask, _)| ask.began > first.ended) {
        if !counts(said) && !said.is_silent() {
            report(Fault::Lost, format!("after the answer {:?} came {:?}", first.got, ask.got));
        }
    }
    Some(matches!(said, Said::Own { success: true, .. }))
}

/// One effect in each part after a success, none after a failure, at most one where nobody knows.
fn has_effects(
    owner: &Owner,
    own: &[&(&Ask, Said)],
    acknowledged: Option<bool>,
    effects: &[&Effect],
    report: Report<'_>,
) {
    let payloads: Vec<&str> = own.iter().map(|(ask, _)| ask.payload.as_str()).collect();
    for effect in effects {
        if !payloads.contains(&effect.payload.as_str()) || !owner.route.parts().contains(&effect.part) {
            report(Fault::DoubleEffect, format!("an effect that is not of this request: {effect:?}"));
        }
    }
    for part in owner.route.parts() {
        let count = effects.iter().filter(|effect| effect.part == *part).count();
        let allowed = usize::from(acknowledged != Some(false));
        if count > allowed {
            report(
                Fault::DoubleEffect,
                format!("{count} effects in {part:?}, {allowed} allowed: {effects:?}"),
            );
        }
        if count == 0 && acknowledged == Some(true) {
            report(Fault::Lost, format!("a success was told, and there is no effect in {part:?}"));
        }
    }
}

/// The request after all faults ends the key, and so does the one after it.
fn has_ended(owner: &Owner, own: &[&(&Ask, Said)], report: Report<'_>) {
    let last: Vec<_> = own.iter().filter(|(ask, _)| ask.last).collect();
    if last.is_empty() {
        report(Fault::Stuck, "no request was sent after the faults".to_owned());
    }
    for (ask, said) in last {
        let ended = match said {
            Said::Own { .. } => true,
            said => owner.route.may_be_unknown() && said.is_refused(UNKNOWN) || said.is_refused(FAILED),
        };
        if !ended {
            report(Fault::Stuck, format!("after all faults and leases it still got {:?}", ask.got));
        }
    }
}
