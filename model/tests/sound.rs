//! The code as it is keeps its promises in every order of events, up to the bounds of each run.

use idem_model::{Budget, GuardModel, Setup};
use idem_runtime::{Mode, OnLapse};
use stateright::{Checker, Model};

/// Explores all of it.
fn holds(setup: &Setup, budget: Budget) {
    // Where lives end and operators act there are states enough when nobody sends a request twice.
    let requests = if budget.ends > 0 { [1, 1, 1] } else { [2, 2, 1] };
    let model = GuardModel::new(setup.clone().requests(requests).budget(budget));
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("{} states, {} deep", checker.unique_state_count(), checker.max_depth());
    checker.assert_properties();
}

fn setup(mode: Mode, on_lapse: OnLapse) -> Setup {
    Setup::new(mode, on_lapse).unwrap()
}

#[test]
fn a_transactional_mutation_commits_once_whatever_fails() {
    holds(&setup(Mode::Transactional, OnLapse::Rerun), Budget::FAULTS);
}

#[test]
fn a_transactional_mutation_commits_once_whoever_ends_its_record() {
    holds(&setup(Mode::Transactional, OnLapse::Rerun), Budget::EVENTS);
}

#[test]
fn a_transactional_mutation_that_may_be_tried_again_commits_once() {
    let failures = Budget { failures: 2, lost_replies: 1, ..Budget::NONE };
    holds(&setup(Mode::Transactional, OnLapse::Rerun).retry_failed(), failures);
}

#[test]
fn an_operation_outside_reaches_a_deduplicating_provider_once_whatever_fails() {
    holds(&setup(Mode::External, OnLapse::Rerun), Budget::FAULTS);
}

#[test]
fn an_operation_outside_reaches_a_deduplicating_provider_once_whoever_ends_its_record() {
    holds(&setup(Mode::External, OnLapse::Rerun), Budget::EVENTS);
}

#[test]
fn a_refusing_operation_begins_once_whatever_fails() {
    holds(&setup(Mode::External, OnLapse::Refuse), Budget::FAULTS);
}

#[test]
fn a_refusing_operation_begins_once_but_for_an_operator() {
    holds(&setup(Mode::External, OnLapse::Refuse), Budget::EVENTS);
}

#[test]
fn a_recovering_operation_asks_before_it_runs_again_whatever_fails() {
    holds(&setup(Mode::External, OnLapse::Recover), Budget::FAULTS);
}

#[test]
fn a_recovering_operation_asks_before_it_runs_again_whoever_ends_its_record() {
    holds(&setup(Mode::External, OnLapse::Recover), Budget::EVENTS);
}
