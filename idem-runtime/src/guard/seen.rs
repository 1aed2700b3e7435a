//! Which keys this process has met lately: a hint that says which statement to send first, never an answer.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::RecordKey;

/// How many keys are remembered, in a fixed 64 KiB; a newer one takes the place of an older.
const SLOTS: usize = 8192;

/// Keys met lately. A key that is forgotten, or taken for another, costs one statement.
pub(super) struct Seen {
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Seen {
    fn default() -> Self {
        Self { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::new() }
    }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl Seen {
    /// Remembers `key`.
    pub(super) fn remember(&self, key: &RecordKey) {
        let (slot, hash) = self.slot(key);
        slot.store(hash, Ordering::Relaxed);
    }

    /// Whether a request with `key` is likely to find a record.
    pub(super) fn has(&self, key: &RecordKey) -> bool {
        let (slot, hash) = self.slot(key);
        slot.load(Ordering::Relaxed) == hash
    }

    fn slot(&self, key: &RecordKey) -> (&AtomicU64, u64) {
        let hash = self.hasher.hash_one(key.columns());
        let index = usize::try_from(hash % SLOTS as u64).unwrap_or(0);
        (&self.slots[index], hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{IdempotencyKey, Route, Scope};

    fn key(key: &str) -> RecordKey {
        let scope = Scope::new("acme", "user-7").unwrap();
        RecordKey::new(scope, Route::new("orders.create").unwrap(), IdempotencyKey::new(key).unwrap())
    }

    #[test]
    fn a_key_is_seen_once_it_was_remembered_and_others_are_not() {
        let seen = Seen::default();
        assert!(!seen.has(&key("a")));
        seen.remember(&key("a"));
        assert!(seen.has(&key("a")));
        assert!(!seen.has(&key("b")));
    }
}
