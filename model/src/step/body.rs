//! The body: it begins, asks and calls the provider, and its lease is renewed meanwhile.

use crate::actions::Says;
use crate::setup::{Request, Setup};
use crate::state::{At, Doubt, State};
use crate::store;
use crate::variants::Variant;

pub(super) fn begin(state: &mut State, client: usize) {
    let At::Held(own) = state.clients[client].at else { return };
    let life = state.past.life(own.life);
    life.begun += 1;
    let request = life.request;
    state.past.crossed |= request != Some(Request::of(client));
    let doubt = if own.recovery { Doubt::Asks } else { Doubt::None };
    state.clients[client].at = At::Running { own, doubt, called: false };
}

/// The key by which the provider knows the effect: one bit for each.
///
/// The real one is made of what stays the same in one life: the fingerprint and its beginning.
fn derived_key(setup: &Setup, own: crate::state::Own) -> u16 {
    if setup.variant == Variant::KeyPerAttempt { own.token.claim.bit() } else { own.created.bit() }
}

pub(super) fn ask(setup: &Setup, state: &mut State, client: usize, says: Says) {
    let At::Running { own, .. } = state.clients[client].at else { return };
    let charged = state.past.life(own.life).charged & derived_key(setup, own) != 0;
    let doubt = match says {
        Says::Unknown => Doubt::Unknown,
        Says::Truth if charged => Doubt::Done,
        Says::Truth => Doubt::None,
    };
    state.clients[client].at = At::Running { own, doubt, called: false };
}

/// The provider carries a key out once, so a second call with it adds nothing.
pub(super) fn call(setup: &Setup, state: &mut State, client: usize) {
    let At::Running { own, doubt, .. } = state.clients[client].at else { return };
    state.past.life(own.life).charged |= derived_key(setup, own);
    state.past.called_unasked |= own.in_doubt && !own.recovery;
    state.clients[client].at = At::Running { own, doubt, called: true };
}

pub(super) fn renew(state: &mut State, client: usize) {
    let At::Running { own, .. } = state.clients[client].at else { return };
    state.left.renewals -= 1;
    store::renew(&mut state.row, own.token);
}
