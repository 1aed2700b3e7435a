//! Everything that docs/clippy.toml disallows, once; the test `clippy` lets clippy find it.

use axum::Router;
use axum::handler::HandlerWithoutStateExt as _;
use axum::routing::{self, MethodFilter, MethodRouter};
use sqlx::{Database, Pool};

async fn act() {}

/// Every function that makes a writing method router.
#[must_use]
pub fn functions() -> Vec<MethodRouter> {
    let service = act.into_service();
    vec![
        routing::post(act),
        routing::put(act),
        routing::patch(act),
        routing::delete(act),
        routing::any(act),
        routing::on(MethodFilter::POST, act),
        routing::post_service(service.clone()),
        routing::put_service(service.clone()),
        routing::patch_service(service.clone()),
        routing::delete_service(service.clone()),
        routing::any_service(service.clone()),
        routing::on_service(MethodFilter::POST, service),
    ]
}

/// Every method that adds to one.
#[must_use]
pub fn methods() -> Vec<MethodRouter> {
    let service = act.into_service();
    let get = || routing::get(act);
    vec![
        get().post(act),
        get().put(act),
        get().patch(act),
        get().delete(act),
        get().on(MethodFilter::POST, act),
        get().fallback(act),
        get().post_service(service.clone()),
        get().put_service(service.clone()),
        get().patch_service(service.clone()),
        get().delete_service(service.clone()),
        get().on_service(MethodFilter::POST, service.clone()),
        get().fallback_service(service),
    ]
}

/// Every method of a router by which something unnamed answers.
pub fn router() -> Router {
    let service = || act.into_service();
    Router::new()
        .fallback(act)
        .method_not_allowed_fallback(act)
        .fallback_service(service())
        .route_service("/a", service())
        .nest_service("/b", service())
}

/// Every method of a pool that gives a connection.
///
/// # Errors
///
/// As the pool's.
pub async fn pool<D: Database>(pool: &Pool<D>) -> Result<(), sqlx::Error> {
    pool.acquire().await?;
    pool.try_acquire();
    pool.begin().await?;
    pool.try_begin().await?;
    pool.begin_with("BEGIN").await?;
    pool.try_begin_with("BEGIN").await?;
    Ok(())
}
