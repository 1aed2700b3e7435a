//! The contract of a store: each transition, its fence and its boundaries, the same on every database.

use std::time::Duration;

use idem_runtime::store::{Completion, NewClaim, Store};
use idem_runtime::{
    Answer, AnswerBody, Bindings, Defaults, FencingToken, IdempotencyKey, Mode, OnLapse, Policy, Reading,
    RecordKey, Route, Scope, Status,
};
use idem_tests::{Fixture, on_every_database};
use sqlx::pool::PoolConnection;
use uuid::Uuid;

const SECOND: Duration = Duration::from_secs(1);

fn record_key(tenant: &str, user: &str, route: &str, key: &str) -> RecordKey {
    RecordKey::new(
        Scope::new(tenant, user).unwrap(),
        Route::new(route).unwrap(),
        IdempotencyKey::new(key).unwrap(),
    )
}

fn claim_of(key: RecordKey, mode: Mode, on_lapse: OnLapse) -> NewClaim {
    let policy = Policy::new("orders.create").unwrap().on_lapse(on_lapse);
    NewClaim {
        key,
        request_hash: "v1:-:aa".to_owned(),
        request_fields: None,
        terms: policy.terms(mode, &Defaults::default()).unwrap(),
        claim_id: Uuid::new_v4(),
    }
}

fn claim(key: &str) -> NewClaim {
    claim_of(record_key("acme", "user-7", "orders.create", key), Mode::Transactional, OnLapse::Rerun)
}

fn external(key: &str, on_lapse: OnLapse) -> NewClaim {
    claim_of(record_key("acme", "user-7", "orders.create", key), Mode::External, on_lapse)
}

/// An answer with everything that is hard to keep.
fn answer() -> Answer {
    Answer {
        code: 201,
        headers: vec![
            ("link".to_owned(), b"<a>, <b>".to_vec()),
            ("x-latin".to_owned(), vec![0xe9, 0xff, 0x80]),
            ("link".to_owned(), b"<c>".to_vec()),
        ],
        content_type: Some("application/octet-stream".to_owned()),
        body: AnswerBody::Kept((0..=255).collect()),
    }
}

fn stale(token: FencingToken) -> [FencingToken; 2] {
    [
        FencingToken { attempt: token.attempt + 1, ..token },
        FencingToken { claim_id: Uuid::new_v4(), ..token },
    ]
}

/// A database with one connection to it.
struct At<F: Fixture> {
    fixture: F,
    connection: PoolConnection<F::S>,
}

impl<F: Fixture> At<F> {
    async fn fresh() -> Self {
        let fixture = F::create().await;
        let connection = fixture.pool(2).await.acquire().await.unwrap();
        Self { fixture, connection }
    }

    async fn claimed(&mut self, claim: &NewClaim) -> Reading {
        let reading = F::S::insert(&mut self.connection, claim).await.unwrap().unwrap();
        assert_eq!(reading.record.token.claim_id, claim.claim_id, "the claim is ours");
        reading
    }

    async fn read(&mut self, claim: &NewClaim) -> Option<Reading> {
        F::S::read(&mut self.connection, &claim.key).await.unwrap()
    }

    async fn pass(&self, span: Duration) {
        F::pass(&self.fixture.pool(1).await, span).await;
    }
}

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

async fn a_take_over_needs_the_very_row_that_was_judged<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    let first = claim("k");
    let token = at.claimed(&first).await.record.token;
    let seen = at.read(&first).await.unwrap().record;
    F::S::renew(&mut at.connection, &first.key, token, SECOND).await.unwrap().unwrap();
    let taken = F::S::take_over(&mut at.connection, &seen, false, &claim("k")).await.unwrap();
    assert_eq!(taken, None, "the row was renewed after it was judged");
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
    again.request_hash = "v1:-:bb".to_owned();
    let taken = F::S::take_over(&mut at.connection, &failed, false, &again).await.unwrap().unwrap().record;
    assert_eq!((taken.status, taken.token.attempt), (Status::Processing, 2));
    assert_eq!(taken.request_hash, first.request_hash, "the life keeps its fingerprint");
    assert_eq!(taken.created_at, failed.created_at);
    assert_eq!(taken.bindings, bound);
    assert_eq!(taken.terms, again.terms);
    assert_eq!((taken.answer, taken.completed_at, taken.released_at), (None, None, None));

    let seen = at.read(&first).await.unwrap().record;
    let anew = F::S::take_over(&mut at.connection, &seen, true, &again).await.unwrap().unwrap();
    assert_eq!(anew.record.token.attempt, 3, "the attempt grows over lives");
    assert_eq!(anew.record.request_hash, again.request_hash);
    assert_eq!(anew.record.created_at, anew.now);
    assert_eq!(anew.record.bindings, Bindings::default());
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

/// One record of each kind; the last member says whether a sweep past its life may take it.
async fn one_of_each<F: Fixture>(at: &mut At<F>) -> Vec<(NewClaim, bool)> {
    let none = Bindings::default();
    let mut all = Vec::new();
    for (key, status) in [("succeeded", Status::Succeeded), ("failed", Status::Failed)] {
        let wanted = claim(key);
        let token = at.claimed(&wanted).await.record.token;
        let conn = &mut at.connection;
        match status {
            Status::Succeeded => F::S::complete(conn, &wanted.key, token, &answer(), &none).await.unwrap(),
            _ => F::S::fail(conn, &wanted.key, token, None).await.unwrap(),
        };
        all.push((wanted, true));
    }
    for (claim, swept) in [
        (claim("transactional"), true),
        (external("rerun", OnLapse::Rerun), true),
        (external("recover", OnLapse::Recover), false),
        (external("refuse", OnLapse::Refuse), false),
    ] {
        at.claimed(&claim).await;
        all.push((claim, swept));
    }
    let unknown = claim("unknown");
    let token = at.claimed(&unknown).await.record.token;
    F::S::mark_unknown(&mut at.connection, &unknown.key, token).await.unwrap();
    all.push((unknown, false));
    all
}

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

async fn the_database_itself_refuses_an_impossible_row<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    at.claimed(&claim("k")).await;
    for (impossible, why) in [
        ("locked_until = NULL", "processing without a lease"),
        ("status = 'succeeded', locked_until = NULL, completed_at = created_at", "success without a code"),
        ("status = 'succeeded', locked_until = NULL, response_code = 200", "success without completion"),
        ("status = 'failed', locked_until = NULL", "failure without completion"),
        ("attempt = 0", "attempt below one"),
        ("revision = 0", "revision below one"),
        ("status = 'paused', locked_until = NULL", "unknown status"),
        ("response_code = 200", "an answer while processing"),
        ("response_body = response_body, response_headers = '[]'", "headers without a code"),
        ("expires_at = created_at", "a lease beyond the life"),
        ("released_at = created_at", "released while processing"),
        ("mode = 'both'", "unknown mode"),
        ("on_lapse = 'refuse'", "on_lapse in a transaction"),
        ("ttl_ms = 0", "no life"),
        ("lease_ms = 0", "no lease"),
        ("tenant_id = ''", "an empty tenant"),
        ("idempotency_key = NULL", "no key"),
    ] {
        let sql = format!("UPDATE idempotency_records SET {impossible}");
        assert!(F::execute(&mut at.connection, &sql).await.is_err(), "{why}: {impossible}");
    }
    F::execute(&mut at.connection, "UPDATE idempotency_records SET revision = 2").await.unwrap();
    let unknown = "UPDATE idempotency_records SET status = 'failed', locked_until = NULL, \
                   completed_at = created_at, outcome_unknown = (1 = 1)";
    assert!(F::execute(&mut at.connection, unknown).await.is_err(), "a failure whose outcome is unknown");
}

async fn a_missing_or_outdated_table_is_noticed<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    assert!(F::S::has_schema(&mut at.connection).await.unwrap());
    let outdated = "ALTER TABLE idempotency_records DROP COLUMN request_fields";
    F::execute(&mut at.connection, outdated).await.unwrap();
    assert!(!F::S::has_schema(&mut at.connection).await.unwrap());
    F::execute(&mut at.connection, "DROP TABLE idempotency_records").await.unwrap();
    assert!(!F::S::has_schema(&mut at.connection).await.unwrap());
}

async fn migrations_may_run_twice_and_at_once<F: Fixture>() {
    let fixture = F::create().await;
    let pool = fixture.pool(4).await;
    let (first, second) = futures_util::join!(F::S::migrate(&pool), F::S::migrate(&pool));
    first.unwrap();
    second.unwrap();
}

on_every_database! {
    a_claim_writes_every_column_and_reads_them_back,
    a_second_claim_reads_the_first_and_changes_nothing,
    a_repeated_claim_recognises_its_own_row,
    distinct_bytes_are_distinct_keys,
    the_longest_scope_fits,
    a_completion_keeps_every_byte_and_starts_the_life_of_the_answer,
    an_empty_body_and_an_omitted_one_stay_apart,
    a_stale_token_changes_nothing,
    a_zombie_cannot_overwrite_the_new_owner,
    a_take_over_needs_the_very_row_that_was_judged,
    a_take_over_keeps_the_life_and_a_new_life_begins_with_the_new_request,
    a_release_makes_processing_and_failed_claimable_and_never_a_success,
    a_renewal_moves_the_lease_and_the_life_with_it,
    an_ended_lease_has_lapsed_and_an_unknown_outcome_is_marked,
    a_completion_commits_with_the_business_rows_or_not_at_all,
    a_transaction_that_is_not_ours_any_more_is_noticed,
    a_settled_read_shows_what_a_plain_read_shows_when_nothing_is_open,
    expire_marks_what_is_past_its_life_and_nothing_else,
    purge_deletes_what_ended_long_enough_ago_and_nothing_else,
    the_database_itself_refuses_an_impossible_row,
    a_missing_or_outdated_table_is_noticed,
    migrations_may_run_twice_and_at_once,
}
