use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use axum::Json;

#[derive(serde::Serialize)]
struct Placed {
    task_id: f64,
}

#[idempotent(route = "orders.create", bind = task_id)]
async fn create_order(idem: Idempotency) -> Json<Placed> {
    Json(Placed { task_id: 1.0 })
}

fn main() {}
