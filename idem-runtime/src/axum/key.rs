//! The `Idempotency-Key` header: bare, or as a string of RFC 9651; both forms of one value are one key.

use axum::http::HeaderMap;

use crate::error::Error;
use crate::key::IdempotencyKey;

pub(super) const NAME: &str = "idempotency-key";

/// The key of a request, `None` when it has no such header.
///
/// A malformed header is an error on every route: ignoring it would run the request unprotected.
pub(super) fn from_headers(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Error> {
    let mut values = headers.get_all(NAME).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(malformed("it is there more than once"));
    }
    let text = value.to_str().map_err(|_| malformed("only visible ASCII characters are allowed"))?;
    let text = text.trim_matches(' ');
    let key = if text.starts_with('"') { string(text)? } else { bare(text)? };
    Ok(Some(IdempotencyKey::new(key)?))
}

fn malformed(reason: &'static str) -> Error {
    Error::KeyMalformed { reason }
}

/// A bare key has nothing that a proxy could add when it joins two headers.
fn bare(text: &str) -> Result<String, Error> {
    if text.contains(['"', '\\', ',', ';']) {
        return Err(malformed("a bare key has no quote, backslash, comma or semicolon: put it in quotes"));
    }
    Ok(text.to_owned())
}

/// A string of RFC 9651 with whatever well-formed parameters follow it; what they say is ignored.
fn string(field: &str) -> Result<String, Error> {
    match sfv::Parser::new(field).parse::<sfv::Item>() {
        Ok(sfv::Item { bare_item: sfv::BareItem::String(key), .. }) => Ok(key.into()),
        _ => Err(malformed("it starts with a quote but is not one quoted string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&[u8]]) -> Result<Option<String>, Error> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(NAME, axum::http::HeaderValue::from_bytes(value).unwrap());
        }
        from_headers(&headers).map(|key| key.map(|key| key.as_str().to_owned()))
    }

    #[test]
    fn bare_and_quoted_forms_are_one_key() {
        for value in ["abc-1", "\"abc-1\"", " abc-1 ", "\"abc-1\";a=1; b; c=\"x;y\";d=?1"] {
            assert_eq!(read(&[value.as_bytes()]).unwrap().as_deref(), Some("abc-1"), "{value}");
        }
        assert_eq!(read(&[br#""a\"b\\c""#]).unwrap().as_deref(), Some(r#"a"b\c"#));
        assert_eq!(read(&[br#""a,b;c""#]).unwrap().as_deref(), Some("a,b;c"));
        assert_eq!(read(&[]).unwrap(), None);
    }

    #[test]
    fn a_malformed_key_is_refused_and_never_ignored() {
        let values: [&[u8]; 18] = [
            b"",
            b"\"\"",
            b"\"a",
            b"a\"b",
            b"\"a\"b",
            b"\"a\\n\"",
            b"a;b=1",
            b"a,b",
            b"\"a\", \"b\"",
            b"\"a\";",
            b"\"a\";1=2",
            b"\"a\";b=",
            b"a b",
            b"\"a b\"",
            b"a\tb",
            b"\xc3\xa9",
            b"\"\xe9\"",
            b"\"a\";B=1",
        ];
        for value in values {
            assert!(read(&[value]).is_err(), "{:?}", String::from_utf8_lossy(value));
        }
        assert!(read(&[b"a", b"a"]).is_err(), "two headers");
        assert!(read(&["k".repeat(256).as_bytes()]).is_err());
        assert!(read(&[format!("\"{}\"", "k".repeat(255)).as_bytes()]).is_ok());
    }
}
