//! Creates accounts: rows of ours alone, so one transaction holds them and their record.

use axum::Json;
use axum::http::StatusCode;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use serde::{Deserialize, Serialize};

use crate::error::AppError;

/// The table of the accounts.
pub(crate) const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS accounts (tenant text, name text, PRIMARY KEY (tenant, name))";

/// What a client asks for, and gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) name: String,
}

/// Creates an account. A name that is taken is an answer, 409, also when it is asked for again.
#[idempotent(route = "accounts.create", release_on(AppError::Database(_)))]
pub(crate) async fn create(
    idem: Idempotency,
    mutation: &mut Mutation,
    Json(account): Json<Account>,
) -> Result<(StatusCode, Json<Account>), AppError> {
    let tenant = mutation.record_key().scope().tenant().to_owned();
    let inserted = sqlx::query("INSERT INTO accounts (tenant, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        .bind(tenant)
        .bind(&account.name)
        .execute(&mut **mutation)
        .await?;
    if inserted.rows_affected() == 0 {
        return Err(AppError::AccountExists);
    }
    Ok((StatusCode::CREATED, Json(account)))
}
