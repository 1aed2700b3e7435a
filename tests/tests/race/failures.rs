//! Racers whose winner fails or is released.

use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

async fn a_failure_of_the_winner_is_everybodys_failure<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    for (mode, wait) in MODES.into_iter().flat_map(|mode| [(mode, AT_ONCE), (mode, PATIENT)]) {
        let race = Race::<F>::new(&guards, mode, policy(), wait, First::Fails);
        for round in 0..10 {
            let name = format!("{mode:?}-{wait:?}-{round}");
            let (answers, runs) = race.run(&name, book).await;
            let late = Arc::clone(&race).call(name.clone(), RACERS, "book", Arc::clone(&runs)).await;
            let recorded = late.unwrap_err();
            assert!(
                matches!(recorded, Refusal::Declined { racer } if racer < RACERS),
                "{name}: {recorded:?}"
            );
            for answer in &answers {
                let same = answer.as_ref().is_err_and(|refusal| *refusal == recorded);
                assert!(same || wait.is_zero() && in_progress(answer), "{name}: {answer:?}");
            }
            assert_eq!(runs.count(), 1, "{name}");
            assert_eq!(F::effects(guards[0].pool(), &name).await, 0, "{name}");
        }
    }
}

async fn after_a_failure_that_is_retried_or_a_release_exactly_one_takes_over<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    let variants = [(First::Fails, policy().retry_failed(true)), (First::IsReleased, policy())];
    for (mode, (first, policy)) in MODES.into_iter().flat_map(|mode| variants.clone().map(|v| (mode, v))) {
        for (round, wait) in [AT_ONCE, PATIENT].repeat(10).into_iter().enumerate() {
            let race = Race::<F>::new(&guards, mode, policy.clone(), wait, first);
            let name = format!("{mode:?}-{first:?}-{round}");
            let (answers, runs) = race.run(&name, book).await;
            let (declined, others): (Vec<_>, Vec<_>) =
                answers.into_iter().partition(|answer| matches!(answer, Err(Refusal::Declined { .. })));
            assert_eq!(declined.len(), 1, "{name}: the failure is the first one's alone: {declined:?}");
            // Without a wait all others may have been refused before the failure.
            if !wait.is_zero() || !others.iter().all(in_progress) {
                assert_eq!(race.winner(&name, &others).attempt(), 2, "{name}");
            }
            let late = Arc::clone(&race).call(name.clone(), RACERS, "book", Arc::clone(&runs)).await.unwrap();
            assert_eq!((late.attempt(), runs.count()), (2, 2), "{name}");
            assert_eq!(F::effects(guards[0].pool(), &name).await, 1, "{name}");
        }
    }
}

on_every_database! {
    a_failure_of_the_winner_is_everybodys_failure,
    after_a_failure_that_is_retried_or_a_release_exactly_one_takes_over,
}
