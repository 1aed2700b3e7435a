use idem_runtime::sqlite::Idempotency;
use idem_runtime::{Error, Recovery, idempotent};

async fn find() -> Recovery<i64> {
    Recovery::Absent
}

#[idempotent(route = "payments.charge", on_lapse = recover(find()))]
async fn charge(idem: &Idempotency) -> Result<String, Error> {
    Ok(String::new())
}

fn main() {}
