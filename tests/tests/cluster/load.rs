//! Clients that race for keys while something fails, and the checker of what they were told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::{Error, IdempotencyMutationGuard, Mutation, Outcome, Policy, Success};
use idem_tests::{Fixture, key, policy, scope};
use tokio::task::JoinSet;
use uuid::Uuid;

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

/// Clients at once; two of them, on different nodes, ask for each key.
const CLIENTS: usize = 6;

/// The lease of every claim: short, so that what a dead node has left can be taken over soon.
pub(crate) fn short() -> Policy {
    policy().lease(Duration::from_secs(2)).max_run(Duration::from_mins(1))
}

/// A service on each node, and what its clients were told.
pub(crate) struct Load<F: Fixture> {
    pub(crate) guards: Vec<Guard<F>>,
    ran: AtomicUsize,
    asked: Mutex<BTreeMap<String, Option<String>>>,
}

impl<F: Fixture> Load<F> {
    pub(crate) fn on(guards: Vec<Guard<F>>) -> Arc<Self> {
        Arc::new(Self { guards, ran: AtomicUsize::new(0), asked: Mutex::default() })
    }

    /// How many bodies have begun.
    pub(crate) fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    /// One request, whose answer is another one at each run of the body.
    pub(crate) async fn ask(&self, node: usize, name: &str) -> Result<Outcome<String>, Error> {
        self.ask_counting(node, name, &self.ran).await
    }

    async fn ask_counting(
        &self,
        node: usize,
        name: &str,
        ran: &AtomicUsize,
    ) -> Result<Outcome<String>, Error> {
        let guard = &self.guards[node];
        let request = guard.request(scope(), key(name)).of("book").unwrap();
        guard
            .operation(&short(), request)
            .release_on(Error::is_retryable)
            .run(async |mutation: &mut Mutation<F::S>| {
                ran.fetch_add(1, Ordering::SeqCst);
                let written = F::effect(mutation, name).await;
                written.map_err(|error| Error::StoreUnavailable(Some(error.into())))?;
                Ok(Success::new(format!("{name} {}", Uuid::new_v4())))
            })
            .await
    }

    /// Asks one node after the other until one acknowledges, or `stop`; everybody must be told the same.
    async fn insist(&self, mut node: usize, name: &str, stop: &AtomicBool) -> bool {
        self.asked.lock().unwrap().entry(name.to_owned()).or_default();
        while !stop.load(Ordering::SeqCst) {
            match self.ask(node, name).await {
                Ok(outcome) => {
                    self.acknowledged(name, outcome.value());
                    return true;
                }
                Err(error) => assert!(error.is_retryable(), "{name} at node {node}: {error:?}"),
            }
            node = (node + 1) % self.guards.len();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    fn acknowledged(&self, name: &str, answer: &str) {
        let mut asked = self.asked.lock().unwrap();
        let told = asked.entry(name.to_owned()).or_default().get_or_insert_with(|| answer.to_owned());
        assert_eq!(told, answer, "two clients of {name} were told different things");
    }

    fn acknowledgements(&self) -> usize {
        self.asked.lock().unwrap().values().flatten().count()
    }

    /// Lets clients ask for keys while `fault` goes on, and a moment before and after it.
    pub(crate) async fn during(self: &Arc<Self>, name: &str, fault: impl AsyncFnOnce()) {
        let stop = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            let (load, stop) = (Arc::clone(self), Arc::clone(&stop));
            let name = format!("{name}-{}", client / 2);
            clients.spawn(async move {
                let mut number = 0;
                while load.insist(client % load.guards.len(), &format!("{name}-{number}"), &stop).await {
                    number += 1;
                    // Enough for every fault to meet some, and not so many that the check takes long.
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
            });
        }
        self.more_acknowledgements(30).await;
        fault().await;
        self.more_acknowledgements(30).await;
        stop.store(true, Ordering::SeqCst);
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
    }

    /// Waits until that many keys more are acknowledged.
    ///
    /// # Panics
    /// When too few are served within two minutes.
    pub(crate) async fn more_acknowledgements(&self, number: usize) {
        let wanted = self.acknowledgements() + number;
        for _ in 0..12_000 {
            if self.acknowledgements() >= wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("of {wanted} keys {} were served", self.acknowledgements());
    }

    /// Ends what is not ended, and compares each node with what clients were told.
    pub(crate) async fn check(&self) {
        let names: Vec<String> = self.asked.lock().unwrap().keys().cloned().collect();
        let go_on = AtomicBool::new(false);
        for name in &names {
            self.insist(0, name, &go_on).await;
        }
        let asked = self.asked.lock().unwrap().clone();
        for (node, guard) in self.guards.iter().enumerate() {
            for (name, told) in &asked {
                assert_eq!(F::effects(guard.pool(), name).await, 1, "the effects of {name} at node {node}");
                let replayed = self.ask(node, name).await;
                let replayed = replayed.unwrap_or_else(|error| panic!("{name} at node {node}: {error:?}"));
                assert!(replayed.is_replay(), "{name} at node {node}");
                assert_eq!(Some(replayed.value()), told.as_ref(), "{name} at node {node}");
            }
        }
        println!("{} keys, {} runs of bodies", asked.len(), self.ran());
        self.asked.lock().unwrap().clear();
    }

    /// The node refuses, and its bodies do not run.
    pub(crate) async fn is_refused_at(&self, node: usize, name: &str) {
        let ran = AtomicUsize::new(0);
        let refused = self.ask_counting(node, name, &ran).await.unwrap_err();
        assert!(matches!(refused, Error::StoreUnavailable(Some(_))), "{refused:?}");
        assert_eq!((refused.status(), refused.is_retryable()), (503, true));
        assert_eq!(ran.load(Ordering::SeqCst), 0, "a body ran at a node that cannot hold its claim");
    }
}
