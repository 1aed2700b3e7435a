use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::User;

#[idempotent(route = "webhooks.paid")]
async fn paid(idem: Idempotency<User>) -> String {
    String::new()
}

fn main() {}
