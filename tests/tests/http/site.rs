//! A shop that is served on a port of this process, with its database at hand.

use std::net::SocketAddr;
use std::sync::Arc;

use idem_runtime::axum::Router;
use idem_runtime::{GuardBuilder, Reading, Record, RecordKey, Route, Scope};
use idem_tests::Fixture;
use idem_tests::shop::{Shop, Stage};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::client::{Answer, Call, send, sending};
use crate::{Guard, USER};

/// How many connections the guard of a site has.
pub(crate) const CONNECTIONS: u32 = 4;

/// A served application; it ends when the value is dropped.
pub(crate) struct Site<F: Fixture> {
    fixture: Arc<F>,
    pub(crate) guard: Guard<F>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) address: SocketAddr,
    shut: Arc<Notify>,
    serving: JoinHandle<()>,
}

impl<F: Fixture> Site<F> {
    /// The shop with its own routes.
    pub(crate) async fn open() -> Self {
        Self::serving(Shop::app).await
    }

    /// A shop with these routes.
    pub(crate) async fn of(routes: Router<Shop<F>>) -> Self {
        Self::serving(move |shop| shop.serves(routes)).await
    }

    pub(crate) async fn serving(app: impl FnOnce(Shop<F>) -> axum::Router) -> Self {
        Self::built(|builder| builder, app).await
    }

    /// As `serving`, over a guard with settings of its own.
    pub(crate) async fn built(
        set: impl FnOnce(GuardBuilder<F::S>) -> GuardBuilder<F::S>,
        app: impl FnOnce(Shop<F>) -> axum::Router,
    ) -> Self {
        let fixture = F::create().await;
        let guard = set(fixture.builder(CONNECTIONS).await).build().await.unwrap();
        Self::over(fixture, guard, app).await
    }

    /// Serves over a database that may have a past.
    pub(crate) async fn over(
        fixture: impl Into<Arc<F>>,
        guard: Guard<F>,
        app: impl FnOnce(Shop<F>) -> axum::Router,
    ) -> Self {
        let shop = Shop::new(guard.clone());
        let stage = Arc::clone(&shop.stage);
        let app = app(shop);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shut = Arc::new(Notify::new());
        let shutting = Arc::clone(&shut);
        let serving = tokio::spawn(async move {
            let serve = axum::serve(listener, app);
            serve.with_graceful_shutdown(async move { shutting.notified().await }).await.unwrap();
        });
        Self { fixture: fixture.into(), guard, stage, address, shut, serving }
    }

    /// Another server of the shop on the same database and guard.
    pub(crate) async fn again(&self) -> Self {
        Self::over(Arc::clone(&self.fixture), self.guard.clone(), Shop::app).await
    }

    /// Takes no new connection; what is under way goes on.
    pub(crate) fn shut(&self) {
        self.shut.notify_one();
    }

    /// Waits until the last connection has ended.
    pub(crate) async fn closed(&mut self) {
        (&mut self.serving).await.unwrap();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.serving.is_finished()
    }

    pub(crate) async fn send(&self, call: Call) -> Answer {
        send(self.address, call).await
    }

    /// Sends in a task, for a request that stands still.
    pub(crate) fn sending(&self, call: Call) -> JoinHandle<hyper::Result<Answer>> {
        sending(self.address, call)
    }

    /// The record of a key of `USER`.
    pub(crate) async fn record(&self, route: &str, key: &str) -> Option<Record> {
        record::<F>(&self.guard, route, key).await.map(|reading| reading.record)
    }

    /// How many committed business rows have that name.
    pub(crate) async fn effects(&self, name: &str) -> i64 {
        F::effects(self.guard.pool(), name).await
    }

    /// How many rows a table has in all.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        count::<F>(&self.guard, table).await
    }
}

impl<F: Fixture> Drop for Site<F> {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) async fn record<F: Fixture>(guard: &Guard<F>, route: &str, key: &str) -> Option<Reading> {
    let scope = Scope::new("acme", USER).unwrap();
    let key = RecordKey::new(scope, Route::new(route).unwrap(), key.parse().unwrap());
    guard.read(&key).await.unwrap()
}

/// Ends all leases as time would, and leaves `created_at`, from which the derived keys come.
pub(crate) async fn lapse<F: Fixture>(guard: &Guard<F>) {
    let sql = "UPDATE idempotency_records SET locked_until = created_at WHERE status = 'processing'";
    F::execute(&mut *guard.pool().acquire().await.unwrap(), sql).await.unwrap();
}

pub(crate) async fn count<F: Fixture>(guard: &Guard<F>, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    F::number(&mut *guard.pool().acquire().await.unwrap(), &sql).await.unwrap()
}
