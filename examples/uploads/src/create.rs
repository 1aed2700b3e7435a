//! Begins an upload, and takes its parts.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use example_support::User;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::AppError;
use crate::service::App;

/// What a client asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct NewUpload {
    name: String,
    parts: u32,
}

/// What it gets.
#[derive(Debug, Serialize)]
pub(crate) struct Begun {
    upload_id: Uuid,
}

/// Begins an upload.
#[idempotent(route = "uploads.create", release_on(AppError::Database(_)))]
pub(crate) async fn create(
    idem: Idempotency,
    mutation: &mut Mutation,
    Json(upload): Json<NewUpload>,
) -> Result<(StatusCode, Json<Begun>), AppError> {
    let owner = mutation.record_key().scope().clone();
    let upload_id = Uuid::new_v4();
    sqlx::query("INSERT INTO uploads (upload_id, tenant, owner, name, parts) VALUES (?1, ?2, ?3, ?4, ?5)")
        .bind(upload_id.to_string())
        .bind(owner.tenant())
        .bind(owner.user())
        .bind(upload.name)
        .bind(upload.parts)
        .execute(&mut **mutation)
        .await?;
    Ok((StatusCode::CREATED, Json(Begun { upload_id })))
}

/// Takes a part. Its route is exempt: the same part again is written over itself.
pub(crate) async fn put_part(
    user: User,
    State(app): State<App>,
    Path((upload_id, part)): Path<(Uuid, u32)>,
    bytes: Bytes,
) -> Result<StatusCode, AppError> {
    if !app.owns(&user, upload_id).await? {
        return Err(AppError::NoUpload);
    }
    app.files.put_part(upload_id, part, &bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}
