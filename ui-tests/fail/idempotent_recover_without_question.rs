use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "payments.charge", on_lapse = recover)]
async fn charge(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
