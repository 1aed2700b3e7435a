//! The end of an attempt: completion and COMMIT, the read after a lost reply, and changes outside.

use idem_runtime::{Decision, Status};

use crate::actions::{Commit, Delivery};
use crate::setup::{Request, Setup};
use crate::state::{At, Change, Doubt, Open, Own, State};
use crate::store;

use super::{answer, delivered, judge, own, yields};

/// The fenced UPDATE inside the body's transaction; it takes the lock of the row, or everything is rolled back.
pub(super) fn complete(setup: &Setup, state: &mut State, client: usize) {
    let Some(own) = own(state.clients[client].at) else { return };
    let done = store::owns(state.row, own.token) || !setup.variant.fences() && state.row.is_some();
    state.clients[client].at = if done {
        state.open = Some(Open { client, own, in_flight: false });
        At::Committing(own)
    } else {
        At::Superseded
    };
}

pub(super) fn commit(state: &mut State, client: usize, outcome: Commit) {
    let Some(own) = own(state.clients[client].at) else { return };
    if outcome != Commit::Replied {
        state.left.lost_replies -= 1;
    }
    state.clients[client].at = match outcome {
        Commit::Replied => {
            resolve(state, true);
            state.past.tell(own.life, own.token.claim, Request::of(client));
            At::Idle
        }
        Commit::Refused => {
            resolve(state, false);
            At::Ending { own, change: Change::GiveBack, lost: false }
        }
        Commit::Lost => {
            state.open = state.open.map(|open| Open { in_flight: true, ..open });
            At::ReadingBack(own)
        }
    };
}

/// The effects and the record commit together, or neither does.
pub(super) fn resolve(state: &mut State, commits: bool) {
    let (Some(open), true) = (state.open.take(), commits) else { return };
    if let Some(row) = &mut state.row {
        store::complete(row, open.own.token.claim);
        row.past_life = false;
        state.past.life(open.own.life).committed |= open.own.token.claim.bit();
    }
}

/// Enabled once no transaction holds the row, but in the variant whose read does not wait.
pub(super) fn read_back(state: &mut State, client: usize) {
    let Some(own) = own(state.clients[client].at) else { return };
    state.clients[client].at = match state.row {
        Some(row) if row.token == own.token && row.status == Status::Succeeded => {
            state.past.tell(own.life, own.token.claim, Request::of(client));
            At::Idle
        }
        // Of an expired record nobody can say any more what it was.
        Some(row) if row.token == own.token && row.status != Status::Expired => {
            At::Ending { own, change: Change::GiveBack, lost: false }
        }
        _ => At::Superseded,
    };
    // The caller learns it when the release is written, or could not be: from here on it is decided.
    if matches!(state.clients[client].at, At::Ending { .. }) {
        state.past.not_kept |= own.token.claim.bit();
    }
}

pub(super) fn write(setup: &Setup, state: &mut State, client: usize, change: Change, delivery: Delivery) {
    let at = state.clients[client].at;
    let Some(own) = own(at) else { return };
    let lost = spend(state, at, change);
    let touched =
        delivered(state, delivery) && store::change(&mut state.row, change, own.token, setup.variant);
    if touched && change == Change::MarkUnknown {
        state.past.life(own.life).undecided = true;
    }
    if delivery != Delivery::Replied {
        state.clients[client].at = At::Ending { own, change, lost: true };
        return;
    }
    let found = lost && !touched && settled_before(state, own, change);
    state.clients[client].at = if touched || found || !yields(change) { At::Idle } else { At::Superseded };
    if !touched && !found {
        return;
    }
    let (claim, request) = (own.token.claim, Request::of(client));
    match change {
        Change::Complete => state.past.tell(own.life, claim, request),
        Change::Fail => state.past.tell_failed(own.life, claim, request),
        _ => {}
    }
}

/// What ends the body costs budget, once; whether an earlier reply of this very change was lost.
fn spend(state: &mut State, at: At, change: Change) -> bool {
    match (at, change) {
        (At::Ending { lost, .. }, _) => return lost,
        (_, Change::Abandon | Change::EndLease) => state.left.cancels -= 1,
        (At::Running { doubt: Doubt::None, .. }, Change::Fail) => state.left.failures -= 1,
        _ => {}
    }
    false
}

/// A repeated change that touches no row may find its own work done.
fn settled_before(state: &State, own: Own, change: Change) -> bool {
    let wanted = match change {
        Change::Complete => Status::Succeeded,
        Change::Fail => Status::Failed,
        _ => return false,
    };
    state.row.is_some_and(|row| row.token == own.token && row.status == wanted)
}

/// It stops trying: the lease lapses, and the caller is told what is certain.
pub(super) fn give_up(state: &mut State, client: usize) {
    // The body of a claim that was not obtained has not run.
    if matches!(state.clients[client].at, At::Claiming { .. }) {
        state.past.not_kept |= state.claim(client).bit();
    }
    state.clients[client].at = At::Idle;
}

/// The caller of a lost claim gets what the record says, and does not claim.
pub(super) fn superseded(setup: &Setup, state: &mut State, client: usize) {
    state.clients[client].at = At::Idle;
    let Some(row) = state.row else { return };
    let decision = judge(setup, &row, Request::of(client));
    if !matches!(decision, Decision::Claim(_)) {
        answer(state, client, decision, &row);
    }
}
