//! What has happened, as an observer outside sees it: the properties speak of this, the code never reads it.

use crate::row::Claim;
use crate::setup::Request;

/// How many lives a run can hold: each end of a life costs budget.
pub const LIVES: usize = 3;

/// One life of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Life {
    /// The request that began it.
    pub request: Option<Request>,
    /// The claims whose transaction committed its effects.
    pub committed: u16,
    /// The derived keys for which the provider has an effect.
    pub charged: u16,
    /// The claims whose success was given to a caller, first or replayed.
    pub told: u16,
    /// The claims whose failure was given to a caller.
    pub told_failed: u16,
    /// How many bodies began.
    pub begun: u8,
    /// How often an operator released it.
    pub released: u8,
    /// The outcome is marked as unknown, and no operator has decided since.
    pub undecided: bool,
}

/// All lives, and what must never have happened in any.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that must not have happened")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct History {
    /// In their order.
    pub lives: [Life; LIVES],
    /// How many have begun.
    pub count: u8,
    /// The claims whose callers were told that nothing of theirs was kept.
    pub not_kept: u16,
    /// A body ran, or an answer was given, for another request than the life's own.
    pub crossed: bool,
    /// A record was claimed after its outcome was marked unknown, without an operator's word.
    pub claimed_undecided: bool,
    /// A life ended under a lease, or while nobody knew its outcome.
    pub ended_open: bool,
    /// A provider was called again by an attempt that should have asked it first.
    pub called_unasked: bool,
}

impl History {
    pub(crate) fn life(&mut self, life: u8) -> &mut Life {
        &mut self.lives[usize::from(life)]
    }

    /// Begins the next life.
    pub(crate) fn begin(&mut self, request: Request) -> u8 {
        let life = self.count;
        self.count += 1;
        self.life(life).request = Some(request);
        life
    }

    /// A success of `answer` reaches a caller who sent `request`.
    pub(crate) fn tell(&mut self, life: u8, answer: Claim, request: Request) {
        self.life(life).told |= answer.bit();
        self.crossed |= self.life(life).request != Some(request);
    }

    /// A failure of `answer` reaches a caller who sent `request`.
    pub(crate) fn tell_failed(&mut self, life: u8, answer: Claim, request: Request) {
        self.life(life).told_failed |= answer.bit();
        self.crossed |= self.life(life).request != Some(request);
    }
}
