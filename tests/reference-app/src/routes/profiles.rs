//! Profiles: every change is a row, and the last row is the profile.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use idem_runtime::store::ConnectionOf;
use idem_runtime::{Idempotency, Mutation, idempotent};
use serde_json::{Map, Value};

use crate::app::App;
use crate::business::Business;
use crate::error::AppError;
use crate::visit::Visit;

type Members = Map<String, Value>;

fn profile(id: String, mut members: Members) -> Json<Members> {
    members.insert("id".to_owned(), Value::String(id));
    Json(members)
}

async fn load<D: Business>(connection: &mut ConnectionOf<D>, id: &str) -> Result<Option<Members>, AppError> {
    let content = D::last_about(connection, id).await?;
    Ok(content.map(|content| serde_json::from_str(&content).unwrap_or_default()))
}

async fn save<D: Business>(
    visit: &Visit<D>,
    connection: &mut ConnectionOf<D>,
    id: &str,
    members: &Members,
) -> Result<(), AppError> {
    let content = serde_json::json!(members).to_string();
    D::write_row(connection, visit.row(id, &content)).await?;
    Ok(())
}

pub(crate) async fn read<D: Business>(
    State(app): State<App<D>>,
    Path(id): Path<String>,
) -> Result<Json<Members>, AppError> {
    let mut connection = app.pool().acquire().await?;
    let members = load::<D>(&mut connection, &id).await?.ok_or(AppError::NoProfile)?;
    Ok(profile(id, members))
}

#[idempotent(route = "profiles.replace")]
pub(crate) async fn replace<D: Business>(
    idem: Idempotency<D>,
    Path(id): Path<String>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(members): Json<Members>,
) -> Result<Json<Members>, AppError> {
    visit.enter().await?;
    save(&visit, mutation, &id, &members).await?;
    Ok(profile(id, members))
}

/// Leaves a profile without members.
#[idempotent(route = "profiles.delete")]
pub(crate) async fn delete<D: Business>(
    idem: Idempotency<D>,
    Path(id): Path<String>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<StatusCode, AppError> {
    visit.enter().await?;
    load::<D>(mutation, &id).await?.ok_or(AppError::NoProfile)?;
    save(&visit, mutation, &id, &Members::new()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// As RFC 7396 says: null deletes, absent leaves alone.
#[idempotent(route = "profiles.change")]
pub(crate) async fn change<D: Business>(
    idem: Idempotency<D>,
    Path(id): Path<String>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(changes): Json<Members>,
) -> Result<Json<Members>, AppError> {
    visit.enter().await?;
    let mut members = load::<D>(mutation, &id).await?.unwrap_or_default();
    for (name, value) in changes {
        if value.is_null() {
            members.remove(&name);
        } else {
            members.insert(name, value);
        }
    }
    save(&visit, mutation, &id, &members).await?;
    Ok(profile(id, members))
}
