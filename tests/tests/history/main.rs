//! Random histories of one key, carried out by the database and by a model on `decide`: they agree.

use std::time::Duration;

use idem_runtime::store::{ConnectionOf, NewClaim, Store};
use idem_runtime::{
    Answer, Bindings, ClaimKind, Comparison, Decision, Defaults, FencingToken, Mode, OnLapse, Policy, Record,
    RecordKey, Route, Status, Terms, Timestamp, decide, is_over,
};
use idem_tests::{Fixture, OnSqlite, key, scope};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use uuid::Uuid;

mod model;

use model::Model;

/// Whole hours, so that the moments that really pass during a test decide nothing.
const HOUR: Duration = Duration::from_hours(1);
const ACTORS: usize = 3;

/// One step of a history; tokens are those of the actor's last claim, however stale.
#[derive(Debug, Clone)]
enum Step {
    Claim { actor: usize, request: usize, terms: Terms },
    Complete(usize),
    Fail(usize),
    Release(usize),
    Renew(usize),
    EndLease(usize),
    MarkUnknown(usize),
    Bind(usize),
    Expire,
    Purge,
    Pass(u32),
}

fn terms() -> impl Strategy<Value = Terms> {
    let on_lapse = prop_oneof![Just(OnLapse::Rerun), Just(OnLapse::Recover), Just(OnLapse::Refuse)];
    (any::<bool>(), on_lapse, any::<bool>()).prop_map(|(transactional, on_lapse, retry_failed)| {
        let policy = Policy::new("orders.create").unwrap().retry_failed(retry_failed);
        let (mode, policy) = if transactional {
            (Mode::Transactional, policy)
        } else {
            (Mode::External, policy.on_lapse(on_lapse))
        };
        let defaults = Defaults { ttl: HOUR * 100, lease: HOUR * 10, max_run: HOUR * 10 };
        policy.terms(mode, &defaults).unwrap()
    })
}

fn step() -> impl Strategy<Value = Step> {
    let actor = || 0..ACTORS;
    prop_oneof![
        6 => (actor(), 0..2_usize, terms())
            .prop_map(|(actor, request, terms)| Step::Claim { actor, request, terms }),
        2 => actor().prop_map(Step::Complete),
        2 => actor().prop_map(Step::Fail),
        1 => actor().prop_map(Step::Release),
        1 => actor().prop_map(Step::Renew),
        1 => actor().prop_map(Step::EndLease),
        1 => actor().prop_map(Step::MarkUnknown),
        1 => actor().prop_map(Step::Bind),
        1 => Just(Step::Expire),
        1 => Just(Step::Purge),
        4 => prop_oneof![Just(1_u32), Just(9), Just(10), Just(11), Just(90), Just(100)].prop_map(Step::Pass),
    ]
}

/// The database, driven as the guard drives it.
struct Database<'a, F: Fixture> {
    pool: &'a sqlx::Pool<F::S>,
    key: RecordKey,
}

impl<F: Fixture> Database<'_, F> {
    /// Insert, judge, take over: what the claim of a guard does.
    async fn claim(&self, conn: &mut ConnectionOf<F::S>, claim: &NewClaim) -> Decision {
        let met = F::S::insert(conn, claim).await.unwrap().expect("nobody else is at work");
        if met.record.token.claim_id == claim.claim_id {
            return Decision::Claim(ClaimKind::Insert);
        }
        let compare = |sealed: &str| model::compare(sealed, &claim.request_hash);
        let decision = decide(Some(&met.record), compare, &claim.terms, met.now);
        if let Decision::Claim(kind) = decision {
            let taken = F::S::take_over(conn, &met.record, kind == ClaimKind::Anew, claim).await.unwrap();
            assert!(taken.is_some(), "nobody else changes the row");
        }
        decision
    }

    /// Carries out one step and says what it answered, in the words of the model.
    async fn step(&self, step: &Step, tokens: &mut [FencingToken], claim: Option<NewClaim>) -> String {
        let mut conn = self.pool.acquire().await.unwrap();
        let (key, none) = (&self.key, Bindings::default());
        match step {
            Step::Claim { actor, .. } => {
                let claim = claim.expect("a claim comes with one");
                let decision = self.claim(&mut conn, &claim).await;
                if let Decision::Claim(_) = decision {
                    let reading = F::S::read(&mut conn, key).await.unwrap().unwrap();
                    tokens[*actor] = reading.record.token;
                }
                model::word(decision).to_owned()
            }
            Step::Complete(actor) => {
                let answer = model::answer(200);
                let done = F::S::complete(&mut conn, key, tokens[*actor], &answer, &none).await.unwrap();
                done.is_some().to_string()
            }
            Step::Fail(actor) => {
                let answer = model::answer(500);
                let done = F::S::fail(&mut conn, key, tokens[*actor], Some(&answer)).await.unwrap();
                done.is_some().to_string()
            }
            Step::Release(actor) => {
                F::S::release(&mut conn, key, tokens[*actor], None).await.unwrap().to_string()
            }
            Step::Renew(actor) => {
                let renewed = F::S::renew(&mut conn, key, tokens[*actor], HOUR * 10).await.unwrap();
                renewed.is_some().to_string()
            }
            Step::EndLease(actor) => {
                F::S::end_lease(&mut conn, key, tokens[*actor]).await.unwrap().to_string()
            }
            Step::MarkUnknown(actor) => {
                F::S::mark_unknown(&mut conn, key, tokens[*actor]).await.unwrap().to_string()
            }
            Step::Bind(actor) => {
                F::S::bind(&mut conn, key, tokens[*actor], &model::bound()).await.unwrap().to_string()
            }
            Step::Expire => F::S::expire(&mut conn, 10).await.unwrap().count.to_string(),
            Step::Purge => F::S::purge(&mut conn, HOUR, 10).await.unwrap().count.to_string(),
            Step::Pass(hours) => {
                drop(conn);
                F::pass(self.pool, HOUR * *hours).await;
                String::new()
            }
        }
    }
}

async fn run<F: Fixture>(pool: &sqlx::Pool<F::S>, steps: &[Step]) -> Result<(), TestCaseError> {
    let key = RecordKey::new(scope(), Route::new("orders.create").unwrap(), key("k"));
    let mut conn = pool.acquire().await.unwrap();
    F::execute(&mut conn, "DELETE FROM idempotency_records").await.unwrap();
    drop(conn);
    let database = Database::<F> { pool, key: key.clone() };
    let nobody = FencingToken { attempt: 1, claim_id: Uuid::nil() };
    let (mut theirs, mut ours) = ([nobody; ACTORS], [nobody; ACTORS]);
    let mut model = Model::new(key.clone());
    for (index, step) in steps.iter().enumerate() {
        let claim = match step {
            Step::Claim { request, terms, .. } => Some(NewClaim {
                key: key.clone(),
                request_hash: format!("v1:-:{request}"),
                request_fields: None,
                terms: *terms,
                claim_id: Uuid::new_v4(),
            }),
            _ => None,
        };
        let wanted = model.step(step, &mut ours, claim.clone());
        let got = database.step(step, &mut theirs, claim).await;
        prop_assert_eq!(got, wanted, "answer of step {} {:?}", index, step);
        let mut conn = pool.acquire().await.unwrap();
        let reading = F::S::read(&mut conn, &key).await.unwrap();
        let seen = reading.map(|reading| model::summary(&reading.record, reading.now));
        prop_assert_eq!(seen, model.summary(), "record after step {} {:?}", index, step);
    }
    Ok(())
}

/// `PROPTEST_CASES` sets how many histories are tried.
fn every_history_agrees<F: Fixture>() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (fixture, pool) = runtime.block_on(async {
        let fixture = F::create().await;
        let pool = fixture.pool(2).await;
        (fixture, pool)
    });
    let config = Config { failure_persistence: None, ..Config::default() };
    let history = proptest::collection::vec(step(), 1..40);
    let checked = TestRunner::new(config).run(&history, |steps| runtime.block_on(run::<F>(&pool, &steps)));
    drop(fixture);
    if let Err(counterexample) = checked {
        panic!("{counterexample}");
    }
}

#[test]
fn random_histories_on_sqlite_agree_with_the_decision() {
    every_history_agrees::<OnSqlite>();
}

#[cfg(feature = "postgres")]
#[test]
fn random_histories_on_postgres_agree_with_the_decision() {
    every_history_agrees::<idem_tests::OnPostgres>();
}

#[cfg(feature = "mysql")]
#[test]
fn random_histories_on_mysql_agree_with_the_decision() {
    every_history_agrees::<idem_tests::OnMysql>();
}

/// The check can fail: a model that forgets one rule is told apart within a few histories.
#[test]
fn a_model_without_fencing_is_caught() {
    let mut model = Model::new(RecordKey::new(scope(), Route::new("orders.create").unwrap(), key("k")));
    model.forget_fencing();
    let terms = Policy::new("orders.create").unwrap();
    let terms = terms.terms(Mode::Transactional, &Defaults::default()).unwrap();
    let claim = |id| NewClaim {
        key: RecordKey::new(scope(), Route::new("orders.create").unwrap(), key("k")),
        request_hash: "v1:-:0".to_owned(),
        request_fields: None,
        terms,
        claim_id: id,
    };
    let mut tokens = [FencingToken { attempt: 9, claim_id: Uuid::nil() }; ACTORS];
    model.step(&Step::Claim { actor: 0, request: 0, terms }, &mut tokens, Some(claim(Uuid::new_v4())));
    assert_eq!(model.step(&Step::Complete(1), &mut tokens, None), "true", "a stale owner got through");
}
