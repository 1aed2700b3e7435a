//! What a ciphertext belongs to; at any other place it does not open.

use crate::key::hex_digest;
use crate::record::{Record, Status};

/// The associated data of one ciphertext.
#[derive(Debug)]
#[cfg_attr(not(feature = "encryption"), expect(dead_code, reason = "only keys read it"))]
pub(crate) struct Binding(String);

impl Binding {
    /// The answer of the attempt that owns `record`, with the status under which it is kept.
    pub(crate) fn answer(record: &Record, status: Status, code: u16) -> Self {
        let [tenant, user, route, key] = record.key.columns();
        let (attempt, claim) = (record.token.attempt.to_string(), record.token.claim_id.to_string());
        let (status, code) = (status.as_str(), code.to_string());
        Self::of("idem sealed answer v1", &[tenant, user, route, key, &attempt, &claim, status, &code])
    }

    /// The finished steps of this life of `record`, which outlive an attempt.
    pub(crate) fn steps(record: &Record) -> Self {
        let [tenant, user, route, key] = record.key.columns();
        let life = record.created_at.as_micros().to_string();
        Self::of("idem sealed steps v1", &[tenant, user, route, key, &record.request_hash, &life])
    }

    /// A part of the outbox event that `identity` names.
    pub(crate) fn event(part: &str, identity: &[&str]) -> Self {
        Self::of("idem sealed event v1", &[&[part], identity].concat())
    }

    /// Each part has its length before it, so that no two places run together.
    fn of(purpose: &str, parts: &[&str]) -> Self {
        Self(hex_digest(purpose, parts))
    }

    #[cfg(feature = "encryption")]
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
