//! Turns a row into a record and an answer into columns; the same for every database.

use std::time::Duration;

use sqlx::{ColumnIndex, Database, Decode, Row, Type};
use uuid::Uuid;

use crate::key::{IdempotencyKey, RecordKey, Route, Scope};
use crate::policy::{Mode, OnLapse, Terms};
use crate::record::{Bindings, FencingToken, Reading, Record, Status, Timestamp};

mod answer;

pub(super) use answer::AnswerColumns;
#[cfg(all(any(test, fuzzing), feature = "axum", feature = "sqlite"))]
pub(crate) use answer::headers_stored_and_read;

/// The columns of a record in the order in which every statement selects them, with the time as `now`.
macro_rules! record_columns {
    ($now:literal) => {
        record_columns!($now, "response_body")
    };
    // With another expression in place of the body, which a list of records does without.
    ($now:literal, $body:literal) => {
        concat!(
            "tenant_id, user_id, route, idempotency_key, request_hash, request_fields, status, attempt, ",
            "claim_id, revision, locked_until, expires_at, response_code, response_headers, ",
            "response_content_type, ",
            $body,
            ", task_id, outbox_event_id, mode, on_lapse, retry_failed, ",
            "ttl_ms, lease_ms, wait_ms, max_run_ms, outcome_unknown, released_at, created_at, updated_at, ",
            "completed_at, ",
            $now,
            " AS now"
        )
    };
}
pub(super) use record_columns;

/// A column that holds something no version of this program writes.
fn unreadable(column: &'static str, value: &str) -> sqlx::Error {
    let source = format!("{column} holds {value:?}, which this version does not know").into();
    sqlx::Error::ColumnDecode { index: column.to_owned(), source }
}

/// The reading in a row that was selected with `record_columns`.
pub(super) fn reading<DB: Database>(row: &DB::Row) -> Result<Reading, sqlx::Error>
where
    for<'r> String: Decode<'r, DB> + Type<DB>,
    for<'r> Vec<u8>: Decode<'r, DB> + Type<DB>,
    for<'r> i64: Decode<'r, DB> + Type<DB>,
    for<'r> i32: Decode<'r, DB> + Type<DB>,
    for<'r> bool: Decode<'r, DB> + Type<DB>,
    for<'r> Uuid: Decode<'r, DB> + Type<DB>,
    for<'r> Timestamp: Decode<'r, DB> + Type<DB>,
    &'static str: ColumnIndex<DB::Row>,
{
    // Unchecked, as MySQL holds the key as bytes, which sqlx does not take for text by their type.
    let text = |column| row.try_get_unchecked::<String, _>(column);
    let span = |column| -> Result<Duration, sqlx::Error> {
        Ok(Duration::from_millis(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0)))
    };
    let part = |error: crate::key::KeyError| sqlx::Error::Decode(Box::new(error));
    let record = Record {
        key: RecordKey::new(
            Scope::new(text("tenant_id")?, text("user_id")?).map_err(part)?,
            Route::stored(text("route")?),
            IdempotencyKey::stored(text("idempotency_key")?),
        ),
        request_hash: text("request_hash")?,
        request_fields: row.try_get("request_fields")?,
        status: status(&text("status")?)?,
        token: FencingToken { attempt: row.try_get("attempt")?, claim_id: row.try_get("claim_id")? },
        revision: row.try_get("revision")?,
        answer: match row.try_get::<Option<i32>, _>("response_code")? {
            None => None,
            Some(code) => Some(answer::read(
                code,
                row.try_get::<Option<String>, _>("response_headers")?.as_deref(),
                row.try_get("response_content_type")?,
                row.try_get("response_body")?,
            )?),
        },
        bindings: Bindings {
            task_id: row.try_get("task_id")?,
            outbox_event_id: row.try_get("outbox_event_id")?,
        },
        locked_until: row.try_get("locked_until")?,
        expires_at: row.try_get("expires_at")?,
        terms: Terms {
            mode: mode(&text("mode")?)?,
            on_lapse: on_lapse(&text("on_lapse")?)?,
            retry_failed: row.try_get("retry_failed")?,
            ttl: span("ttl_ms")?,
            lease: span("lease_ms")?,
            wait: span("wait_ms")?,
            max_run: span("max_run_ms")?,
        },
        outcome_unknown: row.try_get("outcome_unknown")?,
        released_at: row.try_get("released_at")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        completed_at: row.try_get("completed_at")?,
    };
    Ok(Reading { record, now: row.try_get("now")? })
}

fn status(word: &str) -> Result<Status, sqlx::Error> {
    [Status::Processing, Status::Succeeded, Status::Failed, Status::Expired]
        .into_iter()
        .find(|status| status.as_str() == word)
        .ok_or_else(|| unreadable("status", word))
}

fn mode(word: &str) -> Result<Mode, sqlx::Error> {
    [Mode::Transactional, Mode::External]
        .into_iter()
        .find(|mode| mode.as_str() == word)
        .ok_or_else(|| unreadable("mode", word))
}

fn on_lapse(word: &str) -> Result<OnLapse, sqlx::Error> {
    [OnLapse::Rerun, OnLapse::Recover, OnLapse::Refuse]
        .into_iter()
        .find(|on_lapse| on_lapse.as_str() == word)
        .ok_or_else(|| unreadable("on_lapse", word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_newer_version_is_an_error_and_not_a_guess() {
        assert!(status("paused").is_err());
        assert!(mode("hybrid").is_err());
        assert!(on_lapse("ask").is_err());
    }
}
