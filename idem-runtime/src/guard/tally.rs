//! How many answers each route gives, kept in memory until the maintenance writes them down.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::guard::engine::Ran;
use crate::key::Route;
use crate::store::Traffic;

/// A program that makes up routes as it runs must not fill the memory: those beyond are not counted.
const MOST_ROUTES: usize = 1000;

/// Answers that were given and not yet written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Unwritten {
    executed: u64,
    replayed: u64,
}

/// What all clones of a guard count.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Whether anybody will write it down.
    wanted: AtomicBool,
    routes: Mutex<HashMap<String, Unwritten>>,
    writing: tokio::sync::Mutex<()>,
}

impl Tally {
    /// From now on answers are counted.
    pub(crate) fn begin(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Counts an answer; a refusal is none.
    pub(super) fn count<T, E>(&self, route: &Route, ended: &Result<Ran<T, E>, Error>) {
        let one = match ended {
            Ok(Ran::First { .. } | Ran::Failed { .. }) => Unwritten { executed: 1, replayed: 0 },
            Ok(Ran::Recorded(_)) => Unwritten { executed: 0, replayed: 1 },
            Err(_) => return,
        };
        if self.wanted.load(Ordering::Relaxed) {
            self.add(route, one);
        }
    }

    fn add(&self, route: &Route, more: Unwritten) {
        let mut routes = self.routes();
        if let Some(unwritten) = routes.get_mut(route.as_str()) {
            unwritten.executed += more.executed;
            unwritten.replayed += more.replayed;
        } else if routes.len() < MOST_ROUTES {
            routes.insert(route.to_string(), more);
        }
    }

    /// Waits until no other writer is at work: of two at once, both would write the same.
    pub(crate) async fn alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.writing.lock().await
    }

    /// What is to be written.
    pub(crate) fn unwritten(&self) -> Vec<Traffic> {
        let traffic = |(route, unwritten): (&String, &Unwritten)| Traffic {
            route: route.clone(),
            executed: unwritten.executed,
            replayed: unwritten.replayed,
        };
        self.routes().iter().map(traffic).filter(|traffic| traffic.executed + traffic.replayed > 0).collect()
    }

    /// Takes off what was written; what came since stays.
    pub(crate) fn written(&self, traffic: &Traffic) {
        if let Some(unwritten) = self.routes().get_mut(&traffic.route) {
            unwritten.executed -= traffic.executed;
            unwritten.replayed -= traffic.replayed;
        }
    }

    fn routes(&self) -> MutexGuard<'_, HashMap<String, Unwritten>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Unwritten = Unwritten { executed: 1, replayed: 0 };
    const REPLAY: Unwritten = Unwritten { executed: 0, replayed: 1 };

    fn route(name: &str) -> Route {
        Route::new(name).unwrap()
    }

    fn traffic(executed: u64, replayed: u64) -> Traffic {
        Traffic { route: "a".to_owned(), executed, replayed }
    }

    #[test]
    fn what_was_not_written_stays_and_what_came_meanwhile_too() {
        let tally = Tally::default();
        tally.add(&route("a"), RUN);
        let seen = tally.unwritten();
        tally.add(&route("a"), REPLAY);
        assert_eq!(tally.unwritten(), [traffic(1, 1)], "the write failed");
        tally.written(&seen[0]);
        assert_eq!(tally.unwritten(), [traffic(0, 1)]);
        tally.written(&traffic(0, 1));
        assert_eq!(tally.unwritten(), []);
    }

    #[test]
    fn nothing_is_counted_for_nobody_and_a_refusal_is_no_answer() {
        let tally = Tally::default();
        let ended: Result<Ran<(), ()>, Error> = Ok(Ran::Failed { error: (), expires_at: None });
        tally.count(&route("a"), &ended);
        assert_eq!(tally.unwritten(), []);
        tally.begin();
        tally.count(&route("a"), &ended);
        tally.count::<(), ()>(&route("a"), &Err(Error::Failed));
        assert_eq!(tally.unwritten(), [traffic(1, 0)]);
    }

    #[test]
    fn routes_without_end_do_not_fill_the_memory() {
        let tally = Tally::default();
        for number in 0..=MOST_ROUTES {
            tally.add(&route(&number.to_string()), RUN);
        }
        assert_eq!(tally.unwritten().len(), MOST_ROUTES);
    }
}
