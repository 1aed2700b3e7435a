//! The key of a request, against the grammar of RFC 9651 written out once more.

use axum::http::{HeaderMap, HeaderValue};

use super::structured::string_item;
use crate::axum::key::{NAME, from_headers};

/// Each line of the input is one `Idempotency-Key` header.
///
/// # Panics
///
/// When the key is another than the grammar gives.
pub fn key(input: &[u8]) {
    let lines = input.split(|byte| *byte == b'\n').map(HeaderValue::from_bytes);
    let lines: Vec<HeaderValue> = lines.filter_map(Result::ok).collect();
    let mut headers = HeaderMap::new();
    for line in &lines {
        headers.append(NAME, line.clone());
    }
    let read = from_headers(&headers);
    if has_free_choice(&lines) {
        return;
    }
    let read = read.map(|key| key.map(|key| key.as_str().to_owned()));
    match (expected(&lines), read) {
        (Some(expected), Ok(read)) => assert_eq!(read, expected, "{lines:?}"),
        (None, Err(error)) => assert_eq!(error.code(), "IDEMPOTENCY_KEY_INVALID", "{lines:?}"),
        (expected, read) => panic!("{lines:?}: expected {expected:?}, got {read:?}"),
    }
}

/// What the RFC leaves to the reader: how strictly a byte sequence in a parameter is padded.
fn has_free_choice(lines: &[HeaderValue]) -> bool {
    lines.iter().any(|line| line.as_bytes().windows(2).any(|pair| pair == b"=:"))
}

/// The key, `Some(None)` without a header, `None` when the request has to be refused.
fn expected(lines: &[HeaderValue]) -> Option<Option<String>> {
    let field = match lines {
        [] => return Some(None),
        [line] => line.as_bytes().trim_ascii(),
        _ => return None,
    };
    let has_tab = lines[0].as_bytes().contains(&b'\t');
    let key = if field.starts_with(b"\"") {
        string_item(field)?
    } else {
        let forbidden = |byte: &u8| !byte.is_ascii_graphic() || b"\"\\,;".contains(byte);
        if field.iter().any(forbidden) {
            return None;
        }
        String::from_utf8(field.to_vec()).ok()?
    };
    let fits = (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    (fits && !has_tab).then_some(Some(key))
}
