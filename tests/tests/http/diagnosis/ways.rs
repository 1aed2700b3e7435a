//! The routes of these tests: one for each way in which the terms of a record can decide.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{
    Defaults, DownstreamKey, Idempotency, Mode, Mutation, OnLapse, Policy, Recovery, Terms, idempotent,
};
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

/// The answer of a body that did not run, as the provider knew what it would have given.
pub(super) const KNOWN: StatusCode = StatusCode::OK;
/// The answer of a body that ran after the provider had been asked.
pub(super) const ABSENT: StatusCode = StatusCode::ACCEPTED;

pub(super) const WAYS: [Way; 9] = [
    way("/inside", "diagnosis.inside", Mode::Transactional, OnLapse::Rerun, false),
    way("/inside/again", "diagnosis.inside.again", Mode::Transactional, OnLapse::Rerun, true),
    way("/outside", "diagnosis.outside", Mode::External, OnLapse::Rerun, false),
    way("/outside/again", "diagnosis.outside.again", Mode::External, OnLapse::Rerun, true),
    way("/refuse", "diagnosis.refuse", Mode::External, OnLapse::Refuse, false),
    way("/refuse/again", "diagnosis.refuse.again", Mode::External, OnLapse::Refuse, true),
    way("/known", "diagnosis.known", Mode::External, OnLapse::Recover, false),
    way("/absent", "diagnosis.absent", Mode::External, OnLapse::Recover, true),
    way("/unknown", "diagnosis.unknown", Mode::External, OnLapse::Recover, false),
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

/// The derived keys about which a provider was asked.
static ASKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

#[expect(clippy::unused_async, reason = "it notes the question when it is polled, as a provider would")]
async fn ask<T>(key: DownstreamKey, found: Recovery<T>) -> Recovery<T> {
    ASKED.lock().unwrap().insert(key.to_string());
    found
}

macro_rules! recovering {
    ($name:ident, $route:tt, $retry:tt, $found:expr) => {
        #[idempotent(
                                                    route = $route,
                                                    retry_failed = $retry,
                                                    on_lapse = recover(ask(idem.downstream_key("k"), $found))
                                                )]
        async fn $name<F: Fixture>(
            idem: Idempotency<F::S>,
            Json(order): Json<NewOrder>,
        ) -> (StatusCode, String) {
            let asked = ASKED.lock().unwrap().contains(&idem.downstream_key("k").to_string());
            (if asked { ABSENT } else { StatusCode::CREATED }, order.name)
        }
    };
}

recovering!(known, "diagnosis.known", false, Recovery::Done((KNOWN, "known".to_owned())));
recovering!(absent, "diagnosis.absent", true, Recovery::Absent);
recovering!(unknown, "diagnosis.unknown", false, Recovery::Unknown);
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
        .route(WAYS[5].path, post_to(refuse_again::<F>))
        .route(WAYS[6].path, post_to(known::<F>))
        .route(WAYS[7].path, post_to(absent::<F>))
        .route(WAYS[8].path, post_to(unknown::<F>));
    Site::built(|builder| builder.defaults(DEFAULTS), |shop: Shop<F>| shop.serves(routes)).await
}
