//! Racers for a key that nobody has used, or whose life is over.

use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

async fn of_many_racers_one_runs_and_the_others_get_its_answer_or_in_progress<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(8).await];
    for (mode, rounds) in MODES.into_iter().zip([200, 100]) {
        let race = Race::<F>::new(&guards, mode, policy(), AT_ONCE, First::Succeeds);
        for round in 0..rounds {
            assert_eq!(one_runs(&race, &format!("{mode:?}-{round}")).await, 1);
        }
    }
}

async fn of_many_racers_that_wait_one_runs_and_all_get_its_answer<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(8).await];
    for mode in MODES {
        let race = Race::<F>::new(&guards, mode, policy(), PATIENT, First::Succeeds);
        for round in 0..20 {
            one_runs(&race, &format!("{mode:?}-{round}")).await;
        }
    }
}

async fn of_many_racers_on_an_expired_record_one_begins_a_new_life<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    for mode in MODES {
        let race = Race::<F>::new(&guards, mode, policy(), AT_ONCE, First::Succeeds);
        for life in 1..=10 {
            assert_eq!(one_runs(&race, &format!("{mode:?}")).await, life);
            F::pass(guards[0].pool(), HOUR * 25).await;
        }
    }
}

async fn of_two_requests_with_one_key_one_wins_and_the_other_is_a_conflict<F: Fixture>() {
    fn asked(racer: usize) -> &'static str {
        if racer.is_multiple_of(2) { "book" } else { "pen" }
    }
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    for (mode, wait) in MODES.into_iter().flat_map(|mode| [(mode, AT_ONCE), (mode, PATIENT)]) {
        let race = Race::<F>::new(&guards, mode, policy(), wait, First::Succeeds);
        // The later rounds find an expired record, whose new life begins with either request.
        for life in 1..=10 {
            let name = format!("{mode:?}-{wait:?}");
            let (answers, runs) = race.run(&name, asked).await;
            let (even, odd): (Vec<_>, Vec<_>) =
                answers.into_iter().enumerate().partition(|(racer, _)| racer.is_multiple_of(2));
            let both = [even, odd].map(|side| side.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>());
            let won = usize::from(both[1].iter().any(Result::is_ok));
            let winner = race.winner(&name, &both[won]);
            assert!(winner.value().starts_with(asked(won)), "{winner:?}");
            assert_eq!(winner.attempt(), life);
            for answer in &both[1 - won] {
                let conflict = Refusal::Guard("IDEMPOTENCY_KEY_CONFLICT".to_owned());
                assert!(answer.as_ref().is_err_and(|refusal| *refusal == conflict), "{name}: {answer:?}");
            }
            assert_eq!(runs.count(), 1, "{name}");
            F::pass(guards[0].pool(), HOUR * 25).await;
        }
    }
}

on_every_database! {
    of_many_racers_one_runs_and_the_others_get_its_answer_or_in_progress,
    of_many_racers_that_wait_one_runs_and_all_get_its_answer,
    of_many_racers_on_an_expired_record_one_begins_a_new_life,
    of_two_requests_with_one_key_one_wins_and_the_other_is_a_conflict,
}
