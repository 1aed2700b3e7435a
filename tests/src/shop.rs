//! A small shop behind guarded routes, which stands still where the header `x-stop` says so.
//!
//! The tests serve it in their own process and, through `src/bin/shop.rs`, in processes that they kill.

mod customer;
mod sales;
mod stage;

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use idem_runtime::axum::{IdempotencyState, Router, exempt, post};
use idem_runtime::{IdempotencyMutationGuard, KeyError, Scope};

pub use customer::Customer;
pub use sales::{NewOrder, ShopError};
pub use stage::{Place, Stage, Stop};

use crate::Fixture;

/// The state of all handlers.
pub struct Shop<F: Fixture> {
    /// The guard.
    pub guard: IdempotencyMutationGuard<F::S>,
    /// Where requests stand still.
    pub stage: Arc<Stage>,
}

impl<F: Fixture> Shop<F> {
    /// A shop whose gate is closed.
    #[must_use]
    pub fn new(guard: IdempotencyMutationGuard<F::S>) -> Self {
        Self { guard, stage: Arc::default() }
    }

    /// The routes of the shop itself.
    pub fn app(self) -> axum::Router {
        let routes = Router::new()
            .route("/orders", post(sales::order::<F>))
            .route("/charges", post(sales::charge::<F>))
            .route("/transfers", post(sales::transfer::<F>))
            .route("/open", post(exempt("it only ends the waiting of a test", open::<F>)));
        self.serves(routes)
    }

    /// Any routes, watched from around them.
    pub fn serves(self, routes: Router<Self>) -> axum::Router {
        let stage = Arc::clone(&self.stage);
        routes.with_state(self).into_axum().layer(from_fn_with_state(stage, watch))
    }
}

impl<F: Fixture> Clone for Shop<F> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), stage: Arc::clone(&self.stage) }
    }
}

impl<F: Fixture> fmt::Debug for Shop<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shop").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl<F: Fixture> IdempotencyState for Shop<F> {
    type Store = F::S;
    type Identity = Customer;

    fn guard(&self) -> &IdempotencyMutationGuard<F::S> {
        &self.guard
    }

    fn scope(customer: &Customer) -> Result<Scope, KeyError> {
        Scope::new(&customer.tenant, &customer.user)
    }
}

async fn open<F: Fixture>(State(shop): State<Shop<F>>) {
    shop.stage.open();
}

/// Stands around the whole application, where a dropped request and a finished one can be told apart.
async fn watch(State(stage): State<Arc<Stage>>, request: Request, next: Next) -> Response {
    let stop = Stop::of(request.headers());
    stage.reach(Place::Arrived);
    let unless_answered = Gone(Some(&stage));
    let response = next.run(request).await;
    stop.at(Place::Recorded, &stage).await;
    unless_answered.answered();
    stage.reach(Place::Answered);
    response
}

/// Says that a request was dropped, unless it was answered.
struct Gone<'a>(Option<&'a Stage>);

impl Gone<'_> {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if let Some(stage) = self.0 {
            stage.reach(Place::Gone);
        }
    }
}
