use axum::Json;
use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
async fn create<T>(idem: Idempotency, Json(input): Json<T>) -> String {
    drop(input);
    String::new()
}

fn main() {}
