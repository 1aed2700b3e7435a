//! Many copies of one request, spread over two servers on one database.

use axum::http::StatusCode;
use idem_tests::{Fixture, on_every_database};

use crate::client::{Answer, post, sending};
use crate::killed::ShopProcess;
use crate::site::count;
use crate::{BOOK, CHARGES, ORDERS, soon};

const COPIES: usize = 50;

/// Sends all copies at once, half of them to each server.
async fn swarm(shops: [&ShopProcess; 2], path: &str, key: &str) -> Vec<Answer> {
    let asked: Vec<_> =
        (0..COPIES).map(|copy| sending(shops[copy % 2].address, post(path, key, BOOK))).collect();
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(soon("an answer", asked).await.unwrap().expect("every copy is answered"));
    }
    answers
}

async fn copies_of_a_request_at_two_servers_run_once_and_get_one_answer_or_are_told_to_wait<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let (one, other) = (ShopProcess::start(&fixture, &[]).await, ShopProcess::start(&fixture, &[]).await);
    let mut runs = 0;
    for (path, _) in [ORDERS, CHARGES] {
        for key in ["a", "b", "c"] {
            let answers = swarm([&one, &other], path, key).await;
            runs += 1;
            assert_eq!(count::<F>(&guard, "effects").await, runs, "{path} {key}");
            let first: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
            assert_eq!(first.iter().filter(|answer| !answer.is_replay()).count(), 1, "{path} {key}");
            assert!(first.iter().all(|answer| answer.body == first[0].body), "{path} {key}: {first:?}");
            let rest = answers.iter().filter(|answer| answer.status != StatusCode::CREATED);
            rest.for_each(Answer::is_in_progress);

            let again = swarm([&one, &other], path, key).await;
            assert!(again.iter().all(|answer| answer.is_replay() && answer.body == first[0].body));
        }
    }
}

on_every_database! {
    copies_of_a_request_at_two_servers_run_once_and_get_one_answer_or_are_told_to_wait,
}
