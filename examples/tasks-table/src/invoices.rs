//! Creates an invoice and queues its mail: invoice, task and record commit together, or none of them.

use axum::Json;
use axum::http::StatusCode;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::mails::Mail;
use crate::queue;

/// The table of the invoices. It has no unique key: that there is one row is the guard's work alone.
pub(crate) const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS invoices (customer text NOT NULL, cents integer NOT NULL)";

/// What a client asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewInvoice {
    pub(crate) customer: String,
    pub(crate) cents: i64,
}

/// What it gets, also when it asks again: the same task.
#[derive(Debug, Serialize)]
pub(crate) struct Invoice {
    customer: String,
    task_id: String,
}

/// Creates an invoice. A worker sees its task when all is committed; a body that fails has queued nothing.
#[idempotent(route = "invoices.create", bind = task_id, release_on(AppError::Database(_)))]
pub(crate) async fn create(
    idem: Idempotency,
    mutation: &mut Mutation,
    Json(NewInvoice { customer, cents }): Json<NewInvoice>,
) -> Result<(StatusCode, Json<Invoice>), AppError> {
    sqlx::query("INSERT INTO invoices (customer, cents) VALUES (?1, ?2)")
        .bind(&customer)
        .bind(cents)
        .execute(&mut **mutation)
        .await?;
    let tenant = mutation.record_key().scope().tenant().to_owned();
    let mail = Mail { tenant, customer: customer.clone(), cents };
    let task_id = queue::push(mutation, &mail).await?;
    Ok((StatusCode::CREATED, Json(Invoice { customer, task_id })))
}
