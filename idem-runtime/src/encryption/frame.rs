//! An answer as one run of bytes, so that headers, content type and body are sealed as a whole.

use serde::{Deserialize, Serialize};

use crate::record::{Answer, AnswerBody};

#[derive(Serialize, Deserialize)]
struct Head {
    content_type: Option<String>,
    headers: Vec<(String, Vec<u8>)>,
    has_body: bool,
}

/// The length of the head, the head as JSON, the body.
pub(super) fn write(answer: &Answer) -> Vec<u8> {
    let body = match &answer.body {
        AnswerBody::Kept(bytes) => Some(bytes.as_slice()),
        AnswerBody::Omitted | AnswerBody::Sealed(_) => None,
    };
    let head = Head {
        content_type: answer.content_type.clone(),
        headers: answer.headers.clone(),
        has_body: body.is_some(),
    };
    let head = serde_json::to_vec(&head).unwrap_or_else(|_| unreachable!("texts and numbers are JSON"));
    let length = u32::try_from(head.len()).unwrap_or_else(|_| unreachable!("headers are far below 4 GiB"));
    [&length.to_be_bytes(), head.as_slice(), body.unwrap_or_default()].concat()
}

/// The answer of status `code` in `bytes`; `None` when `write` did not make them.
pub(super) fn read(code: u16, bytes: &[u8]) -> Option<Answer> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (head, body) = rest.split_at_checked(length)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let body = if head.has_body { AnswerBody::Kept(body.to_vec()) } else { AnswerBody::Omitted };
    Some(Answer { code, headers: head.headers, content_type: head.content_type, body })
}
