//! A server that is killed before its claim commits, and one that is killed wherever its request has come to.

use std::time::Duration;

use axum::http::StatusCode;
#[cfg(feature = "mysql")]
use idem_tests::OnMysql;
#[cfg(feature = "postgres")]
use idem_tests::OnPostgres;
use idem_tests::{Fixture, OnSqlite, on_every_database};

use crate::client::{post, send, sending};
use crate::killed::ShopProcess;
use crate::site::{count, lapse, record};
use crate::{BOOK, CHARGES, ORDERS, TRANSFERS, soon, until};

/// A database whose records can be read while nobody can write one.
trait Locked: Fixture {
    /// Takes the lock, statement by statement; `ROLLBACK` gives it back.
    const LOCK: &[&str];
    /// How many claims wait for it; one where the database does not tell.
    const WAITING: &str;
    /// Ends the statements of clients that are gone, as the server itself does when it writes to them.
    const BURY: &str;
}

impl Locked for OnSqlite {
    const LOCK: &[&str] = &["BEGIN IMMEDIATE"];
    const WAITING: &str = "SELECT 1";
    const BURY: &str = "SELECT 1";
}

#[cfg(feature = "postgres")]
impl Locked for OnPostgres {
    const LOCK: &[&str] = &["BEGIN", "LOCK TABLE idempotency_records IN EXCLUSIVE MODE"];
    const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                           AND wait_event = 'relation'";
    const BURY: &str = "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity \
                        WHERE datname = current_database() AND wait_event = 'relation'";
}

/// The gaps between the records are locked with them, as the level is REPEATABLE READ.
#[cfg(feature = "mysql")]
impl Locked for OnMysql {
    const LOCK: &[&str] = &["BEGIN", "SELECT attempt FROM idempotency_records FOR UPDATE"];
    const WAITING: &str = "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() \
                           AND id <> CONNECTION_ID() AND info LIKE '%INTO idempotency_records%'";
    /// A claim waits for one second.
    const BURY: &str = "SELECT CAST(sleep(2) AS SIGNED)";
}

async fn a_server_killed_before_its_claim_commits_leaves_nothing_and_the_retry_is_the_first_run<F: Locked>() {
    for (path, route) in [ORDERS, CHARGES, TRANSFERS] {
        let fixture = F::create().await;
        let guard = fixture.guard(2).await;
        let mut holder = fixture.pool(1).await.acquire().await.unwrap();
        let mut observer = fixture.pool(1).await.acquire().await.unwrap();
        let mut shop = ShopProcess::start(&fixture, &[]).await;
        // So that the next claim is one statement that is known already, and waits where it would write.
        let known = send(shop.address, post(path, "before", BOOK)).await;
        assert_eq!(known.status, StatusCode::CREATED);
        for sql in F::LOCK {
            F::execute(&mut holder, sql).await.unwrap();
        }
        let asked = sending(shop.address, post(path, "k", BOOK));
        shop.process.wait_for("answered").await;
        shop.process.wait_for("arrived").await;
        until("the claim waits", async || F::number(&mut observer, F::WAITING).await.unwrap() == 1).await;
        shop.process.kill().await;
        let lost = soon("the connection ends", asked).await.unwrap();
        assert!(lost.is_err(), "{path}: {lost:?}");
        F::number(&mut observer, F::BURY).await.unwrap();
        F::execute(&mut holder, "ROLLBACK").await.unwrap();
        assert_eq!(record::<F>(&guard, route, "k").await, None, "{path}");
        assert_eq!(count::<F>(&guard, "effects").await, 1, "{path}: that of the request before");

        let next = ShopProcess::start(&fixture, &[]).await;
        let retry = next.send(path).await;
        assert_eq!((retry.status, retry.is_replay()), (StatusCode::CREATED, false), "{path}: {retry:?}");
        assert_eq!(retry.json()["attempt"], 1, "{path}");
        next.send(path).await.replays(&retry);
        assert_eq!(record::<F>(&guard, route, "k").await.unwrap().record.token.attempt, 1);
        assert_eq!(count::<F>(&guard, "effects").await, 2, "{path}");
    }
}

/// Chance says where: the pauses differ, and nothing that is asserted depends on them.
async fn a_server_killed_anywhere_leaves_a_request_whose_retry_takes_effect_once<F: Fixture>() {
    for round in 0..12 {
        for (path, route) in [ORDERS, CHARGES] {
            let fixture = F::create().await;
            let guard = fixture.guard(2).await;
            let mut shop = ShopProcess::start(&fixture, &[]).await;
            let asked = sending(shop.address, post(path, "k", BOOK));
            shop.process.wait_for("arrived").await;
            tokio::time::sleep(Duration::from_micros(1500 * round)).await;
            shop.process.kill().await;
            let first = soon("the connection ends", asked).await.unwrap().ok();

            let next = ShopProcess::start(&fixture, &[]).await;
            // A server may still be at work on the last statement of the dead.
            let mut told = next.send(path).await;
            until("the retry is answered", async || {
                lapse::<F>(&guard).await;
                told = next.send(path).await;
                told.status == StatusCode::CREATED
            })
            .await;
            let record = record::<F>(&guard, route, "k").await.unwrap().record;
            assert_eq!(told.json()["attempt"], record.token.attempt, "{path}: {told:?}");
            if let Some(first) = first {
                assert_eq!(told.body, first.body, "{path}: it was answered before it was killed");
            }
            assert_eq!(count::<F>(&guard, "effects").await, 1, "{path}, round {round}");
        }
    }
}

on_every_database! {
    a_server_killed_before_its_claim_commits_leaves_nothing_and_the_retry_is_the_first_run,
    a_server_killed_anywhere_leaves_a_request_whose_retry_takes_effect_once,
}
