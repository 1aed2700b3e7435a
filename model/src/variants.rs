//! Ways to build it wrong. Each is a mistake that somebody made somewhere, and each must be caught.

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Nothing: the code as it is.
    Sound,
    /// `complete` is fenced neither by the token nor by the status.
    NoFencing,
    /// A SELECT decides whether to insert, and the insert overwrites what came in between.
    SelectFirst,
    /// The fingerprint is compared once the record is ours, not on every path that meets a row.
    LateFingerprint,
    /// A claim dropped while its external body ran is released like one whose body never began.
    ReleasesDropped,
    /// A claim taken over in doubt and dropped before its body began is released, so that nobody asks again.
    ReleasesUnasked,
    /// A commit whose reply was lost is read back by a read that does not wait for its transaction.
    PlainReadBack,
    /// The key for the provider is derived from the attempt.
    KeyPerAttempt,
    /// A take-over does not look at the revision of the row that was judged.
    TakesOverUnseen,
    /// A take-over does not look at when the life that was judged began: after a purge, a claim that is sent again
    /// begins another with the same token and revision.
    TakesOverReborn,
    /// A lapsed lease counts as in progress.
    NeverReclaims,
}

impl Variant {
    pub(crate) fn fences(self) -> bool {
        self != Self::NoFencing
    }
}
