//! What expire and purge take, and what they leave alone.

use idem_runtime::store::Store;
use idem_runtime::{Defaults, Status};
use idem_tests::{Fixture, on_every_database};

use crate::*;

async fn expire_marks_what_is_past_its_life_and_nothing_else<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let all = one_of_each(&mut at).await;
    assert_eq!(F::S::expire(&mut at.connection, 100).await.unwrap().count, 0, "nothing is past its life");
    at.pass(Defaults::default().ttl + SECOND).await;
    let fresh = claim("fresh");
    at.claimed(&fresh).await;
    let swept = all.iter().filter(|(_, swept)| *swept).count() as u64;
    assert_eq!(F::S::expire(&mut at.connection, 3).await.unwrap().count, 3);
    assert_eq!(F::S::expire(&mut at.connection, 100).await.unwrap().count, swept - 3);
    assert_eq!(F::S::expire(&mut at.connection, 100).await.unwrap().count, 0);
    for (claim, swept) in all {
        let record = at.read(&claim).await.unwrap().record;
        assert_eq!(record.status == Status::Expired, swept, "{:?}", claim.key);
        assert!(!swept || record.locked_until.is_none());
    }
    assert_eq!(at.read(&fresh).await.unwrap().record.status, Status::Processing);
}

async fn purge_deletes_what_ended_long_enough_ago_and_nothing_else<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let all = one_of_each(&mut at).await;
    at.pass(Defaults::default().ttl + SECOND * 10).await;
    F::S::expire(&mut at.connection, 2).await.unwrap();
    assert_eq!(F::S::purge(&mut at.connection, SECOND * 60, 100).await.unwrap().count, 0);
    let swept = all.iter().filter(|(_, swept)| *swept).count() as u64;
    assert_eq!(F::S::purge(&mut at.connection, SECOND, 1).await.unwrap().count, 1);
    assert_eq!(F::S::purge(&mut at.connection, SECOND, 100).await.unwrap().count, swept - 1);
    for (claim, swept) in all {
        assert_eq!(at.read(&claim).await.is_none(), swept, "{:?}", claim.key);
    }
}

on_every_database! {
    expire_marks_what_is_past_its_life_and_nothing_else,
    purge_deletes_what_ended_long_enough_ago_and_nothing_else,
}
