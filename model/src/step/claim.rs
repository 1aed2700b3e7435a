//! From a request to a claim: the INSERT that also reads, and the take-over of the row that was judged.

use idem_runtime::{ClaimKind, Decision, Status};

use crate::actions::Delivery;
use crate::row::Row;
use crate::setup::{Request, Setup};
use crate::state::{At, Change, Own, State};
use crate::store;
use crate::variants::Variant;

use super::{answer, delivered, judge};

/// The first statement of a request gives it its `claim_id`; repetitions keep it.
fn send(state: &mut State, client: usize) {
    if state.clients[client].at == At::Idle {
        state.clients[client].sent += 1;
    }
}

pub(super) fn insert(setup: &Setup, state: &mut State, client: usize, delivery: Delivery) {
    send(state, client);
    let claim = state.claim(client);
    if delivered(state, delivery) {
        store::insert(&mut state.row, claim, &mut state.past);
    }
    match (delivery, state.row) {
        (Delivery::Replied, Some(row)) => meet(setup, state, client, &row),
        _ => state.clients[client].at = At::Claiming { lost: true },
    }
}

/// What the broken variant does first.
pub(super) fn select(setup: &Setup, state: &mut State, client: usize) {
    send(state, client);
    match state.row {
        Some(row) => meet(setup, state, client, &row),
        None => state.clients[client].at = At::SawNone,
    }
}

pub(super) fn overwrite(setup: &Setup, state: &mut State, client: usize) {
    let claim = state.claim(client);
    let over = state.row.is_none_or(|row| row.is_over(setup));
    store::overwrite(&mut state.row, over, claim, &mut state.past);
    if let Some(row) = state.row {
        meet(setup, state, client, &row);
    }
}

/// Our own row is ours, however late the reply; any other is judged.
fn meet(setup: &Setup, state: &mut State, client: usize, row: &Row) {
    if row.token.claim == state.claim(client) {
        let recovery = setup.recovers() && row.token.attempt > 1;
        return hold(setup, state, client, row, recovery);
    }
    state.clients[client].at = match judge(setup, row, Request::of(client)) {
        Decision::Claim(kind) => At::Judged {
            token: row.token,
            revision: row.revision,
            created_at: row.created_at(),
            anew: kind == ClaimKind::Anew,
            recovery: kind == ClaimKind::Recover,
        },
        decision => return answer(state, client, decision, row),
    };
}

pub(super) fn take_over(setup: &Setup, state: &mut State, client: usize, delivery: Delivery) {
    let At::Judged { token, revision, created_at, anew, recovery } = state.clients[client].at else { return };
    let claim = state.claim(client);
    let taken = delivered(state, delivery)
        && store::take_over(
            &mut state.row,
            (token, revision, created_at),
            anew,
            claim,
            &mut state.past,
            setup.variant,
        );
    match (delivery, state.row) {
        (Delivery::Replied, Some(row)) if taken => hold(setup, state, client, &row, recovery),
        (delivery, _) => {
            state.clients[client].at = At::Claiming { lost: delivery != Delivery::Replied };
        }
    }
}

fn hold(setup: &Setup, state: &mut State, client: usize, row: &Row, recovery: bool) {
    let Row { token, created, life, .. } = *row;
    let seen = state.past.lives[usize::from(life)];
    state.past.claimed_undecided |= seen.undecided;
    let in_doubt = setup.recovers() && seen.charged != 0 && seen.released == 0;
    let own = Own { token, created, recovery, life, in_doubt };
    let late = setup.variant == Variant::LateFingerprint && row.request != Request::of(client);
    state.clients[client].at = if late && row.status == Status::Processing {
        At::Ending { own, change: Change::Refuse, lost: false }
    } else {
        At::Held(own)
    };
}
