use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_runtime::{Recovery, idempotent};

async fn find() -> Recovery<String> {
    Recovery::Absent
}

#[idempotent(route = "payments.charge", on_lapse = recover(find()))]
async fn charge(idem: Idempotency, mutation: &mut Mutation) -> String {
    String::new()
}

fn main() {}
