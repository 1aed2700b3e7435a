//! Completes an upload: the file gets its name and the row commits with the record, once per upload.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use example_support::Stall;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::AppError;
use crate::service::App;

/// The line by which the demo knows that the file is there and its row is not.
pub(crate) const NAMED: &str = "a file has its name, and no row";

/// What the client says of the whole file.
#[derive(Debug, Deserialize)]
pub(crate) struct Completion {
    sha256: String,
}

/// What it gets.
#[derive(Debug, Serialize)]
pub(crate) struct Stored {
    upload_id: Uuid,
    bytes: i64,
}

/// Completes an upload. Two completions are one, also at once, and also without a key from the client.
///
/// The key is the upload itself, so a failure that was kept under it would be the end of the upload: each one that the
/// client can mend, or that passes, gives the claim back.
///
/// The file is no part of the transaction, yet needs no key of its own: a second attempt gives the same name to the
/// same content. On SQLite the transaction keeps other writers waiting while the parts are put together; files that
/// take long belong in a background task there.
#[idempotent(
    route = "uploads.complete",
    key = upload_id,
    wait = "5s",
    lease = "2s",
    release_on(AppError::PartMissing(_), AppError::OtherContent, AppError::Database(_), AppError::Disk(_)),
)]
pub(crate) async fn complete(
    idem: Idempotency,
    State(app): State<App>,
    Path(upload_id): Path<Uuid>,
    stall: Stall,
    mutation: &mut Mutation,
    Json(completion): Json<Completion>,
) -> Result<(StatusCode, Json<Stored>), AppError> {
    let (owner, attempt) = (mutation.record_key().scope().clone(), mutation.attempt());
    let upload: Option<(String, u32)> =
        sqlx::query_as("SELECT name, parts FROM uploads WHERE upload_id = ?1 AND tenant = ?2 AND owner = ?3")
            .bind(upload_id.to_string())
            .bind(owner.tenant())
            .bind(owner.user())
            .fetch_optional(&mut **mutation)
            .await?;
    let (name, parts) = upload.ok_or(AppError::NoUpload)?;
    let length = app.files.assemble(upload_id, parts, &completion.sha256, attempt).await?;
    stall.here(NAMED).await;
    let bytes = i64::try_from(length).unwrap_or(i64::MAX);
    sqlx::query("INSERT INTO files (upload_id, name, bytes) VALUES (?1, ?2, ?3)")
        .bind(upload_id.to_string())
        .bind(name)
        .bind(bytes)
        .execute(&mut **mutation)
        .await?;
    Ok((StatusCode::CREATED, Json(Stored { upload_id, bytes })))
}
