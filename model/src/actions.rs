//! What can happen next.

use idem_runtime::Status;

use crate::history::LIVES;
use crate::setup::Setup;
use crate::state::{At, Change, Doubt, State};
use crate::variants::Variant;

/// What becomes of a statement and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Carried out, and the reply arrives.
    Replied,
    /// Carried out, but the reply is lost.
    ReplyLost,
    /// Not carried out, and no reply.
    Cut,
}

/// What becomes of a COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Commit {
    /// It landed, and the reply arrives.
    Replied,
    /// A definite refusal: rolled back.
    Refused,
    /// The reply is lost; the database decides later.
    Lost,
}

/// What a provider says when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Says {
    /// The truth: whether it was carried out.
    Truth,
    /// It cannot say.
    Unknown,
}

/// One event. The number is the client whose attempt it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The claim's INSERT, first or again.
    Insert(usize, Delivery),
    /// The SELECT of a broken variant, and the insert that follows.
    Select(usize),
    /// See `Select`.
    Overwrite(usize),
    /// The claim's take-over.
    TakeOver(usize, Delivery),
    /// After a lost reply it stops trying.
    GiveUp(usize),
    /// The body begins.
    Begin(usize),
    /// The body asks the provider.
    Ask(usize, Says),
    /// The body calls the provider.
    Call(usize),
    /// The completion inside the body's transaction.
    Complete(usize),
    /// The COMMIT.
    Commit(usize, Commit),
    /// The locking read after a COMMIT without reply.
    ReadBack(usize),
    /// A change outside a transaction.
    Write(usize, Change, Delivery),
    /// The read after a lost claim.
    Judge(usize),
    /// The lease is renewed.
    Renew(usize),
    /// The process dies; its connection closes.
    Crash(usize),
    /// The transaction in flight ends, committed or not.
    Resolve(bool),
    /// Time passes the end of the lease.
    LeaseLapses,
    /// Time passes the end of the life.
    LifeEnds,
    /// The sweep marks the record.
    Expire,
    /// The sweep deletes the record.
    Purge,
    /// An operator releases the record.
    Release,
}

/// All that can happen in `state`.
pub(crate) fn enabled(setup: &Setup, state: &State, actions: &mut Vec<Action>) {
    for client in 0..state.clients.len() {
        of_client(setup, state, client, actions);
    }
    of_world(setup, state, actions);
}

fn of_client(setup: &Setup, state: &State, client: usize, actions: &mut Vec<Action>) {
    let at = state.clients[client].at;
    let lossy = state.left.lost_replies > 0;
    // A statement that changes the row waits while a completion is open; a read and an insert that meets it do not.
    let free = state.open.is_none();
    let deliveries = if lossy { &DELIVERIES[..] } else { &DELIVERIES[..1] };
    let mut write = |change| {
        if free {
            actions.extend(deliveries.iter().map(|&delivery| Action::Write(client, change, delivery)));
        }
    };
    match at {
        At::Running { own, doubt, called } => {
            let cancels = state.left.cancels > 0;
            let fails = state.left.failures > 0;
            match (setup.transactional(), doubt) {
                (true, _) => {
                    cancels.then(|| write(Change::Abandon));
                    fails.then(|| write(Change::Fail));
                    if free {
                        actions.push(Action::Complete(client));
                    }
                }
                (false, doubt) => {
                    cancels.then(|| write(dropped(setup)));
                    match doubt {
                        Doubt::None if !called => {
                            fails.then(|| write(Change::Fail));
                            actions.push(Action::Call(client));
                        }
                        Doubt::None | Doubt::Done => write(Change::Complete),
                        Doubt::Unknown => write(Change::MarkUnknown),
                        Doubt::Asks => {
                            actions
                                .extend([Says::Truth, Says::Unknown].map(|says| Action::Ask(client, says)));
                        }
                    }
                }
            }
            if free && state.left.renewals > 0 && crate::store::owns(state.row, own.token) {
                actions.push(Action::Renew(client));
            }
        }
        At::Held(own) => {
            if state.left.cancels > 0 {
                write(dropped_before(setup, own.recovery));
            }
            actions.push(Action::Begin(client));
        }
        At::Ending { change, .. } => write(change),
        At::Committing(_) => {
            actions.push(Action::Commit(client, Commit::Replied));
            if lossy {
                actions.extend([Commit::Refused, Commit::Lost].map(|to| Action::Commit(client, to)));
            }
        }
        At::ReadingBack(_) if free || setup.variant == Variant::PlainReadBack => {
            actions.push(Action::ReadBack(client));
        }
        At::Judged { .. } if free => {
            actions.extend(deliveries.iter().map(|&delivery| Action::TakeOver(client, delivery)));
        }
        At::Idle if state.clients[client].sent == setup.requests[client] => return,
        At::Idle | At::Claiming { .. } if setup.variant == Variant::SelectFirst => {
            actions.push(Action::Select(client));
        }
        At::Idle | At::Claiming { .. } => {
            actions.extend(deliveries.iter().map(|&delivery| Action::Insert(client, delivery)));
        }
        At::SawNone if free => actions.push(Action::Overwrite(client)),
        At::Superseded => actions.push(Action::Judge(client)),
        At::ReadingBack(_) | At::Judged { .. } | At::SawNone => {}
    }
    if matches!(at, At::Claiming { lost: true } | At::Ending { lost: true, .. } | At::ReadingBack(_)) {
        actions.push(Action::GiveUp(client));
    }
    if at != At::Idle && state.left.crashes > 0 {
        actions.push(Action::Crash(client));
    }
}

const DELIVERIES: [Delivery; 3] = [Delivery::Replied, Delivery::ReplyLost, Delivery::Cut];

/// What becomes of an external claim dropped while its body runs.
fn dropped(setup: &Setup) -> Change {
    if setup.variant == Variant::ReleasesDropped { Change::Abandon } else { Change::EndLease }
}

/// What becomes of a claim dropped before its body began.
fn dropped_before(setup: &Setup, recovery: bool) -> Change {
    let asks = recovery && setup.variant != Variant::ReleasesUnasked;
    if asks { Change::EndLease } else { Change::Abandon }
}

fn of_world(setup: &Setup, state: &State, actions: &mut Vec<Action>) {
    if state.open.is_some_and(|open| open.in_flight) {
        actions.extend([Action::Resolve(true), Action::Resolve(false)]);
    }
    let Some(row) = state.row else { return };
    if row.leased {
        actions.push(Action::LeaseLapses);
    }
    let another = usize::from(state.past.count) < LIVES;
    if !row.leased && !row.past_life && state.left.ends > 0 && another {
        actions.push(Action::LifeEnds);
    }
    if state.open.is_some() {
        return;
    }
    if row.is_over(setup) {
        if row.status != Status::Expired {
            actions.push(Action::Expire);
        }
        actions.push(Action::Purge);
    }
    if state.left.releases > 0 && matches!(row.status, Status::Processing | Status::Failed) {
        actions.push(Action::Release);
    }
}
