//! Fuzz target: fingerprints of JSON against a second implementation, written from the documentation alone.
//!
//! Compiled for tests and for `cargo fuzz` alone.

mod canonical;
mod naive;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::{Fingerprint, HttpRequest};
use naive::Value;

/// The input is one JSON text, or several with a zero byte between them, which no JSON text has.
///
/// # Panics
///
/// When the fingerprint differs from that of the second implementation, when the two do not accept the same
/// texts, or when two texts of one meaning differ, or two of different meaning do not.
pub fn fingerprint(input: &[u8]) {
    let mut seen: Vec<(Value, Fingerprint)> = Vec::new();
    for text in input.split(|byte| *byte == 0) {
        let shown = String::from_utf8_lossy(text);
        let (ours, naive) = (Fingerprint::json(text), naive::read(text));
        assert_eq!(ours.is_ok(), naive.is_some(), "{shown}: {ours:?} and {naive:?}");
        let (Ok(ours), Some(naive)) = (ours, naive) else { continue };
        let canonical = canonical::write(&naive, false);
        assert_eq!(hex(&ours), digest(&[b"json", canonical.as_bytes()]), "{shown} is {canonical}");
        of_a_request(text, &naive);
        for (value, other) in &seen {
            let same = canonical::without_nulls(value) == canonical::without_nulls(&naive);
            assert_eq!(*other == ours, same, "{shown}: {value:?}");
        }
        seen.push((naive, ours));
    }
}

/// The same as the body of a request, where a merge patch keeps its nulls.
fn of_a_request(text: &[u8], value: &Value) {
    for (content_type, nulls) in [("application/json", false), ("application/merge-patch+json", true)] {
        let request = HttpRequest::new("PATCH", "/a").query(Some("b")).content_type(Some(content_type));
        let ours = request.body(text).fingerprint().expect("what is JSON is JSON in a request");
        let canonical = canonical::write(value, nulls);
        let parts: [&[u8]; 7] =
            [b"http", b"PATCH", b"/a", b"b", b"json", content_type.as_bytes(), canonical.as_bytes()];
        assert_eq!(hex(&ours), digest(&parts), "{content_type}: {canonical}");
    }
}

fn hex(fingerprint: &Fingerprint) -> String {
    HEXLOWER.encode(&fingerprint.digest)
}

fn digest(parts: &[&[u8]]) -> String {
    let mut preimage = Vec::new();
    for part in std::iter::once(&b"idem-fingerprint-v1"[..]).chain(parts.iter().copied()) {
        preimage.extend((part.len() as u64).to_be_bytes());
        preimage.extend(part);
    }
    HEXLOWER.encode(&Sha256::digest(preimage))
}

#[cfg(test)]
#[path = "../../../fuzz/bounded.rs"]
pub(crate) mod bounded;

#[cfg(test)]
mod tests {
    #[test]
    fn a_fingerprint_is_what_a_second_implementation_makes_of_the_documentation() {
        super::bounded::run("fingerprint", super::fingerprint);
    }
}
