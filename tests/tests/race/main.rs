//! Many callers at once with one key: one runs, and nobody gets an answer that is not its own.

mod failures;
mod fresh;
mod processes;
mod take_over;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{Claim, Error, IdempotencyMutationGuard, Mode, Mutation, Outcome, Policy, Success};
use idem_tests::{Fixture, key, scope};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

pub(crate) const RACERS: usize = 64;
pub(crate) const HOUR: Duration = Duration::from_hours(1);
/// Longer than any test: whoever waits gets the answer.
pub(crate) const PATIENT: Duration = Duration::from_mins(5);
/// Whoever does not get an answer at once is refused.
pub(crate) const AT_ONCE: Duration = Duration::ZERO;
pub(crate) const MODES: [Mode; 2] = [Mode::Transactional, Mode::External];

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The body's own failure, and in whose call it ran.
    Declined { racer: usize },
    /// The code of the guard's.
    Guard(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Guard(error.code().to_owned())
    }
}

pub(crate) type Answer = Result<Outcome<String>, Refusal>;

/// What the first execution of a key comes to; the later ones succeed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum First {
    Succeeds,
    Fails,
    IsReleased,
}

/// The operation over which the callers race.
pub(crate) struct Race<F: Fixture> {
    /// Several stand for several processes: each has a pool and a turn to write of its own.
    guards: Vec<Guard<F>>,
    policy: Policy,
    wait: Duration,
    mode: Mode,
    first: First,
}

/// The executions of one key.
#[derive(Default)]
pub(crate) struct Runs {
    begun: AtomicU32,
    open: AtomicU32,
}

impl Runs {
    fn begin(&self) -> u32 {
        assert_eq!(self.open.fetch_add(1, Ordering::SeqCst), 0, "two bodies run at once");
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn end(&self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> u32 {
        self.begun.load(Ordering::SeqCst)
    }
}

impl<F: Fixture> Race<F> {
    pub(crate) fn new(
        guards: &[Guard<F>],
        mode: Mode,
        policy: Policy,
        wait: Duration,
        first: First,
    ) -> Arc<Self> {
        Arc::new(Self { guards: guards.to_vec(), policy: policy.wait(wait), wait, mode, first })
    }

    /// One caller that asks for `asked`; the value says what was asked and in whose call it ran.
    pub(crate) async fn call(
        self: Arc<Self>,
        name: String,
        racer: usize,
        asked: &'static str,
        runs: Arc<Runs>,
    ) -> Answer {
        let guard = &self.guards[racer % self.guards.len()];
        let request = guard.request(scope(), key(&name)).of(asked).unwrap();
        let (first, pool) = (self.first, guard.pool().clone());
        let released = first == First::IsReleased;
        let operation = guard
            .operation::<Refusal>(&self.policy, request)
            .release_on(move |refusal| released && matches!(refusal, Refusal::Declined { .. }))
            .record_failures();
        let outcome = move |number: u32| match (number, first) {
            (1, First::Fails | First::IsReleased) => Err(Refusal::Declined { racer }),
            _ => Ok(Success::new(format!("{asked} by {racer}"))),
        };
        match self.mode {
            Mode::Transactional => {
                let body = async move |mutation: &mut Mutation<F::S>| {
                    let number = runs.begin();
                    F::effect(mutation, &name).await.unwrap();
                    runs.end();
                    outcome(number)
                };
                operation.run(body).await
            }
            Mode::External => {
                let body = async move |_: &Claim<F::S>| {
                    let ended = outcome(runs.begin());
                    if ended.is_ok() {
                        F::effect(&mut *pool.acquire().await.unwrap(), &name).await.unwrap();
                    }
                    runs.end();
                    ended
                };
                operation.run_external(body).await
            }
        }
    }

    /// All callers at the same moment; `asked` says what each of them asks for.
    pub(crate) async fn run(
        self: &Arc<Self>,
        name: &str,
        asked: fn(usize) -> &'static str,
    ) -> (Vec<Answer>, Arc<Runs>) {
        let (start, runs) = (Arc::new(Barrier::new(RACERS)), Arc::new(Runs::default()));
        let racers: Vec<_> = (0..RACERS)
            .map(|racer| {
                let (start, call) = (Arc::clone(&start), Arc::clone(self));
                let (name, runs) = (name.to_owned(), Arc::clone(&runs));
                tokio::spawn(async move {
                    start.wait().await;
                    call.call(name, racer, asked(racer), runs).await
                })
            })
            .collect();
        let all = futures_util::future::try_join_all(racers);
        let answers = tokio::time::timeout(PATIENT, all).await.expect("no deadlock").unwrap();
        (answers, runs)
    }

    /// The one answer that is no replay; all others are replays of it, or `in progress` where nobody waits.
    pub(crate) fn winner<'a>(&self, name: &str, answers: &'a [Answer]) -> &'a Outcome<String> {
        let first: Vec<_> = answers.iter().flatten().filter(|answer| !answer.is_replay()).collect();
        let [winner] = first[..] else { panic!("{name}: {} callers ran: {answers:?}", first.len()) };
        for answer in answers {
            match answer {
                Ok(answer) => {
                    let given = (answer.value(), answer.attempt());
                    assert_eq!(given, (winner.value(), winner.attempt()), "{name}");
                }
                refused => assert!(in_progress(refused) && self.wait.is_zero(), "{name}: {refused:?}"),
            }
        }
        winner
    }
}

pub(crate) fn in_progress(answer: &Answer) -> bool {
    matches!(answer, Err(Refusal::Guard(code)) if code == "IDEMPOTENCY_IN_PROGRESS")
}

pub(crate) fn book(_: usize) -> &'static str {
    "book"
}

/// One round; the attempt that won.
pub(crate) async fn one_runs<F: Fixture>(race: &Arc<Race<F>>, name: &str) -> i64 {
    let pool = race.guards[0].pool();
    let effects = F::effects(pool, name).await;
    let (answers, runs) = race.run(name, book).await;
    let winner = race.winner(name, &answers);
    assert_eq!(runs.count(), 1, "{name}");
    assert_eq!(F::effects(pool, name).await, effects + 1, "{name}");
    let late = Arc::clone(race).call(name.to_owned(), RACERS, "book", runs).await.unwrap();
    assert!(late.is_replay());
    assert_eq!(late.value(), winner.value());
    winner.attempt()
}
