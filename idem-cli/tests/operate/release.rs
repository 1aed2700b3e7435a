//! `idem release`.

use idem_runtime::store::Store;
use idem_runtime::{Mode, OnLapse, Status};
use idem_tests::{Fixture, on_every_database};

use crate::at::{At, check, inside, record, terms};

const WHY: [&str; 2] = ["--reason", "the provider has no charge"];

async fn status<F: Fixture>(at: &At<F>, name: &str) -> (Status, bool) {
    let mut conn = at.pool.acquire().await.unwrap();
    let record = F::S::read(&mut conn, &record(name)).await.unwrap().unwrap().record;
    (record.status, record.released_at.is_some())
}

async fn a_release_takes_a_yes_and_is_noted_with_who_and_why<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.lapse("k", terms(Mode::External, OnLapse::Refuse, false)).await;
    let text = at.idem_on("release", "k", &WHY).ended(0).out();
    assert!(text.starts_with("would release (outcome_unknown)"), "{text}");
    assert_eq!(status(&at, "k").await, (Status::Processing, false));
    assert_eq!(at.number("SELECT count(*) FROM idempotency_releases").await, 0);

    check(
        "release.json",
        at.idem_on("release", "k", &[&WHY[..], &["--yes", "--json"]].concat()).ended(0).json(),
    );
    assert_eq!(status(&at, "k").await, (Status::Failed, true));
    let noted = "SELECT count(*) FROM idempotency_releases WHERE tenant_id = 'acme' AND user_id = 'user-7' \
                 AND route = 'orders.create' AND idempotency_key = 'k' AND attempt = 1 \
                 AND status_before = 'processing' AND NOT forced AND released_by = 'ann' \
                 AND reason = 'the provider has no charge'";
    assert_eq!(at.number(noted).await, 1);
    let json = at.idem_on("diagnose", "k", &["--json"]).ended(0).json();
    assert_eq!(json["verdict"], "released");
}

async fn a_live_lease_is_released_only_by_force<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.claim("k", inside()).await;
    let refused = at.idem_on("release", "k", &[&WHY[..], &["--yes", "--json"]].concat()).ended(1).json();
    assert_eq!((&refused["released"], &refused["verdict"]), (&false.into(), &"in_progress".into()));
    assert_eq!(status(&at, "k").await, (Status::Processing, false));
    at.idem_on("release", "k", &[&WHY[..], &["--yes", "--force", "--by", "bob"]].concat()).ended(0);
    assert_eq!(status(&at, "k").await, (Status::Failed, true));
    let noted = "SELECT count(*) FROM idempotency_releases WHERE forced AND released_by = 'bob'";
    assert_eq!(at.number(noted).await, 1);
}

async fn what_succeeded_or_is_free_already_is_never_released<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.succeed("done", b"{}").await;
    at.fail("released", false, None).await;
    let yes = [&WHY[..], &["--yes", "--force"]].concat();
    at.idem_on("release", "released", &yes).ended(0);
    for name in ["done", "released", "missing"] {
        let ran = at.idem_on("release", name, &yes).ended(1);
        assert!(ran.out().starts_with("not released"), "{}", ran.out());
    }
    assert_eq!(status(&at, "done").await.0, Status::Succeeded);
    assert_eq!(at.number("SELECT count(*) FROM idempotency_releases").await, 1);
}

async fn a_release_that_cannot_be_noted_does_not_happen<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.fail("k", false, None).await;
    at.execute("DROP TABLE idempotency_releases").await;
    at.idem_on("release", "k", &[&WHY[..], &["--yes"]].concat()).ended(2);
    assert_eq!(status(&at, "k").await, (Status::Failed, false));
}

async fn a_release_needs_a_reason_and_the_whole_address<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.fail("k", false, None).await;
    at.idem_on("release", "k", &["--yes"]).ended(2);
    at.idem_on("release", "k", &["--yes", "--reason", ""]).ended(2);
    at.idem(&["release", "--yes", "--reason", "x", "--tenant-id", "acme"]).ended(2);
    assert_eq!(status(&at, "k").await, (Status::Failed, false));
}

on_every_database! {
    a_release_takes_a_yes_and_is_noted_with_who_and_why,
    a_live_lease_is_released_only_by_force,
    what_succeeded_or_is_free_already_is_never_released,
    a_release_that_cannot_be_noted_does_not_happen,
    a_release_needs_a_reason_and_the_whole_address,
}
