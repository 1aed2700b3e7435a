use axum::http::{Method, Uri};
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};

#[idempotent(route = "orders.create")]
async fn create_order(
    idem: Idempotency,
    mutation: &mut Mutation,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Method,
    _: Uri,
) -> String {
    String::new()
}

fn main() {}
