//! From a response to the answer that is stored, and back, byte for byte.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body::Body as _;
use http_body_util::BodyExt;

use crate::record::{Answer, AnswerBody, Record, Timestamp};

/// Marks a replay, and nothing else.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Marks a replay whose body was over the storage limit.
const BODY_OMITTED: HeaderName = HeaderName::from_static("idempotent-replay-body");
/// Says that a route did not honour the key of a request.
pub(super) const STATUS: HeaderName = HeaderName::from_static("idempotency-status");
/// Until when a retry gets this answer.
const EXPIRES: HeaderName = HeaderName::from_static("idempotency-key-expires");

/// What is stored of the headers unless a route names more; describes the answer, not the connection.
pub(super) const KEPT: [HeaderName; 9] = [
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LINK,
    header::LOCATION,
];

/// An answer that cannot be kept.
pub(super) struct NotKept {
    /// Why not.
    pub(super) reason: String,
    /// The response, unless its body is spoilt.
    pub(super) response: Option<Response>,
}

/// The response with its body read, and the answer that is kept of it.
///
/// Marks that only a replay carries are taken off, also when the handler passed them on from elsewhere, and so
/// are trailers, which nothing keeps.
pub(super) async fn keep(
    response: Response,
    also: &[&'static str],
    fits: impl Fn(&Answer) -> bool,
) -> Result<(Response, Answer), NotKept> {
    let (mut parts, body) = response.into_parts();
    for ours in [REPLAYED, BODY_OMITTED, EXPIRES, STATUS, header::TRAILER] {
        parts.headers.remove(ours);
    }
    if body.size_hint().upper().is_none() {
        return Err(NotKept {
            reason: "its body is a stream of unknown length: collect it before it is returned".to_owned(),
            response: Some(Response::from_parts(parts, body)),
        });
    }
    let bytes = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => {
            let reason = format!("its body failed half-way: {error}");
            return Err(NotKept { reason, response: None });
        }
    };
    let kept = |name: &HeaderName| {
        KEPT.contains(name) || also.iter().any(|also| name.as_str().eq_ignore_ascii_case(also))
    };
    let headers = parts
        .headers
        .iter()
        .filter(|(name, _)| kept(name))
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    let mut answer = Answer {
        code: parts.status.as_u16(),
        headers,
        content_type: content_type.map(|value| value.as_bytes().iter().copied().map(char::from).collect()),
        body: AnswerBody::Kept(bytes.to_vec()),
    };
    if !fits(&answer) {
        answer.body = AnswerBody::Omitted;
    }
    Ok((Response::from_parts(parts, Body::from(bytes)), answer))
}

/// The recorded answer as a response.
pub(super) fn replay(record: Record) -> Option<Response> {
    let answer = record.answer?;
    let mut response = Response::default();
    *response.status_mut() = StatusCode::from_u16(answer.code).ok()?;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        headers.append(HeaderName::try_from(name).ok()?, HeaderValue::from_bytes(&value).ok()?);
    }
    if let Some(content_type) = answer.content_type {
        let bytes: Option<Vec<u8>> = content_type.chars().map(|c| u8::try_from(c).ok()).collect();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_bytes(&bytes?).ok()?);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    set_expiry(headers, record.expires_at);
    match answer.body {
        AnswerBody::Kept(bytes) => *response.body_mut() = Body::from(bytes),
        // What is sealed was opened before it comes here.
        AnswerBody::Sealed(_) => return None,
        AnswerBody::Omitted => {
            headers.insert(BODY_OMITTED, HeaderValue::from_static("omitted"));
        }
    }
    Some(response)
}

/// Says until when a retry gets this answer, as RFC 3339 in whole seconds.
pub(super) fn set_expiry(headers: &mut HeaderMap, expires_at: Timestamp) {
    let seconds = expires_at.as_micros().div_euclid(1_000_000);
    let moment = time::OffsetDateTime::from_unix_timestamp(seconds).ok();
    let text = moment.and_then(|moment| moment.format(&time::format_description::well_known::Rfc3339).ok());
    if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(EXPIRES, value);
    }
}
