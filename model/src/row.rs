//! The row of the one key, as small as the checker needs it, and the real record that it stands for.

use std::time::Duration;

use idem_runtime::{Answer, FencingToken, Record, Status, Timestamp};
use uuid::Uuid;

use crate::setup::{Request, Setup};

/// One claim, and so one request: what `claim_id` is in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim(pub(crate) u8);

impl Claim {
    /// The claim of the request number `sent` of `client`; 1 is the first.
    #[must_use]
    pub fn of(client: usize, sent: u8) -> Self {
        Self(u8::try_from(client).unwrap_or(u8::MAX) * 4 + sent - 1)
    }

    /// This claim as a set of one.
    #[must_use]
    pub fn bit(self) -> u16 {
        1 << self.0
    }

    /// The request that claims.
    #[must_use]
    pub fn request(self) -> Request {
        Request::of(usize::from(self.0 / 4))
    }
}

/// The fencing token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token {
    /// Grows by one at each claim.
    pub attempt: u8,
    /// Whose claim it is.
    pub claim: Claim,
}

/// The row. Of its two moments only on which side of now they are matters to anything.
#[expect(clippy::struct_excessive_bools, reason = "they are the columns")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// Of the request that began this life.
    pub request: Request,
    /// Where it stands.
    pub status: Status,
    /// Whose it is.
    pub token: Token,
    /// Grows at every change.
    pub revision: u8,
    /// Whose answer is recorded.
    pub answer: Option<Claim>,
    /// Whether the lease goes on.
    pub leased: bool,
    /// Whether `expires_at` has passed; never under a lease.
    pub past_life: bool,
    /// Nobody knows what the attempt did outside.
    pub unknown: bool,
    /// An operator or the attempt itself gave the claim back.
    pub released: bool,
    /// The claim that began this life.
    pub created: Claim,
    /// The number of this life, counted from outside; the code under test never sees it.
    pub life: u8,
}

/// Now; it stands still, and the moments of the row move past it.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

impl Row {
    /// The record that a store would give back.
    #[must_use]
    pub fn record(&self, setup: &Setup) -> Record {
        // A moment that is exactly now has passed: the boundary is the case most easily got wrong.
        let moment = |ahead: bool| if ahead { NOW.plus(Duration::from_secs(1)) } else { NOW };
        let answer = |claim: Claim| Answer::json(200, vec![claim.0]);
        let claim_id = Uuid::from_u128(u128::from(self.token.claim.0) + 1);
        Record {
            request_hash: self.request.sealed().to_owned(),
            status: self.status,
            token: FencingToken { attempt: i64::from(self.token.attempt), claim_id },
            revision: i64::from(self.revision),
            answer: self.answer.map(answer),
            locked_until: (self.status == Status::Processing).then(|| moment(self.leased)),
            expires_at: moment(!self.past_life),
            outcome_unknown: self.unknown,
            released_at: self.released.then_some(NOW),
            created_at: self.created_at(),
            ..setup.template.clone()
        }
    }

    /// The moment at which this life began; no two lives have the same, even if one claim began both.
    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.life) * 64 + i64::from(self.created.0))
    }

    pub(crate) fn is_over(&self, setup: &Setup) -> bool {
        idem_runtime::is_over(&self.record(setup), NOW)
    }
}
