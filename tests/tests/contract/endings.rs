//! Completion, failure, release, renewal: each fenced by the token.

use idem_runtime::store::{Completion, Store};
use idem_runtime::{Answer, AnswerBody, Bindings, OnLapse, Status};
use idem_tests::{Fixture, on_every_database};

use crate::*;

async fn a_completion_keeps_every_byte_and_starts_the_life_of_the_answer<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let wanted = claim("k");
    let claimed = at.claimed(&wanted).await;
    let bindings = Bindings { task_id: Some("t1".to_owned()), outbox_event_id: Some("e1".to_owned()) };
    let token = claimed.record.token;
    let end =
        F::S::complete(&mut at.connection, &wanted.key, token, &answer(), &bindings).await.unwrap().unwrap();
    let reading = at.read(&wanted).await.unwrap();
    let record = reading.record;
    assert_eq!(record.status, Status::Succeeded);
    assert_eq!(record.answer, Some(answer()));
    assert_eq!(record.bindings, bindings);
    assert_eq!(record.locked_until, None);
    assert_eq!(record.expires_at, end);
    assert_eq!(record.completed_at.unwrap().plus(wanted.terms.ttl), end);
    assert_eq!(record.token, token);
    assert!(record.revision > claimed.record.revision);
}

async fn an_empty_body_and_an_omitted_one_stay_apart<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    for (key, body) in [("empty", AnswerBody::Kept(Vec::new())), ("omitted", AnswerBody::Omitted)] {
        let wanted = claim(key);
        let token = at.claimed(&wanted).await.record.token;
        let answer = Answer { code: 204, headers: Vec::new(), content_type: None, body };
        F::S::complete(&mut at.connection, &wanted.key, token, &answer, &Bindings::default()).await.unwrap();
        assert_eq!(at.read(&wanted).await.unwrap().record.answer, Some(answer));
    }
}

async fn a_stale_token_changes_nothing<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let wanted = claim("k");
    let token = at.claimed(&wanted).await.record.token;
    let before = at.read(&wanted).await.unwrap().record;
    let (key, none) = (&wanted.key, Bindings::default());
    for stale in stale(token) {
        let conn = &mut at.connection;
        assert_eq!(F::S::complete(conn, key, stale, &answer(), &none).await.unwrap(), None);
        assert_eq!(F::S::fail(conn, key, stale, Some(&answer())).await.unwrap(), None);
        assert_eq!(F::S::renew(conn, key, stale, SECOND).await.unwrap(), None);
        assert!(!F::S::release(conn, key, stale, None).await.unwrap());
        assert!(!F::S::end_lease(conn, key, stale).await.unwrap());
        assert!(!F::S::mark_unknown(conn, key, stale).await.unwrap());
        assert!(!F::S::bind(conn, key, stale, &none).await.unwrap());
        assert_eq!(at.read(&wanted).await.unwrap().record, before);
    }
}

async fn a_release_makes_processing_and_failed_claimable_and_never_a_success<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    for (key, fail_first) in [("processing", false), ("failed", true)] {
        let wanted = claim(key);
        let token = at.claimed(&wanted).await.record.token;
        if fail_first {
            F::S::fail(&mut at.connection, &wanted.key, token, Some(&answer())).await.unwrap();
        }
        let seen = at.read(&wanted).await.unwrap().record;
        let other = Some(seen.revision + 1);
        assert!(!F::S::release(&mut at.connection, &wanted.key, token, other).await.unwrap());
        let this = Some(seen.revision);
        assert!(F::S::release(&mut at.connection, &wanted.key, token, this).await.unwrap());
        let record = at.read(&wanted).await.unwrap().record;
        assert_eq!((record.status, record.answer), (Status::Failed, None));
        assert!(record.released_at.is_some());
        assert_eq!((record.token, record.created_at), (token, seen.created_at));
    }
    let wanted = claim("succeeded");
    let token = at.claimed(&wanted).await.record.token;
    let none = Bindings::default();
    F::S::complete(&mut at.connection, &wanted.key, token, &answer(), &none).await.unwrap();
    assert!(!F::S::release(&mut at.connection, &wanted.key, token, None).await.unwrap());
}

async fn a_renewal_moves_the_lease_and_the_life_with_it<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let wanted = claim("k");
    let token = at.claimed(&wanted).await.record.token;
    at.pass(wanted.terms.lease).await;
    F::S::renew(&mut at.connection, &wanted.key, token, SECOND).await.unwrap().unwrap();
    let reading = at.read(&wanted).await.unwrap();
    assert!(reading.record.locked_until.unwrap() > reading.now);
    let beyond = wanted.terms.ttl * 2;
    let end = F::S::renew(&mut at.connection, &wanted.key, token, beyond).await.unwrap().unwrap();
    let record = at.read(&wanted).await.unwrap().record;
    assert_eq!((record.locked_until, record.expires_at), (Some(end), end));
}

async fn an_ended_lease_has_lapsed_and_an_unknown_outcome_is_marked<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let ended = external("ended", OnLapse::Rerun);
    let token = at.claimed(&ended).await.record.token;
    assert!(F::S::end_lease(&mut at.connection, &ended.key, token).await.unwrap());
    let reading = at.read(&ended).await.unwrap();
    assert!(reading.record.locked_until.unwrap() <= reading.now);
    assert!(!reading.record.outcome_unknown);
    assert!(F::S::mark_unknown(&mut at.connection, &ended.key, token).await.unwrap());
    let reading = at.read(&ended).await.unwrap();
    assert_eq!((reading.record.status, reading.record.outcome_unknown), (Status::Processing, true));
    let renewed = F::S::renew(&mut at.connection, &ended.key, token, SECOND).await.unwrap();
    assert_eq!(renewed, None, "an unknown outcome is not renewed");
}

async fn a_completion_commits_with_the_business_rows_or_not_at_all<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let pool = at.fixture.pool(2).await;
    for (key, commit) in [("kept", "COMMIT"), ("dropped", "ROLLBACK")] {
        let wanted = claim(key);
        let token = at.claimed(&wanted).await.record.token;
        let mut conn = pool.acquire().await.unwrap();
        F::S::begin(&mut conn, token, &wanted.terms).await.unwrap();
        F::effect(&mut conn, key).await.unwrap();
        let none = Bindings::default();
        let done = F::S::complete_in_transaction(&mut conn, &wanted.key, token, &answer(), &none).await;
        assert!(matches!(done, Ok(Completion::Done { .. })), "{done:?}");
        F::execute(&mut conn, commit).await.unwrap();
        conn.close_on_drop();
        let kept = i64::from(commit == "COMMIT");
        assert_eq!(F::effects(&pool, key).await, kept);
        let succeeded = at.read(&wanted).await.unwrap().record.status == Status::Succeeded;
        assert_eq!(succeeded, kept == 1);
    }
}

async fn a_transaction_that_is_not_ours_any_more_is_noticed<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let pool = at.fixture.pool(2).await;
    for (key, statements) in
        [("ended", &["COMMIT"][..]), ("undone", &["ROLLBACK"]), ("replaced", &["COMMIT", "BEGIN"])]
    {
        let wanted = claim(key);
        let token = at.claimed(&wanted).await.record.token;
        let mut conn = pool.acquire().await.unwrap();
        conn.close_on_drop();
        F::S::begin(&mut conn, token, &wanted.terms).await.unwrap();
        assert!(F::S::is_intact(&mut conn, token).await.unwrap());
        F::execute(&mut conn, "ROLLBACK").await.unwrap();
        F::execute(&mut conn, "SELECT 1").await.unwrap();

        let mut conn = pool.acquire().await.unwrap();
        conn.close_on_drop();
        F::S::begin(&mut conn, token, &wanted.terms).await.unwrap();
        for statement in statements {
            F::execute(&mut conn, statement).await.unwrap();
        }
        let none = Bindings::default();
        let done = F::S::complete_in_transaction(&mut conn, &wanted.key, token, &answer(), &none).await;
        assert_eq!(done.unwrap(), Completion::Ended, "{key}");
        drop(conn);
        assert_eq!(at.read(&wanted).await.unwrap().record.status, Status::Processing);
    }
}

async fn a_settled_read_shows_what_a_plain_read_shows_when_nothing_is_open<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let wanted = claim("k");
    let claimed = at.claimed(&wanted).await;
    let settled = F::S::read_settled(&mut at.connection, &wanted.key, SECOND).await.unwrap().unwrap();
    assert_eq!(settled.record, claimed.record);
    let other = claim("none");
    assert_eq!(F::S::read_settled(&mut at.connection, &other.key, SECOND).await.unwrap(), None);
    // The connection is free of transactions afterwards.
    at.claimed(&other).await;
}

on_every_database! {
    a_completion_keeps_every_byte_and_starts_the_life_of_the_answer,
    an_empty_body_and_an_omitted_one_stay_apart,
    a_stale_token_changes_nothing,
    a_release_makes_processing_and_failed_claimable_and_never_a_success,
    a_renewal_moves_the_lease_and_the_life_with_it,
    an_ended_lease_has_lapsed_and_an_unknown_outcome_is_marked,
    a_completion_commits_with_the_business_rows_or_not_at_all,
    a_transaction_that_is_not_ours_any_more_is_noticed,
    a_settled_read_shows_what_a_plain_read_shows_when_nothing_is_open,
}
