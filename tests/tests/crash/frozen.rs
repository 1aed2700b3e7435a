//! The process stands still past its lease and wakes when another attempt owns the record, or has ended it.

use idem_runtime::Error;
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// How the body of the victim ends once it wakes: too late either way.
const ENDINGS: [&[&str]; 2] = [&[], &["--fail"]];

/// Freezes a victim in its body. Its short lease was renewed until then.
async fn freezes<F: Fixture>(fixture: &F, options: &[&str]) -> Process {
    let options = [&["--stop", "written-until-go", "--lease-ms", "1000"], options].concat();
    let mut victim = victim(fixture, &options);
    victim.wait_for("written").await;
    victim.pause();
    victim
}

/// Lets the lease lapse and asks until another answer comes than `in progress`.
///
/// Once is not always enough: a renewal may have been on its way when the victim stopped.
async fn after_the_lapse<F: Fixture>(
    guard: &Guard<F>,
    mut ask: impl AsyncFnMut() -> Result<Outcome<String>, Error>,
) -> Result<Outcome<String>, Error> {
    let mut answer = None;
    until("the lease lapses", async || {
        lapse::<F>(guard).await;
        let asked = ask().await;
        let lapsed = !matches!(asked, Err(Error::InProgress { .. }));
        answer = Some(asked);
        lapsed
    })
    .await;
    answer.unwrap()
}

/// Wakes the victim: it prints the recorded answer and leaves the record as it is.
async fn wakes_to_the_answer_of_the_retry<F: Fixture>(guard: &Guard<F>, mut victim: Process) {
    let before = record::<F>(guard, &policy()).await;
    execute::<F>(guard, "INSERT INTO effects (name) VALUES ('go')").await;
    victim.resume();
    let line = victim.wait_for("answer").await;
    assert_eq!(line, format!("answer replayed=true attempt=2 {OF_THE_RETRY}"));
    assert!(victim.wait().await.success());
    assert_eq!(record::<F>(guard, &policy()).await, before);
}

async fn a_frozen_external_attempt_wakes_to_the_answer_of_its_successor<F: Fixture>() {
    for fails in ENDINGS {
        let fixture = F::create().await;
        let guard = fixture.guard(2).await;
        let victim = freezes(&fixture, &[&["--external"], fails].concat()).await;
        let answer = after_the_lapse::<F>(&guard, async || retry_external::<F>(&guard, &policy()).await.0);
        is_answer(&answer.await, false, 2, OF_THE_RETRY);
        assert_eq!(all_effects::<F>(&guard).await, 1, "the provider charged once");
        wakes_to_the_answer_of_the_retry::<F>(&guard, victim).await;
        assert_eq!(all_effects::<F>(&guard).await, 2, "that and `go`");
    }
}

on_every_database! {
    a_frozen_external_attempt_wakes_to_the_answer_of_its_successor,
}

/// On SQLite a frozen transaction holds the only write lock, so that nobody can take over.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_transaction_wakes_to_the_answer_of_its_successor_and_is_rolled_back() {
    use idem_tests::OnPostgres;

    for fails in ENDINGS {
        let fixture = OnPostgres::create().await;
        let guard = fixture.guard(2).await;
        let victim = freezes(&fixture, fails).await;
        let ask = async || retry::<OnPostgres>(&guard, &policy()).await;
        is_answer(&after_the_lapse::<OnPostgres>(&guard, ask).await, false, 2, OF_THE_RETRY);
        wakes_to_the_answer_of_the_retry::<OnPostgres>(&guard, victim).await;
        assert_eq!(OnPostgres::effects(guard.pool(), "victim").await, 0);
        assert_eq!(OnPostgres::effects(guard.pool(), "retry").await, 1);
    }
}
