//! The routes of these tests: one for each way in which the terms of a record can decide.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{Defaults, Idempotency, Mode, Mutation, OnLapse, Policy, Terms, idempotent};
use idem_tests::Fixture;
use idem_tests::shop::{NewOrder, Shop};

use crate::site::Site;

const DEFAULTS: Defaults = Defaults {
    ttl: Duration::from_hours(100),
    lease: Duration::from_hours(10),
    max_run: Duration::from_hours(10),
};

/// One route for each way in which terms can decide: its path, its name, and what it declares.
pub(super) struct Way {
    pub(super) path: &'static str,
    pub(super) route: &'static str,
    mode: Mode,
    on_lapse: OnLapse,
    retry_failed: bool,
}

const fn way(
    path: &'static str,
    route: &'static str,
    mode: Mode,
    on_lapse: OnLapse,
    retry_failed: bool,
) -> Way {
    Way { path, route, mode, on_lapse, retry_failed }
}

pub(super) const WAYS: [Way; 6] = [
    way("/inside", "diagnosis.inside", Mode::Transactional, OnLapse::Rerun, false),
    way("/inside/again", "diagnosis.inside.again", Mode::Transactional, OnLapse::Rerun, true),
    way("/outside", "diagnosis.outside", Mode::External, OnLapse::Rerun, false),
    way("/outside/again", "diagnosis.outside.again", Mode::External, OnLapse::Rerun, true),
    way("/refuse", "diagnosis.refuse", Mode::External, OnLapse::Refuse, false),
    way("/refuse/again", "diagnosis.refuse.again", Mode::External, OnLapse::Refuse, true),
];

impl Way {
    pub(super) fn terms(&self) -> Terms {
        let policy = Policy::new(self.route).unwrap().on_lapse(self.on_lapse).retry_failed(self.retry_failed);
        policy.terms(self.mode, &DEFAULTS).unwrap()
    }
}

macro_rules! inside {
    ($name:ident, $route:tt, $retry:tt) => {
        #[idempotent(route = $route, retry_failed = $retry)]
        async fn $name<F: Fixture>(
            idem: Idempotency<F::S>,
            mutation: &mut Mutation<F::S>,
            Json(order): Json<NewOrder>,
        ) -> (StatusCode, String) {
            F::effect(mutation, &order.name).await.unwrap();
            (StatusCode::CREATED, order.name)
        }
    };
}

macro_rules! outside {
    ($name:ident, $route:tt, $retry:tt, $on_lapse:tt) => {
        #[idempotent(route = $route, retry_failed = $retry, on_lapse = $on_lapse)]
        async fn $name<F: Fixture>(
            idem: Idempotency<F::S>,
            Json(order): Json<NewOrder>,
        ) -> (StatusCode, String) {
            (StatusCode::CREATED, order.name)
        }
    };
}

inside!(inside, "diagnosis.inside", false);
inside!(inside_again, "diagnosis.inside.again", true);
outside!(outside, "diagnosis.outside", false, "rerun");
outside!(outside_again, "diagnosis.outside.again", true, "rerun");
outside!(refuse, "diagnosis.refuse", false, "refuse");
outside!(refuse_again, "diagnosis.refuse.again", true, "refuse");

pub(super) async fn site<F: Fixture>() -> Site<F> {
    let routes = Router::new()
        .route(WAYS[0].path, post_to(inside::<F>))
        .route(WAYS[1].path, post_to(inside_again::<F>))
        .route(WAYS[2].path, post_to(outside::<F>))
        .route(WAYS[3].path, post_to(outside_again::<F>))
        .route(WAYS[4].path, post_to(refuse::<F>))
        .route(WAYS[5].path, post_to(refuse_again::<F>));
    Site::built(|builder| builder.defaults(DEFAULTS), |shop: Shop<F>| shop.serves(routes)).await
}
