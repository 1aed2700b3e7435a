//! From wherever things stand, one more request brings the record to an end.
//!
//! The checker knows "always" and "sometimes"; that a key can always be ended is "from each state some way leads
//! there". This walks such a way: every process dies, open transactions end, the lease lapses, and one request
//! comes with nothing going wrong, after an operator's release where the record waits for one.

use idem_runtime::Status;

use crate::actions::{Action, Commit, Delivery, Says};
use crate::setup::{Budget, Request, Setup};
use crate::state::{At, Change, Client, Doubt, State};
use crate::step::step;

/// The request of the rescue comes after all others of its client.
const LAST: u8 = 3;
/// More steps than any way from a request to its end.
const STEPS: usize = 16;

/// Whether the record ends from `state`, however an open transaction ends.
pub(crate) fn can_end(setup: &Setup, state: &State) -> bool {
    let Some(row) = state.row else { return true };
    if matches!(row.status, Status::Succeeded | Status::Failed) && state.open.is_none() {
        return true;
    }
    let in_flight = state.open.is_some_and(|open| open.in_flight);
    let mut calm = State::new(Budget { releases: 1, ..Budget::NONE });
    (calm.row, calm.past, calm.open) = (state.row, state.past, state.open.filter(|_| in_flight));
    let ways = if in_flight { &[true, false][..] } else { &[false][..] };
    ways.iter().all(|&commits| ends(setup, &step(setup, &calm, Action::Resolve(commits))))
}

fn ends(setup: &Setup, calm: &State) -> bool {
    let mut state = step(setup, calm, Action::LeaseLapses);
    let Some(row) = state.row else { return true };
    if row.unknown || waits_for_operator(setup, &state) {
        state = step(setup, &state, Action::Release);
    }
    let client = match row.request {
        Request::One => 0,
        Request::Other => state.clients.len() - 1,
    };
    state.clients[client] = Client { sent: LAST, at: At::Idle };
    for _ in 0..STEPS {
        let Some(action) = forward(setup, state.clients[client].at, client) else { break };
        state = step(setup, &state, action);
        if state.clients[client].at == At::Idle {
            break;
        }
    }
    state.row.is_some_and(|row| matches!(row.status, Status::Succeeded | Status::Failed))
}

/// A lapsed attempt of a route that refuses.
fn waits_for_operator(setup: &Setup, state: &State) -> bool {
    setup.terms.on_lapse == idem_runtime::OnLapse::Refuse
        && state.row.is_some_and(|row| row.status == Status::Processing)
}

/// The next step of an attempt with which nothing goes wrong.
fn forward(setup: &Setup, at: At, client: usize) -> Option<Action> {
    Some(match at {
        At::Idle | At::Claiming { .. } => Action::Insert(client, Delivery::Replied),
        At::Judged { .. } => Action::TakeOver(client, Delivery::Replied),
        At::Held(_) => Action::Begin(client),
        At::Running { .. } if setup.transactional() => Action::Complete(client),
        At::Running { doubt: Doubt::Asks, .. } => Action::Ask(client, Says::Truth),
        At::Running { doubt: Doubt::None, called: false, .. } => Action::Call(client),
        At::Running { .. } => Action::Write(client, Change::Complete, Delivery::Replied),
        At::Committing(_) => Action::Commit(client, Commit::Replied),
        At::Ending { change, .. } => Action::Write(client, change, Delivery::Replied),
        At::Superseded => Action::Judge(client),
        At::SawNone | At::ReadingBack(_) => return None,
    })
}
