use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_ui_tests::User;

#[idempotent(route = "webhooks.paid")]
async fn paid(idem: Idempotency<User>, mutation: &mut Mutation) -> String {
    mutation.attempt().to_string()
}

fn main() {}
