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
    let wanted = match lines.as_slice() {
        [] => Wanted::Nothing,
        [line] => expected(line).map_or(Wanted::Refusal, Wanted::Key),
        _ => Wanted::Refusal,
    };
    let got = match read {
        Ok(None) => Wanted::Nothing,
        Ok(Some(key)) => Wanted::Key(key.as_str().to_owned()),
        Err(error) => {
            assert_eq!(error.code(), "IDEMPOTENCY_KEY_INVALID", "{lines:?}");
            Wanted::Refusal
        }
    };
    assert_eq!(got, wanted, "{lines:?}");
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Nothing,
    Key(String),
    Refusal,
}

/// What the RFC leaves to the reader: how strictly a byte sequence in a parameter is padded.
fn has_free_choice(lines: &[HeaderValue]) -> bool {
    lines.iter().any(|line| line.as_bytes().windows(2).any(|pair| pair == b"=:"))
}

/// The key in a line, or `None` when it has to be refused.
fn expected(line: &HeaderValue) -> Option<String> {
    let field = line.as_bytes().trim_ascii();
    let has_tab = line.as_bytes().contains(&b'\t');
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
    (fits && !has_tab).then_some(key)
}
