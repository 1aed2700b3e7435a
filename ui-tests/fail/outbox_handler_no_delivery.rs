#![allow(unused_variables, unused_imports, dead_code)]

use idem_runtime::outbox_handler;
use idem_runtime::sqlite::Mutation;

#[outbox_handler(event = "order.created", version = 1, handler_key = "count")]
async fn count(mutation: &mut Mutation) -> Result<(), String> {
    Ok(())
}

fn main() {}
