//! HMAC-SHA-256 over the time of delivery and the raw body: `t=1767225600,v1=<64 hex digits>`.

use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How far the sender's clock may be from ours. What is older was recorded by somebody, and is played again.
const TOLERANCE: Duration = Duration::from_mins(5);

/// What the provider and this service know, and nobody else.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The header of a delivery at this time.
    pub(crate) fn sign(&self, at: SystemTime, body: &[u8]) -> String {
        let time = unix(at).to_string();
        let code = HEXLOWER.encode(&self.mac(&time, body).finalize().into_bytes());
        format!("t={time},v1={code}")
    }

    /// Whether `header` signs this body, now or a little before or after.
    pub(crate) fn accepts(&self, header: &str, body: &[u8], now: SystemTime) -> bool {
        let Some((time, code)) = header.strip_prefix("t=").and_then(|rest| rest.split_once(",v1=")) else {
            return false;
        };
        let (Ok(seconds), Ok(code)) = (time.parse::<u64>(), HEXLOWER.decode(code.as_bytes())) else {
            return false;
        };
        // Compares in constant time; the text of the time is signed as it came.
        self.mac(time, body).verify_slice(&code).is_ok() && unix(now).abs_diff(seconds) <= TOLERANCE.as_secs()
    }

    fn mac(&self, time: &str, body: &[u8]) -> Hmac<Sha256> {
        let keyed = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("HMAC takes keys of any length");
        keyed.chain_update(time).chain_update(".").chain_update(body)
    }
}

fn unix(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"evt-1"}"#;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_signature_is_that_of_openssl() {
        // printf '1000.{"id":"evt-1"}' | openssl dgst -sha256 -hmac secret
        let code = "42d1cad1d2273db5ecedc9e42cec1bd51b368a6820905af32155ce7a08855370";
        assert_eq!(Secret::new("secret").sign(at(1000), BODY), format!("t=1000,v1={code}"));
    }

    #[test]
    fn a_delivery_is_accepted_within_five_minutes_either_way_and_not_beyond() {
        let secret = Secret::new("secret");
        let header = secret.sign(at(1000), BODY);
        for (now, accepted) in [(1000, true), (1300, true), (1301, false), (700, true), (699, false)] {
            assert_eq!(secret.accepts(&header, BODY, at(now)), accepted, "{now}");
        }
    }

    #[test]
    fn nothing_that_was_signed_can_be_changed() {
        let (secret, other) = (Secret::new("secret"), Secret::new("Secret"));
        let header = secret.sign(at(1000), BODY);
        assert!(!secret.accepts(&header, br#"{"id":"evt-2"}"#, at(1000)), "another body");
        assert!(!secret.accepts(&header.replace("t=1000", "t=1001"), BODY, at(1000)), "another time");
        assert!(!secret.accepts(&other.sign(at(1000), BODY), BODY, at(1000)), "another secret");
        let (head, _) = header.split_at(header.len() - 2);
        for malformed in ["", "v1=", "t=1000", "t=x,v1=00", "t=1000,v1=", "t=1000,v1=zz", head] {
            assert!(!secret.accepts(malformed, BODY, at(1000)), "{malformed:?}");
        }
    }
}
