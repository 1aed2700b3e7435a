//! An answer and the four columns that hold it.

use serde::{Deserialize, Serialize};

use super::unreadable;
use crate::record::{Answer, AnswerBody, Sealed};

/// An answer as the columns that hold it.
pub(in crate::store) struct AnswerColumns<'a> {
    pub(in crate::store) code: Option<i32>,
    pub(in crate::store) headers: Option<String>,
    pub(in crate::store) content_type: Option<&'a str>,
    pub(in crate::store) body: Option<&'a [u8]>,
}

impl<'a> AnswerColumns<'a> {
    pub(in crate::store) fn of(answer: Option<&'a Answer>) -> Self {
        let Some(answer) = answer else {
            return Self { code: None, headers: None, content_type: None, body: None };
        };
        let (headers, body) = match &answer.body {
            AnswerBody::Kept(bytes) => (headers_to(&answer.headers), Some(bytes.as_slice())),
            AnswerBody::Omitted => (headers_to(&answer.headers), None),
            AnswerBody::Sealed(sealed) => (Some(Mark::of(sealed)), Some(sealed.bytes())),
        };
        Self {
            code: Some(i32::from(answer.code)),
            headers,
            content_type: answer.content_type.as_deref(),
            body,
        }
    }
}

/// The answer in these columns.
pub(super) fn read(
    code: i32,
    headers: Option<&str>,
    content_type: Option<String>,
    body: Option<Vec<u8>>,
) -> Result<Answer, sqlx::Error> {
    let code = u16::try_from(code).map_err(|_| unreadable("response_code", &code.to_string()))?;
    if let Some(key_id) = headers.and_then(Mark::read).transpose()? {
        let body = AnswerBody::Sealed(Sealed::new(key_id, body.unwrap_or_default()));
        return Ok(Answer { code, headers: Vec::new(), content_type, body });
    }
    let body = body.map_or(AnswerBody::Omitted, AnswerBody::Kept);
    Ok(Answer { code, headers: headers_from(headers)?, content_type, body })
}

/// Stands in the place of the headers where the body is sealed. It is an object and plain headers are a list, so no
/// plain answer is taken for a sealed one, and an older version of this program refuses it.
#[derive(Serialize, Deserialize)]
struct Mark {
    sealed: u32,
    key: String,
}

/// How sealed bytes are laid out: the nonce, then the ciphertext of `XChaCha20-Poly1305` with its tag.
const LAYOUT: u32 = 1;

impl Mark {
    fn of(sealed: &Sealed) -> String {
        let mark = Self { sealed: LAYOUT, key: sealed.key_id().to_owned() };
        serde_json::to_string(&mark).unwrap_or_else(|_| unreachable!("a number and a text are JSON"))
    }

    /// The id of the key; `None` for plain headers.
    fn read(headers: &str) -> Option<Result<String, sqlx::Error>> {
        if !headers.starts_with('{') {
            return None;
        }
        Some(match serde_json::from_str(headers) {
            Ok(Self { sealed: LAYOUT, key }) => Ok(key),
            _ => Err(alien()),
        })
    }
}
/// Headers that no version of this program wrote; the error does not show them, as it is logged.
fn alien() -> sqlx::Error {
    unreadable("response_headers", "another layout")
}

/// Headers as JSON pairs; each byte of a value is one character, so that no value is mangled.
fn headers_to(headers: &[(String, Vec<u8>)]) -> Option<String> {
    if headers.is_empty() {
        return None;
    }
    let pair = |(name, value): &(String, Vec<u8>)| {
        let value: String = value.iter().copied().map(char::from).collect();
        serde_json::Value::from(vec![name.as_str(), value.as_str()])
    };
    Some(serde_json::Value::Array(headers.iter().map(pair).collect()).to_string())
}

fn headers_from(text: Option<&str>) -> Result<Vec<(String, Vec<u8>)>, sqlx::Error> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let pairs: Vec<(String, String)> = serde_json::from_str(text).map_err(|_| alien())?;
    pairs
        .into_iter()
        .map(|(name, value)| {
            let bytes: Result<Vec<u8>, _> = value.chars().map(u8::try_from).collect();
            Ok((name, bytes.map_err(|_| alien())?))
        })
        .collect()
}

/// Headers as they come back from a row.
#[cfg(all(any(test, fuzzing), feature = "axum", feature = "sqlite"))]
pub(crate) fn headers_stored_and_read(headers: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    headers_from(headers_to(headers).as_deref()).expect("what was written can be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_header_value_survives_storage_and_repeated_headers_keep_their_order() {
        let all: Vec<u8> = (0..=255).collect();
        let headers = vec![
            ("link".to_owned(), b"<a>, <b>".to_vec()),
            ("x-bytes".to_owned(), all),
            ("link".to_owned(), b"<c>".to_vec()),
        ];
        assert_eq!(headers_from(headers_to(&headers).as_deref()).unwrap(), headers);
    }

    #[test]
    fn a_sealed_answer_survives_storage_and_a_newer_layout_is_no_guess() {
        let body = AnswerBody::Sealed(Sealed::new("k1".to_owned(), vec![0, 255]));
        let answer = Answer { code: 201, headers: Vec::new(), content_type: None, body };
        let columns = AnswerColumns::of(Some(&answer));
        let (headers, body) = (columns.headers.as_deref(), columns.body.map(<[u8]>::to_vec));
        assert_eq!(read(201, headers, None, body.clone()).unwrap(), answer);
        for newer in [r#"{"sealed":2,"key":"k1"}"#, r#"{"key":"k1"}"#, "{"] {
            assert!(read(201, Some(newer), None, body.clone()).is_err(), "{newer}");
        }
    }
}
