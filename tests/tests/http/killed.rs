//! A server that is killed or frozen at each step, and what the retry gets from the next one.
//!
//! The table in section 8 of the design, as an HTTP client sees it.

use std::net::SocketAddr;

use axum::http::StatusCode;
use idem_runtime::Status;
use idem_test_support::process::Process;
use idem_tests::{Fixture, OnSqlite, on_every_database};

use crate::client::{Answer, post, send, sending, with};
use crate::site::{count, lapse, record};
use crate::{BOOK, CHARGES, Guard, ORDERS, TRANSFERS, soon, until};

/// The shop in a process of its own.
pub(crate) struct ShopProcess {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl ShopProcess {
    pub(crate) async fn start<F: Fixture>(fixture: &F, options: &[&str]) -> Self {
        let url = fixture.url();
        let arguments = ["--database-url", &url].into_iter().chain(options.iter().copied());
        let mut process = Process::spawn(env!("CARGO_BIN_EXE_shop"), arguments);
        let line = process.wait_for("listening ").await;
        let address = line.trim_start_matches("listening ").parse().unwrap();
        Self { process, address }
    }

    /// Sends the request that its predecessor was killed at.
    pub(crate) async fn send(&self, path: &str) -> Answer {
        send(self.address, post(path, "k", BOOK)).await
    }
}

/// Kills a shop when its request has come to `place`; the next shop and its first answer.
async fn is_killed<F: Fixture>(fixture: &F, path: &str, place: &str) -> (ShopProcess, Answer) {
    let mut shop = ShopProcess::start(fixture, &[]).await;
    let asked = sending(shop.address, with(post(path, "k", BOOK), "x-stop", place));
    shop.process.wait_for(place).await;
    shop.process.kill().await;
    let lost = soon("the connection ends", asked).await.unwrap();
    assert!(lost.is_err(), "killed at `{place}`: {lost:?}");
    let next = ShopProcess::start(fixture, &[]).await;
    let retry = next.send(path).await;
    (next, retry)
}

async fn is_killed_before_its_commit<F: Fixture>((path, route): (&str, &str), place: &str) {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let (shop, retry) = is_killed(&fixture, path, place).await;
    retry.is_in_progress();
    let left = record::<F>(&guard, route, "k").await.unwrap().record;
    assert_eq!((left.status, left.token.attempt), (Status::Processing, 1), "{path} at `{place}`");

    lapse::<F>(&guard).await;
    let second = shop.send(path).await;
    assert_eq!((second.status, second.is_replay()), (StatusCode::CREATED, false), "{second:?}");
    assert_eq!(second.json()["attempt"], 2);
    assert_eq!(count::<F>(&guard, "effects").await, 1, "{path} at `{place}`");
    shop.send(path).await.replays(&second);
}

async fn a_server_killed_in_the_body_runs_the_retry_once_the_lease_has_ended<F: Fixture>() {
    is_killed_before_its_commit::<F>(ORDERS, "body").await;
    is_killed_before_its_commit::<F>(CHARGES, "body").await;
}

async fn a_server_killed_before_the_commit_runs_the_retry_once_the_lease_has_ended<F: Fixture>() {
    is_killed_before_its_commit::<F>(ORDERS, "recording").await;
    is_killed_before_its_commit::<F>(CHARGES, "recording").await;
}

async fn a_server_killed_outside_where_a_lapse_refuses_leaves_the_outcome_to_an_operator<F: Fixture>() {
    let (path, route) = TRANSFERS;
    for place in ["body", "recording"] {
        let fixture = F::create().await;
        let guard = fixture.guard(2).await;
        let (shop, retry) = is_killed(&fixture, path, place).await;
        retry.is_in_progress();
        lapse::<F>(&guard).await;
        for _ in 0..2 {
            let refused = shop.send(path).await;
            let told = (refused.status.as_u16(), refused.code());
            assert_eq!(told, (409, "IDEMPOTENCY_OUTCOME_UNKNOWN".to_owned()), "at `{place}`: {refused:?}");
            assert_eq!((refused.retry_after(), &refused.json()["retryable"]), (None, &false.into()));
        }
        let left = record::<F>(&guard, route, "k").await.unwrap().record;
        assert_eq!((left.status, left.token.attempt), (Status::Processing, 1), "at `{place}`");
        assert_eq!(F::effects(guard.pool(), "book").await, 1, "transferred once, at `{place}`");
    }
}

async fn a_server_killed_between_commit_and_answer_gives_the_answer_to_the_retry<F: Fixture>() {
    for (path, route) in [ORDERS, CHARGES, TRANSFERS] {
        let fixture = F::create().await;
        let guard = fixture.guard(2).await;
        let (shop, retry) = is_killed(&fixture, path, "recorded").await;
        assert_eq!((retry.status, retry.is_replay()), (StatusCode::CREATED, true), "{retry:?}");
        assert_eq!((&retry.json()["attempt"], &retry.json()["name"]), (&1.into(), &"book".into()));
        assert_eq!(retry.header("location"), Some(&b"/orders/1"[..]));
        let kept = record::<F>(&guard, route, "k").await.unwrap().record;
        assert_eq!((kept.status, kept.token.attempt), (Status::Succeeded, 1));
        assert_eq!(shop.send(path).await.body, retry.body);
        assert_eq!(count::<F>(&guard, "effects").await, 1);
    }
}

/// Freezes a shop in a body whose lease ends meanwhile, and wakes it when another has answered.
async fn is_frozen<F: Fixture>((path, route): (&str, &str)) {
    let fixture = F::create().await;
    let guard: Guard<F> = fixture.guard(2).await;
    let mut frozen = ShopProcess::start(&fixture, &["--lease-ms", "1000"]).await;
    let other = ShopProcess::start(&fixture, &[]).await;
    let asked = sending(frozen.address, with(post(path, "k", BOOK), "x-stop", "body"));
    frozen.process.wait_for("body").await;
    frozen.process.pause();
    // Once is not always enough: a renewal may have been on its way when the process stopped.
    let mut answer = None;
    until("the lease lapses", async || {
        lapse::<F>(&guard).await;
        let given = other.send(path).await;
        let in_progress = given.code() == "IDEMPOTENCY_IN_PROGRESS";
        answer = Some(given);
        !in_progress
    })
    .await;
    let answer = answer.unwrap();
    assert_eq!((answer.status, answer.is_replay()), (StatusCode::CREATED, false), "{answer:?}");
    assert_eq!(answer.json()["attempt"], 2);

    let before = record::<F>(&guard, route, "k").await.unwrap().record;
    frozen.process.resume();
    send(frozen.address, post("/open", "gate", "")).await;
    let late = soon("the frozen server wakes", asked).await.unwrap().expect("its client is answered");
    late.replays(&answer);
    assert_eq!(record::<F>(&guard, route, "k").await.unwrap().record, before);
    assert_eq!(count::<F>(&guard, "effects").await, 1);
}

async fn a_server_frozen_past_its_lease_wakes_to_the_answer_of_its_successor<F: Fixture>() {
    is_frozen::<F>(CHARGES).await;
}

/// On SQLite a frozen transaction holds the only write lock, so that nobody can take over.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_frozen_in_its_transaction_wakes_to_the_answer_of_its_successor_and_is_rolled_back() {
    is_frozen::<idem_tests::OnPostgres>(ORDERS).await;
}

/// What holds there instead: nobody runs it twice, and its client gets its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_frozen_in_its_transaction_on_sqlite_keeps_it_and_answers_when_it_wakes() {
    let (path, _) = ORDERS;
    let fixture = OnSqlite::create().await;
    let guard = fixture.guard(2).await;
    let mut frozen = ShopProcess::start(&fixture, &[]).await;
    let other = ShopProcess::start(&fixture, &[]).await;
    let asked = sending(frozen.address, with(post(path, "k", BOOK), "x-stop", "body"));
    frozen.process.wait_for("body").await;
    frozen.process.pause();
    other.send(path).await.is_in_progress();

    frozen.process.resume();
    send(frozen.address, post("/open", "gate", "")).await;
    let late = soon("the frozen server wakes", asked).await.unwrap().expect("its client is answered");
    assert_eq!((late.status, late.is_replay()), (StatusCode::CREATED, false), "{late:?}");
    other.send(path).await.replays(&late);
    assert_eq!(count::<OnSqlite>(&guard, "effects").await, 1);
}

on_every_database! {
    a_server_killed_outside_where_a_lapse_refuses_leaves_the_outcome_to_an_operator,
    a_server_killed_in_the_body_runs_the_retry_once_the_lease_has_ended,
    a_server_killed_before_the_commit_runs_the_retry_once_the_lease_has_ended,
    a_server_killed_between_commit_and_answer_gives_the_answer_to_the_retry,
    a_server_frozen_past_its_lease_wakes_to_the_answer_of_its_successor,
}
