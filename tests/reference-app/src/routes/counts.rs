//! What the driver asks after each step: how often bodies were entered, and what they left behind.

use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::business::{Business, Counts};
use crate::error::AppError;

#[derive(Deserialize)]
pub(crate) struct Asked {
    case: String,
}

/// `effects` is null while the database of the guard is away: entries are counted elsewhere.
pub(crate) async fn read<D: Business>(
    State(app): State<App<D>>,
    Query(Asked { case }): Query<Asked>,
) -> Result<Json<Value>, AppError> {
    let executed = D::executed(&app.entries, &case).await?;
    let effects = tokio::time::timeout(Duration::from_secs(2), D::effects(app.pool(), &case)).await;
    let effects = match effects {
        Ok(Ok(effects)) => by_route(effects),
        Ok(Err(_)) | Err(_) => Value::Null,
    };
    Ok(Json(json!({ "executed": by_route(executed), "effects": effects })))
}

fn by_route(counts: Counts) -> Value {
    counts.into_iter().map(|(route, count)| (route, Value::from(count))).collect()
}
