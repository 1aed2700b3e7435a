//! For random pasts of a key and random requests, the diagnosis says exactly what the guard then does.

use std::time::Duration;

use axum::http::StatusCode;
use idem_runtime::store::{NewClaim, Store};
use idem_runtime::{
    Answer, Bindings, Comparison, FencingToken, Next, RecordKey, Route, Timestamp, Verdict, compare_hashes,
    diagnose,
};
use idem_tests::{Fixture, OnSqlite, key, scope};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use uuid::Uuid;

use crate::client::post;
use crate::site::{Site, record};

mod ways;

use ways::{ABSENT, KNOWN, WAYS, Way, site};

/// Whole hours, so that the moments that really pass during a test decide nothing.
const HOUR: Duration = Duration::from_hours(1);
const REQUESTS: [&str; 2] = [r#"{"name":"book"}"#, r#"{"name":"pen"}"#];

/// One step of a past; each belongs to the last claim.
#[derive(Debug, Clone, Copy)]
enum Step {
    Claim(usize),
    Complete(u16),
    Fail(Option<u16>),
    Release,
    EndLease,
    MarkUnknown,
    Expire,
    Pass(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![Just(200_u16), Just(201), Just(202)];
    let failure = prop_oneof![Just(None), Just(Some(402_u16)), Just(Some(500))];
    prop_oneof![
        5 => (0..REQUESTS.len()).prop_map(Step::Claim),
        2 => code.prop_map(Step::Complete),
        3 => failure.prop_map(Step::Fail),
        1 => Just(Step::Release),
        2 => Just(Step::EndLease),
        1 => Just(Step::MarkUnknown),
        1 => Just(Step::Expire),
        2 => prop_oneof![Just(9_u32), Just(11), Just(101)].prop_map(Step::Pass),
    ]
}

/// The hashes of both requests on every route, as the guard itself stores them.
async fn hashes<F: Fixture>(site: &Site<F>) -> Vec<[String; 2]> {
    let mut hashes = Vec::new();
    for way in &WAYS {
        let mut both = [const { String::new() }; 2];
        for (hash, request) in both.iter_mut().zip(REQUESTS) {
            let key = format!("hash-{}", Uuid::new_v4());
            site.send(post(way.path, &key, request)).await;
            *hash = site.record(way.route, &key).await.unwrap().request_hash;
        }
        hashes.push(both);
    }
    hashes
}

/// Brings the key into the state that the steps lead to; the stores refuse those that do not fit.
async fn live_through<F: Fixture>(
    site: &Site<F>,
    key: &RecordKey,
    way: &Way,
    hash: &[String],
    steps: &[Step],
) {
    let pool = site.guard.pool();
    let mut token = FencingToken { attempt: 1, claim_id: Uuid::nil() };
    for step in steps {
        let mut conn = pool.acquire().await.unwrap();
        match *step {
            Step::Claim(request) => {
                let claim_id = Uuid::new_v4();
                let (request_hash, terms) = (hash[request].clone(), way.terms());
                let claim =
                    NewClaim { key: key.clone(), request_hash, request_fields: None, terms, claim_id };
                let met = F::S::insert(&mut conn, &claim).await.unwrap().unwrap();
                if met.record.token.claim_id == claim_id {
                    token = met.record.token;
                    continue;
                }
                let compare = |sealed: &str| compare_hashes(sealed, &claim.request_hash).unwrap();
                let diagnosis = diagnose(Some(&met.record), compare, met.now);
                if let Next::Runs { .. } | Next::Asks { .. } = diagnosis.next {
                    let anew = diagnosis.verdict == Verdict::ExpiredReusable;
                    let taken = F::S::take_over(&mut conn, &met.record, anew, &claim).await.unwrap();
                    token = taken.unwrap().record.token;
                }
            }
            Step::Complete(code) => {
                let answer = Answer::json(code, b"{}".to_vec());
                F::S::complete(&mut conn, key, token, &answer, &Bindings::default()).await.unwrap();
            }
            Step::Fail(code) => {
                let answer = code.map(|code| Answer::json(code, b"{}".to_vec()));
                F::S::fail(&mut conn, key, token, answer.as_ref()).await.unwrap();
            }
            Step::Release => drop(F::S::release(&mut conn, key, token, None).await.unwrap()),
            Step::EndLease => drop(F::S::end_lease(&mut conn, key, token).await.unwrap()),
            Step::MarkUnknown => drop(F::S::mark_unknown(&mut conn, key, token).await.unwrap()),
            Step::Expire => drop(F::S::expire(&mut conn, 100).await.unwrap()),
            Step::Pass(hours) => {
                drop(conn);
                F::pass(pool, HOUR * hours).await;
            }
        }
    }
}

async fn run<F: Fixture>(
    site: &Site<F>,
    hashes: &[[String; 2]],
    (way, request, steps): (usize, usize, Vec<Step>),
) -> Result<Verdict, TestCaseError> {
    let (hash, way) = (&hashes[way], &WAYS[way]);
    let name = Uuid::new_v4().to_string();
    let key = RecordKey::new(scope(), Route::new(way.route).unwrap(), key(&name));
    live_through(site, &key, way, hash, &steps).await;

    let reading = record::<F>(&site.guard, way.route, &name).await;
    let before = reading.as_ref().map(|reading| reading.record.token.attempt);
    let now = reading.as_ref().map_or(Timestamp::from_micros(0), |reading| reading.now);
    let compare = |sealed: &str| compare_hashes(sealed, &hash[request]).unwrap_or(Comparison::Unknown);
    let diagnosis = diagnose(reading.as_ref().map(|reading| &reading.record), compare, now);

    let answer = site.send(post(way.path, &name, REQUESTS[request])).await;
    let after = site.record(way.route, &name).await.unwrap();
    let got = match answer.status {
        _ if answer.is_replay() => Next::Replays { status: answer.status.as_u16() },
        StatusCode::CREATED => Next::Runs { attempt: after.token.attempt },
        KNOWN | ABSENT => Next::Asks { attempt: after.token.attempt },
        // Refused by the decision, it would not have claimed.
        StatusCode::CONFLICT if before != Some(after.token.attempt) => {
            prop_assert_eq!(answer.code(), "IDEMPOTENCY_OUTCOME_UNKNOWN");
            Next::Asks { attempt: after.token.attempt }
        }
        status => {
            let Next::Refused { code, .. } = diagnosis.next else {
                return Err(TestCaseError::fail(format!("{diagnosis:?} and {answer:?}")));
            };
            prop_assert_eq!(answer.code(), code);
            Next::Refused { status: status.as_u16(), code, retry_after: answer.retry_after() }
        }
    };
    prop_assert_eq!(got, diagnosis.next, "{:?} from {:?}", diagnosis.verdict, reading);
    Ok(diagnosis.verdict)
}

/// A past for each verdict, and for each provider, as chance could leave one out.
fn certain() -> Vec<(Verdict, usize, usize, Vec<Step>)> {
    use Step::{Claim, Complete, EndLease, Fail, Pass, Release};
    let lapsed = || vec![Claim(0), EndLease];
    vec![
        (Verdict::Missing, 0, 0, vec![]),
        (Verdict::Replayable, 0, 0, vec![Claim(0), Complete(201)]),
        (Verdict::RequestHashConflict, 0, 1, vec![Claim(0)]),
        (Verdict::InProgress, 0, 0, vec![Claim(0)]),
        (Verdict::LeaseLapsed, 0, 0, lapsed()),
        (Verdict::OutcomeUnknown, 4, 0, lapsed()),
        (Verdict::FailedRetryRequired, 0, 0, vec![Claim(0), Fail(None)]),
        (Verdict::FailedRetryable, 1, 0, vec![Claim(0), Fail(None)]),
        (Verdict::Released, 0, 0, vec![Claim(0), Release]),
        (Verdict::ExpiredReusable, 0, 1, vec![Claim(0), Complete(201), Pass(101)]),
        (Verdict::LeaseLapsed, 6, 0, lapsed()),
        (Verdict::LeaseLapsed, 7, 0, lapsed()),
        (Verdict::LeaseLapsed, 8, 0, lapsed()),
    ]
}

/// `PROPTEST_CASES` sets how many pasts are tried.
fn every_diagnosis_is_true<F: Fixture>() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (site, hashes) = runtime.block_on(async {
        let site = site::<F>().await;
        let hashes = hashes(&site).await;
        (site, hashes)
    });
    let config = Config { failure_persistence: None, ..Config::default() };
    let past = (0..WAYS.len(), 0..REQUESTS.len(), proptest::collection::vec(step(), 0..7));
    for (verdict, way, request, steps) in certain() {
        let met = runtime.block_on(run(&site, &hashes, (way, request, steps))).unwrap();
        assert_eq!(met, verdict);
    }
    let checked =
        TestRunner::new(config).run(&past, |past| runtime.block_on(run(&site, &hashes, past)).map(drop));
    if let Err(counterexample) = checked {
        panic!("{counterexample}");
    }
}

#[test]
fn a_diagnosis_on_sqlite_says_what_the_guard_then_does() {
    every_diagnosis_is_true::<OnSqlite>();
}

#[cfg(feature = "postgres")]
#[test]
fn a_diagnosis_on_postgres_says_what_the_guard_then_does() {
    every_diagnosis_is_true::<idem_tests::OnPostgres>();
}

#[cfg(feature = "mysql")]
#[test]
fn a_diagnosis_on_mysql_says_what_the_guard_then_does() {
    every_diagnosis_is_true::<idem_tests::OnMysql>();
}
