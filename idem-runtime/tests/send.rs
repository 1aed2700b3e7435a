//! The guard's futures can be spawned.

use idem_runtime::sqlite::{Claim, Guard, Mutation};
use idem_runtime::{Error, IdempotencyKey, Policy, Scope, Success};

#[tokio::test]
async fn a_guarded_call_can_run_in_a_task_of_its_own() {
    let pool =
        sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    let guard = Guard::builder(pool).migrate().build().await.unwrap();
    let at = guard.clone();
    let in_transaction = tokio::spawn(async move {
        let policy = Policy::new("orders.create").unwrap();
        let request =
            at.request(Scope::new("t", "u").unwrap(), IdempotencyKey::new("k").unwrap()).of("x").unwrap();
        at.run(&policy, request, async |mutation: &mut Mutation| {
            let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut **mutation).await.unwrap();
            Ok::<_, Error>(Success::new(one))
        })
        .await
    });
    assert_eq!(in_transaction.await.unwrap().unwrap().into_value(), 1);
    let outside = tokio::spawn(async move {
        let policy = Policy::new("payments.charge").unwrap();
        let request =
            guard.request(Scope::new("t", "u").unwrap(), IdempotencyKey::new("k").unwrap()).of("x").unwrap();
        guard
            .run_external(&policy, request, async |claim: &Claim| {
                claim.bind_task("t").await?;
                Ok::<_, Error>(Success::new(claim.attempt()))
            })
            .await
    });
    assert_eq!(outside.await.unwrap().unwrap().into_value(), 1);
}
