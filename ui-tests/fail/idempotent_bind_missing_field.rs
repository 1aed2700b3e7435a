use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use axum::Json;
use idem_ui_tests::Order;

#[idempotent(route = "orders.create", bind = job_id)]
async fn create_order(idem: Idempotency) -> Json<Order> {
    Json(Order { id: 1, task_id: String::new() })
}

fn main() {}
