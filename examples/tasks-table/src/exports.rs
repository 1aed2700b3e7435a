//! Submits a task to a queue that is elsewhere: its id is bound and committed first.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use example_support::say;
use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::AppError;
use crate::service::App;

/// The header by which the demo makes the body stand still, at [`BOUND`] or [`SUBMITTED`].
pub(crate) const STALL: &str = "x-stall";
/// The task has its id, and is not submitted.
pub(crate) const BOUND: &str = "bound";
/// The task is submitted, and the request has no answer.
pub(crate) const SUBMITTED: &str = "submitted";

/// What a client asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewExport {
    pub(crate) report: String,
}

/// What it gets, also when it asks again: the same task.
#[derive(Debug, Serialize)]
pub(crate) struct Export {
    task_id: String,
}

/// Submits an export.
///
/// An attempt that dies after the first line leaves its id in the record. The next one gets that id and submits under
/// it, and the queue takes one of the two.
#[idempotent(
    route = "exports.create",
    on_lapse = "rerun",
    lease = "2s",
    wait = "5s",
    bind = task_id,
    release_on(AppError::Database(_), AppError::Guard(_)),
)]
pub(crate) async fn create(
    idem: Idempotency,
    State(app): State<App>,
    stall: axum::http::HeaderMap,
    Json(NewExport { report }): Json<NewExport>,
) -> Result<(StatusCode, Json<Export>), AppError> {
    let task_id = idem.get_or_bind_task(|| Uuid::new_v4().to_string()).await?;
    stand_still_if(&stall, BOUND).await;
    app.elsewhere.submit(&task_id, &report).await?;
    stand_still_if(&stall, SUBMITTED).await;
    Ok((StatusCode::ACCEPTED, Json(Export { task_id })))
}

async fn stand_still_if(headers: &axum::http::HeaderMap, place: &str) {
    if headers.get(STALL).is_some_and(|stall| stall == place) {
        say(place);
        std::future::pending::<()>().await;
    }
}
