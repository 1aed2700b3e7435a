//! What a body may do with its transaction, and what is noticed.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Claim, Error, Mutation, Outcome, Policy, Status, Success};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

async fn a_guarded_operation_inside_another_is_refused_and_leaves_no_trace<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let other = Policy::new("orders.audit").unwrap();
    let ran = AtomicU32::new(0);
    guard
        .run(&policy(), request::<F>(&guard, "k", "book"), async |_: &mut Mutation<F::S>| {
            let nested = order::<F>(&guard, &other, "k", "book", &ran).await;
            assert!(matches!(nested, Err(Error::Nested { .. })), "{nested:?}");
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    guard
        .run_external(&other, request::<F>(&guard, "out", "book"), async |claim: &Claim<F::S>| {
            let same = order::<F>(&guard, &other, "out", "book", &ran).await;
            assert!(matches!(same, Err(Error::Nested { .. })), "{same:?}");
            let child = claim.child("line-2").of("book").unwrap();
            let run = async |_: &mut Mutation<F::S>| Ok::<_, Error>(Success::new(()));
            guard.run(&other, child, run).await?;
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

async fn a_body_that_ends_the_transaction_itself_is_noticed_and_never_run_again<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for (name, succeed) in [("then-succeeds", true), ("then-fails", false)] {
        let ended: Result<Outcome<()>, Error> = guard
            .run(&policy(), request::<F>(&guard, name, "book"), async |mutation: &mut Mutation<F::S>| {
                F::effect(mutation, name).await.unwrap();
                F::execute(mutation, "COMMIT").await.unwrap();
                F::execute(mutation, "BEGIN").await.unwrap();
                if succeed { Ok(Success::new(())) } else { Err(Error::Failed) }
            })
            .await;
        assert!(matches!(ended, Err(Error::TransactionEnded)), "{name}: {ended:?}");
        assert!(read::<F>(&guard, &policy(), name).await.record.outcome_unknown);
        let again = order::<F>(&guard, &policy(), name, "book", &AtomicU32::new(0)).await;
        assert!(matches!(again, Err(Error::OutcomeUnknown)), "{name}: {again:?}");
    }
}

async fn a_body_that_swallows_a_failed_statement_is_not_taken_for_a_success<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let ran: Result<Outcome<()>, Error> = guard
        .run(&policy(), request::<F>(&guard, "k", "book"), async |mutation: &mut Mutation<F::S>| {
            F::effect(mutation, "k").await.unwrap();
            let _ = F::execute(mutation, "INSERT INTO nowhere VALUES (1)").await;
            Ok(Success::new(()))
        })
        .await;
    // PostgreSQL fails the whole transaction; SQLite only the statement, and the rest stands.
    match ran {
        Ok(_) => assert_eq!(F::effects(guard.pool(), "k").await, 1),
        Err(error) => {
            assert!(matches!(error, Error::TransactionAborted), "{error}");
            assert_eq!(F::effects(guard.pool(), "k").await, 0);
            assert_eq!(read::<F>(&guard, &policy(), "k").await.record.status, Status::Failed);
        }
    }
}

async fn savepoints_of_the_body_are_its_own_affair<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    guard
        .run(&policy(), request::<F>(&guard, "k", "book"), async |mutation: &mut Mutation<F::S>| {
            F::effect(mutation, "k").await.unwrap();
            F::execute(mutation, "SAVEPOINT mine").await.unwrap();
            F::effect(mutation, "undone").await.unwrap();
            F::execute(mutation, "ROLLBACK TO SAVEPOINT mine").await.unwrap();
            F::execute(mutation, "SAVEPOINT open").await.unwrap();
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    assert_eq!(F::effects(guard.pool(), "k").await, 1);
    assert_eq!(F::effects(guard.pool(), "undone").await, 0);
}

on_every_database! {
    a_guarded_operation_inside_another_is_refused_and_leaves_no_trace,
    a_body_that_ends_the_transaction_itself_is_noticed_and_never_run_again,
    a_body_that_swallows_a_failed_statement_is_not_taken_for_a_success,
    savepoints_of_the_body_are_its_own_affair,
}
