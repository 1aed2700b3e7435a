//! What each event does.

use idem_runtime::{Comparison, Decision, OnLapse, Status, decide};

use crate::actions::{Action, Delivery};
use crate::row::{NOW, Row};
use crate::setup::{Request, Setup};
use crate::state::{At, Change, Own, State};
use crate::store;
use crate::variants::Variant;

mod body;
mod claim;
mod settle;

/// The state after `action`.
pub(crate) fn step(setup: &Setup, state: &State, action: Action) -> State {
    let mut next = state.clone();
    match action {
        Action::Insert(client, delivery) => claim::insert(setup, &mut next, client, delivery),
        Action::Select(client) => claim::select(setup, &mut next, client),
        Action::Overwrite(client) => claim::overwrite(setup, &mut next, client),
        Action::TakeOver(client, delivery) => claim::take_over(setup, &mut next, client, delivery),
        Action::GiveUp(client) => settle::give_up(&mut next, client),
        Action::Begin(client) => body::begin(&mut next, client),
        Action::Ask(client, says) => body::ask(setup, &mut next, client, says),
        Action::Call(client) => body::call(setup, &mut next, client),
        Action::Renew(client) => body::renew(&mut next, client),
        Action::Complete(client) => settle::complete(setup, &mut next, client),
        Action::Commit(client, outcome) => settle::commit(&mut next, client, outcome),
        Action::ReadBack(client) => settle::read_back(&mut next, client),
        Action::Write(client, change, delivery) => settle::write(setup, &mut next, client, change, delivery),
        Action::Judge(client) => settle::superseded(setup, &mut next, client),
        Action::Crash(client) => crash(&mut next, client),
        Action::Resolve(commits) => settle::resolve(&mut next, commits),
        Action::LeaseLapses => with_row(&mut next, |row| row.leased = false),
        Action::LifeEnds => {
            next.left.ends -= 1;
            with_row(&mut next, |row| row.past_life = true);
        }
        Action::Expire => with_row(&mut next, store::expire),
        Action::Purge => next.row = None,
        Action::Release => release(&mut next),
    }
    let ends = matches!(action, Action::Expire | Action::Purge) || next.past.count > state.past.count;
    next.past.ended_open |= ends && state.row.is_some_and(|row| is_undecided(setup, &row));
    next
}

/// Whether somebody may be at work on the row, or have been without anybody knowing what came of it.
fn is_undecided(setup: &Setup, row: &Row) -> bool {
    let runs_again = setup.transactional() || setup.terms.on_lapse == OnLapse::Rerun;
    row.unknown || row.status == Status::Processing && (row.leased || !runs_again)
}

fn with_row(state: &mut State, change: impl FnOnce(&mut Row)) {
    if let Some(row) = &mut state.row {
        change(row);
    }
}

/// The process is gone; a COMMIT that it had sent goes on without it.
fn crash(state: &mut State, client: usize) {
    state.left.crashes -= 1;
    state.open = state.open.filter(|open| open.client != client || open.in_flight);
    state.clients[client].at = At::Idle;
}

fn release(state: &mut State) {
    state.left.releases -= 1;
    if let Some(row) = &mut state.row {
        store::release(row);
        let life = state.past.life(row.life);
        life.released += 1;
        life.undecided = false;
    }
}

/// What `request` gets from `row`: the code under test.
fn judge(setup: &Setup, row: &Row, request: Request) -> Decision {
    let record = row.record(setup);
    let late = setup.variant == Variant::LateFingerprint;
    let compare = |sealed: &str| {
        if late || sealed == request.sealed() { Comparison::Same } else { Comparison::Different }
    };
    let decision = decide(Some(&record), compare, &setup.terms, NOW);
    let lapsed = row.status == Status::Processing && matches!(decision, Decision::Claim(_));
    if setup.variant == Variant::NeverReclaims && lapsed && !row.past_life {
        return Decision::InProgress { until: NOW };
    }
    decision
}

/// The caller gets what the record says; a refusal leaves no trace.
fn answer(state: &mut State, client: usize, decision: Decision, row: &Row) {
    if let (Decision::Replay, Some(answer)) = (decision, row.answer) {
        let request = Request::of(client);
        if row.status == Status::Succeeded {
            state.past.tell(row.life, answer, request);
        } else {
            state.past.tell_failed(row.life, answer, request);
        }
    }
    state.clients[client].at = At::Idle;
}

/// Counts a lost reply; whether the statement was carried out.
fn delivered(state: &mut State, delivery: Delivery) -> bool {
    if delivery != Delivery::Replied {
        state.left.lost_replies -= 1;
    }
    delivery != Delivery::Cut
}

/// The claim that is worked under, if there is one.
fn own(at: At) -> Option<Own> {
    match at {
        At::Held(own)
        | At::Running { own, .. }
        | At::Committing(own)
        | At::ReadingBack(own)
        | At::Ending { own, .. } => Some(own),
        At::Idle | At::Claiming { .. } | At::SawNone | At::Judged { .. } | At::Superseded => None,
    }
}

/// Whether a change that found no row to touch leaves the caller to what the record says.
fn yields(change: Change) -> bool {
    matches!(change, Change::Complete | Change::Fail | Change::MarkUnknown)
}
