//! What a publisher and a handler are promised: each event one effect, in order, and nothing lost.

mod delivery;
mod fencing;
mod handlers;
mod killed;
mod operator;
mod order;
mod publishing;
mod records;
#[cfg(feature = "postgres")]
mod restarted;
mod running;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::outbox::{Dispatcher, DispatcherBuilder, Event};
use idem_runtime::store::{EventFilter, EventStatus, Outbox, StoredEvent};
use idem_runtime::{Error, IdempotencyMutationGuard, Mutation, Success};
use idem_tests::{Fixture, key, policy, scope};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

pub(crate) const NOW: Duration = Duration::from_millis(1);
pub(crate) const HOUR: Duration = Duration::from_hours(1);

/// A database with an outbox.
pub(crate) trait WithOutbox: Fixture<S: Outbox> {}

impl<F: Fixture<S: Outbox>> WithOutbox for F {}

/// What a handler is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The business row that it writes.
    pub(crate) name: String,
    /// Fails so many times before.
    pub(crate) failures: u32,
    pub(crate) then: Then,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq)]
pub(crate) enum Then {
    Succeed,
    Panic,
    /// Waits until the test lets it go on.
    Wait,
}

pub(crate) fn task(name: &str) -> Task {
    Task { name: name.to_owned(), failures: 0, then: Then::Succeed }
}

/// What handlers share with their test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stage(pub(crate) Arc<Shared>);

#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Handler and task, in the order in which they began.
    pub(crate) began: Mutex<Vec<(&'static str, String)>>,
    pub(crate) waiting: Notify,
    pub(crate) go_on: Notify,
}

impl Stage {
    /// How often `handler` began with the task.
    pub(crate) fn times(&self, handler: &str, name: &str) -> usize {
        self.0.began.lock().unwrap().iter().filter(|(key, task)| *key == handler && task == name).count()
    }

    /// The tasks of a handler in the order in which they began.
    pub(crate) fn order(&self, handler: &str) -> Vec<String> {
        let began = self.0.began.lock().unwrap();
        began.iter().filter(|(key, _)| *key == handler).map(|(_, task)| task.clone()).collect()
    }

    /// Begins a task: what every handler does.
    pub(crate) async fn begin(&self, handler: &'static str, task: &Task) -> Result<(), String> {
        self.0.began.lock().unwrap().push((handler, task.name.clone()));
        let before = self.times(handler, &task.name);
        if before <= task.failures as usize {
            return Err(format!("failure {before} of {}", task.name));
        }
        match task.then {
            Then::Succeed => {}
            Then::Panic => panic!("as the test wants"),
            Then::Wait => {
                self.0.waiting.notify_one();
                self.0.go_on.notified().await;
            }
        }
        Ok(())
    }
}

/// A dispatcher that pauses for a moment only, and renews nothing while a test lasts.
pub(crate) fn dispatcher<F: WithOutbox>(guard: &Guard<F>, stage: &Stage) -> DispatcherBuilder<F::S> {
    Dispatcher::builder(guard.clone()).state(stage.clone()).pauses(NOW, NOW).lease(HOUR)
}

/// Publishes one event of the guarded request `name`.
pub(crate) async fn publish<F: WithOutbox>(guard: &Guard<F>, name: &str, event: Event) {
    let request = guard.request(scope(), key(name)).of(name).unwrap();
    guard
        .run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
            mutation.publish(event).await.unwrap();
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
}

/// Publishes a task of the event type `test.<kind>`.
pub(crate) async fn publish_task<F: WithOutbox>(guard: &Guard<F>, kind: &str, task: &Task) {
    publish::<F>(guard, &task.name, Event::new(format!("test.{kind}"), 1, task)).await;
}

pub(crate) async fn events<F: WithOutbox>(guard: &Guard<F>) -> Vec<StoredEvent> {
    let mut connection = guard.pool().acquire().await.unwrap();
    F::S::events(&mut connection, &EventFilter::default(), 10_000).await.unwrap()
}

/// The event of a task.
pub(crate) async fn event_of<F: WithOutbox>(guard: &Guard<F>, name: &str) -> StoredEvent {
    let named = |event: &StoredEvent| {
        serde_json::from_str::<Task>(&event.event.payload).is_ok_and(|task| task.name == name)
    };
    events::<F>(guard).await.into_iter().find(named).unwrap()
}

pub(crate) async fn status_of<F: WithOutbox>(guard: &Guard<F>, name: &str) -> EventStatus {
    event_of::<F>(guard, name).await.status
}

/// Runs a statement outside all guards.
pub(crate) async fn execute<F: WithOutbox>(guard: &Guard<F>, sql: &str) {
    let mut connection = guard.pool().acquire().await.unwrap();
    F::execute(&mut connection, sql).await.unwrap();
}
