use idem_runtime::sqlite::Idempotency;
use idem_runtime::{exempt, idempotent};

#[exempt(reason = "a login may be repeated")]
#[idempotent(route = "sessions.create")]
async fn login(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
