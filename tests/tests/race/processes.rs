//! Racers in several processes on one database.

use std::collections::BTreeMap;

use idem_test_support::process::Process;
use idem_tests::{Fixture, on_every_database};

use crate::*;

const KEYS: usize = 40;
const TASKS: usize = 16;

/// Each key with the answers that were given to it.
type Given = BTreeMap<String, Vec<String>>;

/// A process with `TASKS` callers for each of `KEYS` keys, who begin once the business row `go` is there.
async fn swarm<F: Fixture>(fixture: &F, name: &str) -> Process {
    let (url, keys, tasks) = (fixture.url(), KEYS.to_string(), TASKS.to_string());
    let arguments = ["--database-url", &url, "swarm", "--name", name, "--keys", &keys, "--tasks", &tasks];
    let mut swarm = Process::spawn(env!("CARGO_BIN_EXE_victim"), arguments);
    swarm.wait_for("ready").await;
    swarm
}

/// Adds the next `count` answers of `swarm` to `given`.
async fn take_answers(swarm: &mut Process, count: usize, given: &mut Given) {
    for _ in 0..count {
        let line = swarm.wait_for("answer ").await;
        let [_, key, answer] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        given.entry(key.to_owned()).or_default().push(answer.to_owned());
    }
}

/// Every key ran once, and all its callers got the same answer.
async fn each_key_ran_once<F: Fixture>(pool: &sqlx::Pool<F::S>, given: Given) {
    assert_eq!(given.len(), KEYS);
    for (key, mut answers) in given {
        answers.dedup();
        assert!(answers.len() == 1 && answers[0].starts_with("run by "), "{key}: {answers:?}");
        assert_eq!(F::effects(pool, &key).await, 1, "{key}");
    }
}

async fn two_processes_run_each_key_once_and_give_the_same_answers<F: Fixture>() {
    let fixture = F::create().await;
    let pool = fixture.pool(1).await;
    let mut swarms = [swarm(&fixture, "one").await, swarm(&fixture, "two").await];
    F::effect(&mut *pool.acquire().await.unwrap(), "go").await.unwrap();
    let mut given = Given::new();
    for swarm in &mut swarms {
        take_answers(swarm, KEYS * TASKS, &mut given).await;
        assert!(swarm.wait().await.success());
    }
    each_key_ran_once::<F>(&pool, given).await;
}

async fn what_killed_processes_left_the_next_one_finishes_and_nothing_runs_twice<F: Fixture>() {
    let fixture = F::create().await;
    let pool = fixture.pool(1).await;
    F::effect(&mut *pool.acquire().await.unwrap(), "go").await.unwrap();
    let mut given = Given::new();
    // Each dies in the middle: some keys are answered, others running or not yet claimed.
    for (name, answered) in
        [("one", KEYS / 8), ("two", KEYS / 4), ("three", KEYS / 2), ("four", KEYS * 3 / 4)]
    {
        let mut swarm = swarm(&fixture, name).await;
        take_answers(&mut swarm, answered, &mut given).await;
        swarm.kill().await;
        F::pass(&pool, Duration::from_secs(30)).await;
    }
    let mut last = swarm(&fixture, "five").await;
    take_answers(&mut last, KEYS * TASKS, &mut given).await;
    assert!(last.wait().await.success());
    each_key_ran_once::<F>(&pool, given).await;
}

on_every_database! {
    two_processes_run_each_key_once_and_give_the_same_answers,
    what_killed_processes_left_the_next_one_finishes_and_nothing_runs_twice,
}
