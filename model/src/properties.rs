//! What must hold in every state, and what must be met at least once so that a run has shown anything.

use idem_runtime::{OnLapse, Status};
use stateright::Property;

use crate::GuardModel;
use crate::history::Life;
use crate::row::Claim;
use crate::state::{At, State};

type Rule = Property<GuardModel>;

/// The effects of one life are committed at most once.
pub const ONCE: &str = "effects are committed at most once in a life";
/// A success that was told has its effects.
pub const TOLD_AND_DONE: &str = "whoever was told success, its effects happened exactly once";
/// All callers get one answer.
pub const ONE_ANSWER: &str = "every success told is the recorded one, the same for all";
/// Failures and refusals are true.
pub const NOTHING_KEPT: &str = "what was called failed or not kept was not committed";
/// Neither run nor told for another request.
pub const OWN_REQUEST: &str = "the other fingerprint never runs nor gets the stored answer";
/// Nor does it own the record.
pub const OWN_CLAIM: &str = "a record is never owned by a claim of the other fingerprint";
/// Every end of a key can be reached.
pub const NOT_STUCK: &str = "from every state some way ends the record";
/// At a provider that knows repetitions.
pub const ONE_CHARGE: &str = "a provider has at most one effect for each life";
/// With `refuse`.
pub const BEGINS_ONCE: &str = "a body begins at most once unless an operator released";
/// With `recover`.
pub const ASKS_FIRST: &str = "a provider that may have been reached is asked first";
/// After an unknown outcome.
pub const STAYS_UNKNOWN: &str = "an unknown outcome is not claimed again without an operator";
/// With `refuse`, with `recover`, and under a lease.
pub const ENDS_DECIDED: &str = "no life ends under a lease or while its outcome is not known";

fn lives(state: &State) -> &[Life] {
    &state.past.lives
}

pub(crate) fn all(model: &GuardModel) -> Vec<Rule> {
    let mut rules = always();
    rules.extend(met(model));
    rules
}

fn always() -> Vec<Rule> {
    vec![
        Rule::always(ONCE, |_, state| lives(state).iter().all(|life| life.committed.count_ones() <= 1)),
        Rule::always(TOLD_AND_DONE, told_and_done),
        Rule::always(ONE_ANSWER, one_answer),
        Rule::always(NOTHING_KEPT, |_, state| {
            let denied = |life: &Life| life.committed & (state.past.not_kept | life.told_failed);
            lives(state).iter().all(|life| denied(life) == 0)
        }),
        Rule::always(OWN_REQUEST, |_, state| !state.past.crossed),
        Rule::always(OWN_CLAIM, |_, state| {
            state.row.is_none_or(|row| row.token.claim.request() == row.request)
        }),
        Rule::always(NOT_STUCK, |model, state| crate::rescue::can_end(&model.setup, state)),
        Rule::always(ONE_CHARGE, |_, state| lives(state).iter().all(|life| life.charged.count_ones() <= 1)),
        Rule::always(BEGINS_ONCE, |model, state| {
            let once = |life: &Life| life.begun <= 1 + life.released;
            model.setup.terms.on_lapse != OnLapse::Refuse || lives(state).iter().all(once)
        }),
        Rule::always(ASKS_FIRST, |_, state| !state.past.called_unasked),
        Rule::always(ENDS_DECIDED, |_, state| !state.past.ended_open),
        Rule::always(STAYS_UNKNOWN, |_, state| !state.past.claimed_undecided),
    ]
}

fn told_and_done(model: &GuardModel, state: &State) -> bool {
    lives(state).iter().filter(|life| life.told != 0).all(|life| {
        // A power of two is a set of one.
        let effects = if model.setup.transactional() { life.committed } else { life.charged };
        // In a transaction the effects are those of the very attempt whose answer was told.
        effects.is_power_of_two() && (!model.setup.transactional() || effects == life.told)
    })
}

fn one_answer(_: &GuardModel, state: &State) -> bool {
    let recorded = |life: usize| {
        let row = state.row.filter(|row| row.status == Status::Succeeded && usize::from(row.life) == life);
        row.and_then(|row| row.answer).map(Claim::bit)
    };
    lives(state).iter().enumerate().filter(|(_, life)| life.told != 0).all(|(number, life)| {
        life.told.is_power_of_two() && recorded(number).is_none_or(|answer| answer == life.told)
    })
}

/// A run in which none of this happens has shown nothing.
fn met(model: &GuardModel) -> Vec<Rule> {
    let budget = model.setup.budget;
    let mut rules = vec![
        Rule::sometimes("a success is told", |_, state| state.past.lives[0].told != 0),
        Rule::sometimes("a second attempt succeeds", |_, state| {
            state.row.is_some_and(|row| row.status == Status::Succeeded && row.token.attempt > 1)
        }),
    ];
    // Where a lapsed claim is refused, only an operator or the end of its life takes it away.
    if model.setup.terms.on_lapse != OnLapse::Refuse || budget.releases > 0 {
        rules.push(Rule::sometimes("a claim is lost", |_, state| {
            state.clients.iter().any(|client| client.at == At::Superseded)
        }));
    }
    if budget.ends > 0 {
        rules.push(Rule::sometimes("the other request begins a life", |_, state| {
            state.past.lives[1].request == Some(crate::Request::Other)
        }));
    }
    if model.setup.transactional() && budget.lost_replies > 0 {
        rules.push(Rule::sometimes("a commit is decided without its caller", |_, state| {
            state.open.is_some_and(|open| {
                open.in_flight && !matches!(state.clients[open.client].at, At::ReadingBack(_))
            })
        }));
    }
    if model.setup.recovers() {
        rules.push(Rule::sometimes("an outcome stays unknown", |_, state| state.past.lives[0].undecided));
    }
    rules
}
