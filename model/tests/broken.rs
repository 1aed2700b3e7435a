//! A check that cannot fail shows nothing: each way to build it wrong is caught, with a path that leads to it.

use idem_model::properties::{
    ASKS_FIRST, BEGINS_ONCE, NOT_STUCK, NOTHING_KEPT, ONCE, ONE_CHARGE, OWN_CLAIM, OWN_REQUEST, TOLD_AND_DONE,
};
use idem_model::{Budget, GuardModel, Setup, Variant};
use idem_runtime::{Mode, OnLapse};
use stateright::{Checker, HasDiscoveries, Model};

const CANCELS: Budget = Budget { cancels: 1, ..Budget::NONE };
const CRASHES: Budget = Budget { crashes: 1, ..Budget::NONE };
const LOST: Budget = Budget { lost_replies: 1, ..Budget::NONE };

/// `variant` breaks `property`, and the code as it is keeps it within the same bounds.
fn caught(property: &'static str, variant: Variant, mode: Mode, on_lapse: OnLapse, budget: Budget) {
    let setup = Setup::new(mode, on_lapse).unwrap().requests([2, 1, 1]).budget(budget);
    let explore = |setup| {
        let until = HasDiscoveries::AnyOf([property].into());
        GuardModel::new(setup).checker().finish_when(until).spawn_bfs().join()
    };
    explore(setup.clone()).assert_no_discovery(property);
    let broken = explore(setup.variant(variant));
    let path = broken.assert_any_discovery(property);
    println!("{variant:?} breaks \"{property}\" after {} states: {path:?}", broken.unique_state_count());
}

#[test]
fn a_completion_without_fencing_is_caught_as_a_double_effect() {
    caught(ONCE, Variant::NoFencing, Mode::Transactional, OnLapse::Rerun, Budget::NONE);
}

#[test]
fn a_select_before_the_insert_is_caught_as_a_double_effect() {
    caught(ONCE, Variant::SelectFirst, Mode::Transactional, OnLapse::Rerun, Budget::NONE);
}

#[test]
fn a_select_before_the_insert_is_caught_as_a_second_charge() {
    caught(ONE_CHARGE, Variant::SelectFirst, Mode::External, OnLapse::Rerun, Budget::NONE);
}

#[test]
fn a_late_fingerprint_is_caught_as_an_answer_to_another_request() {
    caught(OWN_REQUEST, Variant::LateFingerprint, Mode::Transactional, OnLapse::Rerun, Budget::NONE);
}

#[test]
fn a_late_fingerprint_is_caught_as_a_claim_of_another_request() {
    caught(OWN_CLAIM, Variant::LateFingerprint, Mode::External, OnLapse::Rerun, Budget::NONE);
}

#[test]
fn the_release_of_a_dropped_external_claim_is_caught_as_a_second_beginning() {
    caught(BEGINS_ONCE, Variant::ReleasesDropped, Mode::External, OnLapse::Refuse, CANCELS);
}

#[test]
fn the_release_of_a_dropped_external_claim_is_caught_as_a_call_without_asking() {
    caught(ASKS_FIRST, Variant::ReleasesDropped, Mode::External, OnLapse::Recover, CANCELS);
}

#[test]
fn the_release_of_a_claim_in_doubt_is_caught_as_a_call_without_asking() {
    caught(ASKS_FIRST, Variant::ReleasesUnasked, Mode::External, OnLapse::Recover, CANCELS);
}

#[test]
fn a_plain_read_after_a_lost_commit_is_caught_as_an_untrue_refusal() {
    caught(NOTHING_KEPT, Variant::PlainReadBack, Mode::Transactional, OnLapse::Rerun, LOST);
}

#[test]
fn a_key_for_each_attempt_is_caught_as_a_second_charge() {
    caught(ONE_CHARGE, Variant::KeyPerAttempt, Mode::External, OnLapse::Rerun, CRASHES);
}

#[test]
fn a_key_for_each_attempt_is_caught_as_success_with_two_charges() {
    caught(TOLD_AND_DONE, Variant::KeyPerAttempt, Mode::External, OnLapse::Rerun, CRASHES);
}

#[test]
fn a_take_over_of_a_row_that_nobody_judged_is_caught_as_a_double_effect() {
    caught(ONCE, Variant::TakesOverUnseen, Mode::Transactional, OnLapse::Rerun, Budget::NONE);
}

#[test]
fn a_take_over_of_a_row_reborn_after_a_purge_is_caught_as_a_double_effect() {
    let budget = Budget { lost_replies: 1, releases: 1, ends: 1, ..Budget::NONE };
    caught(ONCE, Variant::TakesOverReborn, Mode::Transactional, OnLapse::Rerun, budget);
}

#[test]
fn a_lapsed_lease_that_nobody_reclaims_is_caught_as_a_stuck_key() {
    caught(NOT_STUCK, Variant::NeverReclaims, Mode::Transactional, OnLapse::Rerun, CRASHES);
}
