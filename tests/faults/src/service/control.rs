//! What the driver tells a process: where to die, and what to run out of.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use clap::ValueEnum;
use tokio::signal::unix::{SignalKind, signal};

use super::app::App;
use super::points::Action;
use super::rows::Rows;
use crate::plan::Point;

/// SIGXFSZ, which would end the process at a write beyond the limit of a file; heeded, the write fails instead.
const FILE_TOO_LARGE: i32 = 25;

pub(crate) fn survive_file_limits() -> io::Result<()> {
    // Tokio never takes a handler away again.
    signal(SignalKind::from_raw(FILE_TOO_LARGE)).map(drop)
}

pub(crate) fn routes<D: Rows>(app: App<D>) -> axum::Router {
    axum::Router::new()
        .route("/control/arm/{point}/{action}", post(arm::<D>))
        .route("/control/disarm", post(disarm::<D>))
        .route("/control/exhaust/{ms}", post(exhaust::<D>))
        .route("/control/full/{ms}", post(full::<D>))
        .route("/control/watch/{ms}", post(watch::<D>))
        .with_state(app)
}

async fn arm<D: Rows>(
    State(app): State<App<D>>,
    Path((point, action)): Path<(String, String)>,
) -> StatusCode {
    match (Point::from_str(&point, false), Action::from_str(&action, false)) {
        (Ok(point), Ok(action)) => {
            app.points.arm(Some((point, action)));
            StatusCode::OK
        }
        _ => StatusCode::BAD_REQUEST,
    }
}

async fn disarm<D: Rows>(State(app): State<App<D>>) {
    app.points.arm(None);
}

/// Takes every connection of the pool for a while; the answer is how many requests were refused meanwhile.
async fn exhaust<D: Rows>(State(app): State<App<D>>, Path(ms): Path<u64>) -> String {
    let pool = app.guard().pool();
    let before = app.refusals.load(Ordering::SeqCst);
    let mut held = Vec::new();
    let until = tokio::time::sleep(Duration::from_millis(ms));
    tokio::pin!(until);
    loop {
        tokio::select! {
            () = &mut until => break,
            connection = pool.acquire() => held.extend(connection),
        }
    }
    drop(held);
    (app.refusals.load(Ordering::SeqCst) - before).to_string()
}

/// Lets the database grow no more for a while.
async fn full<D: Rows>(State(app): State<App<D>>, Path(ms): Path<u64>) -> String {
    let Ok(pages) = D::pages(app.guard().pool()).await else { return "0".to_owned() };
    app.limits.0.store(pages, Ordering::SeqCst);
    let refused = watch(State(app.clone()), Path(ms)).await;
    app.limits.0.store(0, Ordering::SeqCst);
    refused
}

/// How many requests were refused within that time.
async fn watch<D: Rows>(State(app): State<App<D>>, Path(ms): Path<u64>) -> String {
    let before = app.refusals.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    (app.refusals.load(Ordering::SeqCst) - before).to_string()
}
