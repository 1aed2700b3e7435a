//! Whoever can write to the database cannot give one user the sealed answer of another.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::encryption::OpenError;
use idem_runtime::{Error, Scope};
use idem_tests::{Fixture, on_every_database, policy};

use crate::{keys, run};

/// Gives bob what is stored for ann; the subquery in a subquery is for MySQL.
fn swap(columns: &[&str]) -> String {
    let of_ann = |column: &&str| {
        format!(
            "{column} = (SELECT {column} FROM (SELECT {column} FROM idempotency_records WHERE user_id = 'ann') AS a)"
        )
    };
    let columns: Vec<String> = columns.iter().map(of_ann).collect();
    format!("UPDATE idempotency_records SET {} WHERE user_id = 'bob'", columns.join(", "))
}

async fn an_answer_in_the_row_of_another_user_does_not_open<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.builder(2).await.encryption(keys("k1", 1)).build().await.unwrap();
    let (policy, ran) = (policy(), AtomicU32::new(0));
    let [ann, bob] = ["ann", "bob"].map(|user| Scope::new("acme", user).unwrap());
    for (scope, answer) in [(&ann, "secret of ann"), (&bob, "secret of bob")] {
        run::<F>(&guard, &policy, (scope, "k"), answer, &ran).await.unwrap();
    }
    let whole = ["response_body", "response_headers"];
    let with_token = ["response_body", "response_headers", "attempt", "claim_id", "created_at"];
    for columns in [&whole[..], &with_token[..]] {
        let mut connection = guard.pool().acquire().await.unwrap();
        assert_eq!(F::execute(&mut connection, &swap(columns)).await.unwrap(), 1);
        drop(connection);
        let refused = run::<F>(&guard, &policy, (&bob, "k"), "again", &ran).await.unwrap_err();
        assert!(matches!(&refused, Error::Sealed(OpenError::Refused { .. })), "{columns:?}: {refused}");
        let own = run::<F>(&guard, &policy, (&ann, "k"), "again", &ran).await.unwrap();
        assert_eq!(own.value(), "secret of ann");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

async fn without_keys_a_swapped_answer_would_be_given<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let (policy, ran) = (policy(), AtomicU32::new(0));
    let [ann, bob] = ["ann", "bob"].map(|user| Scope::new("acme", user).unwrap());
    for scope in [&ann, &bob] {
        run::<F>(&guard, &policy, (scope, "k"), scope.user(), &ran).await.unwrap();
    }
    F::execute(&mut *guard.pool().acquire().await.unwrap(), &swap(&["response_body"])).await.unwrap();
    let given = run::<F>(&guard, &policy, (&bob, "k"), "again", &ran).await.unwrap();
    assert_eq!(given.value(), "ann", "so the swap of the other test is one");
}

on_every_database! {
    an_answer_in_the_row_of_another_user_does_not_open,
    without_keys_a_swapped_answer_would_be_given,
}
