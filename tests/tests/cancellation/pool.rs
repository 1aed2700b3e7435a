//! Many callers over a pool of one connection.

use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// Runs one order per name, all at once, each in a task of its own.
async fn order_all<F: Fixture>(guard: &Guard<F>, names: [String; 20]) -> Vec<Outcome<String>> {
    let callers = names.map(|name| {
        let guard = guard.clone();
        tokio::spawn(async move { order::<F>(&guard, &policy().wait(LONG), &name).await })
    });
    let mut outcomes = Vec::new();
    for caller in callers {
        outcomes.push(caller.await.unwrap().unwrap());
    }
    settle::<F>(guard).await;
    outcomes
}

async fn twenty_callers_of_one_key_share_one_connection_and_one_effect<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    let outcomes = order_all::<F>(&guard, std::array::from_fn(|_| String::from("k"))).await;
    assert!(outcomes.iter().all(|outcome| outcome.value() == "order of k"));
    assert_eq!(outcomes.iter().filter(|outcome| !outcome.is_replay()).count(), 1);
    assert_eq!(F::effects(guard.pool(), "k").await, 1);
}

async fn twenty_callers_of_different_keys_share_one_connection<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    let outcomes = order_all::<F>(&guard, std::array::from_fn(|caller| format!("k{caller}"))).await;
    for (caller, outcome) in outcomes.iter().enumerate() {
        assert!(!outcome.is_replay());
        assert_eq!(F::effects(guard.pool(), &format!("k{caller}")).await, 1);
    }
}

on_every_database! {
    twenty_callers_of_one_key_share_one_connection_and_one_effect,
    twenty_callers_of_different_keys_share_one_connection,
}
