//! Logs made by hand, one for each thing that the checker must find.

use std::time::Duration;

use super::*;
use crate::log::{Ask, Got};
use crate::routes::{Part, Route};

fn owner(tenant: &str, route: Route) -> Owner {
    Owner { tenant: tenant.to_owned(), user: "u".to_owned(), route, key: "k".to_owned() }
}

fn effect(owner: &Owner, part: Part, token: &str) -> Effect {
    Effect { owner: owner.clone(), payload: "p".to_owned(), part, token: token.to_owned() }
}

fn own(status: u16, effect: &Effect) -> Got {
    let body = serde_json::json!(effect).to_string();
    Got::Answer { status, headers: "application/json".to_owned(), body }
}

fn refused(status: u16, code: &str) -> Got {
    let body = serde_json::json!({ "code": code }).to_string();
    Got::Answer { status, headers: "application/problem+json".to_owned(), body }
}

/// A request that is over before the next one begins.
fn ask(number: u64, last: bool, got: Got) -> Ask {
    Ask {
        began: number * 2,
        ended: number * 2 + 1,
        at: Duration::ZERO,
        process: 0,
        payload: "p".to_owned(),
        impostor: false,
        last,
        got,
    }
}

/// A key that was lost once, then answered, then replayed after all.
fn sound(route: Route) -> (Owner, Log) {
    let owner = owner("a", route);
    let told = effect(&owner, route.parts()[0], "t");
    let asks = vec![
        ask(1, false, Got::Nothing("cut".to_owned())),
        ask(2, false, refused(409, "IDEMPOTENCY_IN_PROGRESS")),
        ask(3, false, own(201, &told)),
        ask(4, true, own(201, &told)),
        ask(5, true, own(201, &told)),
    ];
    let effects = route.parts().iter().map(|part| effect(&owner, *part, "t")).collect();
    let log = Log { asks: [(owner.clone(), asks)].into(), effects, ..Log::default() };
    (owner, log)
}

fn asks<'a>(log: &'a mut Log, owner: &Owner) -> &'a mut Vec<Ask> {
    log.asks.get_mut(owner).unwrap()
}

#[track_caller]
fn finds(log: &Log, fault: Fault) {
    let verdict = check(log);
    assert_eq!(verdict.count(fault), 1, "{verdict:?}");
    assert!(verdict.findings.iter().all(|finding| finding.fault == fault), "{verdict:?}");
}

#[test]
fn a_sound_log_is_left_alone_on_every_route() {
    for route in Route::ALL {
        let (_, log) = sound(route);
        assert_eq!(check(&log).findings, []);
    }
}

#[test]
fn a_second_effect_is_found_in_every_part() {
    for route in Route::ALL {
        for part in route.parts() {
            let (owner, mut log) = sound(route);
            log.effects.push(effect(&owner, *part, "another"));
            finds(&log, Fault::DoubleEffect);
        }
    }
}

#[test]
fn an_effect_of_a_request_that_failed_is_found() {
    let (owner, mut log) = sound(Route::Orders);
    let failure = own(402, &effect(&owner, Part::Row, "t"));
    asks(&mut log, &owner).iter_mut().skip(2).for_each(|ask| ask.got = failure.clone());
    finds(&log, Fault::DoubleEffect);
    log.effects.clear();
    assert_eq!(check(&log).findings, []);
}

#[test]
fn an_effect_that_was_acknowledged_and_is_gone_is_found_in_every_part() {
    for route in Route::ALL {
        for part in route.parts() {
            let (_, mut log) = sound(route);
            log.effects.retain(|effect| effect.part != *part);
            finds(&log, Fault::Lost);
        }
    }
}

#[test]
fn an_event_that_waits_for_ever_is_found() {
    let (_, mut log) = sound(Route::Events);
    log.undelivered.push("pending {\"token\":\"t\"}".to_owned());
    finds(&log, Fault::Lost);
}

#[test]
fn an_answer_that_changes_is_found() {
    let changes: [fn(&mut Got); 3] = [
        |got| {
            if let Got::Answer { status, .. } = got {
                *status = 200;
            }
        },
        |got| {
            if let Got::Answer { headers, .. } = got {
                headers.push('x');
            }
        },
        |got| {
            if let Got::Answer { body, .. } = got {
                body.push(' ');
            }
        },
    ];
    for change in changes {
        let (owner, mut log) = sound(Route::Payments);
        change(&mut asks(&mut log, &owner)[4].got);
        finds(&log, Fault::Lost);
    }
}

#[test]
fn an_answer_that_is_forgotten_again_is_found() {
    for code in ["IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_OUTCOME_UNKNOWN", "TRANSIENT"] {
        let (owner, mut log) = sound(Route::Refusals);
        asks(&mut log, &owner).insert(3, ask(3, false, refused(409, code)));
        asks(&mut log, &owner)[3].began = 100;
        finds(&log, Fault::Lost);
    }
}

#[test]
fn a_key_that_does_not_end_is_found() {
    for code in ["IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_STORE_UNAVAILABLE", "IDEMPOTENCY_OUTCOME_UNKNOWN"] {
        let (owner, mut log) = sound(Route::Orders);
        let stays = vec![ask(1, true, refused(409, code)), ask(2, true, refused(409, code))];
        *asks(&mut log, &owner) = stays;
        finds(&log, Fault::Stuck);
    }
    let (owner, mut log) = sound(Route::Orders);
    asks(&mut log, &owner).truncate(3);
    finds(&log, Fault::Stuck);
}

#[test]
fn refuse_may_end_with_an_unknown_outcome_and_at_most_one_effect() {
    let (owner, mut log) = sound(Route::Refusals);
    *asks(&mut log, &owner) = vec![ask(1, true, refused(409, "IDEMPOTENCY_OUTCOME_UNKNOWN"))];
    assert_eq!(check(&log).findings, []);
    log.effects.push(effect(&owner, Part::Call, "another"));
    finds(&log, Fault::DoubleEffect);
}

#[test]
fn an_answer_for_somebody_else_is_found() {
    let (owner, mut log) = sound(Route::Orders);
    let stranger = tests::owner("b", Route::Orders);
    asks(&mut log, &owner).push(ask(1, false, own(201, &effect(&stranger, Part::Row, "t"))));
    assert_eq!(check(&log).count(Fault::Leaked), 1);

    let (_, mut log) = sound(Route::Orders);
    log.effects.push(effect(&stranger, Part::Row, "t"));
    finds(&log, Fault::Leaked);
}

#[test]
fn another_request_under_the_key_is_refused_or_found() {
    let impostor = |got| Ask { payload: "other".to_owned(), impostor: true, ..ask(6, false, got) };
    let (owner, log) = sound(Route::Orders);
    let with = |got| {
        let mut log = log.clone();
        asks(&mut log, &owner).push(impostor(got));
        log
    };
    assert_eq!(check(&with(refused(422, "IDEMPOTENCY_KEY_CONFLICT"))).findings, []);
    finds(&with(refused(409, "IDEMPOTENCY_IN_PROGRESS")), Fault::Leaked);
    finds(&with(own(201, &effect(&owner, Part::Row, "t"))), Fault::Leaked);
    let ran = Effect { payload: "other".to_owned(), ..effect(&owner, Part::Row, "u") };
    finds(&with(own(201, &ran)), Fault::DoubleEffect);
    let mut silent = with(Got::Nothing("cut".to_owned()));
    silent.effects.push(ran);
    finds(&silent, Fault::DoubleEffect);
}
