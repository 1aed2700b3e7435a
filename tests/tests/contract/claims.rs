//! One racer inserts, one takes over, and the others read.

use idem_runtime::store::Store;
use idem_runtime::{Bindings, FencingToken, Mode, OnLapse, Status};
use idem_tests::{Fixture, on_every_database};

use crate::*;

async fn a_claim_writes_every_column_and_reads_them_back<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let mut wanted = external("k", OnLapse::Refuse);
    wanted.request_fields = Some("{}".to_owned());
    let claimed = at.claimed(&wanted).await;
    let record = &claimed.record;
    assert_eq!(record.key, wanted.key);
    assert_eq!(record.request_hash, wanted.request_hash);
    assert_eq!(record.request_fields, wanted.request_fields);
    assert_eq!(record.terms, wanted.terms);
    assert_eq!(record.status, Status::Processing);
    assert_eq!((record.token.attempt, record.revision), (1, 1));
    assert_eq!(record.answer, None);
    assert_eq!(record.bindings, Bindings::default());
    assert_eq!(record.created_at, claimed.now);
    assert_eq!(record.locked_until, Some(claimed.now.plus(wanted.terms.lease)));
    assert_eq!(record.expires_at, claimed.now.plus(wanted.terms.ttl));
    assert!(!record.outcome_unknown);
    assert_eq!((record.released_at, record.completed_at), (None, None));
    assert_eq!(at.read(&wanted).await.unwrap().record, claimed.record);
}

async fn a_second_claim_reads_the_first_and_changes_nothing<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let first = at.claimed(&claim("k")).await;
    let met = F::S::insert(&mut at.connection, &claim("k")).await.unwrap().unwrap();
    assert_eq!(met.record, first.record);
}

async fn a_repeated_claim_recognises_its_own_row<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let wanted = claim("k");
    let first = at.claimed(&wanted).await;
    assert_eq!(at.claimed(&wanted).await.record, first.record);
}

async fn distinct_bytes_are_distinct_keys<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let long = "k".repeat(255);
    let others = ["k", "K", "k.", "kk", long.as_str()];
    for key in others {
        at.claimed(&claim(key)).await;
    }
    for (tenant, user) in [
        ("Acme", "user-7"),
        ("acme", "User-7"),
        ("acm\u{e9}", "user-7"),
        ("acme\u{301}", "user-7"),
        ("acme ", "user-7"),
        ("acme:user", "-7"),
        ("acme", "user-7 "),
    ] {
        let key = record_key(tenant, user, "orders.create", "k");
        at.claimed(&claim_of(key, Mode::Transactional, OnLapse::Rerun)).await;
    }
    let key = record_key("acme", "user-7", "orders.cancel", "k");
    at.claimed(&claim_of(key, Mode::Transactional, OnLapse::Rerun)).await;
}

async fn the_longest_scope_fits<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let part = "\u{e9}".repeat(127);
    let key = record_key(&part, &part, &"r".repeat(255), &"k".repeat(255));
    at.claimed(&claim_of(key, Mode::Transactional, OnLapse::Rerun)).await;
}

async fn a_take_over_needs_the_very_row_that_was_judged<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let first = claim("k");
    let token = at.claimed(&first).await.record.token;
    let seen = at.read(&first).await.unwrap().record;
    F::S::renew(&mut at.connection, &first.key, token, SECOND).await.unwrap().unwrap();
    let won = F::S::take_over(&mut at.connection, &seen, false, &claim("k")).await.unwrap();
    assert_eq!(won, None, "the row was renewed after it was judged");
}

async fn a_take_over_judged_before_a_purge_leaves_the_next_life_alone<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let first = claim("k");
    at.claimed(&first).await;
    at.pass(SECOND).await;
    let seen = at.read(&first).await.unwrap().record;
    F::execute(&mut at.connection, "DELETE FROM idempotency_records").await.unwrap();
    // The reply to the first claim was lost, so it is sent again: with the same token, and as the first of its row.
    at.claimed(&first).await;
    let reborn = at.read(&first).await.unwrap().record;
    assert_eq!((reborn.token, reborn.revision), (seen.token, seen.revision));
    let won = F::S::take_over(&mut at.connection, &seen, false, &claim("k")).await.unwrap();
    assert_eq!(won, None, "another life began after the row was judged");
}

async fn a_take_over_keeps_the_life_and_a_new_life_begins_with_the_new_request<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let first = claim("k");
    let token = at.claimed(&first).await.record.token;
    let bound = Bindings { task_id: Some("t1".to_owned()), outbox_event_id: None };
    F::S::bind(&mut at.connection, &first.key, token, &bound).await.unwrap();
    F::S::fail(&mut at.connection, &first.key, token, Some(&answer())).await.unwrap();
    let failed = at.read(&first).await.unwrap().record;
    assert_eq!((failed.status, &failed.bindings), (Status::Failed, &bound));

    let mut again = external("k", OnLapse::Recover);
    "v1:-:bb".clone_into(&mut again.request_hash);
    let second = F::S::take_over(&mut at.connection, &failed, false, &again).await.unwrap().unwrap().record;
    assert_eq!((second.status, second.token.attempt), (Status::Processing, 2));
    assert_eq!(second.request_hash, first.request_hash, "the life keeps its fingerprint");
    assert_eq!(second.created_at, failed.created_at);
    assert_eq!(second.bindings, bound);
    assert_eq!(second.terms, again.terms);
    assert_eq!((second.answer, second.completed_at, second.released_at), (None, None, None));

    let seen = at.read(&first).await.unwrap().record;
    let anew = F::S::take_over(&mut at.connection, &seen, true, &again).await.unwrap().unwrap();
    assert_eq!(anew.record.token.attempt, 3, "the attempt grows over lives");
    assert_eq!(anew.record.request_hash, again.request_hash);
    assert_eq!(anew.record.created_at, anew.now);
    assert_eq!(anew.record.bindings, Bindings::default());
}

async fn a_zombie_cannot_overwrite_the_new_owner<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let first = claim("k");
    let zombie = at.claimed(&first).await.record.token;
    at.pass(first.terms.lease).await;
    let seen = at.read(&first).await.unwrap().record;
    let second = claim("k");
    let owner = F::S::take_over(&mut at.connection, &seen, false, &second).await.unwrap().unwrap();
    assert_eq!(owner.record.token, FencingToken { attempt: 2, claim_id: second.claim_id });
    let conn = &mut at.connection;
    let none = Bindings::default();
    assert_eq!(F::S::complete(conn, &first.key, zombie, &answer(), &none).await.unwrap(), None);
    assert_eq!(F::S::fail(conn, &first.key, zombie, None).await.unwrap(), None);
    assert!(!F::S::release(conn, &first.key, zombie, None).await.unwrap());
    assert_eq!(at.read(&first).await.unwrap().record, owner.record);
}

on_every_database! {
    a_claim_writes_every_column_and_reads_them_back,
    a_second_claim_reads_the_first_and_changes_nothing,
    a_repeated_claim_recognises_its_own_row,
    distinct_bytes_are_distinct_keys,
    the_longest_scope_fits,
    a_take_over_needs_the_very_row_that_was_judged,
    a_take_over_judged_before_a_purge_leaves_the_next_life_alone,
    a_take_over_keeps_the_life_and_a_new_life_begins_with_the_new_request,
    a_zombie_cannot_overwrite_the_new_owner,
}
