//! Packets, row locks and settings of a server.

use std::time::Duration;

use idem_runtime::mysql::{Guard, Mutation};
use idem_runtime::store::{Completion, Fault, NewClaim, Store};
use idem_runtime::{
    Answer, AnswerBody, Bindings, BuildError, Defaults, Error, FencingToken, Mode, RecordKey, Status, Success,
};
use idem_tests::{Fixture, OnMysql, key, policy, scope};
use sqlx::{MySql, MySqlConnection};

use crate::*;

/// Claims a record and gives its key and token.
async fn claimed(connection: &mut MySqlConnection, name: &str) -> (RecordKey, FencingToken) {
    let claim = NewClaim {
        key: RecordKey::new(scope(), policy().route().clone(), key(name)),
        request_hash: "v1:-:aa".to_owned(),
        request_fields: None,
        terms: policy().terms(Mode::Transactional, &Defaults::default()).unwrap(),
        claim_id: uuid::Uuid::new_v4(),
    };
    let reading = MySql::insert(connection, &claim).await.unwrap().unwrap();
    (claim.key, reading.record.token)
}

fn answer(body: Vec<u8>) -> Answer {
    Answer { code: 200, headers: Vec::new(), content_type: None, body: AnswerBody::Kept(body) }
}

#[tokio::test]
async fn a_long_answer_is_kept_and_one_over_the_packet_limit_is_refused_by_name() {
    let fixture = OnMysql::create().await;
    let mut connection = fixture.pool(1).await.acquire().await.unwrap();
    let none = Bindings::default();
    let long = answer((0..700_000_u32).map(|byte| byte.to_le_bytes()[0]).collect());
    let (key, token) = claimed(&mut connection, "long").await;
    MySql::complete(&mut connection, &key, token, &long, &none).await.unwrap().unwrap();
    let kept = MySql::read(&mut connection, &key).await.unwrap().unwrap().record;
    assert_eq!(kept.answer, Some(long));

    let limit =
        OnMysql::number(&mut connection, "SELECT CAST(@@max_allowed_packet AS SIGNED)").await.unwrap();
    let over = answer(vec![0; usize::try_from(limit).unwrap()]);
    let (key, token) = claimed(&mut connection, "over").await;
    let refused = MySql::complete(&mut connection, &key, token, &over, &none).await.unwrap_err();
    assert!(refused.to_string().contains("max_allowed_packet"), "{refused}");
    assert_eq!(MySql::classify(&refused), Fault::Refused);
    // The connection lives, which the server would have closed.
    let record = MySql::read(&mut connection, &key).await.unwrap().unwrap().record;
    assert_eq!(record.status, Status::Processing);
}

#[tokio::test]
async fn an_answer_over_the_packet_limit_takes_the_effects_of_its_body_back() {
    let (_fixture, pool) = sessions(&[]).await;
    let packet = "SELECT CAST(@@max_allowed_packet AS SIGNED)";
    let limit = OnMysql::number(&mut *pool.acquire().await.unwrap(), packet).await.unwrap();
    let limit = usize::try_from(limit).unwrap();
    let guard = Guard::builder(pool).max_answer_bytes(limit * 2).build().await.unwrap();
    let ran = guard
        .run(&policy(), request(&guard, "k"), async |mutation: &mut Mutation| {
            OnMysql::effect(mutation, "k").await.unwrap();
            Ok::<_, Error>(Success::new("x".repeat(limit)))
        })
        .await;
    let refused = ran.unwrap_err();
    // Our own words: the server would have closed the connection.
    assert!(format!("{refused:?}").contains("lower max_answer_bytes"), "{refused:?}");
    assert_eq!(OnMysql::effects(guard.pool(), "k").await, 0);
    let record = read(&guard, &policy(), "k").await.record;
    assert!(record.status != Status::Succeeded && !record.outcome_unknown, "{record:?}");
}

#[tokio::test]
async fn a_settled_read_waits_for_the_transaction_that_holds_the_row_and_no_longer_than_it_may() {
    let fixture = OnMysql::create().await;
    let pool = fixture.pool(2).await;
    let (mut writer, mut reader) = (pool.acquire().await.unwrap(), pool.acquire().await.unwrap());
    let (key, token) = claimed(&mut writer, "k").await;
    let terms = policy().terms(Mode::Transactional, &Defaults::default()).unwrap();
    MySql::begin(&mut writer, token, &terms).await.unwrap();
    let none = Bindings::default();
    let done = MySql::complete_in_transaction(&mut writer, &key, token, &answer(Vec::new()), &none).await;
    assert!(matches!(done, Ok(Completion::Done { .. })), "{done:?}");
    let early = MySql::read_settled(&mut reader, &key, Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(MySql::classify(&early), Fault::Locked, "{early}");
    let (settled, committed) = futures_util::join!(
        MySql::read_settled(&mut reader, &key, Duration::from_secs(30)),
        OnMysql::execute(&mut writer, "COMMIT")
    );
    committed.unwrap();
    assert_eq!(settled.unwrap().unwrap().record.status, Status::Succeeded);
    writer.close_on_drop();
}

#[tokio::test]
async fn a_session_that_cuts_values_or_does_not_commit_or_reads_too_early_is_refused_unless_allowed() {
    for (name, value) in
        [("sql_mode", "NO_ENGINE_SUBSTITUTION"), ("autocommit", "OFF"), ("tx_isolation", "READ-UNCOMMITTED")]
    {
        let (_fixture, pool) = sessions(&[(name, value)]).await;
        let refused = Guard::builder(pool.clone()).build().await.unwrap_err();
        let BuildError::UnsafeSettings(settings) = refused else { panic!("{refused:?}") };
        assert_eq!(settings.iter().map(|setting| setting.name).collect::<Vec<_>>(), [name]);
        Guard::builder(pool).allow_unsafe_settings().build().await.unwrap();
    }
}

#[tokio::test]
async fn a_table_without_transactions_is_refused() {
    let (_fixture, pool) = sessions(&[]).await;
    let engine = "ALTER TABLE idempotency_records ENGINE = Aria";
    OnMysql::execute(&mut *pool.acquire().await.unwrap(), engine).await.unwrap();
    let refused = Guard::builder(pool).build().await.unwrap_err();
    assert!(refused.to_string().contains("InnoDB"), "{refused}");
}
