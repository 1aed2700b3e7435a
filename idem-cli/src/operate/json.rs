//! The shapes of the JSON, as docs/cli.md describes them.

use data_encoding::BASE64;
use idem_runtime::{Answer, AnswerBody, Reading, Record};
use serde::Serialize;

use super::span::{millis, millis_to, rfc3339};
use super::{Error, database::Job};

/// Grows when a member goes away or changes its meaning; new members do not count.
const VERSION: u32 = 1;

/// What stands around the members of every command.
#[derive(Serialize)]
struct Envelope<'a, T> {
    version: u32,
    command: &'a str,
    #[serde(flatten)]
    body: T,
}

/// The answer of `command` as one JSON document.
pub(super) fn document<T: Serialize>(command: &str, body: T) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(&Envelope { version: VERSION, command, body });
    text.map(|text| text + "\n").map_err(|error| Error::Usage(format!("no JSON: {error}")))
}

/// The same in one line, for an answer that has many of them.
pub(super) fn line<T: Serialize>(command: &str, body: T) -> Result<String, Error> {
    let text = serde_json::to_string(&Envelope { version: VERSION, command, body });
    text.map(|text| text + "\n").map_err(|error| Error::Usage(format!("no JSON: {error}")))
}

/// Whether `job` was asked for JSON.
pub(super) fn wanted(job: &impl Job) -> bool {
    job.target().json
}

/// A record without its stored answer.
#[derive(Serialize)]
pub(super) struct RecordJson<'a> {
    tenant_id: &'a str,
    user_id: &'a str,
    route: &'a str,
    idempotency_key: &'a str,
    request_hash: &'a str,
    status: &'a str,
    attempt: i64,
    revision: i64,
    outcome_unknown: bool,
    response_code: Option<u16>,
    task_id: Option<&'a str>,
    outbox_event_id: Option<&'a str>,
    mode: &'a str,
    on_lapse: &'a str,
    retry_failed: bool,
    ttl_ms: u64,
    lease_ms: u64,
    wait_ms: u64,
    max_run_ms: u64,
    created_at: String,
    updated_at: String,
    completed_at: Option<String>,
    released_at: Option<String>,
    locked_until: Option<String>,
    expires_at: String,
    age_ms: i64,
    unchanged_ms: i64,
    lease_left_ms: Option<i64>,
    life_left_ms: i64,
}

impl<'a> From<&'a Reading> for RecordJson<'a> {
    fn from(reading: &'a Reading) -> Self {
        let Reading { record, now } = reading;
        let Record { key, terms, bindings, token, .. } = record;
        Self {
            tenant_id: key.scope().tenant(),
            user_id: key.scope().user(),
            route: key.route().as_str(),
            idempotency_key: key.key().as_str(),
            request_hash: &record.request_hash,
            status: record.status.as_str(),
            attempt: token.attempt,
            revision: record.revision,
            outcome_unknown: record.outcome_unknown,
            response_code: record.answer.as_ref().map(|answer| answer.code),
            task_id: bindings.task_id.as_deref(),
            outbox_event_id: bindings.outbox_event_id.as_deref(),
            mode: terms.mode.as_str(),
            on_lapse: terms.on_lapse.as_str(),
            retry_failed: terms.retry_failed,
            ttl_ms: millis(terms.ttl),
            lease_ms: millis(terms.lease),
            wait_ms: millis(terms.wait),
            max_run_ms: millis(terms.max_run),
            created_at: rfc3339(record.created_at),
            updated_at: rfc3339(record.updated_at),
            completed_at: record.completed_at.map(rfc3339),
            released_at: record.released_at.map(rfc3339),
            locked_until: record.locked_until.map(rfc3339),
            expires_at: rfc3339(record.expires_at),
            age_ms: millis_to(record.created_at, *now),
            unchanged_ms: millis_to(record.updated_at, *now),
            lease_left_ms: record.locked_until.map(|end| millis_to(*now, end)),
            life_left_ms: millis_to(*now, record.expires_at),
        }
    }
}

/// A stored answer with its body.
#[derive(Serialize)]
pub(super) struct AnswerJson<'a> {
    response_code: u16,
    response_content_type: Option<&'a str>,
    /// The text, or base64 where it is none; null when it was over the storage limit, and when it is sealed.
    response_body: Option<String>,
    response_body_encoding: Option<&'a str>,
    /// The id of the key without which nobody can read the answer.
    response_sealed_with: Option<&'a str>,
    task_id: Option<&'a str>,
    outbox_event_id: Option<&'a str>,
}

impl<'a> AnswerJson<'a> {
    pub(super) fn new(record: &'a Record, answer: &'a Answer) -> Self {
        let (body, encoding) = match &answer.body {
            AnswerBody::Omitted | AnswerBody::Sealed(_) => (None, None),
            AnswerBody::Kept(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => (Some(text.to_owned()), Some("utf-8")),
                Err(_) => (Some(BASE64.encode(bytes)), Some("base64")),
            },
        };
        let sealed_with = match &answer.body {
            AnswerBody::Sealed(sealed) => Some(sealed.key_id()),
            AnswerBody::Kept(_) | AnswerBody::Omitted => None,
        };
        Self {
            response_code: answer.code,
            response_content_type: answer.content_type.as_deref(),
            response_body: body,
            response_body_encoding: encoding,
            response_sealed_with: sealed_with,
            task_id: record.bindings.task_id.as_deref(),
            outbox_event_id: record.bindings.outbox_event_id.as_deref(),
        }
    }
}
